// Random cases of what folds or samples along axes.
#include <algorithm>

#include "tests/support/random_families.h"

namespace planwright::testing::cases {

KernelCase pool(CaseMaker& make) {
  const CaseMaker::Windows w = make.windows();
  PoolParams params;
  copy_windows(w, &params);
  std::copy_n(w.kernel, 3, params.kernel);
  params.kind = static_cast<PoolKind>(make.between(0, 2));
  params.count_include_pad = make.flag();
  params.column_major_indices = make.flag();
  const DType type = params.kind == PoolKind::kMax ? make.any_type() : make.float_type();
  const int64_t batch = make.dim(), channels = make.dim();
  const Dims y = joined({batch, channels}, w.output);
  std::vector<TestTensor> outputs = {make.output(type, y)};
  if (params.kind == PoolKind::kMax && make.chance(2)) outputs.push_back(make.output(DType::kI64, y));
  std::vector<int64_t> pads = w.begin;
  pads.insert(pads.end(), w.end.begin(), w.end.end());
  return KernelCase::of(OpKind::kPool, {make.tensor(type, joined({batch, channels}, w.input))}, outputs)
      .with(params)
      .with_scalars(pads);
}

KernelCase resize(CaseMaker& make) {
  const DType type = make.any_type();
  Dims x = make.dims(1, 3), y = x;
  ResizeParams params;
  for (size_t i = 0; i < x.size(); ++i) {
    y[i] = x[i] == 0 ? 0 : make.dim();
    if (make.chance(2)) params.scale[i] = static_cast<double>(make.between(5, 30)) / 10;
    params.roi_start[i] = static_cast<double>(make.between(-5, 5)) / 10;
    params.roi_end[i] = static_cast<double>(make.between(5, 15)) / 10;
  }
  params.mode = static_cast<ResizeMode>(make.between(0, 2));
  params.coordinates = static_cast<ResizeCoordinates>(make.between(0, 6));
  params.rounding = static_cast<ResizeRounding>(make.between(0, 3));
  params.exclude_outside = make.flag();
  params.antialias = make.flag();
  return KernelCase::of(OpKind::kResize, {make.tensor(type, x)}, {make.output(type, y)}).with(params);
}

KernelCase reduce(CaseMaker& make) {
  ReduceParams params;
  params.kind = static_cast<ReduceKind>(make.between(0, 9));
  const Dims x = make.dims(0, 4);
  params.axes = static_cast<uint32_t>(make.between(0, (1 << x.size()) - 1));
  Dims y = x;
  for (size_t i = 0; i < y.size(); ++i) {
    if ((params.axes >> i & 1) != 0) y[i] = 1;
  }
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kReduce, {make.tensor(type, x)}, {make.output(type, y)}).with(params);
}

KernelCase arg_reduce(CaseMaker& make) {
  Dims x = make.dims(1, 4), y = x;
  ArgReduceParams params = {make.axis_of(x), make.flag(), make.flag()};
  const size_t axis = static_cast<size_t>(params.axis);
  x[axis] = std::max<int64_t>(x[axis], 1);
  y[axis] = 1;
  return KernelCase::of(OpKind::kArgReduce, {make.tensor(make.any_type(), x)}, {make.output(DType::kI64, y)})
      .with(params);
}

KernelCase softmax(CaseMaker& make) {
  const Dims dims = make.dims(1, 4);
  return same_dims_case(OpKind::kSoftmax, make, make.float_type(), dims,
                        SoftmaxParams{make.axis_of(dims), static_cast<int32_t>(make.between(0, 2))});
}

KernelCase layer_norm(CaseMaker& make) {
  const Dims x = make.dims(1, 4);
  const LayerNormParams params = {.axis = make.axis_of(x), .rms = make.flag()};
  const DType type = make.float_type();
  const auto optional = [&](const TestTensor& tensor) { return make.chance(3) ? TestTensor() : tensor; };
  Dims statistics = x;
  std::fill(statistics.begin() + params.axis, statistics.end(), 1);
  return KernelCase::of(OpKind::kLayerNorm,
                        {make.tensor(type, x), optional(make.tensor(type, make.broadcastable(x))),
                         optional(make.tensor(type, make.broadcastable(x)))},
                        {make.output(type, x), optional(make.output(DType::kF32, statistics)),
                         optional(make.output(DType::kF32, statistics))})
      .with(params);
}

