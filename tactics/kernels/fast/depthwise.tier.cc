#include "tactics/kernels/fast/depthwise.h"

#include "tactics/kernels/fast/gemm_kernels.h"
#include "tactics/kernels/fast/tile_functions.h"
#include "tactics/kernels/fast/vector.h"

namespace planwright {
namespace PW_TIER_NAMESPACE {
namespace {

using fast::DepthwiseBlock;
using fast::kBlockPixels;

constexpr hn::RebindToSigned<FloatTag> kI32{};

template <bool kPartial>
HWY_INLINE FloatVec load_channels(const float* from, int valid) {
  if constexpr (kPartial) return load_n(from, valid);
  return hn::LoadU(kF, from);
}
#if HWY_TARGET > HWY_AVX3
// The first `valid` of a vector's bytes; not in line, for there are two dozen places in each function.
HWY_NOINLINE FloatVec load_first_bytes(const uint8_t* from, int valid) {
  float lanes[kLanes] = {};
  for (int i = 0; i < valid; ++i) lanes[i] = from[i];
  return hn::LoadU(kF, lanes);
}
#endif

template <bool kPartial>
HWY_INLINE FloatVec load_channels(const uint8_t* from, int valid) {
  const hn::Rebind<uint8_t, FloatTag> tag;
  const auto widened = [](auto bytes) { return hn::ConvertTo(kF, hn::PromoteTo(kI32, bytes)); };
  if constexpr (!kPartial) return widened(hn::LoadU(tag, from));
#if HWY_TARGET <= HWY_AVX3
  return widened(hn::MaskedLoad(hn::FirstN(tag, static_cast<size_t>(valid)), tag, from));
#else
  return load_first_bytes(from, valid);
#endif
}

// What the sums of a vector of channels begin with.
template <typename Element>
HWY_INLINE FloatVec first_sum(const DepthwiseBlock& block, int64_t channel) {
  FloatVec sum = hn::Zero(kF);
  if constexpr (sizeof(Element) == 1) {
    for (int row = block.first_row; row < block.last_row; ++row) {
      sum = hn::Add(sum, hn::LoadU(kF, block.start + row * block.padded_channels + channel));
    }
  }
  return sum;
}

HWY_INLINE void store_sums(const DepthwiseBlock& block, FloatVec (&sums)[kBlockPixels], int64_t channel) {
#pragma GCC unroll 8
  for (int p = 0; p < kBlockPixels; ++p) {
    if (p >= block.pixels) break;
    hn::StoreU(hn::ConvertTo(kI32, sums[p]), kI32, reinterpret_cast<int32_t*>(block.out[p]) + channel);
  }
}

// Bias and activation of one vector of channels of every pixel, and where they go.
template <bool kPartial>
HWY_INLINE void store_pixels(const DepthwiseBlock& block, FloatVec (&sums)[kBlockPixels], int64_t channel, int valid) {
  if (block.bias != nullptr) {
    const FloatVec bias = hn::LoadU(kF, block.bias + channel);
#pragma GCC unroll 8
    for (int p = 0; p < kBlockPixels; ++p) sums[p] = hn::Add(sums[p], bias);
  }
  apply_in_registers(block.activation, [&](const auto& function) {
#pragma GCC unroll 8
    for (int p = 0; p < kBlockPixels; ++p) sums[p] = function(sums[p]);
  });
#pragma GCC unroll 8
  for (int p = 0; p < kBlockPixels; ++p) {
    if (p >= block.pixels) break;
    if constexpr (kPartial) {
      store_n(sums[p], block.out[p] + channel, valid);
    } else {
      hn::StoreU(sums[p], kF, block.out[p] + channel);
    }
  }
}

template <typename Element, bool kPartial>
HWY_INLINE void finish_pixels(const DepthwiseBlock& block, FloatVec (&sums)[kBlockPixels], int64_t channel, int valid) {
  if constexpr (sizeof(Element) == 1) {
    store_sums(block, sums, channel);
  } else {
    store_pixels<kPartial>(block, sums, channel, valid);
  }
}

template <typename Element>
HWY_INLINE const Element* elements_at(const float* address) {
  return reinterpret_cast<const Element*>(address);
}

// A kernel kWidth wide at stride kStride.
template <typename Element, int kWidth, int kStride>
struct Fixed {
  static constexpr int kColumns = (kBlockPixels - 1) * kStride + kWidth;

