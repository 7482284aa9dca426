#include "tests/unit/onnx/random_integer_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "builder/onnx/tensor_data.h"
#include "tests/support/onnx_text.h"

namespace planwright::builder {

namespace {

// Of one tensor: what a graph computes could make others as long as a dim.
constexpr int64_t kMostElements = 512;

void set_ints(onnx::NodeProto* node, const std::string& name, const Ints& values) {
  onnx::AttributeProto& attribute = *node->add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const int64_t value : values) attribute.add_ints(value);
}

}  // namespace

int64_t count_of(const Ints& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

// Of any type but floats and those of less than a byte.
int64_t integer_at(const ir::Tensor& tensor, size_t index) {
  const size_t size = size_of(tensor.dtype);
  int64_t value = 0;
  std::memcpy(&value, tensor.data.data() + index * size, size);
  if (is_unsigned(tensor.dtype) || tensor.dtype == DType::kBool || size == sizeof(value)) return value;
  const size_t unused = 8 * (sizeof(value) - size);
  return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}

Ints integers_of(const ir::Tensor& tensor) {
  Ints values;
  for (int64_t i = 0; i < count_of(tensor.dims); ++i) values.push_back(integer_at(tensor, static_cast<size_t>(i)));
  return values;
}

// Little-endian: the low bytes are the element.
ir::Tensor tensor_of_ints(DType dtype, const Ints& dims, const Ints& values) {
  const size_t size = size_of(dtype);
  ir::Tensor tensor{dtype, dims, ir::Bytes(values.size() * size)};
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(tensor.data.data() + i * size, &values[i], size);
  return tensor;
}

onnx::TensorProto proto_of(const ir::Tensor& tensor) {
  onnx::TensorProto proto;
  proto.set_data_type(onnx_type_of(tensor.dtype));
  for (const int64_t dim : tensor.dims) proto.add_dims(dim);
  proto.set_raw_data(std::string(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()));
  return proto;
}

void set_int(onnx::NodeProto* node, const std::string& name, int64_t value) {
  onnx::AttributeProto& attribute = *node->add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

RandomIntegerNodes::RandomIntegerNodes(uint64_t seed) : random_(seed) {
  static constexpr int kOpsets[] = {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 28};
  opset_ = kOpsets[index(std::size(kOpsets))];
}

std::vector<std::string> RandomIntegerNodes::operator_names() {
  std::vector<std::string> names;
  for (const auto& [name, draw] : operators()) names.push_back(name);
  return names;
}

void RandomIntegerNodes::set_type(onnx::NodeProto* node, DType to) const {
  if (opset_ >= 6) return set_int(node, "to", onnx_type_of(to));
  onnx::AttributeProto& attribute = *node->add_attribute();
  attribute.set_name("to");
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(onnx_type_of(to))));
}

const RandomIntegerNodes::Value* RandomIntegerNodes::find(const std::string& name) const {
  const auto found = std::find_if(pool_.begin(), pool_.end(), [&](const Value& value) { return value.name == name; });
  return found == pool_.end() ? nullptr : &*found;
}

const ir::Tensor& RandomIntegerNodes::tensor(const std::string& name) const {
  const Value* value = find(name);
  return value == nullptr ? constants_.at(name) : value->tensor;
}

std::string RandomIntegerNodes::constant(ir::Tensor tensor) {
  const std::string name = fmt::format("c{}", constants_.size());
  constants_.emplace(name, std::move(tensor));
  return name;
}

Ints RandomIntegerNodes::small_dims(int64_t most_rank) {
  Ints dims(static_cast<size_t>(between(0, most_rank)));
  for (int64_t& dim : dims) dim = one_of<int64_t>({1, 1, 2, 3, 4, 0});
  return dims;
}

