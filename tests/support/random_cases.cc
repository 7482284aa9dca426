#include "tests/support/random_cases.h"

#include <algorithm>

namespace planwright::testing {
namespace {

constexpr DType kFloats[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
constexpr DType kIntegers[] = {DType::kI8, DType::kI16, DType::kI32, DType::kI64,
                               DType::kU8, DType::kU16, DType::kU32, DType::kU64};

// Makes the pieces of one case.
class Maker {
 public:
  explicit Maker(Rng& rng) : rng_(rng) {}

  int64_t between(int64_t low, int64_t high) { return random_int(rng_, low, high); }
  bool chance(int one_in) { return between(1, one_in) == 1; }
  int32_t flag() { return static_cast<int32_t>(between(0, 1)); }
  DType float_type() { return kFloats[between(0, 3)]; }
  DType integer_type() { return kIntegers[between(0, 7)]; }
  DType any_type() { return static_cast<DType>(between(0, kDTypeCount - 1)); }
  DType index_type() { return chance(2) ? DType::kI32 : DType::kI64; }
  // 0 now and then.
  int64_t dim() { return chance(12) ? 0 : between(1, 5); }
  Dims dims(int64_t low_rank, int64_t high_rank) {
    Dims list(static_cast<size_t>(between(low_rank, high_rank)));
    for (int64_t& d : list) d = dim();
    return list;
  }
  int32_t axis_of(const Dims& dims) { return static_cast<int32_t>(between(0, static_cast<int64_t>(dims.size()) - 1)); }

  Dims strides(const Dims& dims) { return chance(2) ? dense_strides(dims) : random_strides(rng_, dims); }
  TestTensor tensor(DType type, const Dims& dims) {
    Dims layout = strides(dims);
    // Inputs may also repeat.
    if (!dims.empty() && chance(6)) layout[static_cast<size_t>(axis_of(dims))] = 0;
    return TestTensor::random(rng_, type, dims, layout, is_unsigned(type) ? 0 : -3, type == DType::kBool ? 1 : 3);
  }
  TestTensor output(DType type, const Dims& dims) { return TestTensor(type, dims, strides(dims)); }
  TestTensor indices(const Dims& dims, int64_t axis_length) {
    const int64_t most = chance(8) ? axis_length + 2 : axis_length;
    return TestTensor::random(rng_, index_type(), dims, strides(dims), static_cast<double>(-most),
                              static_cast<double>(std::max<int64_t>(most, 1) - 1));
  }
  // Dims that broadcast to `dims`.
  Dims broadcastable(const Dims& dims) {
    Dims list(dims.begin() + between(0, static_cast<int64_t>(dims.size())), dims.end());
    for (int64_t& d : list) {
      if (chance(3)) d = 1;
    }
    return list;
  }
  void maybe_add_epilogue(KernelCase* c) {
    if (chance(2)) return;
    const int operands = static_cast<int>(between(0, 2));
    std::vector<TestTensor> list;
    for (int i = 0; i < operands; ++i) list.push_back(tensor(any_type(), broadcastable(c->outputs[0].dims())));
    c->with_program(random_program(rng_, 8, operands, 1, true), list);
  }
  // The dims of a sliding window's output and its geometry.
  struct Windows {
    int spatial;
    int32_t kernel[3], stride[3], dilation[3];
    std::vector<int64_t> begin, end;
    Dims input, output;
  };
  Windows windows() {
    Windows w;
    w.spatial = static_cast<int>(between(1, 3));
    for (int i = 0; i < 3; ++i) {
      w.kernel[i] = static_cast<int32_t>(between(1, 3));
      w.stride[i] = static_cast<int32_t>(between(1, 3));
      w.dilation[i] = static_cast<int32_t>(between(1, 2));
      if (i >= w.spatial) continue;
      w.begin.push_back(between(-1, 2));
      w.end.push_back(between(-1, 2));
      w.input.push_back(between(1, 7));
      w.output.push_back(between(0, 5));
    }
    return w;
  }

 private:
  Rng& rng_;
};

Dims joined(std::initializer_list<int64_t> first, const Dims& rest) {
  Dims list(first);
  list.insert(list.end(), rest.begin(), rest.end());
  return list;
}

template <typename Params>
void copy_windows(const Maker::Windows& w, Params* params) {
  params->spatial = w.spatial;
  std::copy_n(w.stride, 3, params->stride);
  std::copy_n(w.dilation, 3, params->dilation);
}

KernelCase pointwise(Maker& make, Rng& rng) {
  const Dims dims = make.dims(0, 4);
  const int operands = static_cast<int>(make.between(0, 4)), outputs = static_cast<int>(make.between(1, kMaxPwOutputs));
  std::vector<TestTensor> list, results;
  for (int i = 0; i < operands; ++i) list.push_back(make.tensor(make.any_type(), make.broadcastable(dims)));
  for (int i = 0; i < outputs; ++i) results.push_back(make.output(make.any_type(), dims));
  KernelCase c = KernelCase::of(OpKind::kPointwise, {}, results);
  return c.with_program(random_program(rng, 20, operands, outputs, false), list);
}

KernelCase matmul(Maker& make) {
  const Dims batch = make.dims(0, 2);
  const int64_t m = make.dim(), k = make.dim(), n = make.dim();
  Dims a = batch, b = make.chance(2) ? batch : Dims();
  a.insert(a.end(), {m, k});
  b.insert(b.end(), {k, n});
  Dims y = batch;
  y.insert(y.end(), {m, n});
  const bool floats = make.chance(2);
  const auto type = [&] { return floats ? make.float_type() : make.integer_type(); };
  KernelCase c = KernelCase::of(OpKind::kMatMul, {make.tensor(type(), a), make.tensor(type(), b)},
                                {make.output(make.any_type(), y)});
  make.maybe_add_epilogue(&c);
  return c;
}

KernelCase conv(Maker& make) {
  const Maker::Windows w = make.windows();
  ConvParams params;
  copy_windows(w, &params);
  params.group = static_cast<int32_t>(make.between(1, 3));
  const int64_t in = make.between(0, 3), out = make.between(1, 3), batch = make.dim();
  const Dims kernel(w.kernel, w.kernel + w.spatial);
  const DType type = make.float_type();
  KernelCase c = KernelCase::of(OpKind::kConv,
                                {make.tensor(type, joined({batch, in * params.group}, w.input)),
                                 make.tensor(type, joined({out * params.group, in}, kernel))},
                                {make.output(type, joined({batch, out * params.group}, w.output))});
  c.with(params).with_scalars(w.begin);
  make.maybe_add_epilogue(&c);
  return c;
}

KernelCase conv_transpose(Maker& make) {
  const Maker::Windows w = make.windows();
  ConvTransposeParams params;
  copy_windows(w, &params);
  params.group = static_cast<int32_t>(make.between(1, 3));
  const int64_t in = make.between(0, 3), out = make.between(1, 3), batch = make.dim();
  const Dims kernel(w.kernel, w.kernel + w.spatial);
  const DType type = make.float_type();
  KernelCase c = KernelCase::of(OpKind::kConvTranspose,
                                {make.tensor(type, joined({batch, in * params.group}, w.input)),
                                 make.tensor(type, joined({in * params.group, out}, kernel))},
                                {make.output(type, joined({batch, out * params.group}, w.output))});
  c.with(params).with_scalars(w.begin);
  make.maybe_add_epilogue(&c);
  return c;
}

KernelCase attention(Maker& make) {
  const int64_t b = make.dim(), kv = make.between(1, 2), h = kv * make.between(1, 2), s = make.dim(), t = make.dim(),
                d = make.dim(), e = make.dim();
  const DType type = make.float_type();
  std::vector<TestTensor> inputs = {make.tensor(type, {b, h, s, d}), make.tensor(type, {b, kv, t, d}),
                                    make.tensor(type, {b, kv, t, e})};
  if (make.chance(2)) inputs.push_back(make.tensor(type, make.broadcastable({b, h, s, t})));
  AttentionParams params;
  params.causal = make.flag();
  params.softcap = make.chance(3) ? 2.0f : 0.0f;
  return KernelCase::of(OpKind::kAttention, inputs, {make.output(type, {b, h, s, e})}).with(params);
}

KernelCase pool(Maker& make) {
  const Maker::Windows w = make.windows();
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

KernelCase resize(Maker& make) {
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

KernelCase reduce(Maker& make) {
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

KernelCase arg_reduce(Maker& make) {
  Dims x = make.dims(1, 4), y = x;
  ArgReduceParams params = {make.axis_of(x), make.flag(), make.flag()};
  const size_t axis = static_cast<size_t>(params.axis);
  x[axis] = std::max<int64_t>(x[axis], 1);
  y[axis] = 1;
  return KernelCase::of(OpKind::kArgReduce, {make.tensor(make.any_type(), x)}, {make.output(DType::kI64, y)})
      .with(params);
}

template <typename Params>
KernelCase same_dims_case(OpKind op, Maker& make, DType type, const Dims& dims, const Params& params) {
  return KernelCase::of(op, {make.tensor(type, dims)}, {make.output(type, dims)}).with(params);
}

KernelCase softmax(Maker& make) {
  const Dims dims = make.dims(1, 4);
  return same_dims_case(OpKind::kSoftmax, make, make.float_type(), dims,
                        SoftmaxParams{make.axis_of(dims), static_cast<int32_t>(make.between(0, 2))});
}

KernelCase layer_norm(Maker& make) {
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

KernelCase group_norm(Maker& make) {
  Dims dims = make.dims(2, 4);
  const GroupNormParams params = {.groups = static_cast<int32_t>(make.between(1, 3))};
  dims[1] *= params.groups;
  return same_dims_case(OpKind::kGroupNorm, make, make.float_type(), dims, params);
}

KernelCase lrn(Maker& make) {
  return same_dims_case(OpKind::kLrn, make, make.float_type(), make.dims(2, 4),
                        LrnParams{.size = static_cast<int32_t>(make.between(1, 4))});
}

KernelCase cumulative(Maker& make) {
  const Dims dims = make.dims(1, 4);
  const auto kind = static_cast<CumulativeKind>(make.between(0, 1));
  return same_dims_case(OpKind::kCumulative, make, make.any_type(), dims,
                        CumulativeParams{kind, make.axis_of(dims), make.flag(), make.flag()});
}

KernelCase gather(Maker& make) {
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

// Indices of an axis-wise operator: no longer than the data along the other axes.
Dims indices_beside(Maker& make, const Dims& data, int axis) {
  Dims dims = data;
  for (size_t i = 0; i < dims.size(); ++i) {
    dims[i] = static_cast<int>(i) == axis ? make.dim() : make.between(0, data[i]);
  }
  return dims;
}

KernelCase gather_elements(Maker& make) {
  const Dims data = make.dims(1, 4);
  const GatherElementsParams params = {make.axis_of(data)};
  const Dims y = indices_beside(make, data, params.axis);
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kGatherElements,
                        {make.tensor(type, data), make.indices(y, data[static_cast<size_t>(params.axis)])},
                        {make.output(type, y)})
      .with(params);
}

KernelCase gather_nd(Maker& make) {
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

KernelCase scatter_elements(Maker& make) {
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

KernelCase scatter_nd(Maker& make) {
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

KernelCase top_k(Maker& make) {
  const Dims x = make.dims(1, 4);
  const TopKParams params = {make.axis_of(x), make.flag(), 1};
  Dims y = x;
  y[static_cast<size_t>(params.axis)] = make.between(0, x[static_cast<size_t>(params.axis)]);
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kTopK, {make.tensor(type, x)}, {make.output(type, y), make.output(DType::kI64, y)})
      .with(params);
}

KernelCase one_hot(Maker& make) {
  const Dims indices = make.dims(0, 3);
  const int64_t depth = make.dim();
  Dims y = indices;
  const OneHotParams params = {static_cast<int32_t>(make.between(0, static_cast<int64_t>(y.size())))};
  y.insert(y.begin() + params.axis, depth);
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kOneHot, {make.indices(indices, depth), make.tensor(type, {2})}, {make.output(type, y)})
      .with(params);
}

KernelCase trilu(Maker& make) {
  return same_dims_case(OpKind::kTrilu, make, make.any_type(), make.dims(2, 4), TriluParams{make.flag()})
      .with_scalars({make.between(-3, 3)});
}

KernelCase reshape(Maker& make) {
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

KernelCase transpose(Maker& make, Rng& rng) {
  const Dims x = make.dims(0, 4);
  TransposeParams params;
  for (int32_t i = 0; i < static_cast<int32_t>(x.size()); ++i) params.perm[i] = i;
  std::shuffle(params.perm, params.perm + x.size(), rng);
  Dims y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[static_cast<size_t>(params.perm[i])];
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kTranspose, {make.tensor(type, x)}, {make.output(type, y)}).with(params);
}

KernelCase slice(Maker& make) {
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

KernelCase expand(Maker& make) {
  const Dims y = make.dims(0, 4);
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kExpand, {make.tensor(type, make.broadcastable(y))}, {make.output(type, y)});
}

KernelCase concat(Maker& make) {
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

KernelCase pad(Maker& make) {
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

KernelCase tile(Maker& make) {
  const Dims x = make.dims(0, 4);
  Dims y = x;
  for (int64_t& dim : y) dim *= make.between(0, 3);
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kTile, {make.tensor(type, x)}, {make.output(type, y)});
}

KernelCase copy(Maker& make) {
  const Dims dims = make.dims(0, 4);
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kCopy, {make.tensor(type, dims)}, {make.output(type, dims)});
}

KernelCase bit_cast(Maker& make) {
  const Dims dims = make.dims(0, 4);
  const DType from = make.any_type();
  DType to = make.any_type();
  while (bit_width(to) != bit_width(from)) to = make.any_type();
  return KernelCase::of(OpKind::kBitCast, {make.tensor(from, dims)}, {make.output(to, dims)});
}

KernelCase reverse_sequence(Maker& make) {
  const Dims dims = make.dims(2, 4);
  const ReverseSequenceParams params = {.batch_axis = 1, .time_axis = make.chance(3) && dims.size() > 2 ? 2 : 0};
  const int64_t times = dims[static_cast<size_t>(params.time_axis)];
  const DType type = make.any_type();
  TestTensor lengths = make.indices({dims[1]}, times + 1);
  lengths.map([](double length) { return length < 0 ? -length : length; });
  return KernelCase::of(OpKind::kReverseSequence, {make.tensor(type, dims), lengths}, {make.output(type, dims)})
      .with(params);
}

KernelCase fill(Maker& make, Rng& rng) {
  return KernelCase::of(OpKind::kFill, {}, {make.output(make.any_type(), make.dims(0, 4))}).with(FillParams{rng()});
}

KernelCase range(Maker& make) {
  const DType type = make.any_type();
  return KernelCase::of(OpKind::kRange, {make.tensor(type, {}), make.tensor(type, {})},
                        {make.output(type, {make.dim()})});
}

KernelCase rnn(Maker& make) {
  RnnParams params;
  params.kind = static_cast<RnnKind>(make.between(0, 2));
  params.directions = static_cast<int32_t>(make.between(1, 2));
  params.reverse = make.flag();
  params.hidden = static_cast<int32_t>(make.between(1, 4));
  params.batch_first = make.flag();
  params.linear_before_reset = make.flag();
  params.input_forget = make.flag();
  params.clip = make.chance(3) ? 1.0f : 0.0f;
  for (RnnActivation& activation : params.activations) activation = static_cast<RnnActivation>(make.between(0, 10));
  const int64_t d = params.directions, h = params.hidden, t = make.dim(), n = make.dim();
  const int64_t rows = h * (params.kind == RnnKind::kLstm ? 4 : params.kind == RnnKind::kGru ? 3 : 1);
  const bool first = params.batch_first != 0;
  const Dims state = first ? Dims{n, d, h} : Dims{d, n, h};
  const DType type = make.float_type();
  const auto optional = [&](const TestTensor& tensor) { return make.chance(2) ? TestTensor() : tensor; };
  TestTensor lengths = make.indices({n}, t + 1);
  lengths.map([](double length) { return length < 0 ? -length : length; });
  const bool has_bias = params.kind == RnnKind::kGru && params.linear_before_reset != 0;
  return KernelCase::of(OpKind::kRnn,
                        {make.tensor(type, first ? Dims{n, t, d * rows} : Dims{t, n, d * rows}),
                         make.tensor(type, {d, rows, h}), has_bias ? optional(make.tensor(type, {d, h})) : TestTensor(),
                         optional(lengths), optional(make.tensor(type, state)), optional(make.tensor(type, state)),
                         optional(make.tensor(type, {d, 3 * h}))},
                        {optional(make.output(type, first ? Dims{n, t, d, h} : Dims{t, d, n, h})),
                         optional(make.output(type, state)), optional(make.output(type, state))})
      .with(params);
}

KernelCase shape_values(Maker& make) {
  const int32_t count = static_cast<int32_t>(make.between(0, 4));
  std::vector<int64_t> values;
  for (int i = 0; i < count; ++i) values.push_back(make.between(-9, 9));
  const Dims dims = count == 1 && make.chance(2) ? Dims{} : Dims{count};
  return KernelCase::of(OpKind::kShapeValues, {}, {make.output(DType::kI64, dims)})
      .with(ShapeValuesParams{count})
      .with_scalars(values);
}

// A forest whose links lead on, except for one in eight.
KernelCase tree_ensemble(Maker& make) {
  const int64_t count = make.between(1, 8), features = make.between(1, 4), votes = make.between(0, 4);
  const int64_t members = make.between(0, 3), targets = make.between(1, 3);
  const bool broken = make.chance(8);
  std::vector<double> nodes, roots;
  for (int64_t i = 0; i < count; ++i) {
    const bool leaf = i + 1 == count || make.chance(3);
    const int64_t list = leaf ? votes : members, begin = make.between(0, list), end = make.between(begin, list);
    const int64_t mode = leaf ? static_cast<int64_t>(TreeMode::kLeaf) : make.between(0, 6);
    const auto link = [&] {
      return broken ? make.between(-2, 9) : make.between(std::min(i + 1, count - 1), count - 1);
    };
    const bool compares = mode < static_cast<int64_t>(TreeMode::kMember);
    for (const int64_t number : {mode, make.between(0, features - 1), link(), link(),
                                 compares ? make.between(0, count - 1) : begin, end, make.between(0, 1)}) {
      nodes.push_back(static_cast<double>(number));
    }
  }
  for (int64_t i = make.between(0, 3); i > 0; --i) roots.push_back(static_cast<double>(make.between(0, count - 1)));
  std::vector<double> targets_of_votes;
  for (int64_t i = 0; i < votes; ++i) targets_of_votes.push_back(static_cast<double>(make.between(0, targets - 1)));
  const int64_t rows = make.dim();
  TreeEnsembleParams params;
  params.aggregate = static_cast<TreeAggregate>(make.between(0, 3));
  params.targets = static_cast<int32_t>(targets);
  const auto i64 = [](const Dims& dims, const std::vector<double>& list) {
    return TestTensor::of(DType::kI64, dims, list);
  };
  return KernelCase::of(OpKind::kTreeEnsemble,
                        {make.tensor(make.any_type(), {rows, features}),
                         i64({static_cast<int64_t>(roots.size())}, roots), i64({count, kTreeNodeColumns}, nodes),
                         make.tensor(make.float_type(), {count}), make.tensor(make.float_type(), {members}),
                         i64({votes}, targets_of_votes), make.tensor(make.float_type(), {votes})},
                        {make.output(make.float_type(), {rows, targets})})
      .with(params);
}

KernelCase grid_sample(Maker& make) {
  const Maker::Windows w = make.windows();
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

KernelCase roi_align(Maker& make) {
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

KernelCase deform_conv(Maker& make) {
  DeformConvParams params;
  params.group = static_cast<int32_t>(make.between(1, 2));
  params.offset_group = static_cast<int32_t>(make.between(1, 2));
  for (int i = 0; i < 2; ++i) {
    params.stride[i] = static_cast<int32_t>(make.between(1, 2));
    params.dilation[i] = static_cast<int32_t>(make.between(1, 2));
  }
  const int64_t batch = make.dim(), in = make.between(0, 2) * params.offset_group, out = make.between(1, 2);
  const int64_t h = make.between(1, 3), w = make.between(1, 3), rows = make.dim(), columns = make.dim();
  const int64_t points = params.offset_group * h * w;
  const DType type = make.float_type();
  std::vector<TestTensor> inputs = {make.tensor(type, {batch, in * params.group, make.dim(), make.dim()}),
                                    make.tensor(type, {out * params.group, in, h, w}),
                                    make.tensor(type, {batch, 2 * points, rows, columns})};
  if (make.chance(2)) inputs.push_back(make.tensor(type, {batch, points, rows, columns}));
  return KernelCase::of(OpKind::kDeformConv, inputs, {make.output(type, {batch, out * params.group, rows, columns})})
      .with(params)
      .with_scalars({make.between(-1, 2), make.between(-1, 2)});
}

KernelCase det(Maker& make) {
  const Dims batch = make.dims(0, 2);
  Dims x = batch;
  x.insert(x.end(), 2, make.dim());
  const DType type = make.float_type();
  return KernelCase::of(OpKind::kDet, {make.tensor(type, x)}, {make.output(type, batch)});
}

KernelCase random_numbers(Maker& make, Rng& rng) {
  RandomParams params;
  params.kind = static_cast<RandomKind>(make.between(0, 1));
  params.seed = rng();
  params.scale = static_cast<double>(make.between(1, 4));
  return KernelCase::of(OpKind::kRandom, {}, {make.output(make.float_type(), make.dims(0, 4))}).with(params);
}

KernelCase read_values(Maker& make) {
  const Dims dims = make.dims(0, 2);
  return KernelCase::of(OpKind::kReadValues, {make.tensor(make.integer_type(), dims)},
                        {make.output(DType::kI64, dims)});
}

// The count is right by chance only; otherwise running it must be refused.
KernelCase non_zero(Maker& make) {
  const Dims dims = make.dims(0, 4);
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return KernelCase::of(OpKind::kNonZero, {make.tensor(make.any_type(), dims)},
                        {make.output(DType::kI64, {static_cast<int64_t>(dims.size()), make.between(0, count)})});
}

KernelCase unique(Maker& make) {
  const Dims dims = make.dims(1, 3);
  const int32_t axis = make.chance(2) ? -1 : make.axis_of(dims);
  int64_t count = axis < 0 ? 1 : dims[static_cast<size_t>(axis)];
  for (const int64_t dim : dims) count *= axis < 0 ? dim : 1;
  const DType type = make.any_type();
  std::vector<TestTensor> outputs{make.output(type, axis < 0 ? Dims{count} : dims), make.output(DType::kI64, {1})};
  while (outputs.size() < 5 && !make.chance(3)) outputs.push_back(make.output(DType::kI64, {count}));
  return KernelCase::of(OpKind::kUnique, {make.tensor(type, dims)}, outputs).with(UniqueParams{axis, make.flag()});
}

KernelCase non_max_suppression(Maker& make) {
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

}  // namespace

KernelCase random_case(OpKind op, Rng& rng) {
  Maker make(rng);
  switch (op) {
    case OpKind::kPointwise: return pointwise(make, rng);
    case OpKind::kMatMul: return matmul(make);
    case OpKind::kConv: return conv(make);
    case OpKind::kConvTranspose: return conv_transpose(make);
    case OpKind::kAttention: return attention(make);
    case OpKind::kPool: return pool(make);
    case OpKind::kResize: return resize(make);
    case OpKind::kReduce: return reduce(make);
    case OpKind::kArgReduce: return arg_reduce(make);
    case OpKind::kSoftmax: return softmax(make);
    case OpKind::kLayerNorm: return layer_norm(make);
    case OpKind::kGroupNorm: return group_norm(make);
    case OpKind::kLrn: return lrn(make);
    case OpKind::kCumulative: return cumulative(make);
    case OpKind::kGather: return gather(make);
    case OpKind::kGatherElements: return gather_elements(make);
    case OpKind::kGatherND: return gather_nd(make);
    case OpKind::kScatterElements: return scatter_elements(make);
    case OpKind::kScatterND: return scatter_nd(make);
    case OpKind::kTopK: return top_k(make);
    case OpKind::kOneHot: return one_hot(make);
    case OpKind::kTrilu: return trilu(make);
    case OpKind::kReshape: return reshape(make);
    case OpKind::kTranspose: return transpose(make, rng);
    case OpKind::kSlice: return slice(make);
    case OpKind::kExpand: return expand(make);
    case OpKind::kConcat: return concat(make);
    case OpKind::kPad: return pad(make);
    case OpKind::kTile: return tile(make);
    case OpKind::kCopy: return copy(make);
    case OpKind::kReverseSequence: return reverse_sequence(make);
    case OpKind::kFill: return fill(make, rng);
    case OpKind::kRange: return range(make);
    case OpKind::kRnn: return rnn(make);
    case OpKind::kShapeValues: return shape_values(make);
    case OpKind::kTreeEnsemble: return tree_ensemble(make);
    case OpKind::kGridSample: return grid_sample(make);
    case OpKind::kRoiAlign: return roi_align(make);
    case OpKind::kDeformConv: return deform_conv(make);
    case OpKind::kDet: return det(make);
    case OpKind::kRandom: return random_numbers(make, rng);
    case OpKind::kBitCast: return bit_cast(make);
    case OpKind::kReadValues: return read_values(make);
    case OpKind::kNonZero: return non_zero(make);
    case OpKind::kUnique: return unique(make);
    case OpKind::kNonMaxSuppression: return non_max_suppression(make);
    case OpKind::kIf:
    case OpKind::kLoop:
    case OpKind::kCustom: break;  // have no reference kernel
  }
  return {};
}

std::vector<PwInstr> random_program(Rng& rng, int length, int operands, int outputs, bool has_accumulator) {
  // Registers 0 to 7 of each class; the first of each is always written.
  const auto reg = [](PwClass type, int64_t index) { return static_cast<int>(type) * 8 + static_cast<int>(index); };
  std::vector<PwInstr> program;
  for (int t = 0; t < 4; ++t) {
    const auto type = static_cast<PwClass>(t);
    const bool load = operands > 0 && random_int(rng, 0, 1) == 1;
    program.push_back(load ? pw_load(reg(type, 0), static_cast<int>(random_int(rng, 0, operands - 1)), type)
                           : pw_const(reg(type, 0), static_cast<double>(random_int(rng, 0, 9)), type));
    if (has_accumulator) program.push_back(pw_acc(reg(type, 0), type));
  }
  int written[4] = {1, 1, 1, 1};
  while (static_cast<int>(program.size()) < length) {
    const auto type = static_cast<PwClass>(random_int(rng, 0, 3));
    const int t = static_cast<int>(type);
    const auto source = [&] { return reg(type, random_int(rng, 0, written[t] - 1)); };
    const int64_t to = std::min(written[t], 7);
    PwInstr instr =
        pw_compute(static_cast<PwOp>(random_int(rng, 0, 129)), reg(type, to), source(), source(), source(), type);
    if (instr.op == PwOp::kStore || instr.op == PwOp::kAcc) continue;
    if (instr.op == PwOp::kLoad) {
      if (operands == 0) continue;
      instr.operand = static_cast<uint8_t>(random_int(rng, 0, operands - 1));
    }
    if (instr.op == PwOp::kConst) instr = pw_const(instr.dst, static_cast<double>(random_int(rng, -9, 9)), type);
    if (instr.op == PwOp::kConvert) {
      instr.from = static_cast<PwClass>(random_int(rng, 0, 3));
      instr.a = static_cast<uint8_t>(reg(instr.from, random_int(rng, 0, written[static_cast<int>(instr.from)] - 1)));
    }
    if (instr.op == PwOp::kNarrow) instr.operand = static_cast<uint8_t>(random_int(rng, 0, kDTypeCount - 1));
    if (instr.op == PwOp::kIsInf) instr.operand = static_cast<uint8_t>(random_int(rng, 0, 3));
    // An operation not defined in its class is one that a program with only it would be refused for.
    std::vector<PwInstr> tried = program;
    tried.push_back(instr);
    tried.push_back(pw_store(0, reg(type, 0), type));
    if (!is_valid_program(tried.data(), static_cast<int>(tried.size()), operands, 1, has_accumulator)) continue;
    program.push_back(instr);
    written[t] = std::min(written[t] + 1, 8);
  }
  for (int i = 0; i < outputs; ++i) {
    const auto type = static_cast<PwClass>(random_int(rng, 0, 3));
    program.push_back(pw_store(i, reg(type, written[static_cast<int>(type)] - 1), type));
  }
  return program;
}

}  // namespace planwright::testing
