#include "tactics/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "schemas/types/minifloat.h"
#include "tactics/elements.h"

namespace planwright::tactics {
namespace {

constexpr double kTolerance = 1e-3;
constexpr double kHalfTolerance = 2e-2;
constexpr double kOutlierShare = 0.01;
// A filter of large weights, next to others of small ones, is off by more than the whole output's mean explains.
constexpr double kHalfOutlierShare = 0.002;

double element_of(const TensorView& view, int64_t offset) {
  switch (view.dtype) {
    case DType::kF32: return view.as<float>()[offset];
    case DType::kF64: return view.as<double>()[offset];
    case DType::kF16: return float_of_f16(view.as<uint16_t>()[offset]);
    case DType::kBF16: return float_of_bf16(view.as<uint16_t>()[offset]);
    case DType::kI8: return view.as<int8_t>()[offset];
    case DType::kI16: return view.as<int16_t>()[offset];
    case DType::kI32: return view.as<int32_t>()[offset];
    case DType::kI64: return static_cast<double>(view.as<int64_t>()[offset]);
    case DType::kU8:
    case DType::kBool: return view.as<uint8_t>()[offset];
    case DType::kU16: return view.as<uint16_t>()[offset];
    case DType::kU32: return view.as<uint32_t>()[offset];
    case DType::kU64: return static_cast<double>(view.as<uint64_t>()[offset]);
    default: return static_cast<double>(value_of_byte(view.dtype, view.as<uint8_t>()[offset]));
  }
}

// Whether a tiny difference between two floats can become a large one between two results.
bool is_discontinuous(const StepSpec& spec) {
  if (spec.op == OpKind::kArgReduce || spec.op == OpKind::kTopK) return true;
  if (spec.op == OpKind::kSoftmax || spec.op == OpKind::kPool) return spec.outputs.size() > 1;
  return std::any_of(spec.program.begin(), spec.program.end(), [](const PwInstr& instr) {
    switch (instr.op) {
      case PwOp::kConvert:
      case PwOp::kNarrow:
      case PwOp::kSign:
      case PwOp::kFloor:
      case PwOp::kCeil:
      case PwOp::kRoundEven:
      case PwOp::kModFloor:
      case PwOp::kModTrunc:
      case PwOp::kEqual:
      case PwOp::kLess:
      case PwOp::kLessEqual:
      case PwOp::kReciprocal:
      case PwOp::kDiv:
      case PwOp::kTan:
      case PwOp::kSelect: return true;
      default: return false;
    }
  });
}

double root_mean_square(const std::vector<double>& values) {
  double sum = 0;
  size_t count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value * value;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

bool agree(double actual, double expected, double relative, double absolute) {
  if (actual == expected) return true;
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return false;
  return std::abs(actual - expected) <= relative * std::abs(expected) + absolute;
}

}  // namespace

Results results_of(const std::vector<TensorView>& outputs) {
  Results results;
  for (const TensorView& output : outputs) {
    if (output.absent) continue;
    std::vector<double>& list = results.emplace_back();
    list.reserve(static_cast<size_t>(element_count(output)));
    for_each_element(output, [&](const int64_t*, int64_t offset) { list.push_back(element_of(output, offset)); });
  }
  return results;
}

std::string disagreement(const StepSpec& spec, const Results& actual, const Results& expected, Precision precision) {
  const double allowed_share = is_discontinuous(spec)          ? kOutlierShare
                               : precision == Precision::kBf16 ? kHalfOutlierShare
                                                               : 0;
  size_t output = 0;
  for (const TensorView& view : spec.outputs) {
    if (view.absent) continue;
    const std::vector<double>&got = actual[output], &wanted = expected[output];
    const bool is_half = precision == Precision::kBf16 || view.dtype == DType::kF16 || view.dtype == DType::kBF16;
    const double relative = !is_float(view.dtype) ? 0 : is_half ? kHalfTolerance : kTolerance;
    const double absolute = relative * root_mean_square(wanted);
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (agree(got[i], wanted[i], relative, absolute)) continue;
      if (wrong++ == 0) first = i;
    }
    if (static_cast<double>(wrong) > std::ceil(allowed_share * static_cast<double>(wanted.size()))) {
      return fmt::format("output {}: {} of {} elements differ, first at {}: {}, expected {}", output, wrong,
                         wanted.size(), first, got[first], wanted[first]);
    }
    ++output;
  }
  return "";
}

}  // namespace planwright::tactics
