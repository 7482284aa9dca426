// Softmax, layer, group and local response normalisation: all in double, rounded once.
#include <math.h>

#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/reference/walk.h"

namespace planwright::reference {
namespace {

Status require_float(const KernelArgs& args) {
  PW_REQUIRE(is_float(args.inputs[0].dtype), "%s: the input is %s, not a float", name_of(args.op),
             name_of(args.inputs[0].dtype));
  return require_same(args);
}

// Softmax of `length` elements; log: 1 its logarithm, 2 a one at the first greatest element and zeros.
void softmax_row(const TensorView& x, int64_t x_base, int64_t x_stride, const TensorView& y, int64_t y_base,
                 int64_t y_stride, int64_t length, int log_kind) {
  double most = -INFINITY;
  int64_t where = 0;
  for (int64_t i = 0; i < length; ++i) {
    const double value = load<double>(x, x_base + i * x_stride);
    if (value > most || value != value) {
      most = value;
      where = i;
    }
  }
  double sum = 0;
  for (int64_t i = 0; i < length; ++i) sum += exp(load<double>(x, x_base + i * x_stride) - most);
  for (int64_t i = 0; i < length; ++i) {
    const double above = load<double>(x, x_base + i * x_stride) - most;
    const double result = log_kind == 2   ? (i == where ? 1.0 : 0.0)
                          : log_kind == 1 ? above - log(sum)
                                          : exp(above) / sum;
    store(y, y_base + i * y_stride, result);
  }
}

struct Moments {
  double mean, inverse_deviation;
};

// Of the elements of `box` from offset `base` on.
Moments moments(const TensorView& x, int64_t base, const Box& box, const int64_t* strides, double epsilon, bool rms) {
  const double count = static_cast<double>(box.count());
  double mean = 0, variance = 0;
  const auto for_each = [&](const auto& body) {
    for_each_position_in_order(box,
                               [&](const Position& at) { body(load<double>(x, base + at.offset(strides, box.rank))); });
  };
  if (!rms) for_each([&](double value) { mean += value; });
  mean /= count;
  for_each([&](double value) { variance += (value - mean) * (value - mean); });
  return {mean, 1 / sqrt(variance / count + epsilon)};
}

bool has(const KernelArgs& args, int input) { return args.core_inputs > input && !args.inputs[input].absent; }

}  // namespace

Status validate_softmax(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<SoftmaxParams>();
  PW_REQUIRE(params.log >= 0 && params.log <= 2, "Softmax: unknown kind %d", params.log);
  PW_RETURN_IF_ERROR(require_axis(args, params.axis, args.inputs[0].rank));
  return require_float(args);
}

Status run_softmax(const KernelArgs& args) {
  const auto& params = args.params_as<SoftmaxParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  const int axis = params.axis;
  Box rows(x);
  rows.dims[axis] = x.dims[axis] == 0 ? 0 : 1;
  for_each_position(args, rows, [&](const Position& at, int) {
    softmax_row(x, at.offset(x), x.strides[axis], y, at.offset(y), y.strides[axis], x.dims[axis], params.log);
  });
  return kOkStatus;
}

Status validate_layer_norm(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<LayerNormParams>();
  const TensorView& x = args.inputs[0];
  PW_RETURN_IF_ERROR(require_axis(args, params.axis, x.rank));
  PW_RETURN_IF_ERROR(require_float(args));
  for (int i = 1; i < args.core_inputs; ++i) {
    const TensorView& input = args.inputs[i];
    if (input.absent) continue;
    PW_REQUIRE(input.rank <= x.rank, "LayerNorm: input %d has rank %d, more than the %d of what it scales", i,
               input.rank, x.rank);
    for (int axis = 1; axis <= input.rank; ++axis) {
      const int64_t dim = input.dims[input.rank - axis];
      PW_REQUIRE(dim == 1 || dim == x.dims[x.rank - axis], "LayerNorm: input %d does not broadcast to the input", i);
    }
  }
  int64_t dims[kMaxRank];
  for (int axis = 0; axis < x.rank; ++axis) dims[axis] = axis < params.axis ? x.dims[axis] : 1;
  for (int i = 1; i < args.output_count; ++i) {
    if (args.outputs[i].absent) continue;
    PW_REQUIRE(is_float(args.outputs[i].dtype), "LayerNorm: output %d is %s, not a float", i,
               name_of(args.outputs[i].dtype));
    PW_RETURN_IF_ERROR(require_dims(args, i, dims, x.rank));
  }
  return kOkStatus;
}

Status run_layer_norm(const KernelArgs& args) {
  const auto& params = args.params_as<LayerNormParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  int64_t scale_strides[kMaxRank] = {}, bias_strides[kMaxRank] = {};
  if (has(args, 1)) broadcast_strides(args.inputs[1], x, scale_strides);
  if (has(args, 2)) broadcast_strides(args.inputs[2], x, bias_strides);
  const int axis = params.axis;
  const Box row(x, axis, x.rank);
  for_each_position(args, Box(x, 0, axis), [&](const Position& at, int) {
    const Moments m = moments(x, at.offset(x.strides, axis), row, x.strides + axis, params.epsilon, params.rms != 0);
    for_each_position_in_order(row, [&](const Position& in_row) {
      Position whole = at;
      for (int i = axis; i < x.rank; ++i) whole.at[i] = in_row.at[i - axis];
      double value = (load<double>(x, whole.offset(x)) - m.mean) * m.inverse_deviation;
      if (has(args, 1)) value *= load<double>(args.inputs[1], whole.offset(scale_strides, x.rank));
      if (has(args, 2)) value += load<double>(args.inputs[2], whole.offset(bias_strides, x.rank));
      store(y, whole.offset(y), value);
    });
    // The coordinates from `axis` on are 0 in `at`, as the statistics' dims are 1 there.
    for (int i = 1; i < args.output_count; ++i) {
      const TensorView& statistic = args.outputs[i];
      if (!statistic.absent) store(statistic, at.offset(statistic), i == 1 ? m.mean : m.inverse_deviation);
    }
  });
  return kOkStatus;
}

Status validate_group_norm(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<GroupNormParams>();
  const TensorView& x = args.inputs[0];
  PW_REQUIRE(x.rank >= 2, "GroupNorm: an input of rank %d has no channels", x.rank);
  PW_REQUIRE(params.groups >= 1 && x.dims[1] % params.groups == 0, "GroupNorm: %ld channels in %d groups", x.dims[1],
             params.groups);
  return require_float(args);
}

Status run_group_norm(const KernelArgs& args) {
  const auto& params = args.params_as<GroupNormParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  if (element_count(y) == 0) return kOkStatus;  // no channels may be in any number of groups
  Box group(x, 1, x.rank);
  group.dims[0] = x.dims[1] / params.groups;
  Box groups(x, 0, 2);
  groups.dims[1] = params.groups;
  for_each_position(args, groups, [&](const Position& at, int) {
    const int64_t first = at.at[1] * group.dims[0];
    const int64_t x_base = at.at[0] * x.strides[0] + first * x.strides[1];
    const int64_t y_base = at.at[0] * y.strides[0] + first * y.strides[1];
    const Moments m = moments(x, x_base, group, x.strides + 1, params.epsilon, false);
    for_each_position_in_order(group, [&](const Position& in_group) {
      const double value = load<double>(x, x_base + in_group.offset(x.strides + 1, group.rank));
      store(y, y_base + in_group.offset(y.strides + 1, group.rank), (value - m.mean) * m.inverse_deviation);
    });
  });
  return kOkStatus;
}

Status validate_lrn(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  PW_REQUIRE(args.inputs[0].rank >= 2, "Lrn: an input of rank %d has no channels", args.inputs[0].rank);
  PW_REQUIRE(args.params_as<LrnParams>().size >= 1, "Lrn: size is %d", args.params_as<LrnParams>().size);
  return require_float(args);
}

Status run_lrn(const KernelArgs& args) {
  const auto& params = args.params_as<LrnParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  // Of an even window the extra channel lies after the element.
  const int64_t before = (params.size - 1) / 2, after = params.size / 2;
  for_each_position(args, Box(x), [&](const Position& at, int) {
    const int64_t channel = at.at[1];
    const int64_t first = channel < before ? 0 : channel - before;
    const int64_t last = channel + after < x.dims[1] ? channel + after : x.dims[1] - 1;
    double squares = 0;
    for (int64_t c = first; c <= last; ++c) {
      const double value = load<double>(x, at.offset(x) + (c - channel) * x.strides[1]);
      squares += value * value;
    }
    const double scale = double(params.bias) + double(params.alpha) / params.size * squares;
    store(y, at.offset(y), load<double>(x, at.offset(x)) / pow(scale, double(params.beta)));
  });
  return kOkStatus;
}

}  // namespace planwright::reference