std::string RandomIntegerNodes::random_constant(DType dtype, const Ints& dims) {
  Ints values(static_cast<size_t>(count_of(dims)));
  const bool large = chance(12);
  for (int64_t& value : values)
    value = large ? one_of<int64_t>({INT64_MAX, INT64_MIN, INT32_MAX, 300, 255, -129}) : between(-3, 6);
  if (dtype == DType::kBool) {
    for (int64_t& value : values) value &= 1;
  }
  if (!is_float(dtype)) return constant(tensor_of_ints(dtype, dims, values));
  if (dtype != DType::kF32) dtype = DType::kF64;
  std::vector<float> floats(values.begin(), values.end());
  std::vector<double> doubles(values.begin(), values.end());
  return constant(dtype == DType::kF32 ? tensor_of(dtype, dims, floats) : tensor_of(dtype, dims, doubles));
}

std::string RandomIntegerNodes::data() {
  return chance(15) ? random_constant(one_of<DType>({DType::kI64, DType::kI32}), small_dims())
                    : pool_[index(pool_.size())].name;
}

std::string RandomIntegerNodes::data_of(DType dtype, const Ints& like) {
  std::vector<std::string> fitting;
  for (const Value& value : pool_) {
    if (value.tensor.dtype == dtype) fitting.push_back(value.name);
  }
  if (!fitting.empty() && chance(2)) return one_of(fitting);
  Ints dims = chance(2) ? like : small_dims(2);
  for (int64_t& dim : dims) {
    if (chance(4) || dim > 8) dim = 1;
  }
  return random_constant(dtype, dims);
}

std::string RandomIntegerNodes::decider(const Ints& values, DType dtype) {
  if (chance(20)) return data_of(dtype, {static_cast<int64_t>(values.size())});
  return constant(tensor_of_ints(dtype, {static_cast<int64_t>(values.size())}, values));
}

int64_t RandomIntegerNodes::axis(size_t rank) {
  const auto most = static_cast<int64_t>(rank);
  return most == 0 || chance(15) ? between(-most - 1, most) : between(-most, most - 1);
}

void RandomIntegerNodes::give_axes(onnx::NodeProto* node, const Ints& axes) {
  if (takes("axes")) {
    set_ints(node, "axes", axes);
  } else {
    node->add_input(decider(axes));
  }
}

std::string RandomIntegerNodes::make(onnx::NodeProto* node, DType dtype) {
  const std::string name = fmt::format("v{}", types_.size());
  types_.emplace(name, dtype);
  node->add_output(name);
  return name;
}

const std::vector<std::pair<std::string, RandomIntegerNodes::Draw>>& RandomIntegerNodes::operators() {
  static const std::vector<std::pair<std::string, Draw>> rows = {
      {"Add", &RandomIntegerNodes::binary},
      {"Sub", &RandomIntegerNodes::binary},
      {"Mul", &RandomIntegerNodes::binary},
      {"Div", &RandomIntegerNodes::binary},
      {"Mod", &RandomIntegerNodes::binary},
      {"Min", &RandomIntegerNodes::variadic},
      {"Max", &RandomIntegerNodes::variadic},
      {"Neg", &RandomIntegerNodes::unary},
      {"Abs", &RandomIntegerNodes::unary},
      {"Identity", &RandomIntegerNodes::unary},
      {"Not", &RandomIntegerNodes::logic},
      {"Equal", &RandomIntegerNodes::comparison},
      {"Less", &RandomIntegerNodes::comparison},
      {"Greater", &RandomIntegerNodes::comparison},
      {"LessOrEqual", &RandomIntegerNodes::comparison},
      {"GreaterOrEqual", &RandomIntegerNodes::comparison},
      {"And", &RandomIntegerNodes::logic},
      {"Or", &RandomIntegerNodes::logic},
      {"Where", &RandomIntegerNodes::where},
      {"Cast", &RandomIntegerNodes::cast},
      {"Cast", &RandomIntegerNodes::cast},
      {"Gather", &RandomIntegerNodes::gather},
      {"Gather", &RandomIntegerNodes::gather},
      {"Slice", &RandomIntegerNodes::slice},
      {"Slice", &RandomIntegerNodes::slice},
      {"Concat", &RandomIntegerNodes::concat},
      {"Squeeze", &RandomIntegerNodes::squeeze},
      {"Unsqueeze", &RandomIntegerNodes::unsqueeze},
      {"Reshape", &RandomIntegerNodes::reshape},
      {"ConstantOfShape", &RandomIntegerNodes::constant_of_shape},
      {"Expand", &RandomIntegerNodes::expand},
      {"Range", &RandomIntegerNodes::range},
      {"ReduceProd", &RandomIntegerNodes::reduce},
      {"ReduceSum", &RandomIntegerNodes::reduce},
      {"ReduceMax", &RandomIntegerNodes::reduce},
      {"ReduceMin", &RandomIntegerNodes::reduce},
      {"Split", &RandomIntegerNodes::split},
      {"Split", &RandomIntegerNodes::split},
      {"Shape", &RandomIntegerNodes::shape},
      {"Size", &RandomIntegerNodes::shape},
  };
  return rows;
}

