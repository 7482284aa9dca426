// Movement and sources by hand.
#include <gtest/gtest.h>

#include "tactics/kernels/registry.h"
#include "tests/support/reference_case.h"

namespace planwright {
namespace {

using testing::Dims;
using testing::expect_output;
using testing::f32;
using testing::KernelCase;
using testing::refuses;
using testing::TestTensor;

KernelCase move(OpKind op, TestTensor x, const Dims& dims) {
  const DType type = x.view().dtype;
  return KernelCase::of(op, {std::move(x)}, {TestTensor(type, dims)});
}

const TestTensor& six() {
  static const TestTensor x = f32({2, 3}, {0, 1, 2, 3, 4, 5});
  return x;
}

TEST(ReferenceMovement, EveryElementSizeIsMovedWhole) {
  testing::Rng rng(3);
  for (int type = 0; type < kDTypeCount; ++type) {
    const Dims dims = {3, 4};
    TestTensor x = TestTensor::random(rng, static_cast<DType>(type), dims, testing::random_strides(rng, dims), 0, 1);
    KernelCase c = move(OpKind::kCopy, x, dims);
    c.outputs[0] = TestTensor(static_cast<DType>(type), dims, testing::random_strides(rng, dims));
    ASSERT_TRUE(run_kernel(reference_kernel(OpKind::kCopy), c).ok()) << last_error();
    EXPECT_EQ(c.outputs[0].bytes(), x.bytes()) << name_of(static_cast<DType>(type));
  }
}

TEST(ReferenceMovement, MovesBetweenElementSizesAreRefused) {
  for (const OpKind op : {OpKind::kCopy, OpKind::kReshape, OpKind::kExpand, OpKind::kTile}) {
    EXPECT_TRUE(refuses(KernelCase::of(op, {TestTensor(DType::kI8, {4})}, {TestTensor(DType::kI32, {4})})))
        << name_of(op);
  }
}

TEST(ReferenceBitCast, KeepsBitsAndChangesWhatTheyMean) {
  const auto bit_cast = [](DType from, DType to, const std::vector<double>& elements) {
    const Dims dims = {static_cast<int64_t>(elements.size())};
    return KernelCase::of(OpKind::kBitCast, {TestTensor::of(from, dims, elements)}, {TestTensor(to, dims)});
  };
  expect_output(bit_cast(DType::kF32, DType::kI32, {1, -2}), {0x3F800000, -0x40000000});
  expect_output(bit_cast(DType::kU64, DType::kF64, {0x4000000000000000}), {2});
  expect_output(bit_cast(DType::kI16, DType::kBF16, {0x3F80}), {1});
  expect_output(bit_cast(DType::kU8, DType::kF8E4M3FN, {0x38, 0xFE}), {1, -448});
  // Of a byte only the type's bits are kept, and signs are spread over the rest.
  expect_output(bit_cast(DType::kI4, DType::kU4, {-1, -8, 7}), {15, 8, 7});
  expect_output(bit_cast(DType::kU4, DType::kI4, {15, 8, 7}), {-1, -8, 7});
  expect_output(bit_cast(DType::kI4, DType::kF4E2M1, {-1, 2}), {-6, 1});
  expect_output(bit_cast(DType::kF4E2M1, DType::kI4, {-6, 1}), {-1, 2});
  expect_output(bit_cast(DType::kU2, DType::kI2, {0, 1, 2, 3}), {0, 1, -2, -1});
  KernelCase to_bool = bit_cast(DType::kU8, DType::kBool, {0, 1, 2});
  expect_output(to_bool, {0, 1, 1});
  EXPECT_EQ(to_bool.outputs[0].bytes()[2], std::byte{1});
  for (const DType narrower : {DType::kI8, DType::kF4E2M1, DType::kU2, DType::kBool}) {
    EXPECT_TRUE(refuses(bit_cast(DType::kF16, narrower, {1}))) << name_of(narrower);
  }
  EXPECT_TRUE(refuses(bit_cast(DType::kI8, DType::kI4, {1})));
}

TEST(ReferenceReshape, KeepsRowMajorOrderWhateverTheLayouts) {
  KernelCase c = move(OpKind::kReshape, TestTensor(DType::kF32, {2, 3}, {1, 2}), {3, 2});
  c.inputs[0].set_elements({0, 1, 2, 3, 4, 5});
  c.outputs[0] = TestTensor(DType::kF32, {3, 2}, {1, 5});
  expect_output(c, {0, 1, 2, 3, 4, 5});
  EXPECT_TRUE(refuses(move(OpKind::kReshape, six(), {5})));
}

TEST(ReferenceTranspose, PermutesAxes) {
  TransposeParams params = {.perm = {1, 0}};
  expect_output(move(OpKind::kTranspose, six(), {3, 2}).with(params), {0, 3, 1, 4, 2, 5});
  EXPECT_TRUE(refuses(move(OpKind::kTranspose, six(), {2, 3}).with(params)));
  params.perm[1] = 1;
  EXPECT_TRUE(refuses(move(OpKind::kTranspose, six(), {3, 3}).with(params))) << "an axis twice";
  params.perm[1] = 2;
  EXPECT_TRUE(refuses(move(OpKind::kTranspose, six(), {3, 2}).with(params)));
}

TEST(ReferenceSlice, StepsForwardsAndBackwards) {
  const auto slice = [](const Dims& dims, std::vector<int64_t> scalars) {
    return move(OpKind::kSlice, six(), dims).with(SliceParams{}).with_scalars(std::move(scalars));
  };
  expect_output(slice({1, 2}, {1, 0, 1, 2}), {3, 5});
  expect_output(slice({2, 3}, {1, 2, -1, -1}), {5, 4, 3, 2, 1, 0});
  expect_output(slice({0, 3}, {99, 0, 1, 1}), {});
  expect_output(slice({2, 1}, {0, 2, 1, INT64_MIN}), {2, 5});
  EXPECT_TRUE(refuses(slice({2, 2}, {0, 2, 1, 1})));
  EXPECT_TRUE(refuses(slice({2, 2}, {0, 0, 1, -1})));
  EXPECT_TRUE(refuses(slice({2, 3}, {0, 0, 1, INT64_MAX})));
  EXPECT_TRUE(refuses(slice({3, 1}, {0, 0, 1, 1})));
}

TEST(ReferenceExpand, RepeatsAxesOfOne) {
  expect_output(move(OpKind::kExpand, f32({2, 1}, {1, 2}), {2, 2, 2}), {1, 1, 2, 2, 1, 1, 2, 2});
  EXPECT_TRUE(refuses(move(OpKind::kExpand, six(), {4, 3})));
  EXPECT_TRUE(refuses(move(OpKind::kExpand, six(), {3})));
}

TEST(ReferenceConcat, JoinsAlongAnAxis) {
  const auto concat = [](std::vector<TestTensor> inputs, const Dims& dims, int axis) {
    return KernelCase::of(OpKind::kConcat, std::move(inputs), {TestTensor(DType::kF32, dims)}).with(ConcatParams{axis});
  };
  expect_output(concat({f32({2, 1}, {1, 2}), six(), f32({2, 0}, {})}, {2, 4}, 1), {1, 0, 1, 2, 2, 3, 4, 5});
  expect_output(concat({f32({1, 3}, {7, 8, 9}), six()}, {3, 3}, 0), {7, 8, 9, 0, 1, 2, 3, 4, 5});
  EXPECT_TRUE(refuses(concat({six(), six()}, {2, 5}, 1)));
  EXPECT_TRUE(refuses(concat({six(), f32({1, 3}, {0, 0, 0})}, {2, 6}, 1)));
  EXPECT_TRUE(refuses(concat({six()}, {2, 3}, 2)));
}

TEST(ReferencePad, EveryMode) {
  const auto pad = [](PadMode mode, const Dims& dims, std::vector<int64_t> scalars) {
    return move(OpKind::kPad, f32({3}, {1, 2, 3}), dims).with(PadParams{mode}).with_scalars(std::move(scalars));
  };
  expect_output(pad(PadMode::kConstant, {6}, {2, 1}), {0, 0, 1, 2, 3, 0});
  expect_output(pad(PadMode::kReflect, {9}, {3, 3}), {2, 3, 2, 1, 2, 3, 2, 1, 2});
  expect_output(pad(PadMode::kEdge, {7}, {2, 2}), {1, 1, 1, 2, 3, 3, 3});
  expect_output(pad(PadMode::kWrap, {8}, {4, 1}), {3, 1, 2, 3, 1, 2, 3, 1});
  expect_output(pad(PadMode::kConstant, {2}, {-1, 0}), {2, 3});
  expect_output(pad(PadMode::kEdge, {3}, {-2, 2}), {3, 3, 3});
  EXPECT_TRUE(refuses(pad(PadMode::kConstant, {5}, {2, 1})));
  EXPECT_TRUE(refuses(pad(static_cast<PadMode>(4), {3}, {0, 0})));
}

TEST(ReferencePad, TakesAValueAndManyAxes) {
  KernelCase c = KernelCase::of(OpKind::kPad, {six(), f32({}, {9})}, {TestTensor(DType::kF32, {3, 4})})
                     .with(PadParams{})
                     .with_scalars({0, 1, 1, 0});
  expect_output(c, {9, 0, 1, 2, 9, 3, 4, 5, 9, 9, 9, 9});
  c.inputs[1] = TestTensor::of(DType::kF64, {}, {9});
  EXPECT_TRUE(refuses(c)) << "a value of another type";
}

TEST(ReferencePad, NothingCannotBeRepeated) {
  EXPECT_TRUE(refuses(move(OpKind::kPad, f32({0}, {}), {2}).with(PadParams{PadMode::kEdge}).with_scalars({1, 1})));
  expect_output(move(OpKind::kPad, f32({0}, {}), {2}).with(PadParams{}).with_scalars({1, 1}), {0, 0});
}

TEST(ReferenceTile, RepeatsWholes) {
  expect_output(move(OpKind::kTile, f32({1, 2}, {1, 2}), {2, 4}), {1, 2, 1, 2, 1, 2, 1, 2});
  EXPECT_TRUE(refuses(move(OpKind::kTile, f32({1, 2}, {1, 2}), {2, 3})));
}

TEST(ReferenceReverseSequence, ReversesTheFirstOfEach) {
  const auto reverse = [](std::vector<double> lengths, const ReverseSequenceParams& params) {
    return KernelCase::of(OpKind::kReverseSequence,
                          {six(), TestTensor::of(DType::kI64, {static_cast<int64_t>(lengths.size())}, lengths)},
                          {TestTensor(DType::kF32, {2, 3})})
        .with(params);
  };
  expect_output(reverse({2, 3}, {.batch_axis = 0, .time_axis = 1}), {1, 0, 2, 5, 4, 3});
  expect_output(reverse({2, 1, 0}, {.batch_axis = 1, .time_axis = 0}), {3, 1, 2, 0, 4, 5});
  const KernelCase too_long = reverse({4, 0}, {.batch_axis = 0, .time_axis = 1});
  EXPECT_EQ(run_kernel(reference_kernel(OpKind::kReverseSequence), too_long).code(), StatusCode::kPrecondition);
  EXPECT_TRUE(refuses(reverse({1, 1}, {.batch_axis = 0, .time_axis = 0})));
}

TEST(ReferenceSources, FillRangeAndShapeValues) {
  const auto source = [](OpKind op, std::vector<TestTensor> inputs, DType type, const Dims& dims) {
    return KernelCase::of(op, std::move(inputs), {TestTensor(type, dims)});
  };
  expect_output(source(OpKind::kFill, {}, DType::kI16, {2}).with(FillParams{0xFFFF}), {-1, -1});
  expect_output(source(OpKind::kRange, {f32({}, {1}), f32({}, {0.5})}, DType::kF32, {3}), {1, 1.5, 2});
  expect_output(source(OpKind::kRange, {TestTensor::of(DType::kI64, {1}, {5}), TestTensor::of(DType::kI64, {}, {-2})},
                       DType::kI64, {3}),
                {5, 3, 1});
  EXPECT_TRUE(refuses(source(OpKind::kRange, {f32({2}, {1, 2}), f32({}, {1})}, DType::kF32, {3})));
  expect_output(source(OpKind::kShapeValues, {}, DType::kI64, {2}).with(ShapeValuesParams{2}).with_scalars({7, -1}),
                {7, -1});
  expect_output(source(OpKind::kShapeValues, {}, DType::kI64, {}).with(ShapeValuesParams{1}).with_scalars({7}), {7});
  EXPECT_TRUE(
      refuses(source(OpKind::kShapeValues, {}, DType::kI64, {3}).with(ShapeValuesParams{2}).with_scalars({7, -1})));
}

}  // namespace
}  // namespace planwright
