#include "tactics/kernels/fast/winograd.h"

#include "tactics/kernels/fast/gemm_kernels.h"
#include "tactics/kernels/fast/vector.h"

namespace planwright {
namespace PW_TIER_NAMESPACE {
namespace {

// The transforms along one axis; G is in winograd.cc. Interpolation at 0, 1, -1 and infinity for m = 2, and at 0,
// +-sqrt(1/2), +-sqrt(2) and infinity for m = 4, which rounds least of the symmetric choices tried: 1.8 times a plain
// convolution's error, where 0, +-1, +-2 has 3.1 times.
template <int kOutputs>
struct Axis;

template <>
struct Axis<2> {
  static HWY_INLINE void input(const FloatVec* d, FloatVec* v) {
    v[0] = hn::Sub(d[0], d[2]);
    v[1] = hn::Add(d[2], d[1]);
    v[2] = hn::Sub(d[2], d[1]);
    v[3] = hn::Sub(d[3], d[1]);
  }
  static HWY_INLINE void output(const FloatVec* m, FloatVec* y) {
    y[0] = hn::Add(m[0], hn::Add(m[1], m[2]));
    y[1] = hn::Add(hn::Sub(m[1], m[2]), m[3]);
  }
};

template <>
struct Axis<4> {
  static constexpr float kRoot = 1.41421356237309515f;
  static constexpr float kHalfRoot = kRoot / 2;