std::optional<onnx::NodeProto> RandomIntegerNodes::draw() {
  const auto& [op, draw] = operators()[index(operators().size())];
  schema_ = onnx::OpSchemaRegistry::Schema(op, opset_, "");
  if (schema_ == nullptr) return std::nullopt;
  onnx::NodeProto node;
  node.set_op_type(op);
  if (!(this->*draw)(&node)) return std::nullopt;
  return node;
}

bool RandomIntegerNodes::unary(onnx::NodeProto* node) {
  const std::string x = data();
  node->add_input(x);
  make(node, tensor(x).dtype);
  return true;
}

bool RandomIntegerNodes::logic(onnx::NodeProto* node) {
  const std::string x = data_of(DType::kBool, {4});
  node->add_input(x);
  if (node->op_type() != "Not") node->add_input(data_of(DType::kBool, tensor(x).dims));
  make(node, DType::kBool);
  return true;
}

void RandomIntegerNodes::draw_pair(onnx::NodeProto* node, DType* dtype) {
  const std::string a = data(), b = data_of(tensor(a).dtype, tensor(a).dims);
  const bool swapped = chance(3);
  node->add_input(swapped ? b : a);
  node->add_input(swapped ? a : b);
  *dtype = tensor(a).dtype;
  if (takes("broadcast") && chance(2)) {
    set_int(node, "broadcast", between(0, 1));
    if (chance(2)) set_int(node, "axis", axis(tensor(node->input(0)).dims.size()));
  } else if (takes("broadcast") && chance(2)) {
    put_at_axis(node);
  }
  if (takes("fmod") && chance(2)) set_int(node, "fmod", between(0, 1));
}

void RandomIntegerNodes::put_at_axis(onnx::NodeProto* node) {
  const std::string b = node->input(1);
  Ints dims = tensor(b).dims;
  for (int64_t& dim : dims) {
    if (dim > 8) dim = 1;
  }
  const int64_t before = between(0, 1);
  if (before != 0) dims.insert(dims.begin(), between(1, 2));
  if (chance(2)) dims.push_back(between(1, 4));
  node->set_input(0, random_constant(tensor(b).dtype, dims));
  set_int(node, "broadcast", 1);
  set_int(node, "axis", before);
}

bool RandomIntegerNodes::binary(onnx::NodeProto* node) {
  DType dtype{};
  draw_pair(node, &dtype);
  make(node, dtype);
  return true;
}

bool RandomIntegerNodes::comparison(onnx::NodeProto* node) {
  DType dtype{};
  draw_pair(node, &dtype);
  make(node, DType::kBool);
  return true;
}

bool RandomIntegerNodes::variadic(onnx::NodeProto* node) {
  const std::string first = data();
  node->add_input(first);
  for (int64_t more = between(0, 2); more > 0; --more) {
    node->add_input(data_of(tensor(first).dtype, tensor(first).dims));
  }
  make(node, tensor(first).dtype);
  return true;
}

bool RandomIntegerNodes::where(onnx::NodeProto* node) {
  const std::string a = data();
  node->add_input(data_of(DType::kBool, tensor(a).dims));
  const std::string b = data_of(tensor(a).dtype, tensor(a).dims);
  const bool swapped = chance(2);
  node->add_input(swapped ? b : a);
  node->add_input(swapped ? a : b);
  make(node, tensor(a).dtype);
  return true;
}

