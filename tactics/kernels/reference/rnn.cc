// RNN, GRU and LSTM, as the ONNX operators define them but for the input's part of the gates, which comes computed.
// Each sequence of each direction is one task; states stay in double from step to step.
#include <math.h>

#include "tactics/kernels/reference/dot.h"
#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/reference/walk.h"

namespace planwright::reference {
namespace {

enum Input { kGates = 0, kR, kBias, kLengths, kInitialH, kInitialC, kPeephole };
enum Output { kY = 0, kLastH, kLastC };

int gates_of(RnnKind kind) { return kind == RnnKind::kLstm ? 4 : kind == RnnKind::kGru ? 3 : 1; }

const TensorView* input(const KernelArgs& args, int index) {
  return index < args.core_inputs && !args.inputs[index].absent ? &args.inputs[index] : nullptr;
}
const TensorView* output(const KernelArgs& args, int index) {
  return index < args.output_count && !args.outputs[index].absent ? &args.outputs[index] : nullptr;
}

double activate(RnnActivation function, double x, double alpha, double beta) {
  switch (function) {
    case RnnActivation::kTanh: return tanh(x);
    case RnnActivation::kSigmoid: return 1 / (1 + exp(-x));
    case RnnActivation::kRelu: return x > 0 ? x : 0;
    case RnnActivation::kAffine: return alpha * x + beta;
    case RnnActivation::kLeakyRelu: return x >= 0 ? x : alpha * x;
    case RnnActivation::kThresholdedRelu: return x >= alpha ? x : 0;
    case RnnActivation::kScaledTanh: return alpha * tanh(beta * x);
    case RnnActivation::kHardSigmoid: return fmin(fmax(alpha * x + beta, 0), 1);
    case RnnActivation::kElu: return x >= 0 ? x : alpha * expm1(x);
    case RnnActivation::kSoftsign: return x / (1 + fabs(x));
    case RnnActivation::kSoftplus: return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
  }
  return 0;
}

// One sequence in one direction.
class Sequence {
 public:
  // `memory` is one worker's scratch.
  Sequence(const KernelArgs& args, int64_t direction, int64_t batch, double* memory)
      : args_(args),
        params_(args.params_as<RnnParams>()),
        hidden_(params_.hidden),
        direction_(direction),
        batch_(batch),
        h_(memory),
        c_(memory + hidden_),
        gated_h_(memory + 2 * hidden_),
        gates_(memory + 3 * hidden_) {}

  void run() {
    const bool backwards = params_.directions == 2 ? direction_ == 1 : params_.reverse != 0;
    const int64_t times = args_.inputs[kGates].dims[params_.batch_first != 0 ? 1 : 0];
    const TensorView* lengths = input(args_, kLengths);
    const int64_t length = lengths != nullptr ? load<int64_t>(*lengths, batch_ * lengths->strides[0]) : times;
    load_state(kInitialH, h_);
    load_state(kInitialC, c_);
    for (int64_t step = 0; step < length; ++step) {
      const int64_t time = backwards ? length - 1 - step : step;
      switch (params_.kind) {
        case RnnKind::kRnn: step_rnn(time); break;
        case RnnKind::kGru: step_gru(time); break;
        case RnnKind::kLstm: step_lstm(time); break;
      }
      store_step(time, h_);
    }
    for (int64_t time = length; time < times; ++time) store_step(time, nullptr);
    store_state(kLastH, h_);
    store_state(kLastC, c_);
  }

 private:
  double activation(int which, double x) const {
    if (params_.clip > 0) x = fmin(fmax(x, -double(params_.clip)), double(params_.clip));
    const int64_t i = direction_ * 3 + which;
    return activate(params_.activations[i], x, params_.alpha[i], params_.beta[i]);
  }

  // [direction, batch, unit], or [batch, direction, unit] where the batch comes first.
  int64_t state_offset(const TensorView& state) const {
    const bool first = params_.batch_first != 0;
    return direction_ * state.strides[first ? 1 : 0] + batch_ * state.strides[first ? 0 : 1];
  }
  void load_state(int which, double* to) const {
    const TensorView* from = input(args_, which);
    for (int64_t i = 0; i < hidden_; ++i) {
      to[i] = from != nullptr ? load<double>(*from, state_offset(*from) + i * from->strides[2]) : 0.0;
    }
  }
  void store_state(int which, const double* from) const {
    const TensorView* to = output(args_, which);
    if (to == nullptr) return;
    for (int64_t i = 0; i < hidden_; ++i) store(*to, state_offset(*to) + i * to->strides[2], from[i]);
  }
  // Y at one time; zeros past the sequence's end.
  void store_step(int64_t time, const double* from) const {
    const TensorView* y = output(args_, kY);
    if (y == nullptr) return;
    const int64_t offset = params_.batch_first != 0
                               ? batch_ * y->strides[0] + time * y->strides[1] + direction_ * y->strides[2]
                               : time * y->strides[0] + direction_ * y->strides[1] + batch_ * y->strides[2];
    for (int64_t i = 0; i < hidden_; ++i) store(*y, offset + i * y->strides[3], from != nullptr ? from[i] : 0.0);
  }

