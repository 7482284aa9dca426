// Random cases of what multiplies and adds: programs, products, convolutions, recurrences, trees.
#include <algorithm>

#include "tests/support/random_families.h"

namespace planwright::testing::cases {

KernelCase pointwise(CaseMaker& make, Rng& rng) {
  const Dims dims = make.dims(0, 4);
  const int operands = static_cast<int>(make.between(0, 4)), outputs = static_cast<int>(make.between(1, kMaxPwOutputs));
  std::vector<TestTensor> list, results;
  for (int i = 0; i < operands; ++i) list.push_back(make.tensor(make.any_type(), make.broadcastable(dims)));
  for (int i = 0; i < outputs; ++i) results.push_back(make.output(make.any_type(), dims));
  KernelCase c = KernelCase::of(OpKind::kPointwise, {}, results);
  return c.with_program(random_program(rng, 20, operands, outputs, false), list);
}

namespace {

// Of what may have a zero point.
DType byte_type(CaseMaker& make) { return make.chance(2) ? DType::kU8 : DType::kI8; }

}  // namespace

KernelCase matmul(CaseMaker& make) {
  const Dims batch = make.dims(0, 2);
  const int64_t m = make.dim(), k = make.dim(), n = make.dim();
  Dims a = batch, b = make.chance(2) ? batch : Dims();
  a.insert(a.end(), {m, k});
  b.insert(b.end(), {k, n});
  Dims y = batch;
  y.insert(y.end(), {m, n});
  const bool floats = make.chance(2), bytes = !floats && make.chance(2);
  const auto type = [&] { return floats ? make.float_type() : bytes ? byte_type(make) : make.integer_type(); };
  std::vector<TestTensor> inputs = {make.tensor(type(), a), make.tensor(type(), b)};
  if (bytes && make.chance(2)) inputs.push_back(make.tensor(inputs[0].view().dtype, {}));
  KernelCase c = KernelCase::of(OpKind::kMatMul, inputs, {make.output(make.any_type(), y)});
  make.maybe_add_epilogue(&c);
  return c;
}

KernelCase block_matmul(CaseMaker& make) {
  Dims a = make.dims(1, 3), y = a;
  const int64_t k = make.dim(), n = make.dim(), block = make.between(1, 6);
  a.push_back(k);
  y.push_back(n);
  KernelCase c =
      KernelCase::of(OpKind::kBlockMatMul,
                     {make.tensor(make.float_type(), a), make.tensor(make.chance(2) ? DType::kI4 : DType::kI8, {k, n}),
                      make.tensor(make.float_type(), {(k + block - 1) / block, n})},
                     {make.output(make.any_type(), y)});
  c.with(BlockMatMulParams{block});
  make.maybe_add_epilogue(&c);
  return c;
}

KernelCase conv(CaseMaker& make) {
  const CaseMaker::Windows w = make.windows();
  ConvParams params;
  copy_windows(w, &params);
  params.group = static_cast<int32_t>(make.between(1, 3));
  const int64_t in = make.between(0, 3), out = make.between(1, 3), batch = make.dim();
  const Dims kernel(w.kernel, w.kernel + w.spatial);
  const bool bytes = make.chance(3);
  const DType type = bytes ? byte_type(make) : make.float_type();
  std::vector<TestTensor> inputs = {
      make.tensor(type, joined({batch, in * params.group}, w.input)),
      make.tensor(bytes ? byte_type(make) : type, joined({out * params.group, in}, kernel))};
  if (bytes && make.chance(2)) inputs.push_back(make.tensor(type, {1}));
  KernelCase c =
      KernelCase::of(OpKind::kConv, inputs,
                     {make.output(bytes ? make.any_type() : type, joined({batch, out * params.group}, w.output))});
  c.with(params).with_scalars(w.begin);
  make.maybe_add_epilogue(&c);
  return c;
}

KernelCase conv_transpose(CaseMaker& make) {
  const CaseMaker::Windows w = make.windows();
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

KernelCase attention(CaseMaker& make) {
  const int64_t b = make.dim(), kv = make.between(1, 2), h = kv * make.between(1, 2), s = make.dim(), t = make.dim(),
                d = make.dim(), e = make.dim();
  const DType type = make.float_type();
  std::vector<TestTensor> inputs = {make.tensor(type, {b, h, s, d}), make.tensor(type, {b, kv, t, d}),
                                    make.tensor(type, {b, kv, t, e})};
  if (make.chance(2)) inputs.push_back(make.tensor(type, make.broadcastable({b, h, s, t})));
  AttentionParams params;
  params.causal = make.flag();
  params.softcap = make.chance(3) ? 2.0f : 0.0f;
  params.zero_nan = make.flag();
  return KernelCase::of(OpKind::kAttention, inputs, {make.output(type, {b, h, s, e})}).with(params);
}

KernelCase deform_conv(CaseMaker& make) {
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

KernelCase rnn(CaseMaker& make) {
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

// A forest whose links lead on, except for one in eight.
KernelCase tree_ensemble(CaseMaker& make) {
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

}  // namespace planwright::testing::cases
