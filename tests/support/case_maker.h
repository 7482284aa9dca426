// The random pieces that cases of kernels are made of.
#ifndef PLANWRIGHT_TESTS_SUPPORT_CASE_MAKER_H_
#define PLANWRIGHT_TESTS_SUPPORT_CASE_MAKER_H_

#include <algorithm>

#include "tests/support/kernel_harness.h"
#include "tests/support/random_cases.h"

namespace planwright::testing {

inline constexpr DType kFloats[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
inline constexpr DType kIntegers[] = {DType::kI8, DType::kI16, DType::kI32, DType::kI64,
                                      DType::kU8, DType::kU16, DType::kU32, DType::kU64};

// Makes the pieces of one case.
class CaseMaker {
 public:
  explicit CaseMaker(Rng& rng) : rng_(rng) {}

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

inline Dims joined(std::initializer_list<int64_t> first, const Dims& rest) {
  Dims list(first);
  list.insert(list.end(), rest.begin(), rest.end());
  return list;
}

// One input and one output of the same dims and type.
template <typename Params>
KernelCase same_dims_case(OpKind op, CaseMaker& make, DType type, const Dims& dims, const Params& params) {
  return KernelCase::of(op, {make.tensor(type, dims)}, {make.output(type, dims)}).with(params);
}

template <typename Params>
void copy_windows(const CaseMaker::Windows& w, Params* params) {
  params->spatial = w.spatial;
  std::copy_n(w.stride, 3, params->stride);
  std::copy_n(w.dilation, 3, params->dilation);
}

}  // namespace planwright::testing

#endif  // PLANWRIGHT_TESTS_SUPPORT_CASE_MAKER_H_