bool RandomIntegerNodes::cast(onnx::NodeProto* node) {
  const std::string x = data();
  const auto to =
      one_of<DType>({DType::kI64, DType::kI64, DType::kI32, DType::kI32, DType::kI16, DType::kI8, DType::kU8,
                     DType::kU16, DType::kU32, DType::kU64, DType::kBool, DType::kBool, DType::kF32, DType::kF64});
  node->add_input(x);
  set_type(node, to);
  make(node, to);
  return true;
}

bool RandomIntegerNodes::gather(onnx::NodeProto* node) {
  const std::string x = data();
  const Ints dims = tensor(x).dims;
  const int64_t at = axis(dims.size());
  const int64_t length = dims.empty() ? 1 : dims[static_cast<size_t>(std::max<int64_t>(at, 0)) % dims.size()];
  const Ints shape = small_dims(2);
  Ints indices(static_cast<size_t>(count_of(shape)));
  for (int64_t& value : indices) value = length == 0 || chance(40) ? between(-5, 5) : between(-length, length - 1);
  node->add_input(x);
  const DType type = chance(3) ? DType::kI32 : DType::kI64;
  node->add_input(chance(20) ? data_of(type, shape) : constant(tensor_of_ints(type, shape, indices)));
  if (at != 0 || chance(2)) set_int(node, "axis", at);
  make(node, tensor(x).dtype);
  return true;
}

bool RandomIntegerNodes::slice(onnx::NodeProto* node) {
  const std::string x = data();
  const auto rank = static_cast<int64_t>(tensor(x).dims.size());
  const auto cuts = static_cast<size_t>(chance(4) ? between(0, rank) : std::min<int64_t>(rank, 1));
  Ints starts(cuts), ends(cuts), axes(cuts), steps(cuts);
  const auto place = [&] {
    return chance(6) ? one_of<int64_t>({INT64_MAX, INT64_MIN, INT32_MAX, -100}) : between(-6, 6);
  };
  const bool ordered = chance(2);
  for (size_t i = 0; i < cuts; ++i) {
    starts[i] = place();
    ends[i] = place();
    axes[i] = ordered ? static_cast<int64_t>(i) - (chance(3) ? rank : 0) : axis(static_cast<size_t>(rank));
    steps[i] = chance(20) ? one_of<int64_t>({0, INT64_MAX, INT64_MIN}) : one_of<int64_t>({1, 1, -1, -1, 2, -2, 3});
  }
  node->add_input(x);
  if (takes("starts")) {
    set_ints(node, "starts", starts);
    set_ints(node, "ends", ends);
    if (chance(2)) set_ints(node, "axes", axes);
  } else {
    const DType type = chance(4) ? DType::kI32 : DType::kI64;
    if (type == DType::kI32) {
      for (Ints* list : {&starts, &ends, &steps}) {
        for (int64_t& value : *list) value = std::clamp<int64_t>(value, INT32_MIN, INT32_MAX);
      }
    }
    node->add_input(decider(starts, type));
    node->add_input(decider(ends, type));
    const bool has_axes = chance(2), has_steps = chance(2);
    if (has_axes || has_steps) node->add_input(has_axes ? decider(axes, type) : "");
    if (has_steps) node->add_input(decider(steps, type));
  }
  make(node, tensor(x).dtype);
  return true;
}

bool RandomIntegerNodes::concat(onnx::NodeProto* node) {
  const std::string x = data();
  const DType dtype = tensor(x).dtype;
  const Ints dims = tensor(x).dims;
  node->add_input(x);
  for (int64_t more = between(0, 2); more > 0; --more) {
    Ints like = dims;
    for (int64_t& dim : like) {
      if (dim > 8) return false;
    }
    if (!like.empty()) like[0] = between(0, 3);
    node->add_input(chance(2) ? random_constant(dtype, like) : data_of(dtype, like));
  }
  if (schema_->SinceVersion() >= 4 || chance(2)) set_int(node, "axis", chance(2) ? 0 : axis(dims.size()));
  make(node, dtype);
  return true;
}

