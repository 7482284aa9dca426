#include "builder/onnx/ops/ml.h"

#include <fmt/format.h>

#include <cstring>
#include <numbers>
#include <numeric>

#include "builder/onnx/ops/common.h"

namespace planwright::builder::importer {
namespace {

using P = ProgramBuilder;

// sqrt(2) * erfinv(2 x - 1), by Winitzki's formula, as other runtimes compute it.
Reg probit_of(P& p, Reg x) {
  constexpr double a = 0.147;
  const auto number = [&](double value) { return p.constant(x.type, value); };
  const Reg y = p.apply(PwOp::kSub, p.apply(PwOp::kMul, x, number(2)), number(1));
  const Reg log = p.apply(PwOp::kLog, p.apply(PwOp::kSub, number(1), p.apply(PwOp::kMul, y, y)));
  const Reg v = p.apply(PwOp::kAdd, number(2 / (std::numbers::pi * a)), p.apply(PwOp::kMul, log, number(0.5)));
  const Reg inner = p.apply(PwOp::kSub, p.apply(PwOp::kMul, v, v), p.apply(PwOp::kMul, log, number(1 / a)));
  const Reg root = p.apply(PwOp::kSqrt, p.apply(PwOp::kSub, p.apply(PwOp::kSqrt, inner), v));
  const Reg sign = p.apply(PwOp::kSign, y);
  return p.apply(PwOp::kMul, p.apply(PwOp::kMul, sign, root), number(std::numbers::sqrt2));
}

// The softmax of the scores that are not 0; those that are stay 0.
ValueId softmax_zero(NodeContext& node, ValueId scores) {
  const DType dtype = node.dtype(scores);
  const ValueId most = node.reduce(ReduceKind::kMax, scores, 2);
  const ValueId powers = map(node, scores, most, dtype, [](P& p, Reg x, Reg high) {
    const Reg zero = p.constant(x.type, 0);
    const Reg is_zero = p.apply(PwOp::kLessEqual, p.apply(PwOp::kAbs, x), p.constant(x.type, 1e-7));
    return p.apply(PwOp::kSelect, is_zero, zero, p.apply(PwOp::kExp, p.apply(PwOp::kSub, x, high)));
  });
  const ValueId sum = node.reduce(ReduceKind::kSum, powers, 2);
  return map(node, powers, sum, dtype, [](P& p, Reg x, Reg total) {
    const Reg none = p.apply(PwOp::kEqual, total, p.constant(x.type, 0));
    return p.apply(PwOp::kSelect, none, x, p.apply(PwOp::kDiv, x, total));
  });
}

}  // namespace

PostTransform post_transform_of(const NodeContext& node) {
  const std::string name = node.get_string("post_transform", "NONE");
  if (name == "NONE") return PostTransform::kNone;
  if (name == "SOFTMAX") return PostTransform::kSoftmax;
  if (name == "LOGISTIC") return PostTransform::kLogistic;
  if (name == "SOFTMAX_ZERO") return PostTransform::kSoftmaxZero;
  if (name == "PROBIT") return PostTransform::kProbit;
  node.invalid(fmt::format("post_transform '{}' is unknown", name));
}

ValueId transformed(NodeContext& node, ValueId scores, PostTransform post) {
  const DType dtype = node.dtype(scores);
  switch (post) {
    case PostTransform::kNone: return scores;
    case PostTransform::kSoftmax: return node.emit_one({OpKind::kSoftmax, SoftmaxParams{1, 0}, {scores}});
    case PostTransform::kLogistic: return node.unary(PwOp::kSigmoid, scores);
    case PostTransform::kSoftmaxZero: return softmax_zero(node, scores);
    case PostTransform::kProbit: return map(node, scores, dtype, probit_of);
  }
  return scores;
}

ValueId with_second_score(NodeContext& node, ValueId score, SecondScore second, PostTransform post) {
  const bool logistic = post == PostTransform::kLogistic;
  if (second == SecondScore::kZero) {
    const ValueId zero = map(node, score, node.dtype(score), [](P& p, Reg x) { return p.constant(x.type, 0); });
    return transformed(node, node.concat({zero, score}, 1), post);
  }
  const ValueId other = map(node, score, node.dtype(score), [&](P& p, Reg x) {
    const Reg from = p.constant(x.type, second == SecondScore::kComplement && !logistic ? 1 : 0);
    return p.apply(PwOp::kSub, from, x);
  });
  const ValueId both = node.concat({other, score}, 1);
  return logistic ? transformed(node, both, post) : both;
}

ValueId rows_of(NodeContext& node, int input, DType to) {
  const int rank = node.in_rank(input);
  node.require(rank == 1 || rank == 2, fmt::format("its input has {} axes, not 1 or 2", rank));
  const ValueId x = node.cast(node.in(input), to);
  return rank == 1 ? node.unsqueeze(x, 0) : x;
}

int64_t constant_columns(const NodeContext& node, ValueId rows) {
  const Dim columns = node.dims(rows).back();
  if (!columns.is_constant()) node.unsupported("its number of features is not constant");
  return columns.constant();
}

ValueId numbers_of(NodeContext& node, DType dtype, const std::vector<double>& values) {
  ir::Bytes data;
  data.reserve(values.size() * size_of(dtype));
  for (const double value : values) {
    const ir::Bytes bytes = element_bytes(dtype, value);
    data.insert(data.end(), bytes.begin(), bytes.end());
  }
  return node.constant(dtype, {static_cast<int64_t>(values.size())}, std::move(data));
}

ValueId floats(NodeContext& node, const std::vector<float>& values, std::vector<int64_t> dims) {
  ir::Bytes data(values.size() * sizeof(float));
  if (!values.empty()) std::memcpy(data.data(), values.data(), data.size());
  return node.constant(DType::kF32, dims, std::move(data));
}

ValueId linear(NodeContext& node, ValueId x, const std::vector<float>& coefficients, int64_t outputs,
               const std::vector<float>& intercepts) {
  const int64_t features = constant_columns(node, x);
  const auto count = static_cast<int64_t>(coefficients.size());  // divided: the others may be any numbers
  node.require(
      outputs >= 1 && outputs < (1 << 24) && features >= 1 && count % features == 0 && count / features == outputs,
      fmt::format("{} coefficients for {} outputs of {} features", coefficients.size(), outputs, features));
  const ValueId product = node.matmul(x, node.swap_last_axes(floats(node, coefficients, {outputs, features})));
  if (intercepts.empty()) return product;
  node.require(static_cast<int64_t>(intercepts.size()) == outputs,
               fmt::format("{} intercepts for {} outputs", intercepts.size(), outputs));
  return node.binary(PwOp::kAdd, product, floats(node, intercepts, {outputs}));
}

std::vector<int64_t> class_labels(const NodeContext& node, const char* attribute) {
  const size_t names = node.get_strings("classlabels_strings").size();
  if (names == 0) return node.get_ints(attribute);
  std::vector<int64_t> places(names);
  std::iota(places.begin(), places.end(), 0);
  return places;
}

void set_labels(NodeContext& node, ValueId index, const std::vector<int64_t>& labels) {
  const bool are_names = !node.get_strings("classlabels_strings").empty();
  node.set(0, are_names ? kText : node.gather(node.ints(labels), index, 0));
}

ValueId arg_max(NodeContext& node, ValueId scores) {
  ArgReduceParams params;
  params.axis = 1;
  return node.squeeze(node.emit_one({OpKind::kArgReduce, params, {scores}}), 2);
}

ValueId is_above(NodeContext& node, ValueId scores, double threshold) {
  const ValueId first = node.squeeze(node.slice(scores, 1, 0, 1), 2);
  return map(node, first, DType::kI64, [&](P& p, Reg x) {
    return p.convert(p.apply(PwOp::kLess, p.constant(x.type, threshold), x), PwClass::kInt);
  });
}

}  // namespace planwright::builder::importer
