#include "tactics/kernels/fast/rnn.h"

#include "tactics/kernels/fast/vector_math.h"

namespace planwright {
namespace PW_TIER_NAMESPACE {
namespace {

// Any activation, out of the way of the usual ones.
__attribute__((noinline)) FloatVec activate(RnnActivation function, FloatVec x, float alpha, float beta) {
  const FloatVec zero = hn::Zero(kF), one = hn::Set(kF, 1.0f), a = hn::Set(kF, alpha), b = hn::Set(kF, beta);
  switch (function) {
    case RnnActivation::kTanh: return vector_tanh(x);
    case RnnActivation::kSigmoid: return vector_sigmoid(x);
    case RnnActivation::kRelu: return hn::IfThenElseZero(hn::Gt(x, zero), x);
    case RnnActivation::kAffine: return hn::MulAdd(a, x, b);
    case RnnActivation::kLeakyRelu: return hn::IfThenElse(hn::Ge(x, zero), x, hn::Mul(a, x));
    case RnnActivation::kThresholdedRelu: return hn::IfThenElseZero(hn::Ge(x, a), x);
    case RnnActivation::kScaledTanh: return hn::Mul(a, vector_tanh(hn::Mul(b, x)));
    case RnnActivation::kHardSigmoid: return hn::Min(one, hn::Max(zero, hn::MulAdd(a, x, b)));
    case RnnActivation::kElu: return hn::IfThenElse(hn::Ge(x, zero), x, hn::Mul(a, hn::Sub(vector_exp(x), one)));
    case RnnActivation::kSoftsign: return hn::Div(x, hn::Add(one, hn::Abs(x)));
    case RnnActivation::kSoftplus:
      return hn::Add(hn::Max(zero, x), vector_log(hn::Add(one, vector_exp(hn::Neg(hn::Abs(x))))));
  }
  return zero;
}

// One vector of units at a time.
class Lanes {
 public:
  HWY_INLINE Lanes(const fast::RnnUnits& units, int first)
      : u_(units), first_(first), count_(units.units - first < kLanes ? units.units - first : kLanes) {}

  // Of rows that end with the last unit.
  HWY_INLINE FloatVec load(const float* row) const {
    return count_ == kLanes ? hn::LoadU(kF, row + first_) : load_n(row + first_, count_);
  }
  HWY_INLINE FloatVec of_input(int gate) const { return load(u_.gates + gate * u_.gates_pitch); }
  HWY_INLINE FloatVec of_state(int gate) const { return hn::LoadU(kF, u_.sums + gate * u_.sums_pitch + first_); }
  HWY_INLINE FloatVec gate(int index) const { return hn::Add(of_input(index), of_state(index)); }
  HWY_INLINE FloatVec add_peephole(FloatVec x, int index, FloatVec cell) const {
    return u_.peephole == nullptr ? x : hn::MulAdd(load(u_.peephole + index * u_.gates_pitch), cell, x);
  }

  // NaN stays NaN: Min and Max give their second operand then.
  HWY_INLINE FloatVec clip(FloatVec x) const {
    return hn::Min(hn::Set(kF, u_.clip), hn::Max(hn::Set(kF, -u_.clip), x));
  }
  // Activation `which`, most often the one that the function is named for.
  HWY_INLINE FloatVec sigmoid(int which, FloatVec x) const {
    return u_.activations[which] == RnnActivation::kSigmoid ? vector_sigmoid(clip(x)) : any(which, x);
  }
  HWY_INLINE FloatVec tanh(int which, FloatVec x) const {
    return u_.activations[which] == RnnActivation::kTanh ? vector_tanh(clip(x)) : any(which, x);
  }

  // Rows of whole vectors.
  HWY_INLINE FloatVec load_whole(const float* row) const { return hn::LoadU(kF, row + first_); }
  HWY_INLINE void store_whole(FloatVec value, float* row) const { hn::StoreU(value, kF, row + first_); }

  HWY_INLINE void store_state(FloatVec h) const {
    store_whole(h, u_.next);
    if (u_.y == nullptr) return;
    if (count_ == kLanes) {
      hn::StoreU(h, kF, u_.y + first_);
    } else {
      store_n(h, u_.y + first_, count_);
    }
  }

