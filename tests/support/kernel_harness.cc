#include "tests/support/kernel_harness.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "tactics/kernels/cpu.h"
#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/walk.h"
#include "tactics/kernels/registry.h"
#include "tactics/kernels/thread_pool.h"

namespace planwright::testing {
namespace {

using reference::Box;
using reference::Position;

// Pages around memory that a stray write of a kernel may reach.
constexpr size_t kFrontGuard = 4096;

template <typename Body>
void for_each_offset(const TensorView& view, const Body& body) {
  reference::for_each_position_in_order(Box(view), [&](const Position& at) { body(at.offset(view)); });
}

size_t extent(const TensorView& view) {
  if (element_count(view) == 0) return 0;
  int64_t last = 0;
  for (int axis = 0; axis < view.rank; ++axis) last += (view.dims[axis] - 1) * view.strides[axis];
  return static_cast<size_t>(last + 1) * size_of(view.dtype);
}

class Pool {
 public:
  explicit Pool(int workers) {
    if (!ThreadPool::create(workers, &pool_).ok()) ADD_FAILURE() << last_error();
  }
  ~Pool() { ThreadPool::destroy(pool_); }
  Executor* get() const { return pool_; }

 private:
  ThreadPool* pool_ = nullptr;
};

// The packed form of the case's packed inputs, made from dense copies as builders do.
std::unique_ptr<GuardedMemory> pack(const KernelDescriptor& kernel, const KernelCase& c, KernelArgs args) {
  if (kernel.packed_inputs == 0) return nullptr;
  std::vector<TestTensor> dense;
  std::vector<TensorView> views(args.inputs, args.inputs + args.input_count);
  for (size_t i = 0; i < views.size(); ++i) {
    if ((kernel.packed_inputs >> i & 1) == 0 || views[i].absent) continue;
    dense.push_back(c.inputs[i].dense_as(views[i].dtype));
    views[i] = dense.back().view();
  }
  args.inputs = views.data();
  auto packed = std::make_unique<GuardedMemory>(kernel.packed_size(args), 64);
  const Status status = kernel.pack(args, packed->data());
  EXPECT_TRUE(status.ok()) << kernel.name << " cannot pack: " << last_error();
  EXPECT_TRUE(packed->is_intact()) << kernel.name << " packs past its packed_size";
  return packed;
}

// A product by integers as one by the numbers that they stand for.
KernelCase as_matmul(const KernelCase& c) {
  const Dims dims = c.inputs[1].dims();
  std::vector<double> weights = c.inputs[1].elements();
  const std::vector<double> scales = c.inputs[2].elements();
  int64_t block;
  std::memcpy(&block, c.params.data(), sizeof block);
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto row = static_cast<int64_t>(i) / dims[1], column = static_cast<int64_t>(i) % dims[1];
    weights[i] *= scales[static_cast<size_t>(row / block * dims[1] + column)];
  }
  return KernelCase::of(OpKind::kMatMul, {c.inputs[0], TestTensor::of(DType::kF64, dims, weights)}, c.outputs);
}

// Sum |x||w| of every output element of a contraction.
std::vector<double> dot_magnitudes(const KernelCase& c) {
  KernelCase magnitudes = c.op == OpKind::kBlockMatMul ? as_matmul(c) : c;
  magnitudes.program.clear();
  magnitudes.inputs.resize(static_cast<size_t>(magnitudes.core_inputs));
  for (TestTensor& input : magnitudes.inputs) {
    input = input.dense_as(DType::kF64);
    input.map([](double value) { return std::fabs(value); });
  }
  magnitudes.outputs = {TestTensor(DType::kF64, c.outputs[0].dims())};
  return run_reference(magnitudes).outputs[0].elements();
}

double dot_length(const KernelCase& c) {
  const TensorView &x = c.inputs[0].view(), &w = c.inputs[1].view();
  if (c.op == OpKind::kMatMul || c.op == OpKind::kBlockMatMul) return static_cast<double>(x.dims[x.rank - 1]);
  const double taps =
      static_cast<double>(std::accumulate(w.dims + 2, w.dims + w.rank, int64_t{1}, std::multiplies<>()));
  return taps * static_cast<double>(c.op == OpKind::kConv ? w.dims[1] : x.dims[1]);
}

std::string text_of(const Dims& list) {
  std::string text;
  for (const int64_t value : list) {
    if (!text.empty()) text += ',';
    text += std::to_string(value);
  }
  return text;
}

}  // namespace

