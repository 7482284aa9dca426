// What stands before a model of ai.onnx.ml: scaling, missing values, encodings of categories, vectors of features.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/ops/ml.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

using P = ProgramBuilder;

// One number for all features, or one for each.
ValueId by_feature(NodeContext& node, const char* name, float fallback) {
  std::vector<float> values = node.get_floats(name);
  if (values.empty()) values = {fallback};
  const auto count = static_cast<int64_t>(values.size());
  node.require(node.in_rank(0) >= 1, "its input is a scalar");
  if (count > 1) node.guard_equal(node.in_dims(0).back(), count, fmt::format("one '{}' for each feature", name));
  return floats(node, values, {count});
}

void scaler(NodeContext& node) {
  const ValueId offset = by_feature(node, "offset", 0), scale = by_feature(node, "scale", 1);
  P program;
  const Reg x = program.load_as(node.in_type(0), PwClass::kFloat);
  const Reg moved = program.apply(PwOp::kSub, x, program.load(DType::kF32));
  program.store(program.apply(PwOp::kMul, moved, program.load(DType::kF32)), DType::kF32);
  node.set(0, node.pointwise(program, {node.in(0), offset, scale}, DType::kF32));
}

// Each row divided by its norm; a row whose norm is 0 stays.
void normalizer(NodeContext& node) {
  const std::string name = node.get_string("norm", "MAX");
  const ValueId x = node.cast(node.in(0), DType::kF32);
  const int rank = node.rank(x);
  node.require(rank == 1 || rank == 2, fmt::format("its input has {} axes, not 1 or 2", rank));
  node.require(name == "MAX" || name == "L1" || name == "L2", fmt::format("norm '{}' is unknown", name));
  const ReduceKind kind = name == "MAX" ? ReduceKind::kMax : name == "L1" ? ReduceKind::kL1 : ReduceKind::kL2;
  const ValueId norm = node.reduce(kind, x, 1u << (rank - 1));
  node.set(0, map(node, x, norm, DType::kF32, [](P& p, Reg value, Reg length) {
             const Reg none = p.apply(PwOp::kEqual, length, p.constant(value.type, 0));
             return p.apply(PwOp::kSelect, none, value, p.apply(PwOp::kDiv, value, length));
           }));
}

// Replaces one value (NaN among them) by that of the feature.
void imputer(NodeContext& node) {
  const DType dtype = node.in_type(0);
  node.require(node.in_rank(0) >= 1, "its input is a scalar");
  if (is_float(dtype)) {
    const ValueId imputed = node.cast(by_feature(node, "imputed_value_floats", 0), dtype);
    const auto replaced = static_cast<double>(node.get_float("replaced_value_float", 0));
    node.set(0, map(node, node.in(0), imputed, dtype, [&](P& p, Reg x, Reg value) {
               const Reg is_missing = std::isnan(replaced) ? p.apply(PwOp::kIsNan, x)
                                                           : p.apply(PwOp::kEqual, x, p.constant(x.type, replaced));
               return p.apply(PwOp::kSelect, is_missing, value, x);
             }));
    return;
  }
  const std::vector<int64_t> values = node.get_ints("imputed_value_int64s");
  node.require(!values.empty(), "'imputed_value_int64s' is missing");
  if (values.size() > 1) {
    node.guard_equal(node.in_dims(0).back(), static_cast<int64_t>(values.size()), "one imputed value for each feature");
  }
  const int64_t replaced = node.get_int("replaced_value_int64", 0);
  node.set(0, map(node, node.in(0), node.cast(node.ints(values), dtype), dtype, [&](P& p, Reg x, Reg value) {
             return p.apply(PwOp::kSelect, p.apply(PwOp::kEqual, x, p.constant_int(x.type, replaced)), value, x);
           }));
}

void binarizer(NodeContext& node) {
  const auto threshold = static_cast<double>(node.get_float("threshold", 0));
  const DType dtype = node.in_type(0);
  const PwClass type = dtype == DType::kF32 ? PwClass::kFloat : PwClass::kDouble;
  P program;
  const Reg x = program.load_as(dtype, type);
  program.store(program.apply(PwOp::kLess, program.constant(type, threshold), x), dtype);
  node.set(0, node.pointwise(program, {node.in(0)}, dtype));
}

// Columns by number; a vector is one row.
void array_feature_extractor(NodeContext& node) {
  node.require(node.in_rank(0) >= 1, "its input is a scalar");
  const ValueId x = node.in_rank(0) == 1 ? node.unsqueeze(node.in(0), 0) : node.in(0);
  const ValueId columns = node.reshape(node.in(1), {ir::product(node.in_dims(1))});
  node.set(0, node.gather(x, columns, node.rank(x) - 1));
}

// Rows side by side, each cut or filled up with zeros to the width that the node gives it.
void feature_vectorizer(NodeContext& node) {
  const std::vector<int64_t> widths = node.get_ints("inputdimensions");
  node.require(node.input_count() >= 1 && (widths.empty() || static_cast<int>(widths.size()) == node.input_count()),
               fmt::format("{} widths for {} inputs", widths.size(), node.input_count()));
  std::vector<ValueId> parts;
  for (int i = 0; i < node.input_count(); ++i) {
    const ValueId rows = rows_of(node, i, DType::kF32);
    if (widths.empty()) {
      parts.push_back(rows);
      continue;
    }
    const int64_t own = constant_columns(node, rows), width = widths[static_cast<size_t>(i)];
    node.require(width >= 0 && width < (int64_t{1} << 31), fmt::format("a width of {}", width));
    parts.push_back(node.slice(rows, 1, 0, std::min(own, width)));
    if (width > own) parts.push_back(node.fill(DType::kF32, {node.dims(rows)[0], width - own}, 0));
  }
  node.set(0, node.concat(std::move(parts), 1));
}