bool RandomIntegerNodes::squeeze(onnx::NodeProto* node) {
  const std::string x = data();
  const Ints dims = tensor(x).dims;
  node->add_input(x);
  // Without axes, those of length 1 at import are taken away: which they are must not hang on the input's dims.
  const Value* value = find(x);
  if (!chance(3) || (value != nullptr && !value->has_fixed_dims)) {
    Ints axes;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] != 1 ? chance(20) : chance(2))
        axes.push_back(static_cast<int64_t>(i) - (chance(2) ? static_cast<int64_t>(dims.size()) : 0));
    }
    if (!axes.empty() && chance(20)) axes.push_back(axes[0]);
    if (chance(30)) axes.push_back(axis(dims.size()));
    give_axes(node, axes);
  } else if (takes_input(1) && chance(2)) {
    node->add_input("");
  }
  make(node, tensor(x).dtype);
  return true;
}

bool RandomIntegerNodes::unsqueeze(onnx::NodeProto* node) {
  const std::string x = data();
  const auto added = between(chance(5) ? 0 : 1, 2);
  const auto rank = static_cast<int64_t>(tensor(x).dims.size()) + added;
  if (rank > 4) return false;
  Ints axes;
  while (static_cast<int64_t>(axes.size()) < added) {
    const int64_t drawn = axis(static_cast<size_t>(rank));
    const bool twice = std::any_of(axes.begin(), axes.end(), [&](int64_t a) { return (a - drawn) % rank == 0; });
    if (!twice || chance(10)) axes.push_back(drawn);
  }
  node->add_input(x);
  give_axes(node, axes);
  make(node, tensor(x).dtype);
  return true;
}

bool RandomIntegerNodes::reshape(onnx::NodeProto* node) {
  const std::string x = data();
  const int64_t count = count_of(tensor(x).dims);
  const Ints shape = one_of<Ints>({{-1},
                                   {-1},
                                   {count},
                                   {count},
                                   {},
                                   {0},
                                   {0, -1},
                                   {1, -1},
                                   {-1, 1},
                                   {count, 1},
                                   {2, -1},
                                   {0, 0},
                                   {0, 1},
                                   {-1, 0},
                                   {2}});
  node->add_input(x);
  if (takes("shape")) {
    set_ints(node, "shape", shape);
  } else {
    node->add_input(shape.size() == 1 && chance(20) ? constant(tensor_of_ints(DType::kI64, {}, shape))
                                                    : decider(shape));
  }
  if (takes("allowzero") && chance(2)) set_int(node, "allowzero", between(0, 1));
  make(node, tensor(x).dtype);
  return true;
}

bool RandomIntegerNodes::is_small(const ir::Tensor& dims) {
  if (is_float(dims.dtype)) return true;
  __int128 count = 1;
  for (const int64_t dim : integers_of(dims)) {
    if (dim < 0) return true;
    count *= dim;
    if (count > kMostElements) return false;
  }
  return true;
}

bool RandomIntegerNodes::constant_of_shape(onnx::NodeProto* node) {
  const std::string shape = chance(2) ? constant(tensor_of_ints(DType::kI64, {2}, {between(0, 3), 1})) : data();
  if (!is_small(tensor(shape))) return false;
  node->add_input(shape);
  DType dtype = DType::kF32;
  if (!chance(5)) {
    dtype = one_of<DType>({DType::kI64, DType::kI64, DType::kI32, DType::kBool, DType::kU8, DType::kF32});
    const ir::Tensor value =
        dtype == DType::kF32 ? floats({1}, {2}) : tensor_of_ints(dtype, {1}, {dtype == DType::kI64 ? -3 : 1});
    onnx::AttributeProto& attribute = *node->add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    *attribute.mutable_t() = proto_of(value);
  }
  make(node, dtype);
  return true;
}

bool RandomIntegerNodes::expand(onnx::NodeProto* node) {
  const std::string x = data();
  Ints shape = chance(2) ? tensor(x).dims : small_dims();
  if (chance(2)) shape.insert(shape.begin(), between(0, 2));
  const std::string to = chance(4) ? data_of(DType::kI64, {1}) : decider(shape);
  const ir::Tensor& dims = tensor(to);
  if (!is_small(dims) || (count_of(dims.dims) > 0 && count_of(tensor(x).dims) > 64)) return false;
  node->add_input(x);
  node->add_input(to);
  make(node, tensor(x).dtype);
  return true;
}

