// Contractions of bytes against the reference, which they equal to the bit: sums are exact, and what follows them is
// computed in the same order.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tactics/kernels/cpu.h"
#include "tests/support/contraction_cases.h"
#include "tests/support/hostile_cases.h"

namespace planwright::testing {
namespace {

constexpr Tolerance kExact = {};

std::vector<const KernelDescriptor*> byte_kernels(OpKind op) {
  return family_of(op, op == OpKind::kConv ? "conv_s8_" : "matmul_s8_");
}

TestTensor random_bytes(Rng& rng, DType type, const Dims& dims, const Dims& strides) {
  const double low = type == DType::kU8 ? 0 : -128;
  TestTensor tensor = TestTensor::random(rng, type, dims, strides, low, low + 255);
  // Now and then only the ends: of pairs of these, sums in 16 bits saturate.
  if (random_int(rng, 0, 3) == 0) {
    tensor.map([&](double x) { return x < low + 64 ? low : low + 255; });
  }
  return tensor;
}

DType random_type(Rng& rng) { return random_int(rng, 0, 1) == 0 ? DType::kU8 : DType::kI8; }

// In place of the operands in fp32; a zero point in three of four cases.
KernelCase as_bytes(Rng& rng, const KernelCase& c) {
  KernelCase bytes = c;
  const DType type = random_type(rng);
  for (size_t i = 0; i < 2; ++i) {
    const TensorView& view = c.inputs[i].view();
    bytes.inputs[i] =
        random_bytes(rng, i == 0 ? type : DType::kI8, c.inputs[i].dims(), Dims(view.strides, view.strides + view.rank));
  }
  if (random_int(rng, 0, 3) != 0) {
    const Dims dims(static_cast<size_t>(random_int(rng, 0, 1)), 1);
    bytes.inputs.push_back(random_bytes(rng, type, dims, dense_strides(dims)));
    bytes.core_inputs = 3;
  }
  return bytes;
}

void set_output(KernelCase* c, DType type) {
  const TensorView view = c->outputs[0].view();
  c->outputs[0] = TestTensor(type, c->outputs[0].dims(), Dims(view.strides, view.strides + view.rank));
}

constexpr PwClass kInt = PwClass::kInt, kUint = PwClass::kUint, kFloat = PwClass::kFloat;

PwInstr convert(int dst, int a, PwClass from, PwClass to) {
  PwInstr instr = pw_compute(PwOp::kConvert, dst, a, 0, 0, to);
  instr.from = from;
  return instr;
}

// What ends a program whose value is in register 0 of class float: stores it as `type`, rounded to its levels.
void append_store(DType type, double zero, std::vector<PwInstr>* program) {
  if (type == DType::kF32) return program->push_back(pw_store(0, 0));
  const bool is_byte = type != DType::kI32;
  const double low = type == DType::kU8 ? 0 : -128;
  program->push_back(pw_compute(PwOp::kRoundEven, 0, 0));
  if (is_byte) {
    const std::vector<PwInstr> levels = {pw_const(1, zero),      pw_compute(PwOp::kAdd, 0, 0, 1),
                                         pw_const(1, low),       pw_compute(PwOp::kMax, 0, 0, 1),
                                         pw_const(1, low + 255), pw_compute(PwOp::kMin, 0, 0, 1)};
    program->insert(program->end(), levels.begin(), levels.end());
  }
  const PwClass type_class = class_of(type);
  program->push_back(convert(20, 0, kFloat, type_class));
  program->push_back(pw_store(0, 20, type_class));
}

// Levels of uint8 of the value in register 0.
void append_level(double zero, std::vector<PwInstr>* program) {
  const std::vector<PwInstr> levels = {
      pw_compute(PwOp::kRoundEven, 0, 0), pw_const(1, zero), pw_compute(PwOp::kAdd, 0, 0, 1), pw_const(1, 0),
      pw_compute(PwOp::kMax, 0, 0, 1),    pw_const(1, 255),  pw_compute(PwOp::kMin, 0, 0, 1)};
  program->insert(program->end(), levels.begin(), levels.end());
}
void append_number(double zero, double scale, std::vector<PwInstr>* program) {
  const std::vector<PwInstr> number = {pw_const(1, zero), pw_compute(PwOp::kSub, 0, 0, 1), pw_const(1, scale),
                                       pw_compute(PwOp::kMul, 0, 0, 1)};
  program->insert(program->end(), number.begin(), number.end());
}

// Of the value in register 0.
void append_hard_swish(std::vector<PwInstr>* program) {
  const std::vector<PwInstr> gate = {pw_const(1, 3),
                                     pw_compute(PwOp::kAdd, 2, 0, 1),
                                     pw_const(1, 0),
                                     pw_compute(PwOp::kMax, 2, 2, 1),
                                     pw_const(1, 6),
                                     pw_compute(PwOp::kMin, 2, 2, 1),
                                     pw_compute(PwOp::kMul, 0, 0, 2)};
  program->insert(program->end(), gate.begin(), gate.end());
}

DType random_output(Rng& rng) {
  constexpr DType kTypes[] = {DType::kF32, DType::kU8, DType::kI8, DType::kI32};
  return kTypes[random_int(rng, 0, 3)];
}

// Sums of k products of random bytes are of the order of 10^4 * sqrt(k).
TestTensor scales(Rng& rng, const Dims& dims) { return TestTensor::random(rng, DType::kF32, dims, 1e-4, 1e-3); }

// Epilogues by number; `column_axis` is the output's.
constexpr int kEpilogues = 19;
void add_byte_epilogue(Rng& rng, int which, int column_axis, KernelCase* c) {
  const Dims dims = c->outputs[0].dims();
  Dims columns(dims.size() - static_cast<size_t>(column_axis), 1);
  columns[0] = dims[static_cast<size_t>(column_axis)];
  const TensorView& out = c->outputs[0].view();
  const Dims strides(out.strides, out.strides + out.rank);
  if (which == 0) return set_output(c, random_int(rng, 0, 1) == 0 ? DType::kI32 : DType::kF32);
  if (which == 1) {  // stored as they are
    set_output(c, DType::kI32);
    c->with_program({pw_acc(9, kInt), pw_store(0, 9, kInt)}, {});
    return;
  }
  DType type = random_output(rng);
  const double zero = static_cast<double>(random_int(rng, -20, 20));
  std::vector<PwInstr> program = {pw_acc(9, kInt), convert(0, 9, kInt, kFloat)};
  const auto add = [&](std::initializer_list<PwInstr> list) { program.insert(program.end(), list); };
  std::vector<TestTensor> operands;
  switch (which) {
    case 2:  // a scale for each column
      add({pw_load(1, 0), pw_compute(PwOp::kMul, 0, 1, 0)});
      operands = {scales(rng, columns)};
      break;
    case 3:  // a bias in units of the sums, one scale, relu
      add({pw_load(1, 0), pw_compute(PwOp::kAdd, 0, 0, 1), pw_load(1, 1), pw_compute(PwOp::kMul, 0, 0, 1),
           pw_const(1, 0), pw_compute(PwOp::kMax, 0, 0, 1)});
      operands = {TestTensor::random(rng, DType::kF32, columns, -1e4, 1e4), scales(rng, {})};
      break;
    case 4:  // scales, a bias, a clip
      add({pw_load(1, 0), pw_compute(PwOp::kMul, 0, 0, 1), pw_load(1, 1), pw_compute(PwOp::kAdd, 0, 0, 1),
           pw_const(1, -2), pw_compute(PwOp::kMax, 0, 0, 1), pw_const(1, 6), pw_compute(PwOp::kMin, 0, 0, 1)});
      operands = {scales(rng, columns), TestTensor::random(rng, DType::kF32, columns, -2, 2)};
      break;
    case 5: {  // a residual of bytes with a scale
      const DType of = random_type(rng);
      add({pw_load(1, 0), pw_compute(PwOp::kMul, 0, 0, 1), pw_load(21, 1, class_of(of)),
           convert(2, 21, class_of(of), kFloat), pw_const(3, 7), pw_compute(PwOp::kSub, 2, 2, 3), pw_const(3, 0.25),
           pw_compute(PwOp::kMul, 2, 2, 3), pw_compute(PwOp::kAdd, 0, 0, 2)});
      operands = {scales(rng, columns), random_bytes(rng, of, dims, strides)};
      break;
    }
    case 9: {  // levels, a residual's too, added, clipped
      const DType of = random_int(rng, 0, 2) == 0 ? DType::kF32 : random_type(rng);
      add({pw_load(1, 0),
           pw_compute(PwOp::kMul, 0, 0, 1),
           pw_load(1, 1),
           pw_compute(PwOp::kAdd, 0, 0, 1),
           pw_compute(PwOp::kRoundEven, 0, 0),
           pw_const(1, 100),
           pw_compute(PwOp::kAdd, 0, 0, 1),
           pw_const(1, 0),
           pw_compute(PwOp::kMax, 0, 0, 1),
           pw_const(1, 255),
           pw_compute(PwOp::kMin, 0, 0, 1),
           pw_const(1, 100),
           pw_compute(PwOp::kSub, 0, 0, 1),
           pw_const(1, 0.3),
           pw_compute(PwOp::kMul, 0, 0, 1),
           pw_load(21, 2, class_of(of)),
           convert(2, 21, class_of(of), kFloat),
           pw_const(3, 7),
           pw_compute(PwOp::kSub, 2, 2, 3),
           pw_const(3, 0.7),
           pw_compute(PwOp::kMul, 2, 2, 3),
           pw_compute(PwOp::kAdd, 0, 2, 0),
           pw_const(1, 0),
           pw_compute(PwOp::kMax, 0, 0, 1)});
      operands = {scales(rng, columns), TestTensor::random(rng, DType::kF32, columns, -2, 2),
                  of == DType::kF32 ? TestTensor::random(rng, of, dims, strides, -50, 50)
                                    : random_bytes(rng, of, dims, strides)};
      break;
    }
    case 10:  // levels of one scale made those of another
      add({pw_load(1, 0), pw_compute(PwOp::kMul, 0, 0, 1), pw_compute(PwOp::kRoundEven, 0, 0), pw_const(1, 3),
           pw_compute(PwOp::kAdd, 0, 0, 1), pw_const(1, 0), pw_compute(PwOp::kMax, 0, 0, 1), pw_const(1, 255),
           pw_compute(PwOp::kMin, 0, 0, 1), pw_const(1, 3), pw_compute(PwOp::kSub, 0, 0, 1), pw_const(1, 0.6),
           pw_compute(PwOp::kMul, 0, 0, 1)});
      operands = {scales(rng, columns)};
      break;
    case 11:  // levels, a hard swish of them, whatever is stored
      add({pw_load(1, 0), pw_compute(PwOp::kMul, 0, 0, 1)});
      append_level(100, &program);
      append_number(100, 0.06, &program);
      add({pw_const(1, 3), pw_compute(PwOp::kAdd, 2, 0, 1), pw_const(1, 0), pw_compute(PwOp::kMax, 2, 2, 1),
           pw_const(1, 6), pw_compute(PwOp::kMin, 2, 2, 1), pw_compute(PwOp::kMul, 0, 0, 2), pw_const(1, 0.2),
           pw_compute(PwOp::kDiv, 0, 0, 1)});
      operands = {scales(rng, columns)};
      break;
    case 12:  // levels, a sigmoid times them, levels, numbers
      add({pw_load(1, 0), pw_compute(PwOp::kMul, 0, 0, 1), pw_load(1, 1), pw_compute(PwOp::kAdd, 0, 0, 1)});
      append_level(128, &program);
      append_number(128, 0.1, &program);
      add({pw_compute(PwOp::kSigmoid, 2, 0), pw_compute(PwOp::kMul, 0, 0, 2), pw_const(1, 20),
           pw_compute(PwOp::kMul, 0, 0, 1)});
      append_level(30, &program);
      append_number(30, 0.05, &program);
      operands = {scales(rng, columns), TestTensor::random(rng, DType::kF32, columns, -9, 9)};
      break;
    case 13:
    case 14:
    case 15: {  // likewise, and a residual, and perhaps levels and a function of these too
      const DType of = random_int(rng, 0, 2) == 0 ? DType::kF32 : random_type(rng);
      add({pw_load(1, 0), pw_compute(PwOp::kMul, 0, 0, 1)});
      append_level(128, &program);
      append_number(128, 0.1, &program);
      // Without, there is only the second function.
      if (which != 15) add({pw_compute(PwOp::kSigmoid, 2, 0), pw_compute(PwOp::kMul, 0, 0, 2)});
      add({pw_const(1, 20), pw_compute(PwOp::kMul, 0, 0, 1), pw_load(21, 1, class_of(of)),
           convert(3, 21, class_of(of), kFloat)});
      append_level(30, &program);
      append_number(30, 0.5, &program);
      add({pw_const(1, 7), pw_compute(PwOp::kSub, 3, 3, 1), pw_const(1, 0.7), pw_compute(PwOp::kMul, 3, 3, 1),
           pw_compute(PwOp::kAdd, 0, 0, 3)});
      if (which != 13) {
        append_level(20, &program);
        append_number(20, 1.3, &program);
        add({pw_compute(PwOp::kAbs, 2, 0), pw_compute(PwOp::kMul, 0, 0, 2), pw_const(1, 90),
             pw_compute(PwOp::kDiv, 0, 0, 1)});
      }
      operands = {scales(rng, columns), of == DType::kF32 ? TestTensor::random(rng, of, dims, strides, -50, 50)
                                                          : random_bytes(rng, of, dims, strides)};
      break;
    }
    case 16:  // levels, a bias in numbers, levels
      add({pw_load(1, 0), pw_compute(PwOp::kMul, 0, 0, 1)});
      append_level(117, &program);
      append_number(117, 0.8, &program);
      add({pw_load(2, 1), pw_compute(PwOp::kAdd, 0, 0, 2)});
      append_level(90, &program);
      append_number(90, 0.3, &program);
      add({pw_compute(PwOp::kAbs, 2, 0), pw_compute(PwOp::kMul, 0, 0, 2), pw_const(1, 9),
           pw_compute(PwOp::kDiv, 0, 0, 1)});
      operands = {scales(rng, columns), TestTensor::random(rng, DType::kF32, columns, -30, 30)};
      break;
    case 6:  // int32 for each column, a division, one number for all of them: interpreted
      add({pw_load(21, 0, kInt), convert(2, 21, kInt, kFloat), pw_compute(PwOp::kAdd, 0, 0, 2), pw_load(22, 1, kUint),
           convert(3, 22, kUint, kFloat), pw_const(4, 100), pw_compute(PwOp::kAdd, 3, 3, 4),
           pw_compute(PwOp::kDiv, 0, 0, 3)});
      operands = {TestTensor::random(rng, DType::kI32, columns, -1e5, 1e5), random_bytes(rng, DType::kU8, {}, {})};
      break;
    case 8:  // levels made numbers again
      add({pw_load(1, 0), pw_compute(PwOp::kMul, 0, 1, 0), pw_compute(PwOp::kRoundEven, 0, 0), pw_const(1, zero),
           pw_compute(PwOp::kAdd, 0, 0, 1), pw_const(1, 0), pw_compute(PwOp::kMax, 0, 0, 1), pw_const(1, 255),
           pw_compute(PwOp::kMin, 0, 0, 1), pw_const(1, zero), pw_compute(PwOp::kSub, 0, 0, 1), pw_const(1, 0.125),
           pw_compute(PwOp::kMul, 0, 0, 1)});
      type = DType::kF32;
      operands = {scales(rng, columns)};
      break;
    case 17:  // hard swish, a factor and an offset for all columns
    case 18:  // or for each
      add({pw_load(1, 0), pw_compute(PwOp::kMul, 0, 0, 1), pw_load(1, 1), pw_compute(PwOp::kAdd, 0, 0, 1)});
      append_hard_swish(&program);
      if (which == 17) {
        add({pw_const(1, 7.5), pw_compute(PwOp::kMul, 0, 0, 1), pw_const(1, -2.25), pw_compute(PwOp::kAdd, 0, 0, 1)});
      } else {
        add({pw_load(1, 2), pw_compute(PwOp::kMul, 0, 0, 1), pw_load(1, 3), pw_compute(PwOp::kAdd, 0, 0, 1)});
      }
      operands = {scales(rng, columns), TestTensor::random(rng, DType::kF32, columns, -2, 2)};
      if (which == 18) {
        operands.push_back(TestTensor::random(rng, DType::kF32, columns, 1, 20));
        operands.push_back(TestTensor::random(rng, DType::kF32, columns, -9, 9));
      }
      if (random_int(rng, 0, 2) == 0) {  // and a residual
        add({pw_load(1, static_cast<int>(operands.size())), pw_compute(PwOp::kAdd, 0, 0, 1)});
        operands.push_back(TestTensor::random(rng, DType::kF32, dims, strides, -5, 5));
      }
      break;
    default:  // not in range of what is stored
      add({pw_load(1, 0), pw_compute(PwOp::kMul, 0, 0, 1)});
      operands = {scales(rng, {})};
      if (type == DType::kF32) break;
      program.push_back(convert(20, 0, kFloat, class_of(type)));
      program.push_back(pw_store(0, 20, class_of(type)));
      break;
  }
  set_output(c, type);
  if (which != 7 || type == DType::kF32) append_store(type, zero, &program);
  c->with_program(program, operands);
}

TacticParams random_tactic(Rng& rng) {
  return {{static_cast<int32_t>(random_int(rng, 0, 3)), static_cast<int32_t>(random_int(rng, 0, 2))}};
}

TEST(ByteTest, ThereIsAKernelForEveryTier) {
  int wanted = 0;
  for (const Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni}) {
    wanted += detect_isa() >= isa ? 1 : 0;
  }
  EXPECT_EQ(byte_kernels(OpKind::kConv).size(), static_cast<size_t>(2 * wanted));
  EXPECT_EQ(family_of(OpKind::kConv, "conv_s8_image_").size(), static_cast<size_t>(wanted));
  EXPECT_EQ(byte_kernels(OpKind::kMatMul).size(), static_cast<size_t>(wanted));
}

TEST(ByteTest, RandomConvolutions) {
  Rng rng(1);
  for (const KernelDescriptor* kernel : byte_kernels(OpKind::kConv)) {
    const bool is_image = std::string(kernel->name).find("image") != std::string::npos;
    int passed = 0;
    for (int i = 0; i < (is_image ? 600 : 220); ++i) {
      ConvShape shape = random_conv_shape(rng);
      // One group, and now and then so few channels that they need not be last.
      if (is_image) shape.group = 1;
      KernelCase c = as_bytes(rng, conv_case(rng, shape));
      if (is_image && shape.channels <= 8 && i % 2 == 0) {
        c.inputs[0] =
            random_bytes(rng, c.inputs[0].view().dtype, c.inputs[0].dims(), random_strides(rng, c.inputs[0].dims()));
      }
      add_byte_epilogue(rng, i % kEpilogues, 1, &c);
      // Images may be of other forms, and what is depthwise has kernels of its own.
      if (!validate_case(*kernel, c).ok()) continue;
      ++passed;
      expect_like_reference(*kernel, c, kExact, random_tactic(rng), 1 + i % 2);
    }
    EXPECT_GE(passed, is_image ? 220 : 180);
  }
}

// Windows of every width and stride over a copy of the image, whose last tiles read past its last line.
TEST(ByteTest, ImagesOfFewAndManyChannels) {
  Rng rng(13);
  for (const KernelDescriptor* kernel : family_of(OpKind::kConv, "conv_s8_image_")) {
    for (const int64_t channels : {1, 3, 4, 7, 12, 33, 64}) {
      for (const int64_t width : {2, 3, 7}) {
        for (const int64_t stride : {1, 2, 3}) {
          ConvShape shape;
          shape.channels = channels;
          shape.filters = 35;
          shape.input = {11, 29};
          shape.kernel = {3, width};
          shape.stride = {stride, stride};
          shape.pad = shape.pad_end = {1, width / 2};
          KernelCase c = as_bytes(rng, conv_case(rng, shape));
          add_byte_epilogue(rng, static_cast<int>(channels + stride) % kEpilogues, 1, &c);
          expect_like_reference(*kernel, c, kExact, random_tactic(rng));
        }
      }
    }
  }
}

ConvShape random_depthwise_shape(Rng& rng) {
  ConvShape shape;
  shape.batch = random_int(rng, 1, 2);
  shape.channels = shape.filters = random_int(rng, 1, 70);
  shape.group = static_cast<int>(shape.channels);
  shape.input = {random_int(rng, 1, 9), random_int(rng, 1, 30)};
  shape.kernel = {random_int(rng, 1, 5), random_int(rng, 1, 5)};
  const int64_t stride = random_int(rng, 1, 3);
  shape.stride = {random_int(rng, 1, 2), stride};
  shape.dilation = {1, random_int(rng, 0, 3) == 0 ? 2 : 1};
  shape.pad = shape.pad_end = {shape.kernel[0] - 1, 2 * (shape.kernel[1] - 1)};
  shape.input_padding = random_int(rng, 0, 2);
  shape.output_padding = random_int(rng, 0, 2);
  return shape;
}

KernelCase depthwise_case(Rng& rng, const ConvShape& shape) {
  for (;;) {
    KernelCase c = as_bytes(rng, conv_case(rng, shape));
    if (c.inputs[0].view().dtype == DType::kU8) return c;
  }
}

TEST(ByteTest, RandomDepthwiseConvolutions) {
  Rng rng(10);
  const std::vector<const KernelDescriptor*> kernels = family_of(OpKind::kConv, "depthwise_s8_");
  ASSERT_FALSE(kernels.empty());
  for (const KernelDescriptor* kernel : kernels) {
    int passed = 0;
    for (int i = 0; i < 400; ++i) {
      KernelCase c = depthwise_case(rng, random_depthwise_shape(rng));
      add_byte_epilogue(rng, i % kEpilogues, 1, &c);
      // Of operands in bytes only straight epilogues know.
      if (i % kEpilogues == 6 || !validate_case(*kernel, c).ok()) continue;
      ++passed;
      expect_like_reference(*kernel, c, kExact, {{static_cast<int32_t>(random_int(rng, 0, 3))}}, 1 + i % 2);
    }
    EXPECT_GT(passed, 320);
  }
}

// Functions that the kernels approximate: levels are right to one.
TEST(ByteTest, SigmoidsAndErf) {
  Rng rng(21);
  const auto append_sigmoid = [](std::vector<PwInstr>* program) {
    program->push_back(pw_compute(PwOp::kSigmoid, 0, 0));
  };
  const auto append_silu = [](std::vector<PwInstr>* program) {
    program->push_back(pw_compute(PwOp::kSigmoid, 2, 0));
    program->push_back(pw_compute(PwOp::kMul, 0, 2, 0));
  };
  const auto append_gelu = [](std::vector<PwInstr>* program) {
    const std::vector<PwInstr> gelu = {pw_const(1, 1.41421356),         pw_compute(PwOp::kDiv, 2, 0, 1),
                                       pw_compute(PwOp::kErf, 2, 2),    pw_const(1, 1),
                                       pw_compute(PwOp::kAdd, 2, 2, 1), pw_const(1, 0.5),
                                       pw_compute(PwOp::kMul, 0, 0, 1), pw_compute(PwOp::kMul, 0, 0, 2)};
    program->insert(program->end(), gelu.begin(), gelu.end());
  };
  const std::function<void(std::vector<PwInstr>*)> functions[] = {append_sigmoid, append_silu, append_gelu};
  for (const KernelDescriptor* kernel : byte_kernels(OpKind::kMatMul)) {
    for (int i = 0; i < 60; ++i) {
      const int64_t m = random_int(rng, 1, 30), k = random_int(rng, 1, 70), n = random_int(rng, 1, 80);
      KernelCase c = as_bytes(
          rng, KernelCase::of(OpKind::kMatMul, {TestTensor(DType::kF32, {m, k}), TestTensor(DType::kF32, {k, n})},
                              {TestTensor(DType::kF32, {m, n})}));
      std::vector<PwInstr> program = {pw_acc(9, kInt), convert(0, 9, kInt, kFloat), pw_load(1, 0),
                                      pw_compute(PwOp::kMul, 0, 0, 1)};
      functions[i % 3](&program);
      program.push_back(pw_const(1, 40));
      program.push_back(pw_compute(PwOp::kMul, 0, 0, 1));
      set_output(&c, DType::kU8);
      append_store(DType::kU8, 30, &program);
      c.with_program(program, {scales(rng, {n})});
      expect_like_reference(*kernel, c, {.absolute = 1}, random_tactic(rng), 1 + i % 2);
    }
  }
}

// The largest sums: of 256 products, all of one sign.
TEST(ByteTest, LongDepthwiseSums) {
  Rng rng(11);
  ConvShape shape;
  shape.channels = shape.filters = 33;
  shape.group = 33;
  shape.input = {17, 18};
  shape.kernel = {16, 16};
  for (const KernelDescriptor* kernel : family_of(OpKind::kConv, "depthwise_s8_")) {
    for (const double zero : {0, 255}) {
      KernelCase c = conv_case(rng, shape);
      const TensorView view = c.inputs[0].view();
      c.inputs[0] = TestTensor(DType::kU8, c.inputs[0].dims(), Dims(view.strides, view.strides + view.rank));
      c.inputs[0].map([&](double) { return 255 - zero; });
      c.inputs[1] = TestTensor(DType::kI8, c.inputs[1].dims());
      c.inputs[1].map([](double) { return -128; });
      c.inputs.push_back(TestTensor::of(DType::kU8, {}, {zero}));
      c.core_inputs = 3;
      set_output(&c, DType::kI32);
      expect_like_reference(*kernel, c, kExact);
    }
  }
}

TEST(ByteTest, RandomProducts) {
  Rng rng(2);
  for (const KernelDescriptor* kernel : byte_kernels(OpKind::kMatMul)) {
    for (int i = 0; i < 220; ++i) {
      const int64_t batch = random_int(rng, 1, 3), m = random_int(rng, 1, 30), k = random_int(rng, 0, 70);
      const int64_t n = random_int(rng, 1, 80), matrices = random_int(rng, 0, 1) == 0 ? 1 : batch;
      const Dims a = {batch, m, k}, b = {matrices, k, n}, y = {batch, m, n};
      const auto rows = [&](const Dims& dims) { return strides_of(dims, {0, 1, 2}, random_int(rng, 0, 1) * 3); };
      KernelCase c = as_bytes(
          rng, KernelCase::of(OpKind::kMatMul, {TestTensor(DType::kF32, a, rows(a)), TestTensor(DType::kF32, b)},
                              {TestTensor(DType::kF32, y, rows(y))}));
      add_byte_epilogue(rng, i % kEpilogues, 2, &c);
      expect_like_reference(*kernel, c, kExact, random_tactic(rng), 1 + i % 2);
    }
  }
}

// Every count of columns through three panels and of rows through three tiles, so that no tail is left out.
TEST(ByteTest, EveryTailOfColumnsAndRows) {
  Rng rng(3);
  for (const KernelDescriptor* kernel : byte_kernels(OpKind::kMatMul)) {
    for (int64_t n = 1; n <= 70; ++n) {
      const int64_t m = 1 + n % 37, k = 1 + n % 23;
      KernelCase c = as_bytes(
          rng, KernelCase::of(OpKind::kMatMul, {TestTensor(DType::kF32, {m, k}), TestTensor(DType::kF32, {k, n})},
                              {TestTensor(DType::kF32, {m, n})}));
      add_byte_epilogue(rng, static_cast<int>(n) % kEpilogues, 1, &c);
      expect_like_reference(*kernel, c, kExact);
    }
  }
}

// The largest sums there are: of 65,536 products.
TEST(ByteTest, LongSums) {
  Rng rng(4);
  for (const KernelDescriptor* kernel : byte_kernels(OpKind::kMatMul)) {
    for (const int64_t k : {int64_t{2000}, int64_t{65536}, int64_t{65537}}) {
      KernelCase c = KernelCase::of(
          OpKind::kMatMul,
          {TestTensor(DType::kU8, {2, k}), TestTensor(DType::kI8, {k, 17}), TestTensor::of(DType::kU8, {}, {0})},
          {TestTensor(DType::kI32, {2, 17})});
      c.inputs[0].map([](double) { return 255; });
      c.inputs[1].map([](double) { return -128; });
      if (k > 65536) {
        EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
        continue;
      }
      expect_like_reference(*kernel, c, kExact);
    }
  }
}

TEST(ByteTest, AnyThreads) {
  Rng rng(5);
  ConvShape shape;
  shape.channels = 40;
  shape.filters = 70;
  shape.input = {19, 21};
  shape.kernel = {3, 3};
  shape.pad = shape.pad_end = {1, 1};
  for (const KernelDescriptor* kernel : byte_kernels(OpKind::kConv)) {
    KernelCase c = as_bytes(rng, conv_case(rng, shape));
    add_byte_epilogue(rng, 4, 1, &c);
    expect_same_bits_on_any_threads(*kernel, c);
  }
}

// Pointwise programs that only load and store integers: all tiers give the reference's bytes, also of what does not
// fit.
TEST(ByteTest, QuantisingAndDequantising) {
  Rng rng(8);
  for (const KernelDescriptor* kernel : family_of(OpKind::kPointwise, "pointwise_mixed")) {
    for (int i = 0; i < 120; ++i) {
      const Dims dims = {random_int(rng, 1, 4), random_int(rng, 1, 40), random_int(rng, 1, 30)};
      const auto strides = [&] { return random_int(rng, 0, 2) == 0 ? random_strides(rng, dims) : dense_strides(dims); };
      const DType from = random_output(rng), to = random_output(rng);
      TestTensor x = from == DType::kF32 ? TestTensor::random(rng, from, dims, strides(), -300, 300)
                                         : random_bytes(rng, from, dims, strides());
      if (from == DType::kF32 && i % 3 == 0) {
        std::vector<double> elements = x.elements();
        elements.front() = __builtin_nan("");
        elements.back() = i % 2 == 0 ? 3e9 : -1e20;
        x.set_elements(elements);
      }
      std::vector<PwInstr> program = {pw_load(21, 0, class_of(from)), convert(0, 21, class_of(from), kFloat),
                                      pw_load(1, 1), pw_compute(PwOp::kMul, 0, 0, 1)};
      if (i % 4 == 0 && to != DType::kF32) {
        program.push_back(convert(20, 0, kFloat, class_of(to)));
        program.push_back(pw_store(0, 20, class_of(to)));
      } else {
        append_store(to, 5, &program);
      }
      KernelCase c = KernelCase::of(OpKind::kPointwise, {}, {TestTensor(to, dims, strides())});
      c.with_program(program, {x, scales(rng, {dims[1], 1})});
      if (i % 2 == 0) c.inputs[1].map([](double scale) { return scale * 1e4; });
      if (from == DType::kF32 && to == DType::kF32) continue;
      expect_like_reference(*kernel, c, kExact, {}, 1 + i % 2);
    }
  }
}

// Functions of bytes that are bytes, in tables; rows of few elements, several to a strip.
TEST(ByteTest, FunctionsOfBytesAndShortRows) {
  Rng rng(12);
  for (const KernelDescriptor* kernel : family_of(OpKind::kPointwise, "pointwise_mixed")) {
    for (int i = 0; i < 120; ++i) {
      const Dims dims = {random_int(rng, 1, 3), random_int(rng, 1, 70), random_int(rng, 1, 40)};
      const auto strides = [&] { return i % 4 == 0 ? random_strides(rng, dims) : strides_of(dims, {0, 1, 2}, i % 3); };
      const DType from = random_type(rng), to = random_type(rng);
      std::vector<PwInstr> program = {pw_load(21, 0, class_of(from)), convert(0, 21, class_of(from), kFloat),
                                      pw_load(1, 1), pw_compute(PwOp::kMul, 0, 0, 1), pw_compute(PwOp::kMul, 0, 0, 0)};
      std::vector<TestTensor> operands = {
          random_bytes(rng, from, dims, strides()),
          TestTensor::random(rng, DType::kF32, i % 2 == 0 ? Dims{} : Dims{dims[1], 1}, 0.05, 0.1)};
      if (i % 3 == 0) {
        program.insert(program.end(), {pw_load(2, 2), pw_compute(PwOp::kAdd, 0, 0, 2)});
        operands.push_back(TestTensor::random(rng, DType::kF32, dims, strides(), -50, 50));
      }
      append_store(to, 5, &program);
      KernelCase c = KernelCase::of(OpKind::kPointwise, {}, {TestTensor(to, dims, strides())});
      c.with_program(program, operands);
      expect_like_reference(*kernel, c, kExact, {}, 1 + i % 2);
    }
  }
}

TEST(ByteTest, WhatValidatePassesStaysInBounds) {
  Rng rng(9);
  for (const OpKind op : {OpKind::kConv, OpKind::kMatMul}) {
    for (const KernelDescriptor* kernel : byte_kernels(op)) {
      int passed = 0;
      for (int i = 0; i < 1500; ++i) {
        const int64_t m = random_int(rng, 1, 50), k = random_int(rng, 1, 40);
        KernelCase c =
            as_bytes(rng, op == OpKind::kConv
                              ? conv_case(rng, random_conv_shape(rng))
                              : KernelCase::of(OpKind::kMatMul,
                                               {TestTensor(DType::kF32, {m, k}), TestTensor(DType::kF32, {k, 33})},
                                               {TestTensor(DType::kF32, {m, 33})}));
        add_byte_epilogue(rng, i % kEpilogues, 1, &c);
        if (!change_hostilely(rng, *kernel, &c)) continue;
        ++passed;
        EXPECT_TRUE(run_kernel(*kernel, c).ok()) << last_error();
        if (HasFailure()) return;
      }
      EXPECT_GT(passed, 30) << kernel->name;
    }
  }
  for (const KernelDescriptor* kernel : family_of(OpKind::kConv, "depthwise_s8_")) {
    int passed = 0;
    for (int i = 0; i < 1500; ++i) {
      KernelCase c = depthwise_case(rng, random_depthwise_shape(rng));
      add_byte_epilogue(rng, i % kEpilogues, 1, &c);
      if (!change_hostilely(rng, *kernel, &c)) continue;
      ++passed;
      EXPECT_TRUE(run_kernel(*kernel, c).ok()) << last_error();
      if (HasFailure()) return;
    }
    EXPECT_GT(passed, 30) << kernel->name;
  }
}

TEST(ByteTest, RefusesWhatItCannotDo) {
  Rng rng(6);
  const auto product = [&](DType a, DType b, DType zero) {
    return KernelCase::of(OpKind::kMatMul, {TestTensor(a, {3, 8}), TestTensor(b, {8, 5}), TestTensor(zero, {1})},
                          {TestTensor(DType::kI32, {3, 5})});
  };
  for (const KernelDescriptor* kernel : byte_kernels(OpKind::kMatMul)) {
    EXPECT_TRUE(validate_case(*kernel, product(DType::kU8, DType::kI8, DType::kU8)).ok());
    EXPECT_EQ(validate_case(*kernel, product(DType::kU8, DType::kU8, DType::kU8)).code(), StatusCode::kUnsupported);
    EXPECT_EQ(validate_case(*kernel, product(DType::kU8, DType::kI8, DType::kI8)).code(), StatusCode::kInvalid);
    EXPECT_EQ(validate_case(*kernel, product(DType::kI32, DType::kI8, DType::kI32)).code(), StatusCode::kInvalid);
    KernelCase c = product(DType::kU8, DType::kI8, DType::kU8);
    c.inputs[2] = TestTensor(DType::kU8, {2});
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kInvalid);
    // Sums as bytes, and arithmetic on integers.
    c = product(DType::kU8, DType::kI8, DType::kU8);
    set_output(&c, DType::kU8);
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
    c = product(DType::kU8, DType::kI8, DType::kU8);
    c.with_program({pw_acc(0, kInt), pw_compute(PwOp::kAdd, 1, 0, 0, 0, kInt), pw_store(0, 1, kInt)}, {});
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
    // What not every instruction set rounds once.
    c = product(DType::kU8, DType::kI8, DType::kU8);
    set_output(&c, DType::kF32);
    c.with_program({pw_acc(0), pw_compute(PwOp::kMulAdd, 1, 0, 0, 0), pw_store(0, 1)}, {});
    EXPECT_EQ(validate_case(*kernel, c).code(), StatusCode::kUnsupported);
  }
  // Kernels of floats take no zero point.
  KernelCase floats = KernelCase::of(
      OpKind::kMatMul, {TestTensor(DType::kF32, {3, 8}), TestTensor(DType::kF32, {8, 5}), TestTensor(DType::kF32, {1})},
      {TestTensor(DType::kF32, {3, 5})});
  for (const KernelDescriptor* kernel : family_of(OpKind::kMatMul, "matmul_f32_")) {
    EXPECT_FALSE(validate_case(*kernel, floats).ok());
  }
}

}  // namespace
}  // namespace planwright::testing
