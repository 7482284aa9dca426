// Random cases of what only moves elements, or makes them from nothing.
#include <algorithm>

#include "tests/support/random_families.h"

namespace planwright::testing::cases {

KernelCase reshape(CaseMaker& make) {
  const Dims x = make.dims(0, 4);
  Dims y = x;  // two neighbouring axes joined, and one of length 1 added
  if (y.size() >= 2) {
    y[1] *= y[0];
    y.erase(y.begin());
  }
  y.push_back(1);
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kReshape, {make.tensor(type, x)}, {make.output(type, y)});
}

KernelCase transpose(CaseMaker& make, Rng& rng) {
  const Dims x = make.dims(0, 4);
  TransposeParams params;
  for (int32_t i = 0; i < static_cast<int32_t>(x.size()); ++i) params.perm[i] = i;
  std::shuffle(params.perm, params.perm + x.size(), rng);
  Dims y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[static_cast<size_t>(params.perm[i])];
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kTranspose, {make.tensor(type, x)}, {make.output(type, y)}).with(params);
}

KernelCase slice(CaseMaker& make) {
  const Dims x = make.dims(0, 4);
  Dims y;
  std::vector<int64_t> starts, steps;
  for (const int64_t dim : x) {
    const int64_t step = (make.chance(2) ? 1 : -1) * make.between(1, 3);
    const int64_t start = make.between(0, std::max<int64_t>(dim - 1, 0));
    const int64_t most = dim == 0 ? 0 : step > 0 ? (dim - 1 - start) / step + 1 : start / -step + 1;
    y.push_back(make.between(0, most));
    starts.push_back(start);
    steps.push_back(step);
  }
  starts.insert(starts.end(), steps.begin(), steps.end());
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kSlice, {make.tensor(type, x)}, {make.output(type, y)})
      .with(SliceParams{})
      .with_scalars(starts);
}

KernelCase expand(CaseMaker& make) {
  const Dims y = make.dims(0, 4);
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kExpand, {make.tensor(type, make.broadcastable(y))}, {make.output(type, y)});
}

KernelCase concat(CaseMaker& make) {
  Dims y = make.dims(1, 4);
  const ConcatParams params = {make.axis_of(y)};
  int64_t& length = y[static_cast<size_t>(params.axis)];
  const DType type = make.any_type();
  std::vector<TestTensor> inputs;
  Dims x = y;
  length = 0;
  for (int64_t i = make.between(1, 4); i > 0; --i) {
    x[static_cast<size_t>(params.axis)] = make.dim();
    length += x[static_cast<size_t>(params.axis)];
    inputs.push_back(make.tensor(type, x));
  }
  return KernelCase::of(OpKind::kConcat, inputs, {make.output(type, y)}).with(params);
}

KernelCase pad(CaseMaker& make) {
  const Dims x = make.dims(0, 3);
  Dims y;
  std::vector<int64_t> begins, ends;
  const PadParams params = {static_cast<PadMode>(make.between(0, 3))};
  for (const int64_t dim : x) {
    const bool can_grow = dim > 0 || params.mode == PadMode::kConstant;
    begins.push_back(can_grow ? make.between(-1, 4) : 0);
    ends.push_back(can_grow ? std::max<int64_t>(make.between(-1, 4), -dim - begins.back()) : 0);
    y.push_back(dim + begins.back() + ends.back());
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  const DType type = make.any_type();
  std::vector<TestTensor> inputs = {make.tensor(type, x)};
  if (make.chance(2)) inputs.push_back(make.tensor(type, {}));
  return KernelCase::of(OpKind::kPad, inputs, {make.output(type, y)}).with(params).with_scalars(begins);
}

KernelCase tile(CaseMaker& make) {
  const Dims x = make.dims(0, 4);
  Dims y = x;
  for (int64_t& dim : y) dim *= make.between(0, 3);
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kTile, {make.tensor(type, x)}, {make.output(type, y)});
}

KernelCase copy(CaseMaker& make) {
  const Dims dims = make.dims(0, 4);
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kCopy, {make.tensor(type, dims)}, {make.output(type, dims)});
}

KernelCase bit_cast(CaseMaker& make) {
  const Dims dims = make.dims(0, 4);
  const DType from = make.any_type();
  DType to = make.any_type();
  while (bit_width(to) != bit_width(from)) to = make.any_type();
  return KernelCase::of(OpKind::kBitCast, {make.tensor(from, dims)}, {make.output(to, dims)});
}

KernelCase reverse_sequence(CaseMaker& make) {
  const Dims dims = make.dims(2, 4);
  const ReverseSequenceParams params = {.batch_axis = 1, .time_axis = make.chance(3) && dims.size() > 2 ? 2 : 0};
  const int64_t times = dims[static_cast<size_t>(params.time_axis)];
  const DType type = make.any_type();
  TestTensor lengths = make.indices({dims[1]}, times + 1);
  lengths.map([](double length) { return length < 0 ? -length : length; });
  return KernelCase::of(OpKind::kReverseSequence, {make.tensor(type, dims), lengths}, {make.output(type, dims)})
      .with(params);
}

KernelCase fill(CaseMaker& make, Rng& rng) {
  return KernelCase::of(OpKind::kFill, {}, {make.output(make.any_type(), make.dims(0, 4))}).with(FillParams{rng()});
}

KernelCase range(CaseMaker& make) {
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kRange, {make.tensor(type, {}), make.tensor(type, {})},
                        {make.output(type, {make.dim()})});
}

KernelCase shape_values(CaseMaker& make) {
  const int32_t count = static_cast<int32_t>(make.between(0, 4));
  std::vector<int64_t> values;
  for (int i = 0; i < count; ++i) values.push_back(make.between(-9, 9));
  const Dims dims = count == 1 && make.chance(2) ? Dims{} : Dims{count};
  return KernelCase::of(OpKind::kShapeValues, {}, {make.output(DType::kI64, dims)})
      .with(ShapeValuesParams{count})
      .with_scalars(values);
}

KernelCase random_numbers(CaseMaker& make, Rng& rng) {
  RandomParams params;
  params.kind = static_cast<RandomKind>(make.between(0, 1));
  params.seed = rng();
  params.scale = static_cast<double>(make.between(1, 4));
  return KernelCase::of(OpKind::kRandom, {}, {make.output(make.float_type(), make.dims(0, 4))}).with(params);
}

KernelCase read_values(CaseMaker& make) {
  const Dims dims = make.dims(0, 2);
  return KernelCase::of(OpKind::kReadValues, {make.tensor(make.integer_type(), dims)},
                        {make.output(DType::kI64, dims)});
}

}  // namespace planwright::testing::cases
