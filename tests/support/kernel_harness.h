// What kernel tests share: tensors in guarded memory with any strides, a case that holds everything a kernel is called
// with, and runs of it that notice every byte touched outside.
#ifndef PLANWRIGHT_TESTS_SUPPORT_KERNEL_HARNESS_H_
#define PLANWRIGHT_TESTS_SUPPORT_KERNEL_HARNESS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tactics/kernels/kernel.h"

namespace planwright::testing {

using Dims = std::vector<int64_t>;
using Rng = std::mt19937_64;

int64_t random_int(Rng& rng, int64_t low, int64_t high);  // both ends included

// Memory whose end, `size` bytes in, is followed by a page that cannot be touched (reads past the end crash the test
// where they happen) and whose start has a pattern before it. Contents start as a pattern too.
class GuardedMemory {
 public:
  GuardedMemory(size_t size, size_t alignment);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  // Whether the bytes before data() still hold the pattern. Alignment may leave some after the end; they count too.
  bool is_intact() const;

  static constexpr std::byte kPattern{0xA5};

 private:
  std::byte *block_, *data_;
  size_t block_size_, size_;
};

// The strides of dims laid out densely with axes in `order`, slowest first ({0, 2, 3, 1}: channels-last), and
// `padding` unused elements after each run of the fastest axis.
Dims strides_of(const Dims& dims, const std::vector<int>& order, int64_t padding = 0);
Dims dense_strides(const Dims& dims);
Dims channels_last_strides(const Dims& dims);
// Any order of the axes, gaps after any of them.
Dims random_strides(Rng& rng, const Dims& dims);

// A tensor and its memory, which ends with its last element. Copies share memory; clone() does not.
class TestTensor {
 public:
  TestTensor() { view_.absent = true; }  // an optional operand not given
  TestTensor(DType dtype, const Dims& dims) : TestTensor(dtype, dims, dense_strides(dims)) {}
  TestTensor(DType dtype, const Dims& dims, const Dims& strides);

  // Dense, with these elements.
  static TestTensor of(DType dtype, const Dims& dims, const std::vector<double>& elements);
  // Dense, with random elements; floats uniform in [low, high], rounded to the type; integers in the same range.
  static TestTensor random(Rng& rng, DType dtype, const Dims& dims, double low = -1, double high = 1) {
    return random(rng, dtype, dims, dense_strides(dims), low, high);
  }
  static TestTensor random(Rng& rng, DType dtype, const Dims& dims, const Dims& strides, double low = -1,
                           double high = 1);

  const TensorView& view() const { return view_; }
  Dims dims() const { return Dims(view_.dims, view_.dims + view_.rank); }
  int64_t count() const { return element_count(view_); }
  TestTensor clone() const;
  // The same elements in another type and dense.
  TestTensor dense_as(DType dtype) const;

  // In row-major order. 64-bit integers past 2^53 lose bits here; bytes() does not.
  std::vector<double> elements() const;
  void set_elements(const std::vector<double>& elements);
  void map(const std::function<double(double)>& function);
  // The bytes of the elements in row-major order, without gaps.
  std::vector<std::byte> bytes() const;
  // Whether memory around and between the elements is as it was made.
  bool is_intact() const;

 private:
  TensorView view_;
  std::shared_ptr<GuardedMemory> memory_;
};

// Everything an operator is called with but the kernel. Outputs are written by run_kernel.
struct KernelCase {
  OpKind op = OpKind::kPointwise;
  std::vector<TestTensor> inputs;  // the operator's own, then the program's operands
  int core_inputs = 0;
  std::vector<TestTensor> outputs;
  std::vector<uint64_t> params;  // the bytes of the params struct, aligned
  size_t params_size = 0;
  std::vector<int64_t> scalars;
  std::vector<PwInstr> program;

  // Inputs and outputs as given, all inputs the operator's own.
  static KernelCase of(OpKind op, std::vector<TestTensor> inputs, std::vector<TestTensor> outputs);
  template <typename Params>
  KernelCase& with(const Params& value) {
    params_size = sizeof(Params);
    params.assign((sizeof(Params) + 7) / 8, 0);
    __builtin_memcpy(params.data(), &value, sizeof(Params));
    return *this;
  }
  KernelCase& with_scalars(std::vector<int64_t> values) {
    scalars = std::move(values);
    return *this;
  }
  // An epilogue (or a Pointwise's program) and its operands, appended to the inputs.
  KernelCase& with_program(std::vector<PwInstr> instructions, const std::vector<TestTensor>& operands);

  // For validate and sizes; views point into `storage`.
  KernelArgs args(std::vector<TensorView>* storage) const;
  // The same inputs, new outputs.
  KernelCase with_own_outputs() const;
};

// ---- Program instructions.
PwInstr pw_load(int dst, int operand, PwClass type = PwClass::kFloat);
PwInstr pw_const(int dst, double value, PwClass type = PwClass::kFloat);
PwInstr pw_acc(int dst, PwClass type = PwClass::kFloat);
PwInstr pw_compute(PwOp op, int dst, int a, int b = 0, int c = 0, PwClass type = PwClass::kFloat);
PwInstr pw_store(int output, int a, PwClass type = PwClass::kFloat);

// Whether `kernel` takes the case; the reason it does not is last_error().
Status validate_case(const KernelDescriptor& kernel, const KernelCase& c, const TacticParams& tactic = {});

// Validates, packs, runs on `workers` threads and returns run()'s status. Fails the test where validate refuses, where
// anything outside the outputs' elements, packed bytes, workspace and scratch was written, or where an input changed.
// Packed inputs have no data while it runs.
Status run_kernel(const KernelDescriptor& kernel, const KernelCase& c, const TacticParams& tactic = {},
                  int workers = 1);

// The reference kernel's outputs for the case.
KernelCase run_reference(const KernelCase& c);

// |a - b| <= absolute + relative * |b| + dot_factor * k * epsilon * sum |x||w|, where the sum is that of the dot
// product of length k of a MatMul, Conv or ConvTranspose (0: none) and epsilon that of the accumulator, fp32.
struct Tolerance {
  double relative = 0, absolute = 0;
  double dot_factor = 0;
};

// Runs the case on `kernel` and on the reference kernel and compares all outputs; infinities and NaN must be equal.
void expect_like_reference(const KernelDescriptor& kernel, const KernelCase& c, const Tolerance& tolerance,
                           const TacticParams& tactic = {}, int workers = 1);

// Runs the case on 1, 2 and 3 threads; the outputs' bytes must be the same.
void expect_same_bits_on_any_threads(const KernelDescriptor& kernel, const KernelCase& c,
                                     const TacticParams& tactic = {});

// Compares elements as EXPECT does, naming the first that differs.
void expect_elements(const TestTensor& actual, const std::vector<double>& expected, double tolerance = 0);

// Kernels of an operator that are linked in, reference kernels left out, for instruction sets this CPU has.
std::vector<const KernelDescriptor*> kernels_of(OpKind op);

// "avx2_gemm [2,3,4]{12,4,1} fp32 ...": for SCOPED_TRACE.
std::string describe(const KernelCase& c);

}  // namespace planwright::testing

#endif  // PLANWRIGHT_TESTS_SUPPORT_KERNEL_HARNESS_H_