int64_t random_int(Rng& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

GuardedMemory::GuardedMemory(size_t size, size_t alignment) : size_(size) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t used = (size + alignment - 1) / alignment * alignment;
  block_size_ = kFrontGuard + (used + page - 1) / page * page;
  void* block = mmap(nullptr, block_size_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) throw std::bad_alloc();
  block_ = static_cast<std::byte*>(block);
  mprotect(block_ + block_size_, page, PROT_NONE);
  data_ = block_ + block_size_ - used;
  std::fill(block_, block_ + block_size_, kPattern);
}

GuardedMemory::~GuardedMemory() { munmap(block_, block_size_ + static_cast<size_t>(sysconf(_SC_PAGESIZE))); }

bool GuardedMemory::is_intact() const {
  const auto is_pattern = [](std::byte b) { return b == kPattern; };
  return std::all_of(block_, data_, is_pattern) && std::all_of(data_ + size_, block_ + block_size_, is_pattern);
}

Dims strides_of(const Dims& dims, const std::vector<int>& order, int64_t padding) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t axis = static_cast<size_t>(order[i]);
    strides[axis] = stride;
    stride *= std::max<int64_t>(dims[axis], 1);
    if (i + 1 == order.size()) stride += padding;
  }
  return strides;
}

Dims dense_strides(const Dims& dims) {
  std::vector<int> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  return strides_of(dims, order);
}

Dims channels_last_strides(const Dims& dims) {
  std::vector<int> order = {0};
  for (size_t axis = 2; axis < dims.size(); ++axis) order.push_back(static_cast<int>(axis));
  order.push_back(1);
  return strides_of(dims, order);
}

Dims random_strides(Rng& rng, const Dims& dims) {
  std::vector<int> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), rng);
  Dims strides(dims.size());
  int64_t stride = 1;
  for (const int axis : order) {
    strides[static_cast<size_t>(axis)] = stride;
    stride *= std::max<int64_t>(dims[static_cast<size_t>(axis)], 1);
    if (random_int(rng, 0, 2) == 0) stride += random_int(rng, 1, 3);
  }
  return strides;
}

TestTensor::TestTensor(DType dtype, const Dims& dims, const Dims& strides) {
  view_.dtype = dtype;
  view_.rank = static_cast<int32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), view_.dims);
  std::copy(strides.begin(), strides.end(), view_.strides);
  memory_ = std::make_shared<GuardedMemory>(extent(view_), size_of(dtype));
  view_.data = memory_->data();
}

TestTensor TestTensor::of(DType dtype, const Dims& dims, const std::vector<double>& elements) {
  TestTensor tensor(dtype, dims);
  tensor.set_elements(elements);
  return tensor;
}

TestTensor TestTensor::random(Rng& rng, DType dtype, const Dims& dims, const Dims& strides, double low, double high) {
  TestTensor tensor(dtype, dims, strides);
  std::uniform_real_distribution<double> reals(low, high);
  std::uniform_int_distribution<int64_t> integers(std::lround(low), std::lround(high));
  tensor.map([&](double) { return is_float(dtype) ? reals(rng) : static_cast<double>(integers(rng)); });
  return tensor;
}

