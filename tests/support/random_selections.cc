// Random cases of what indices and conditions select.
#include <algorithm>

#include "tests/support/random_families.h"

namespace planwright::testing::cases {
namespace {

// Indices of an axis-wise operator: no longer than the data along the other axes.
Dims indices_beside(CaseMaker& make, const Dims& data, int axis) {
  Dims dims = data;
  for (size_t i = 0; i < dims.size(); ++i) {
    dims[i] = static_cast<int>(i) == axis ? make.dim() : make.between(0, data[i]);
  }
  return dims;
}

}  // namespace

KernelCase gather(CaseMaker& make) {
  const Dims data = make.dims(1, 4), indices = make.dims(0, 2);
  const GatherParams params = {make.axis_of(data)};
  Dims y(data.begin(), data.begin() + params.axis);
  y.insert(y.end(), indices.begin(), indices.end());
  y.insert(y.end(), data.begin() + params.axis + 1, data.end());
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kGather,
                        {make.tensor(type, data), make.indices(indices, data[static_cast<size_t>(params.axis)])},
                        {make.output(type, y)})
      .with(params);
}

KernelCase gather_elements(CaseMaker& make) {
  const Dims data = make.dims(1, 4);
  const GatherElementsParams params = {make.axis_of(data)};
  const Dims y = indices_beside(make, data, params.axis);
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kGatherElements,
                        {make.tensor(type, data), make.indices(y, data[static_cast<size_t>(params.axis)])},
                        {make.output(type, y)})
      .with(params);
}

KernelCase gather_nd(CaseMaker& make) {
  const Dims data = make.dims(1, 4);
  const int64_t rank = static_cast<int64_t>(data.size()), batch = make.between(0, rank - 1);
  const int64_t tuple = make.between(1, rank - batch);
  Dims indices(data.begin(), data.begin() + batch);
  const Dims extra = make.dims(0, 2);
  indices.insert(indices.end(), extra.begin(), extra.end());
  Dims y = indices;
  y.insert(y.end(), data.begin() + batch + tuple, data.end());
  indices.push_back(tuple);
  const int64_t least = *std::min_element(data.begin() + batch, data.begin() + batch + tuple);
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kGatherND, {make.tensor(type, data), make.indices(indices, least)},
                        {make.output(type, y)})
      .with(GatherNDParams{static_cast<int32_t>(batch)});
}

KernelCase scatter_elements(CaseMaker& make) {
  const Dims data = make.dims(1, 4);
  const ScatterElementsParams params = {make.axis_of(data), static_cast<ScatterReduction>(make.between(0, 4))};
  const Dims updates = indices_beside(make, data, params.axis);
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kScatterElements,
                        {make.tensor(type, data), make.indices(updates, data[static_cast<size_t>(params.axis)]),
                         make.tensor(type, updates)},
                        {make.output(type, data)})
      .with(params);
}

KernelCase scatter_nd(CaseMaker& make) {
  const Dims data = make.dims(1, 4);
  const int64_t tuple = make.between(1, static_cast<int64_t>(data.size()));
  Dims indices = make.dims(0, 2), updates = indices;
  indices.push_back(tuple);
  updates.insert(updates.end(), data.begin() + tuple, data.end());
  const int64_t least = *std::min_element(data.begin(), data.begin() + tuple);
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kScatterND,
                        {make.tensor(type, data), make.indices(indices, least), make.tensor(type, updates)},
                        {make.output(type, data)})
      .with(ScatterNDParams{static_cast<ScatterReduction>(make.between(0, 4))});
}

KernelCase one_hot(CaseMaker& make) {
  const Dims indices = make.dims(0, 3);
  const int64_t depth = make.dim();
  Dims y = indices;
  const OneHotParams params = {static_cast<int32_t>(make.between(0, static_cast<int64_t>(y.size())))};
  y.insert(y.begin() + params.axis, depth);
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kOneHot, {make.indices(indices, depth), make.tensor(type, {2})}, {make.output(type, y)})
      .with(params);
}

KernelCase trilu(CaseMaker& make) {
  return same_dims_case(OpKind::kTrilu, make, make.any_type(), make.dims(2, 4), TriluParams{make.flag()})
      .with_scalars({make.between(-3, 3)});
}

// The count is right by chance only; otherwise running it must be refused.
KernelCase non_zero(CaseMaker& make) {
  const Dims dims = make.dims(0, 4);
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return KernelCase::of(OpKind::kNonZero, {make.tensor(make.any_type(), dims)},
                        {make.output(DType::kI64, {static_cast<int64_t>(dims.size()), make.between(0, count)})});
}

KernelCase unique(CaseMaker& make) {
  const Dims dims = make.dims(1, 3);
  const int32_t axis = make.chance(2) ? -1 : make.axis_of(dims);
  int64_t count = axis < 0 ? 1 : dims[static_cast<size_t>(axis)];
  for (const int64_t dim : dims) count *= axis < 0 ? dim : 1;
  const DType type = make.any_type();
  std::vector<TestTensor> outputs{make.output(type, axis < 0 ? Dims{count} : dims), make.output(DType::kI64, {1})};
  while (outputs.size() < 5 && !make.chance(3)) outputs.push_back(make.output(DType::kI64, {count}));
  return KernelCase::of(OpKind::kUnique, {make.tensor(type, dims)}, outputs).with(UniqueParams{axis, make.flag()});
}

KernelCase non_max_suppression(CaseMaker& make) {
  const int64_t batch = make.dim(), classes = make.dim(), boxes = make.dim(), most = make.between(0, 6);
  std::vector<TestTensor> inputs{make.tensor(make.float_type(), {batch, boxes, 4}),
                                 make.tensor(make.float_type(), {batch, classes, boxes})};
  while (inputs.size() < 4 && make.chance(2)) inputs.push_back(make.tensor(DType::kF32, {1}));
  const int64_t rows = batch * classes * std::min(most, boxes);
  return KernelCase::of(OpKind::kNonMaxSuppression, inputs,
                        {make.output(DType::kI64, {rows, 3}), make.output(DType::kI64, {1})})
      .with(NonMaxSuppressionParams{make.flag()})
      .with_scalars({most});
}

}  // namespace planwright::testing::cases