// ---- Categories

// Keys or values of a LabelEncoder: lists of one type, or a tensor.
std::optional<ValueId> read_labels(NodeContext& node, const std::string& name) {
  if (!node.get_strings(name + "_strings").empty()) {
    node.unsupported(fmt::format("'{}' are strings; encode them as integers before the model", name));
  }
  if (const std::vector<int64_t> ints = node.get_ints(name + "_int64s"); !ints.empty()) return node.ints(ints);
  if (const std::vector<float> list = node.get_floats(name + "_floats"); !list.empty()) {
    return floats(node, list, {static_cast<int64_t>(list.size())});
  }
  const onnx::AttributeProto* found = node.attribute(name + "_tensor");
  if (found == nullptr || !found->has_t() || found->t().data_type() == 0) return std::nullopt;
  ir::Tensor tensor = read_tensor(found->t(), node.title());
  const auto count = static_cast<int64_t>(tensor.data.size() / size_of(tensor.dtype));
  return node.constant(tensor.dtype, {count}, std::move(tensor.data));
}

ValueId default_label(NodeContext& node, DType dtype) {
  if (const onnx::AttributeProto* found = node.attribute("default_tensor");
      found != nullptr && found->has_t() && found->t().data_type() != 0) {
    ir::Tensor tensor = read_tensor(found->t(), node.title());
    node.require(tensor.dtype == dtype && tensor.data.size() == size_of(dtype),
                 "its default is not one value of the values' type");
    return node.constant(dtype, {1}, std::move(tensor.data));
  }
  const ValueId one = is_float(dtype) ? node.scalar(dtype, static_cast<double>(node.get_float("default_float", 0)))
                                      : node.cast(node.ints({node.get_int("default_int64", -1)}), dtype);
  return node.reshape(one, {1});
}

// 1 where an element is a key, along a new last axis: int32. Since opset 4 NaN is equal to NaN.
ValueId equals(NodeContext& node, ValueId x, ValueId keys) {
  const ValueId column = node.unsqueeze(x, node.rank(x));
  return map(node, column, keys, DType::kI32, [&](P& p, Reg a, Reg b) {
    const Reg same = p.apply(PwOp::kEqual, a, b);
    if (!is_float(node.dtype(x)) || node.since() < 4) return same;
    return p.apply(PwOp::kOr, same, p.apply(PwOp::kAnd, p.apply(PwOp::kIsNan, a), p.apply(PwOp::kIsNan, b)));
  });
}

// The value whose key an element is, or the default.
void label_encoder(NodeContext& node) {
  if (node.since() < 2) node.unsupported("labels are strings in this opset");
  const std::optional<ValueId> keys = read_labels(node, "keys"), values = read_labels(node, "values");
  node.require(keys && values, "its keys or values are missing");
  const ValueId x = node.in(0);
  const Dim count = node.dims(*keys)[0];
  node.require(node.dims(*values)[0] == count && count.constant() >= 1, "it has not one value for each key");
  node.require(node.dtype(*keys) == node.dtype(x),
               fmt::format("its keys are {}, its input {}", name_of(node.dtype(*keys)), name_of(node.dtype(x))));
  node.require(node.rank(x) < kMaxRank, "its input has too many axes");
  const int axis = node.rank(x);
  const ValueId found = equals(node, x, *keys);
  ArgReduceParams params;
  params.axis = axis;
  const ValueId index = node.squeeze(node.emit_one({OpKind::kArgReduce, params, {found}}), 1u << axis);
  const ValueId any = node.squeeze(node.reduce(ReduceKind::kMax, found, 1u << axis), 1u << axis);
  const ValueId row = map(node, index, any, DType::kI64, [&](P& p, Reg at, Reg is_key) {
    return p.apply(PwOp::kSelect, is_key, at, p.constant_int(at.type, count.constant()));
  });
  const DType dtype = node.dtype(*values);
  node.set(0, node.gather(node.concat({*values, default_label(node, dtype)}, 0), row, 0));
}

// An element that is no category gives zeros, also where the node asks for an error.
void one_hot_encoder(NodeContext& node) {
  if (!node.get_strings("cats_strings").empty())
    node.unsupported(
        "its categories are strings; encode them as integers (scikit-learn: OrdinalEncoder) before the model");
  const std::vector<int64_t> categories = node.get_ints("cats_int64s");
  node.require(!categories.empty(), "it has no categories");
  node.require(node.in_rank(0) < kMaxRank, "its input has too many axes");
  node.set(0, node.cast(equals(node, node.cast(node.in(0), DType::kI64), node.ints(categories)), DType::kF32));
}

void zip_map(NodeContext& node) {
  node.unsupported(fmt::format(
      "it makes a sequence of maps, which engines do not have; make the tensor '{}' that it reads the output "
      "instead (skl2onnx and onnxmltools: convert with zipmap=False)",
      node.input(0).name));
}

constexpr ImporterRow kRows[] = {
    {"ArrayFeatureExtractor", array_feature_extractor, kMlDomain},
    {"Binarizer", binarizer, kMlDomain},
    {"FeatureVectorizer", feature_vectorizer, kMlDomain},
    {"Imputer", imputer, kMlDomain},
    {"LabelEncoder", label_encoder, kMlDomain},
    {"Normalizer", normalizer, kMlDomain},
    {"OneHotEncoder", one_hot_encoder, kMlDomain},
    {"Scaler", scaler, kMlDomain},
    {"ZipMap", zip_map, kMlDomain},
};

}  // namespace

ImporterTable ml_feature_importers() { return kRows; }

}  // namespace planwright::builder::importer