  // What the input gives row `row` of the gates, and what the state does: h R^T.
  double from_input(int64_t time, int64_t row) const {
    const TensorView& gates = args_.inputs[kGates];
    const bool first = params_.batch_first != 0;
    const int64_t at = time * gates.strides[first ? 1 : 0] + batch_ * gates.strides[first ? 0 : 1];
    const int64_t column = direction_ * gates_of(params_.kind) * hidden_ + row;
    return load<double>(gates, at + column * gates.strides[2]);
  }
  double from_state(const double* state, int64_t row) const {
    TensorView view;
    view.dtype = DType::kF64;
    view.data = const_cast<double*>(state);
    const TensorView& r = args_.inputs[kR];
    const Run weights = {r, direction_ * r.strides[0] + row * r.strides[1], r.strides[2]};
    return dot(Run{view, 0, 1}, weights, hidden_, 0.0);
  }
  double bias(int64_t unit) const {
    const TensorView* b = input(args_, kBias);
    return b != nullptr ? load<double>(*b, direction_ * b->strides[0] + unit * b->strides[1]) : 0.0;
  }
  double peephole(int64_t column) const {
    const TensorView* p = input(args_, kPeephole);
    return p != nullptr ? load<double>(*p, direction_ * p->strides[0] + column * p->strides[1]) : 0.0;
  }
  double gate(int64_t time, int64_t row) const { return from_input(time, row) + from_state(h_, row); }

  void step_rnn(int64_t time) {
    for (int64_t i = 0; i < hidden_; ++i) gates_[i] = activation(0, gate(time, i));
    for (int64_t i = 0; i < hidden_; ++i) h_[i] = gates_[i];
  }

  // Gates in ONNX's order: z, r, h.
  void step_gru(int64_t time) {
    double *z = gates_, *r = gates_ + hidden_, *candidate = gates_ + 2 * hidden_;
    for (int64_t i = 0; i < hidden_; ++i) {
      z[i] = activation(0, gate(time, i));
      r[i] = activation(0, gate(time, hidden_ + i));
      gated_h_[i] = r[i] * h_[i];
    }
    for (int64_t i = 0; i < hidden_; ++i) {
      const int64_t row = 2 * hidden_ + i;
      const double of_state =
          params_.linear_before_reset != 0 ? r[i] * (from_state(h_, row) + bias(i)) : from_state(gated_h_, row);
      candidate[i] = activation(1, from_input(time, row) + of_state);
    }
    for (int64_t i = 0; i < hidden_; ++i) h_[i] = (1 - z[i]) * candidate[i] + z[i] * h_[i];
  }

  // Gates in ONNX's order: i, o, f, c; peepholes i, o, f.
  void step_lstm(int64_t time) {
    for (int64_t row = 0; row < 4 * hidden_; ++row) gates_[row] = gate(time, row);
    for (int64_t i = 0; i < hidden_; ++i) {
      const double in = activation(0, gates_[i] + peephole(i) * c_[i]);
      const double forget = params_.input_forget != 0
                                ? 1 - in
                                : activation(0, gates_[2 * hidden_ + i] + peephole(2 * hidden_ + i) * c_[i]);
      c_[i] = forget * c_[i] + in * activation(1, gates_[3 * hidden_ + i]);
      const double out = activation(0, gates_[hidden_ + i] + peephole(hidden_ + i) * c_[i]);
      h_[i] = out * activation(2, c_[i]);
    }
  }