  static HWY_INLINE void input(const FloatVec* d, FloatVec* v) {
    const FloatVec root = hn::Set(kF, kRoot), half_root = hn::Set(kF, kHalfRoot);
    const FloatVec five_halves = hn::Set(kF, 2.5f);
    const FloatVec even1 = hn::MulSub(hn::Set(kF, 2.0f), d[2], d[4]);
    const FloatVec odd1 = hn::NegMulAdd(half_root, d[3], hn::Mul(root, d[1]));
    const FloatVec even2 = hn::NegMulAdd(hn::Set(kF, 0.5f), d[2], d[4]);
    const FloatVec odd2 = hn::NegMulAdd(half_root, d[1], hn::Mul(root, d[3]));
    v[0] = hn::NegMulAdd(five_halves, d[2], hn::Add(d[0], d[4]));
    v[1] = hn::Add(even1, odd1);
    v[2] = hn::Sub(even1, odd1);
    v[3] = hn::Add(even2, odd2);
    v[4] = hn::Sub(even2, odd2);
    v[5] = hn::NegMulAdd(five_halves, d[3], hn::Add(d[1], d[5]));
  }
  static HWY_INLINE void output(const FloatVec* m, FloatVec* y) {
    const FloatVec sum1 = hn::Add(m[1], m[2]), difference1 = hn::Sub(m[1], m[2]);
    const FloatVec sum2 = hn::Add(m[3], m[4]), difference2 = hn::Sub(m[3], m[4]);
    y[0] = hn::Add(m[0], hn::Add(sum1, sum2));
    y[1] = hn::MulAdd(hn::Set(kF, kHalfRoot), difference1, hn::Mul(hn::Set(kF, kRoot), difference2));
    y[2] = hn::MulAdd(hn::Set(kF, 0.5f), sum1, hn::Mul(hn::Set(kF, 2.0f), sum2));
    y[3] = hn::MulAdd(hn::Set(kF, kHalfRoot / 2), difference1, hn::MulAdd(hn::Set(kF, 2 * kRoot), difference2, m[5]));
  }
};

template <int kOutputs>
void transform_input(const WinogradInput& tile) {
  constexpr int kSize = kOutputs + 2;
  for (int64_t c = 0; c < tile.channels; c += kLanes) {
    const bool whole = tile.channels - c >= kLanes;
    const int count = whole ? kLanes : static_cast<int>(tile.channels - c);
    FloatVec columns[kSize][kSize];
    for (int x = 0; x < kSize; ++x) {
      FloatVec d[kSize], v[kSize];
#pragma GCC unroll 6
      for (int y = 0; y < kSize; ++y) {
        const float* pixel = tile.pixels[y * kSize + x] + c;
        d[y] = whole ? hn::LoadU(kF, pixel) : load_n(pixel, count);
      }
      Axis<kOutputs>::input(d, v);
#pragma GCC unroll 6
      for (int y = 0; y < kSize; ++y) columns[y][x] = v[y];
    }
    float* to = tile.to + c;
    for (int y = 0; y < kSize; ++y) {
      FloatVec v[kSize];
      Axis<kOutputs>::input(columns[y], v);
#pragma GCC unroll 6
      for (int x = 0; x < kSize; ++x, to += tile.step) hn::StoreU(v[x], kF, to);
    }
  }
}

template <int kOutputs>
void transform_output(const WinogradOutput& tile) {
  constexpr int kSize = kOutputs + 2;
  for (int64_t j = 0; j < tile.width; j += kLanes) {
    FloatVec columns[kOutputs][kSize];
    for (int x = 0; x < kSize; ++x) {
      FloatVec m[kSize], y[kOutputs];
#pragma GCC unroll 6
      for (int i = 0; i < kSize; ++i) m[i] = hn::LoadU(kF, tile.from + (i * kSize + x) * tile.step + j);
      Axis<kOutputs>::output(m, y);
#pragma GCC unroll 4
      for (int i = 0; i < kOutputs; ++i) columns[i][x] = y[i];
    }
    float* to = tile.to + j;
    for (int row = 0; row < tile.rows; ++row) {
      FloatVec y[kOutputs];
      Axis<kOutputs>::output(columns[row], y);
#pragma GCC unroll 4
      for (int x = 0; x < kOutputs; ++x) {
        if (x < tile.columns) hn::StoreU(y[x], kF, to + x * tile.width);
      }
      to += tile.columns * tile.width;
    }
  }
}

constexpr WinogradTier kTier = {
    &gemm_tier, {transform_input<2>, transform_input<4>}, {transform_output<2>, transform_output<4>}};

template <int kOutputs, int kRows, int kVectors>
constexpr fast::WinogradShape kShape = {&kTier, kOutputs, kRows, kVectors};

template <int kOutputs, int kRows, int kVectors>
constexpr KernelDescriptor winograd_kernel(const char* name) {
  return {
      .name = name,
      .revision = 1,
      .op = OpKind::kConv,
      .isa = PW_TIER_ISA,
      .packed_inputs = 1u << 1,
      .validate =
          [](const KernelArgs& args) { return fast::validate_winograd(args, kShape<kOutputs, kRows, kVectors>); },
      .packed_size =
          [](const KernelArgs& args) { return fast::winograd_packed_size(args, kShape<kOutputs, kRows, kVectors>); },
      .workspace_size =
          [](const KernelArgs& args) { return fast::winograd_workspace_size(args, kShape<kOutputs, kRows, kVectors>); },
      .scratch_size =
          [](const KernelArgs& args) { return fast::winograd_scratch_size(args, kShape<kOutputs, kRows, kVectors>); },
      .pack = [](const KernelArgs& args,
                 std::byte* to) { return fast::pack_winograd(args, kShape<kOutputs, kRows, kVectors>, to); },
      .run = [](const KernelArgs& args) { return fast::run_winograd(args, kShape<kOutputs, kRows, kVectors>); },
      .tactics =
          [](const KernelArgs& args, TacticParams* list, int capacity) {
            return fast::winograd_tactics(args, kShape<kOutputs, kRows, kVectors>, list, capacity);
          },
  };
}

#define PW_WINOGRAD(rows, vectors)                                                    \
  winograd_kernel<4, rows, vectors>(PW_TILE_NAME("winograd_f32_4x4", rows, vectors)), \
      winograd_kernel<2, rows, vectors>(PW_TILE_NAME("winograd_f32_2x2", rows, vectors)),
constexpr KernelDescriptor kKernels[] = {
#if HWY_TARGET <= HWY_AVX3
    PW_WINOGRAD(12, 2) PW_WINOGRAD(6, 4)
#else
    PW_WINOGRAD(6, 2)
#endif
};
#undef PW_WINOGRAD

}  // namespace
}  // namespace PW_TIER_NAMESPACE
}  // namespace planwright

PW_EXPORT_KERNELS(winograd_f32)