bool RandomIntegerNodes::range(onnx::NodeProto* node) {
  std::vector<std::string> scalars;
  for (const Value& value : pool_) {
    const DType dtype = value.tensor.dtype;
    if (count_of(value.tensor.dims) == 1 && (dtype == DType::kI64 || dtype == DType::kI32))
      scalars.push_back(value.name);
  }
  const std::string given = scalars.empty() ? random_constant(DType::kI64, {}) : one_of(scalars);
  const DType dtype = tensor(given).dtype;
  const int64_t number = integer_at(tensor(given), 0);
  if (number > (int64_t{1} << 30) || number < -(int64_t{1} << 30)) return false;
  const auto scalar = [&](int64_t value) {
    return constant(tensor_of_ints(dtype, chance(4) ? Ints{1} : Ints{}, {value}));
  };
  const auto other = [&] {
    const std::string drawn = scalars.empty() ? given : one_of(scalars);
    const bool near = tensor(drawn).dtype == dtype && std::abs(integer_at(tensor(drawn), 0) / 2 - number / 2) < 50;
    return near && chance(2) ? drawn : scalar(number + between(-8, 8));
  };
  const bool first = chance(2);
  node->add_input(first ? given : other());
  node->add_input(first ? other() : given);
  node->add_input(scalar(chance(20) ? 0 : one_of<int64_t>({1, 1, 2, 3, -1, -2})));
  make(node, dtype);
  return true;
}

bool RandomIntegerNodes::reduce(onnx::NodeProto* node) {
  const std::string x = data();
  const size_t rank = tensor(x).dims.size();
  node->add_input(x);
  if (!chance(3)) {
    Ints axes;
    for (size_t i = 0; i < rank; ++i) {
      if (chance(2)) axes.push_back(static_cast<int64_t>(i) - (chance(2) ? static_cast<int64_t>(rank) : 0));
    }
    if (!axes.empty() && chance(20)) axes.push_back(axes[0]);
    if (chance(30)) axes.push_back(axis(rank));
    give_axes(node, axes);
  } else if (takes_input(1) && chance(2)) {
    node->add_input("");
  }
  if (chance(2)) set_int(node, "keepdims", between(0, 1));
  if (takes("noop_with_empty_axes") && chance(2)) set_int(node, "noop_with_empty_axes", between(0, 1));
  make(node, tensor(x).dtype);
  return true;
}

bool RandomIntegerNodes::split(onnx::NodeProto* node) {
  const std::string x = data();
  const Ints dims = tensor(x).dims;
  const int64_t along = chance(2) ? 0 : axis(dims.size());
  const int64_t length =
      dims.empty()
          ? 0
          : dims[static_cast<size_t>(along < 0 ? along + static_cast<int64_t>(dims.size()) : along) % dims.size()];
  const int64_t pieces = between(1, 4);
  node->add_input(x);
  if (along != 0 || chance(2)) set_int(node, "axis", along);
  if (chance(2)) {
    Ints sizes;
    int64_t left = length;
    for (int64_t i = 1; i < pieces; ++i) left -= sizes.emplace_back(between(0, left));
    sizes.push_back(chance(15) ? between(-1, 3) : left);
    if (chance(30)) sizes.pop_back();
    if (takes("split")) {
      set_ints(node, "split", sizes);
    } else {
      node->add_input(decider(sizes));
    }
  } else {
    if (takes("split") && chance(8)) set_ints(node, "split", {});
    if (takes("num_outputs")) set_int(node, "num_outputs", chance(15) ? between(1, 4) : pieces);
  }
  for (int64_t i = 0; i < pieces; ++i) make(node, tensor(x).dtype);
  return true;
}

bool RandomIntegerNodes::shape(onnx::NodeProto* node) {
  node->add_input(data());
  if (takes("start") && chance(2)) set_int(node, "start", between(-4, 4));
  if (takes("end") && chance(2)) set_int(node, "end", between(-4, 4));
  make(node, DType::kI64);
  return true;
}

}  // namespace planwright::builder