TestTensor TestTensor::clone() const {
  TestTensor copy = *this;
  if (view_.absent) return copy;
  copy.memory_ = std::make_shared<GuardedMemory>(memory_->size(), size_of(view_.dtype));
  std::copy_n(memory_->data(), memory_->size(), copy.memory_->data());
  copy.view_.data = copy.memory_->data();
  return copy;
}

TestTensor TestTensor::dense_as(DType dtype) const {
  TestTensor copy(dtype, dims());
  if (dtype == view_.dtype) {
    const std::vector<std::byte> elements = bytes();
    std::copy(elements.begin(), elements.end(), copy.memory_->data());
  } else {
    copy.set_elements(elements());
  }
  return copy;
}

std::vector<double> TestTensor::elements() const {
  std::vector<double> list;
  if (view_.absent) return list;
  for_each_offset(view_, [&](int64_t offset) { list.push_back(reference::load<double>(view_, offset)); });
  return list;
}

void TestTensor::set_elements(const std::vector<double>& elements) {
  ASSERT_EQ(static_cast<int64_t>(elements.size()), count());
  size_t i = 0;
  map([&](double) { return elements[i++]; });
}

void TestTensor::map(const std::function<double(double)>& function) {
  for_each_offset(view_, [&](int64_t offset) {
    reference::store(view_, offset, function(reference::load<double>(view_, offset)));
  });
}

std::vector<std::byte> TestTensor::bytes() const {
  std::vector<std::byte> list;
  if (view_.absent) return list;
  const size_t size = size_of(view_.dtype);
  for_each_offset(view_, [&](int64_t offset) {
    const std::byte* element = memory_->data() + static_cast<size_t>(offset) * size;
    list.insert(list.end(), element, element + size);
  });
  return list;
}

bool TestTensor::is_intact() const {
  if (view_.absent) return true;
  std::vector<bool> used(memory_->size(), false);
  const size_t size = size_of(view_.dtype);
  for_each_offset(view_, [&](int64_t offset) {
    for (size_t i = 0; i < size; ++i) used[static_cast<size_t>(offset) * size + i] = true;
  });
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i] && memory_->data()[i] != GuardedMemory::kPattern) return false;
  }
  return memory_->is_intact();
}

KernelCase KernelCase::of(OpKind op, std::vector<TestTensor> inputs, std::vector<TestTensor> outputs) {
  KernelCase c;
  c.op = op;
  c.core_inputs = op == OpKind::kPointwise ? 0 : static_cast<int>(inputs.size());
  c.inputs = std::move(inputs);
  c.outputs = std::move(outputs);
  return c;
}

KernelCase& KernelCase::with_program(std::vector<PwInstr> instructions, const std::vector<TestTensor>& operands) {
  program = std::move(instructions);
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  return *this;
}

KernelArgs KernelCase::args(std::vector<TensorView>* storage) const {
  storage->clear();
  for (const TestTensor& input : inputs) storage->push_back(input.view());
  for (const TestTensor& output : outputs) storage->push_back(output.view());
  KernelArgs args;
  args.op = op;
  args.inputs = storage->data();
  args.input_count = static_cast<int32_t>(inputs.size());
  args.core_inputs = core_inputs;
  args.outputs = storage->data() + inputs.size();
  args.output_count = static_cast<int32_t>(outputs.size());
  args.params = params.data();
  args.params_size = static_cast<uint32_t>(params_size);
  args.scalars = scalars.data();
  args.scalar_count = static_cast<int32_t>(scalars.size());
  args.program = program.data();
  args.program_size = static_cast<int32_t>(program.size());
  return args;
}

KernelCase KernelCase::with_own_outputs() const {
  KernelCase copy = *this;
  for (TestTensor& output : copy.outputs) output = output.clone();
  return copy;
}

PwInstr pw_compute(PwOp op, int dst, int a, int b, int c, PwClass type) {
  PwInstr instr;
  instr.op = op;
  instr.type = type;
  instr.dst = static_cast<uint8_t>(dst);
  instr.a = static_cast<uint8_t>(a);
  instr.b = static_cast<uint8_t>(b);
  instr.c = static_cast<uint8_t>(c);
  return instr;
}