  const KernelArgs& args_;
  const RnnParams& params_;
  const int64_t hidden_, direction_, batch_;
  double *h_, *c_, *gated_h_, *gates_;
};

bool has_dims(const TensorView& view, int rank, const int64_t* dims) {
  if (view.rank != rank) return false;
  for (int i = 0; i < rank; ++i) {
    if (view.dims[i] != dims[i]) return false;
  }
  return true;
}

Status validate_params(const RnnParams& params) {
  PW_REQUIRE(params.kind >= RnnKind::kRnn && params.kind <= RnnKind::kLstm, "Rnn: unknown kind %d",
             static_cast<int>(params.kind));
  PW_REQUIRE(params.directions == 1 || params.directions == 2, "Rnn: %d directions", params.directions);
  PW_REQUIRE(params.hidden >= 1, "Rnn: hidden size %d", params.hidden);
  for (const RnnActivation activation : params.activations) {
    PW_REQUIRE(activation >= RnnActivation::kTanh && activation <= RnnActivation::kSoftplus,
               "Rnn: unknown activation %d", static_cast<int>(activation));
  }
  return kOkStatus;
}

}  // namespace

Status validate_rnn(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<RnnParams>();
  PW_RETURN_IF_ERROR(validate_params(params));
  const TensorView& gates = args.inputs[kGates];
  PW_REQUIRE(gates.rank == 3, "Rnn: the gates have rank %d, not 3", gates.rank);
  const bool first = params.batch_first != 0;
  const int64_t directions = params.directions, hidden = params.hidden, rows = gates_of(params.kind) * hidden;
  const int64_t times = gates.dims[first ? 1 : 0], batch = gates.dims[first ? 0 : 1];
  const int64_t state[3] = {first ? batch : directions, first ? directions : batch, hidden};
  PW_REQUIRE(gates.dims[2] == directions * rows, "Rnn: %ld gates, not %ld", gates.dims[2], directions * rows);
  PW_REQUIRE(input(args, kBias) == nullptr || (params.kind == RnnKind::kGru && params.linear_before_reset != 0),
             "Rnn: a bias of the state, but no reset gate that multiplies it");
  const struct {
    int index, rank;
    int64_t dims[3];
  } expected[] = {{kR, 3, {directions, rows, hidden}},
                  {kBias, 2, {directions, hidden}},
                  {kLengths, 1, {batch}},
                  {kInitialH, 3, {state[0], state[1], hidden}},
                  {kInitialC, 3, {state[0], state[1], hidden}},
                  {kPeephole, 2, {directions, 3 * hidden}}};
  for (const auto& e : expected) {
    const TensorView* view = input(args, e.index);
    if (view == nullptr) continue;
    PW_REQUIRE(has_dims(*view, e.rank, e.dims), "Rnn: the dims of input %d do not fit", e.index);
    PW_REQUIRE(e.index == kLengths ? view->dtype == DType::kI32 || view->dtype == DType::kI64 : is_float(view->dtype),
               "Rnn: input %d cannot be %s", e.index, name_of(view->dtype));
  }
  PW_REQUIRE(is_float(gates.dtype), "Rnn: the gates are %s, not floats", name_of(gates.dtype));
  const int64_t y[4] = {first ? batch : times, first ? times : directions, first ? directions : batch, hidden};
  for (int i = 0; i < args.output_count; ++i) {
    if (args.outputs[i].absent) continue;
    PW_REQUIRE(is_float(args.outputs[i].dtype), "Rnn: output %d is %s, not a float", i, name_of(args.outputs[i].dtype));
    PW_RETURN_IF_ERROR(require_dims(args, i, i == kY ? y : state, i == kY ? 4 : 3));
  }
  return kOkStatus;
}

size_t rnn_workspace(const KernelArgs&) { return 0; }
// One sequence's h, c, gated h and gates.
size_t rnn_scratch(const KernelArgs& args) {
  const auto& params = args.params_as<RnnParams>();
  return static_cast<size_t>(3 + gates_of(params.kind)) * static_cast<size_t>(params.hidden) * sizeof(double);
}

Status run_rnn(const KernelArgs& args) {
  const auto& params = args.params_as<RnnParams>();
  const bool first = params.batch_first != 0;
  const TensorView& gates = args.inputs[kGates];
  const int64_t times = gates.dims[first ? 1 : 0], batch = gates.dims[first ? 0 : 1];
  if (const TensorView* lengths = input(args, kLengths)) {
    for (int64_t i = 0; i < batch; ++i) {
      const int64_t length = load<int64_t>(*lengths, i * lengths->strides[0]);
      if (length < 0 || length > times) {
        return error(StatusCode::kPrecondition, "Rnn: length %ld of sequence %ld is outside 0 to %ld", length, i,
                     times);
      }
    }
  }
  for_each_run(args, params.directions * batch, [&](int64_t begin, int64_t end, int worker) {
    double* memory = reinterpret_cast<double*>(args.scratch + static_cast<size_t>(worker) * args.scratch_stride);
    for (int64_t i = begin; i < end; ++i) Sequence(args, i / batch, i % batch, memory).run();
  });
  return kOkStatus;
}

}  // namespace planwright::reference
