#include "apps/runengine/load_inputs.h"

#include <fmt/format.h>

#include <fstream>

#include "apps/common/npy.h"
#include "apps/common/shape_spec.h"
#include "schemas/types/error.h"

namespace planwright::apps {
namespace {

bool is_npy(const std::string& path) { return path.size() > 4 && path.compare(path.size() - 4, 4, ".npy") == 0; }

void read_raw(const std::string& path, const std::string& name, ir::Tensor& tensor) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream) throw Error(StatusCode::kIo, fmt::format("cannot read {} for input '{}'", path, name));
  const auto bytes = static_cast<size_t>(stream.tellg());
  if (bytes != tensor.data.size()) {
    throw Error(StatusCode::kInvalid,
                fmt::format("{} has {} bytes; input '{}' ({} {}) needs {}", path, bytes, name, format_dims(tensor.dims),
                            planwright::name_of(tensor.dtype), tensor.data.size()));
  }
  stream.seekg(0);
  stream.read(reinterpret_cast<char*>(tensor.data.data()), static_cast<std::streamsize>(bytes));
  if (!stream) throw Error(StatusCode::kIo, fmt::format("cannot read {} for input '{}'", path, name));
}

}  // namespace

Tensors load_inputs(const pw::Engine& engine, const std::vector<std::pair<std::string, std::string>>& files,
                    const std::vector<ShapeSpec>& shapes, int profile) {
  InputShapes wanted = match_inputs(engine, shapes);
  Tensors arrays;
  for (const auto& [name, path] : files) {
    if (!is_npy(path)) continue;
    const ir::Tensor& array = arrays[name] = read_npy(path);
    const auto [given, added] = wanted.emplace(name, array.dims);
    if (!added && given->second != array.dims) {
      throw Error(StatusCode::kInvalid, fmt::format("{} is {}, but --shapes gives input '{}' {}", path,
                                                    format_dims(array.dims), name, format_dims(given->second)));
    }
  }
  Tensors inputs = random_inputs(engine, complete_shapes(engine, wanted, profile));
  for (const auto& [name, path] : files) {
    const auto input = inputs.find(name);
    if (input == inputs.end()) complete_shapes(engine, {{name, {}}}, profile);  // throws, naming the nearest input
    const auto array = arrays.find(name);
    if (array == arrays.end()) {
      read_raw(path, name, input->second);
    } else if (array->second.dtype != input->second.dtype) {
      throw Error(StatusCode::kInvalid,
                  fmt::format("{} holds {}; input '{}' is {}", path, planwright::name_of(array->second.dtype), name,
                              planwright::name_of(input->second.dtype)));
    } else {
      input->second = std::move(array->second);
    }
  }
  return inputs;
}

}  // namespace planwright::apps