PwInstr pw_load(int dst, int operand, PwClass type) {
  PwInstr instr = pw_compute(PwOp::kLoad, dst, 0, 0, 0, type);
  instr.operand = static_cast<uint8_t>(operand);
  return instr;
}

PwInstr pw_const(int dst, double value, PwClass type) {
  PwInstr instr = pw_compute(PwOp::kConst, dst, 0, 0, 0, type);
  if (type == PwClass::kFloat || type == PwClass::kDouble) {
    instr.imm_f = value;
  } else {
    instr.imm_i = static_cast<int64_t>(value);
  }
  return instr;
}

PwInstr pw_acc(int dst, PwClass type) { return pw_compute(PwOp::kAcc, dst, 0, 0, 0, type); }

PwInstr pw_store(int output, int a, PwClass type) {
  PwInstr instr = pw_compute(PwOp::kStore, 0, a, 0, 0, type);
  instr.operand = static_cast<uint8_t>(output);
  return instr;
}

Status validate_case(const KernelDescriptor& kernel, const KernelCase& c, const TacticParams& tactic) {
  std::vector<TensorView> storage;
  KernelArgs args = c.args(&storage);
  args.tactic = tactic;
  return kernel.validate(args);
}

Status run_kernel(const KernelDescriptor& kernel, const KernelCase& c, const TacticParams& tactic, int workers) {
  std::vector<TensorView> views;
  KernelArgs args = c.args(&views);
  args.tactic = tactic;
  const Status valid = kernel.validate(args);
  if (!valid.ok()) {
    ADD_FAILURE() << kernel.name << " refuses: " << last_error() << "\n" << describe(c);
    return valid;
  }
  std::vector<std::vector<std::byte>> inputs_before;
  for (const TestTensor& input : c.inputs) inputs_before.push_back(input.bytes());

  const std::unique_ptr<GuardedMemory> packed = pack(kernel, c, args);
  if (packed != nullptr) {
    args.packed = packed->data();
    args.packed_size = packed->size();
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      if ((kernel.packed_inputs >> i & 1) != 0) views[i].data = nullptr;
    }
  }
  GuardedMemory workspace(kernel.workspace_size != nullptr ? kernel.workspace_size(args) : 0, 64);
  args.workspace = workspace.data();
  args.workspace_size = workspace.size();
  args.scratch_stride = ((kernel.scratch_size != nullptr ? kernel.scratch_size(args) : 0) + 63) / 64 * 64;
  GuardedMemory scratch(args.scratch_stride * static_cast<size_t>(workers), 64);
  args.scratch = scratch.data();
  const Pool pool(workers);
  args.executor = pool.get();

  const Status status = kernel.run(args);
  EXPECT_TRUE(workspace.is_intact()) << kernel.name << " writes past its workspace\n" << describe(c);
  EXPECT_TRUE(scratch.is_intact()) << kernel.name << " writes past its scratch\n" << describe(c);
  EXPECT_TRUE(packed == nullptr || packed->is_intact()) << kernel.name << " writes past its packed bytes";
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    EXPECT_EQ(c.inputs[i].bytes(), inputs_before[i]) << kernel.name << " changes input " << i << "\n" << describe(c);
    EXPECT_TRUE(c.inputs[i].is_intact()) << kernel.name << " writes around input " << i << "\n" << describe(c);
  }
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    EXPECT_TRUE(c.outputs[i].is_intact()) << kernel.name << " writes outside output " << i << "\n" << describe(c);
  }
  return status;
}

KernelCase run_reference(const KernelCase& c) {
  KernelCase own = c.with_own_outputs();
  const Status status = run_kernel(reference_kernel(c.op), own);
  EXPECT_TRUE(status.ok()) << last_error() << "\n" << describe(c);
  return own;
}