  template <bool kBorder, bool kPartial>
  static void run_channels(const DepthwiseBlock& block, int64_t channel, int valid) {
    FloatVec sums[kBlockPixels];
    const FloatVec first = first_sum<Element>(block, channel);
#pragma GCC unroll 8
    for (int p = 0; p < kBlockPixels; ++p) sums[p] = first;
    for (int row = block.first_row; row < block.last_row; ++row) {
      FloatVec w[kWidth];
#pragma GCC unroll 8
      for (int k = 0; k < kWidth; ++k) {
        w[k] = hn::LoadU(kF, block.weights + (row * kWidth + k) * block.padded_channels + channel);
      }
      const float* const* at = kBorder ? block.columns + row * kColumns : nullptr;
      const Element* x = kBorder ? nullptr : elements_at<Element>(block.lines[row]) + channel;
#pragma GCC unroll 32
      for (int column = 0; column < kColumns; ++column) {
        const FloatVec v = load_channels<kPartial>(kBorder ? elements_at<Element>(at[column]) + channel : x, valid);
        if constexpr (!kBorder) x += block.pixel_stride;
#pragma GCC unroll 8
        for (int p = 0; p < kBlockPixels; ++p) {
          const int k = column - p * kStride;
          if (k >= 0 && k < kWidth) sums[p] = hn::MulAdd(v, w[k], sums[p]);
        }
      }
    }
    finish_pixels<Element, kPartial>(block, sums, channel, valid);
  }
};

template <typename Element>
struct General {
  template <bool, bool kPartial>
  static void run_channels(const DepthwiseBlock& block, int64_t channel, int valid) {
    FloatVec sums[kBlockPixels];
    const FloatVec first = first_sum<Element>(block, channel);
#pragma GCC unroll 8
    for (int p = 0; p < kBlockPixels; ++p) sums[p] = first;
    for (int row = block.first_row; row < block.last_row; ++row) {
      for (int k = 0; k < block.kernel_width; ++k) {
        const FloatVec w =
            hn::LoadU(kF, block.weights + (row * block.kernel_width + k) * block.padded_channels + channel);
        const float* const* at = block.columns + row * block.column_count + k * kBlockPixels;
#pragma GCC unroll 8
        for (int p = 0; p < kBlockPixels; ++p) {
          sums[p] = hn::MulAdd(load_channels<kPartial>(elements_at<Element>(at[p]) + channel, valid), w, sums[p]);
        }
      }
    }
    finish_pixels<Element, kPartial>(block, sums, channel, valid);
  }
};

template <typename Kernel, bool kBorder>
void run_channels(const DepthwiseBlock& block) {
  int64_t channel = block.first_channel;
  for (; channel + kLanes <= block.last_channel; channel += kLanes) {
    Kernel::template run_channels<kBorder, false>(block, channel, kLanes);
  }
  if (channel < block.last_channel) {
    Kernel::template run_channels<kBorder, true>(block, channel, static_cast<int>(block.last_channel - channel));
  }
}

template <typename Kernel>
void run_block(const DepthwiseBlock& block) {
  if (block.columns == nullptr) return run_channels<Kernel, false>(block);
  run_channels<Kernel, true>(block);
}

template <typename Element>
constexpr fast::DepthwiseTier tier_of(const ByteSupport* bytes) {
  return {&gemm_tier,
          bytes,
          {{run_block<Fixed<Element, 3, 1>>, run_block<Fixed<Element, 3, 2>>},
           {run_block<Fixed<Element, 5, 1>>, run_block<Fixed<Element, 5, 2>>}},
          run_channels<General<Element>, true>};
}
constexpr fast::DepthwiseTier kFloats = tier_of<float>(nullptr), kBytes = tier_of<uint8_t>(&byte_support);

template <const fast::DepthwiseTier& kTier>
constexpr KernelDescriptor depthwise_kernel(const char* name, uint32_t revision) {
  return {
      .name = name,
      .revision = revision,
      .op = OpKind::kConv,
      .isa = PW_TIER_ISA,
      .packed_inputs = 1u << 1,
      .validate = [](const KernelArgs& args) { return fast::validate_depthwise(args, kTier); },
      .packed_size = [](const KernelArgs& args) { return fast::depthwise_packed_size(args, kTier); },
      .scratch_size = [](const KernelArgs& args) { return fast::depthwise_scratch_size(args, kTier); },
      .pack = [](const KernelArgs& args, std::byte* to) { return fast::pack_depthwise(args, kTier, to); },
      .run = [](const KernelArgs& args) { return fast::run_depthwise(args, kTier); },
      .tactics = fast::depthwise_tactics,
  };
}

constexpr KernelDescriptor kKernels[] = {
    depthwise_kernel<kFloats>("depthwise_f32_" PW_TIER_STRING, 1),
    depthwise_kernel<kBytes>("depthwise_s8_" PW_TIER_STRING, 0),
};

}  // namespace
}  // namespace PW_TIER_NAMESPACE
}  // namespace planwright

PW_EXPORT_KERNELS(depthwise_f32)
