#include "apps/runengine/load_inputs.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "apps/common/shape_spec.h"
#include "calibrator/arrays/npy.h"
#include "schemas/types/error.h"

namespace planwright::apps {
namespace {

bool is_npy(const std::string& path) { return path.size() > 4 && path.compare(path.size() - 4, 4, ".npy") == 0; }

void read_raw(const std::string& path, const std::string& name, ir::Tensor& tensor) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error(StatusCode::kIo, fmt::format("{} is a folder; input '{}' needs a file", path, name));
  }
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  const std::streamoff bytes = stream ? static_cast<std::streamoff>(stream.tellg()) : -1;
  if (bytes < 0) {
    throw Error(StatusCode::kIo, fmt::format("cannot read {} for input '{}': {}", path, name, std::strerror(errno)));
  }
  if (static_cast<size_t>(bytes) != tensor.data.size()) {
    throw Error(StatusCode::kInvalid,
                fmt::format("{} has {} byte{}; input '{}' ({} {}) needs {}", path, bytes, bytes == 1 ? "" : "s", name,
                            format_dims(tensor.dims), planwright::name_of(tensor.dtype), tensor.data.size()));
  }
  stream.seekg(0);
  stream.read(reinterpret_cast<char*>(tensor.data.data()), bytes);
  if (!stream) throw Error(StatusCode::kIo, fmt::format("cannot read {} for input '{}'", path, name));
}

// The arrays of .npy files by input, whose types must be the inputs'.
Tensors read_arrays(const pw::Engine& engine, const std::vector<std::pair<std::string, std::string>>& files) {
  Tensors tensors;
  for (const auto& [name, path] : files) {
    if (!is_npy(path)) continue;
    ir::Tensor& array = tensors[name] = arrays::read_npy(path);
    for (const pw_binding& binding : engine.bindings()) {
      const auto wanted = static_cast<DType>(binding.dtype);
      if (!binding.is_input || name != binding.name) continue;
      if (arrays::holds_bits_of(array.dtype, wanted)) array.dtype = wanted;
      if (array.dtype == wanted) continue;
      throw Error(StatusCode::kInvalid,
                  fmt::format("{} holds {}; input '{}' is {}", path, planwright::name_of(array.dtype), name,
                              planwright::name_of(wanted)));
    }
  }
  return tensors;
}

}  // namespace

Tensors load_inputs(const pw::Engine& engine, const std::vector<std::pair<std::string, std::string>>& files,
                    const std::vector<ShapeSpec>& shapes, int* profile) {
  RunShapes wanted = match_inputs(engine, shapes);
  wanted.profile = *profile;
  Tensors arrays = read_arrays(engine, files);
  const RunShapes loaded = shapes_of(engine, arrays);
  for (const auto& [name, dims] : loaded.dims) {
    const auto [given, added] = wanted.dims.emplace(name, dims);
    if (added || given->second == dims) continue;
    throw Error(StatusCode::kInvalid, fmt::format("the data of input '{}' is {}, but --shapes gives it {}", name,
                                                  format_dims(dims), format_dims(given->second)));
  }
  for (const auto& [name, values] : loaded.values) wanted.values[name] = values;
  const RunShapes complete = complete_shapes(engine, wanted);
  *profile = complete.profile;
  Tensors inputs = random_inputs(engine, complete);
  for (const auto& [name, path] : files) {
    const auto input = inputs.find(name);
    if (input == inputs.end()) complete_shapes(engine, {{{name, {}}}, {}, -1});  // throws, naming the nearest input
    const auto array = arrays.find(name);
    if (array == arrays.end()) {
      read_raw(path, name, input->second);
    } else {
      input->second = std::move(array->second);
    }
  }
  return inputs;
}

}  // namespace planwright::apps