 private:
  HWY_INLINE FloatVec any(int which, FloatVec x) const {
    return activate(u_.activations[which], clip(x), u_.alpha[which], u_.beta[which]);
  }

  const fast::RnnUnits& u_;
  const int first_, count_;
};

template <typename Body>
HWY_INLINE void for_each_vector(const fast::RnnUnits& units, const Body& body) {
  for (int first = 0; first < units.units; first += kLanes) body(Lanes(units, first));
}

void plain(const fast::RnnUnits& units) {
  for_each_vector(units, [&](const Lanes& at) { at.store_state(at.tanh(0, at.gate(0))); });
}

// Gates z, r, h.
HWY_INLINE FloatVec next_state(FloatVec update, FloatVec candidate, FloatVec state) {
  return hn::MulAdd(update, hn::Sub(state, candidate), candidate);
}

void gru(const fast::RnnUnits& units) {
  for_each_vector(units, [&](const Lanes& at) {
    const FloatVec update = at.sigmoid(0, at.gate(0)), reset = at.sigmoid(0, at.gate(1));
    FloatVec of_state = at.of_state(2);
    if (units.bias != nullptr) of_state = hn::Add(of_state, at.load(units.bias));
    const FloatVec candidate = at.tanh(1, hn::MulAdd(reset, of_state, at.of_input(2)));
    at.store_state(next_state(update, candidate, at.load_whole(units.state)));
  });
}

void gru_reset(const fast::RnnUnits& units) {
  for_each_vector(units, [&](const Lanes& at) {
    at.store_whole(at.sigmoid(0, at.gate(0)), units.update);
    at.store_whole(hn::Mul(at.sigmoid(0, at.gate(1)), at.load_whole(units.state)), units.gated);
  });
}

void gru_update(const fast::RnnUnits& units) {
  for_each_vector(units, [&](const Lanes& at) {
    at.store_state(next_state(at.load_whole(units.update), at.tanh(1, at.gate(2)), at.load_whole(units.state)));
  });
}

// Gates i, o, f, c; peepholes i, o, f.
void lstm(const fast::RnnUnits& units) {
  for_each_vector(units, [&](const Lanes& at) {
    FloatVec cell = at.load_whole(units.cell);
    const FloatVec in = at.sigmoid(0, at.add_peephole(at.gate(0), 0, cell));
    const FloatVec forget =
        units.input_forget ? hn::Sub(hn::Set(kF, 1.0f), in) : at.sigmoid(0, at.add_peephole(at.gate(2), 2, cell));
    cell = hn::MulAdd(in, at.tanh(1, at.gate(3)), hn::Mul(forget, cell));
    at.store_whole(cell, units.cell);
    const FloatVec out = at.sigmoid(0, at.add_peephole(at.gate(1), 1, cell));
    at.store_state(hn::Mul(out, at.tanh(2, cell)));
  });
}

constexpr fast::RnnTier kTier = {
    .gemm = &gemm_tier,
    .plain = plain,
    .gru = gru,
    .lstm = lstm,
    .gru_reset = gru_reset,
    .gru_update = gru_update,
};

constexpr KernelDescriptor kKernels[] = {{
    .name = "rnn_f32_" PW_TIER_STRING,
    .revision = 1,
    .op = OpKind::kRnn,
    .isa = PW_TIER_ISA,
    .packed_inputs = 1u << 1,
    .validate = [](const KernelArgs& args) { return fast::validate_rnn(args, kTier); },
    .packed_size = [](const KernelArgs& args) { return fast::rnn_packed_size(args, kTier); },
    .workspace_size = [](const KernelArgs& args) { return fast::rnn_workspace_size(args, kTier); },
    .scratch_size = [](const KernelArgs& args) { return fast::rnn_scratch_size(args, kTier); },
    .pack = [](const KernelArgs& args, std::byte* to) { return fast::pack_rnn(args, kTier, to); },
    .run = [](const KernelArgs& args) { return fast::run_rnn(args, kTier); },
    .tactics = [](const KernelArgs& args, TacticParams* list,
                  int capacity) { return fast::rnn_tactics(args, kTier, list, capacity); },
}};

}  // namespace
}  // namespace PW_TIER_NAMESPACE
}  // namespace planwright

PW_EXPORT_KERNELS(rnn_f32)