KernelCase group_norm(CaseMaker& make) {
  Dims dims = make.dims(2, 4);
  const GroupNormParams params = {.groups = static_cast<int32_t>(make.between(1, 3))};
  dims[1] *= params.groups;
  return same_dims_case(OpKind::kGroupNorm, make, make.float_type(), dims, params);
}

KernelCase lrn(CaseMaker& make) {
  return same_dims_case(OpKind::kLrn, make, make.float_type(), make.dims(2, 4),
                        LrnParams{.size = static_cast<int32_t>(make.between(1, 4))});
}

KernelCase cumulative(CaseMaker& make) {
  const Dims dims = make.dims(1, 4);
  const auto kind = static_cast<CumulativeKind>(make.between(0, 1));
  return same_dims_case(OpKind::kCumulative, make, make.any_type(), dims,
                        CumulativeParams{kind, make.axis_of(dims), make.flag(), make.flag()});
}

KernelCase top_k(CaseMaker& make) {
  const Dims x = make.dims(1, 4);
  const TopKParams params = {make.axis_of(x), make.flag(), 1};
  Dims y = x;
  y[static_cast<size_t>(params.axis)] = make.between(0, x[static_cast<size_t>(params.axis)]);
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kTopK, {make.tensor(type, x)}, {make.output(type, y), make.output(DType::kI64, y)})
      .with(params);
}

KernelCase grid_sample(CaseMaker& make) {
  const CaseMaker::Windows w = make.windows();
  GridSampleParams params;
  params.mode = static_cast<GridSampleMode>(make.between(0, 2));
  params.padding = static_cast<GridSamplePadding>(make.between(0, 2));
  params.align_corners = make.flag();
  const int64_t batch = make.dim(), channels = make.dim();
  Dims grid = joined({batch}, w.output);
  grid.push_back(w.spatial);
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kGridSample,
                        {make.tensor(type, joined({batch, channels}, w.input)), make.tensor(make.float_type(), grid)},
                        {make.output(type, joined({batch, channels}, w.output))})
      .with(params);
}

KernelCase roi_align(CaseMaker& make) {
  RoiAlignParams params;
  params.mode = static_cast<RoiAlignMode>(make.between(0, 1));
  params.height = static_cast<int32_t>(make.between(1, 3));
  params.width = static_cast<int32_t>(make.between(1, 3));
  params.sampling_ratio = static_cast<int32_t>(make.between(0, 3));
  params.spatial_scale = make.chance(2) ? 1.0f : 0.5f;
  params.half_pixel = make.flag();
  const int64_t batch = make.between(1, 3), channels = make.dim(), regions = make.dim();
  const DType type = make.float_type();
  return KernelCase::of(OpKind::kRoiAlign,
                        {make.tensor(type, {batch, channels, make.between(1, 6), make.between(1, 6)}),
                         make.tensor(make.float_type(), {regions, 4}), make.indices({regions}, batch)},
                        {make.output(type, {regions, channels, params.height, params.width})})
      .with(params);
}

KernelCase det(CaseMaker& make) {
  const Dims batch = make.dims(0, 2);
  Dims x = batch;
  x.insert(x.end(), 2, make.dim());
  const DType type = make.float_type();
  return KernelCase::of(OpKind::kDet, {make.tensor(type, x)}, {make.output(type, batch)});
}

KernelCase pair_coupling(CaseMaker& make) {
  const int64_t rows = make.dim(), classes = make.between(2, 5);
  const DType type = make.float_type();
  return KernelCase::of(OpKind::kPairCoupling, {make.tensor(type, {rows, classes * (classes - 1) / 2})},
                        {make.output(type, {rows, classes})});
}

}  // namespace planwright::testing::cases
