// Straight code for pointwise programs, for tier files: one pass over the operands, nothing kept in memory between.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_POINTWISE_STRAIGHT_ROWS_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_POINTWISE_STRAIGHT_ROWS_H_

#include "tactics/kernels/fast/pointwise_straight.h"
#include "tactics/kernels/fast/vector.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

// Operands of a run of elements; where `splat` holds, the one element is read for all.
struct StraightRun {
  const float* from[3];
  bool splat[3];
  float* to;
};

template <StraightOp kOp>
HWY_INLINE FloatVec combine(FloatVec a, FloatVec b) {
  if constexpr (kOp == StraightOp::kAdd) return hn::Add(a, b);
  if constexpr (kOp == StraightOp::kSub) return hn::Sub(a, b);
  if constexpr (kOp == StraightOp::kMul) return hn::Mul(a, b);
  return a;
}

template <StraightOp kFirst, StraightOp kSecond>
void run_straight(const StraightProgram& program, const StraightRun& run, int64_t count) {
  constexpr bool kHasB = kFirst != StraightOp::kNone;
  constexpr bool kHasC = kSecond != StraightOp::kNone || kFirst == StraightOp::kMulAdd;
  const FloatVec low = hn::Set(kF, program.low), high = hn::Set(kF, program.high);
  FloatVec held[3];
  for (int i = 0; i < 3; ++i)
    held[i] = run.from[i] != nullptr && run.splat[i] ? hn::Set(kF, *run.from[i]) : hn::Zero(kF);
  const auto compute = [&](const auto& load) {
    const auto operand = [&](int i) { return run.splat[i] ? held[i] : load(run.from[i]); };
    FloatVec value = operand(0);
    if constexpr (kFirst == StraightOp::kMulAdd) {
      value = hn::MulAdd(value, operand(1), operand(2));
    } else {
      if constexpr (kHasB) value = combine<kFirst>(value, operand(1));
      if constexpr (kHasC) value = combine<kSecond>(value, operand(2));
    }
    // The operand order keeps NaN: x86 gives the second where either is.
    return program.clamps ? hn::Min(high, hn::Max(low, value)) : value;
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(compute([&](const float* from) { return hn::LoadU(kF, from + i); }), kF, run.to + i);
  }
  if (i == count) return;
  const int left = static_cast<int>(count - i);
  store_n(compute([&](const float* from) { return load_n(from + i, left); }), run.to + i, left);
}

using StraightFunction = void (*)(const StraightProgram& program, const StraightRun& run, int64_t count);

// Null for a combination that is not frequent enough to have code of its own.
HWY_MAYBE_UNUSED StraightFunction straight_function(const StraightProgram& program) {
  using Op = StraightOp;
  struct Row {
    Op first, second;
    StraightFunction function;
  };
  static constexpr Row kRows[] = {
      {Op::kNone, Op::kNone, run_straight<Op::kNone, Op::kNone>},
      {Op::kAdd, Op::kNone, run_straight<Op::kAdd, Op::kNone>},
      {Op::kSub, Op::kNone, run_straight<Op::kSub, Op::kNone>},
      {Op::kMul, Op::kNone, run_straight<Op::kMul, Op::kNone>},
      {Op::kMul, Op::kAdd, run_straight<Op::kMul, Op::kAdd>},
      {Op::kAdd, Op::kAdd, run_straight<Op::kAdd, Op::kAdd>},
      {Op::kMulAdd, Op::kNone, run_straight<Op::kMulAdd, Op::kNone>},
  };
  for (const Row& row : kRows) {
    if (row.first == program.first && row.second == program.second) return row.function;
  }
  return nullptr;
}

}  // namespace
}  // namespace planwright::PW_TIER_NAMESPACE

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_POINTWISE_STRAIGHT_ROWS_H_