void expect_like_reference(const KernelDescriptor& kernel, const KernelCase& c, const Tolerance& tolerance,
                           const TacticParams& tactic, int workers) {
  const KernelCase expected = run_reference(c);
  const Status status = run_kernel(kernel, c, tactic, workers);
  ASSERT_TRUE(status.ok()) << kernel.name << ": " << last_error() << "\n" << describe(c);
  std::vector<double> magnitudes;
  if (tolerance.dot_factor != 0) magnitudes = dot_magnitudes(c);
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    const std::vector<double> got = c.outputs[i].elements(), want = expected.outputs[i].elements();
    for (size_t j = 0; j < got.size(); ++j) {
      double bound = tolerance.absolute + tolerance.relative * std::fabs(want[j]);
      if (!magnitudes.empty()) {
        bound += tolerance.dot_factor * dot_length(c) * std::numeric_limits<float>::epsilon() * magnitudes[j];
      }
      const bool same = got[j] == want[j] || (std::isnan(got[j]) && std::isnan(want[j])) ||
                        (std::isfinite(want[j]) && std::fabs(got[j] - want[j]) <= bound);
      ASSERT_TRUE(same) << kernel.name << ": element " << j << " of output " << i << " is " << got[j] << ", not "
                        << want[j] << " within " << bound << "\n"
                        << describe(c);
    }
  }
}

void expect_same_bits_on_any_threads(const KernelDescriptor& kernel, const KernelCase& c, const TacticParams& tactic) {
  const KernelCase one = c.with_own_outputs();
  ASSERT_TRUE(run_kernel(kernel, one, tactic, 1).ok()) << last_error();
  for (const int workers : {2, 3}) {
    const KernelCase more = c.with_own_outputs();
    ASSERT_TRUE(run_kernel(kernel, more, tactic, workers).ok()) << last_error();
    for (size_t i = 0; i < c.outputs.size(); ++i) {
      EXPECT_EQ(more.outputs[i].bytes(), one.outputs[i].bytes())
          << kernel.name << ": output " << i << " differs on " << workers << " threads\n"
          << describe(c);
    }
  }
}

void expect_elements(const TestTensor& actual, const std::vector<double>& expected, double tolerance) {
  const std::vector<double> got = actual.elements();
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const bool same = got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i])) ||
                      std::fabs(got[i] - expected[i]) <= tolerance;
    ASSERT_TRUE(same) << "element " << i << " is " << got[i] << ", not " << expected[i];
  }
}

std::vector<const KernelDescriptor*> kernels_of(OpKind op) {
  std::vector<const KernelDescriptor*> list;
  int count;
  const KernelTable* const* tables = kernel_tables(&count);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < tables[i]->count; ++j) {
      const KernelDescriptor& kernel = tables[i]->kernels[j];
      if (kernel.op == op && &kernel != &reference_kernel(op) && kernel.isa <= detect_isa() && enable_isa(kernel.isa)) {
        list.push_back(&kernel);
      }
    }
  }
  return list;
}

std::string describe(const KernelCase& c) {
  std::string text = name_of(c.op);
  const auto add = [&](const char* what, const std::vector<TestTensor>& tensors) {
    for (const TestTensor& tensor : tensors) {
      const TensorView& v = tensor.view();
      text += std::string("\n  ") + what;
      text += v.absent ? " absent"
                       : std::string(" ") + name_of(v.dtype) + " [" + text_of(tensor.dims()) + "]{" +
                             text_of(Dims(v.strides, v.strides + v.rank)) + "}";
    }
  };
  add("input", c.inputs);
  add("output", c.outputs);
  if (!c.scalars.empty()) text += "\n  scalars " + text_of(c.scalars);
  for (const PwInstr& instr : c.program) text += std::string("\n  ") + name_of(instr.op);
  return text;
}

}  // namespace planwright::testing
