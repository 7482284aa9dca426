// Convolution and its transpose, gathered per output element.
#include "tactics/kernels/reference/dot.h"
#include "tactics/kernels/reference/evaluate.h"
#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/reference/window.h"

namespace planwright::reference {
namespace {

// The input position that tap `tap` of the kernel meets at output position `at`; false where there is none.
bool input_of_conv(int64_t at, int64_t tap, int64_t stride, int64_t dilation, int64_t pad, int64_t dim,
                   int64_t* position) {
  *position = at * stride + tap * dilation - pad;
  return *position >= 0 && *position < dim;
}
bool input_of_transpose(int64_t at, int64_t tap, int64_t stride, int64_t dilation, int64_t pad, int64_t dim,
                        int64_t* position) {
  const int64_t spread = at + pad - tap * dilation;
  *position = spread / stride;
  return spread >= 0 && spread % stride == 0 && *position < dim;
}

// What differs between the two is how positions map and which of the weight's first two axes is the input channel.
template <typename T, typename Params, typename InputOf>
void convolve(const KernelArgs& args, int64_t outputs_per_group, int weight_input_axis, const InputOf& input_of) {
  const auto& params = args.params_as<Params>();
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  const int64_t inputs_per_group = x.dims[1] / params.group;
  const int64_t x_channel = x.strides[1], w_input = w.strides[weight_input_axis];
  const Box taps(w, 2, w.rank);
  const T zero = args.op == OpKind::kConv ? zero_point<T>(args) : T(0);
  const Program program(args);
  for_each_position(args, Box(y), [&](const Position& at, int) {
    const int64_t group = at.at[1] / outputs_per_group, first = group * inputs_per_group;
    // W[M, C/group, ...] is read at [m, 0 ..], W[C, M/group, ...] at [first .., m within the group].
    const int64_t w_base = weight_input_axis == 1 ? at.at[1] * w.strides[0]
                                                  : first * w.strides[0] + at.at[1] % outputs_per_group * w.strides[1];
    T sum = 0;
    for_each_position_in_order(taps, [&](const Position& tap) {
      int64_t x_offset = at.at[0] * x.strides[0] + first * x_channel, w_offset = w_base;
      for (int i = 0; i < params.spatial; ++i) {
        int64_t position;
        if (!input_of(at.at[2 + i], tap.at[i], params.stride[i], params.dilation[i], args.scalars[i], x.dims[2 + i],
                      &position)) {
          return;
        }
        x_offset += position * x.strides[2 + i];
        w_offset += tap.at[i] * w.strides[2 + i];
      }
      sum = dot(Run{x, x_offset, x_channel}, Run{w, w_offset, w_input}, inputs_per_group, sum, zero);
    });
    program.run(at, sum);
  });
}

template <typename Params>
Status validate_either(const KernelArgs& args, const Params& params) {
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  PW_REQUIRE(params.spatial >= 1 && params.spatial <= kMaxSpatial, "%s: %d spatial axes, not 1 to 3", name_of(args.op),
             params.spatial);
  PW_REQUIRE(x.rank == params.spatial + 2 && w.rank == x.rank && y.rank == x.rank,
             "%s: ranks %d, %d and %d do not fit %d spatial axes", name_of(args.op), x.rank, w.rank, y.rank,
             params.spatial);
  PW_REQUIRE(is_float(x.dtype) == is_float(w.dtype), "%s: cannot multiply %s by %s", name_of(args.op), name_of(x.dtype),
             name_of(w.dtype));
  PW_REQUIRE(params.group >= 1, "%s: group is %d", name_of(args.op), params.group);
  PW_REQUIRE(y.dims[0] == x.dims[0], "%s: the batch is %ld in the input and %ld in the output", name_of(args.op),
             x.dims[0], y.dims[0]);
  for (int i = 0; i < params.spatial; ++i) {
    const Window window = {w.dims[2 + i], params.stride[i], params.dilation[i], args.scalars[i], 0};
    PW_RETURN_IF_ERROR(validate_window(args.op, i, window, x.dims[2 + i], y.dims[2 + i]));
  }
  return kOkStatus;
}

}  // namespace

Status validate_conv(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<ConvParams>();
  PW_RETURN_IF_ERROR(validate_either(args, params));
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  PW_REQUIRE(x.dims[1] % params.group == 0 && w.dims[1] == x.dims[1] / params.group,
             "Conv: %ld input channels in %d groups do not fit weights for %ld", x.dims[1], params.group, w.dims[1]);
  PW_REQUIRE(w.dims[0] % params.group == 0 && y.dims[1] == w.dims[0],
             "Conv: %ld filters in %d groups do not give %ld channels", w.dims[0], params.group, y.dims[1]);
  return validate_zero_point(args);
}

Status run_conv(const KernelArgs& args) {
  const int64_t outputs_per_group = args.inputs[1].dims[0] / args.params_as<ConvParams>().group;
  with_contraction(args.inputs[0],
                   [&](auto zero) { convolve<decltype(zero), ConvParams>(args, outputs_per_group, 1, input_of_conv); });
  return kOkStatus;
}

Status validate_conv_transpose(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<ConvTransposeParams>();
  PW_RETURN_IF_ERROR(validate_either(args, params));
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  PW_REQUIRE(x.dims[1] % params.group == 0 && w.dims[0] == x.dims[1],
             "ConvTranspose: %ld input channels in %d groups do not fit weights for %ld", x.dims[1], params.group,
             w.dims[0]);
  PW_REQUIRE(y.dims[1] % params.group == 0 && y.dims[1] / params.group == w.dims[1],
             "ConvTranspose: %ld filters in each of %d groups do not give %ld channels", w.dims[1], params.group,
             y.dims[1]);
  return kOkStatus;
}

Status run_conv_transpose(const KernelArgs& args) {
  with_contraction(args.inputs[0], [&](auto zero) {
    convolve<decltype(zero), ConvTransposeParams>(args, args.inputs[1].dims[1], 0, input_of_transpose);
  });
  return kOkStatus;
}

}  // namespace planwright::reference
