#include "tactics/random_operand.h"

#include <cstring>

#include "schemas/types/minifloat.h"
#include "tactics/elements.h"

namespace planwright::tactics {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): as good as timing data needs, and two lines.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // The sum of four uniform numbers, scaled to variance 1: normal enough (Irwin-Hall), and quick.
  float normal() {
    const uint64_t bits = next();
    const int sum = static_cast<int>((bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48));
    return static_cast<float>(sum - 2 * 0xFFFF) * (1.7320508f / 65536.0f);
  }
  int64_t below(int64_t bound) { return static_cast<int64_t>(next() % static_cast<uint64_t>(bound)); }

 private:
  uint64_t state_;
};

void store_integer(const TensorView& view, int64_t offset, int64_t value) {
  if (is_sub_byte_int(view.dtype)) value = wrap_sub_byte(view.dtype, value);
  // Two's complement, little-endian: the low bytes are the narrower integer.
  const size_t size = size_of(view.dtype);
  std::memcpy(view.as<std::byte>() + static_cast<size_t>(offset) * size, &value, size);
}

void store_half(const TensorView& view, int64_t offset, uint64_t random) {
  // Built from its parts: a sign, an exponent of 2^-6 .. 2^1 and a mantissa.
  const bool is_bf16 = view.dtype == DType::kBF16;
  const uint64_t mantissa_bits = is_bf16 ? 7 : 10, bias = is_bf16 ? 127 : 15;
  const uint64_t exponent = bias - 6 + (random >> 17 & 7);
  const uint64_t mantissa = random & ((1u << mantissa_bits) - 1);
  store_integer(view, offset, static_cast<int64_t>((random >> 16 & 1) << 15 | exponent << mantissa_bits | mantissa));
}

void store_minifloat(const TensorView& view, int64_t offset, float value) {
  // Powers of two have no sign.
  if (view.dtype == DType::kF8E8M0 && value < 0) value = -value;
  store_integer(view, offset, minifloat_of_float(view.dtype, value));
}

void fill_any(const TensorView& view, Random& random) {
  for_each_element(view, [&](const int64_t*, int64_t offset) {
    switch (view.dtype) {
      case DType::kF32: view.as<float>()[offset] = random.normal(); break;
      case DType::kF64: view.as<double>()[offset] = random.normal(); break;
      case DType::kF16:
      case DType::kBF16: store_half(view, offset, random.next()); break;
      case DType::kI8:
      case DType::kU8: store_integer(view, offset, random.below(256)); break;
      case DType::kBool: store_integer(view, offset, random.below(8) != 0); break;
      default:
        if (is_minifloat(view.dtype)) {
          store_minifloat(view, offset, random.normal());
        } else {
          store_integer(view, offset, random.below(100));
        }
    }
  });
}

void fill_below(const TensorView& view, int64_t bound, Random& random) {
  for_each_element(
      view, [&](const int64_t*, int64_t offset) { store_integer(view, offset, bound > 0 ? random.below(bound) : 0); });
}

void fill_with(const TensorView& view, double value) {
  for_each_element(view, [&](const int64_t*, int64_t offset) {
    switch (view.dtype) {
      case DType::kF32: view.as<float>()[offset] = static_cast<float>(value); break;
      case DType::kF64: view.as<double>()[offset] = value; break;
      default:
        if (is_minifloat(view.dtype)) {
          store_minifloat(view, offset, static_cast<float>(value));
        } else {
          store_integer(view, offset, static_cast<int64_t>(value));
        }
    }
  });
}

// Along `axis` the indices count up, so that no place is named twice.
void fill_counting(const TensorView& view, int axis, int64_t bound) {
  for_each_element(view, [&](const int64_t* index, int64_t offset) {
    store_integer(view, offset, bound > 0 ? index[axis] % bound : 0);
  });
}

// Rows of the last axis are index tuples into data's axes from `first` on; row n is place n of them, counting.
void fill_tuples(const TensorView& view, const TensorView& data, int first, int64_t step) {
  const int last = view.rank - 1;
  const int64_t length = view.dims[last];
  int64_t row = 0;
  int64_t tuple[kMaxRank] = {};
  for_each_element(view, [&](const int64_t* index, int64_t offset) {
    if (index[last] == 0) {
      int64_t rest = row++ * step;
      for (int64_t k = length - 1; k >= 0; --k) {
        const int64_t dim = data.dims[first + k];
        tuple[k] = dim > 0 ? rest % dim : 0;
        rest = dim > 0 ? rest / dim : 0;
      }
    }
    store_integer(view, offset, tuple[index[last]]);
  });
}

void fill_leaves(const TensorView& view) {
  for_each_element(view, [&](const int64_t* index, int64_t offset) {
    store_integer(view, offset, index[1] == 0 ? static_cast<int64_t>(TreeMode::kLeaf) : 0);
  });
}

template <typename T>
const T& params_of(const StepSpec& spec) {
  return *reinterpret_cast<const T*>(spec.params.data());
}

}  // namespace

void fill_operand(const StepSpec& spec, int index, const TensorView& view, uint64_t seed) {
  Random random(seed + static_cast<uint64_t>(index));
  const auto dims_of_input = [&](int input) { return spec.inputs[static_cast<size_t>(input)].view.dims; };
  const bool is_own_second = index == 1 && spec.core_inputs > 1;
  switch (spec.op) {
    case OpKind::kGather:
      if (is_own_second) return fill_below(view, dims_of_input(0)[params_of<GatherParams>(spec).axis], random);
      break;
    case OpKind::kGatherElements:
      if (is_own_second) return fill_below(view, dims_of_input(0)[params_of<GatherElementsParams>(spec).axis], random);
      break;
    case OpKind::kGatherND:
      // 7,919 is prime: rows lie apart, as real ones do.
      if (is_own_second) {
        return fill_tuples(view, spec.inputs[0].view, params_of<GatherNDParams>(spec).batch_dims, 7919);
      }
      break;
    case OpKind::kScatterElements:
      if (is_own_second) {
        const int axis = params_of<ScatterElementsParams>(spec).axis;
        return fill_counting(view, axis, dims_of_input(0)[axis]);
      }
      break;
    case OpKind::kScatterND:
      if (is_own_second) return fill_tuples(view, spec.inputs[0].view, 0, 1);
      break;
    case OpKind::kTreeEnsemble:  // trees of one leaf, which gives nothing
      if (index == 2) return fill_leaves(view);
      if (index == 1 || index == 5) return fill_with(view, 0);
      break;
    case OpKind::kRoiAlign:
      if (index == 2) return fill_below(view, dims_of_input(0)[0], random);
      break;
    case OpKind::kOneHot:
      if (index == 0 && !is_float(view.dtype)) {
        return fill_below(view, spec.outputs[0].dims[params_of<OneHotParams>(spec).axis], random);
      }
      break;
    case OpKind::kReverseSequence:
      if (is_own_second) {
        return fill_below(view, dims_of_input(0)[params_of<ReverseSequenceParams>(spec).time_axis] + 1, random);
      }
      break;
    case OpKind::kRnn:
      if (index == 3)
        return fill_with(view, static_cast<double>(dims_of_input(0)[params_of<RnnParams>(spec).batch_first]));
      break;
    case OpKind::kRange: return fill_with(view, index);  // start 0, delta 1
    default: break;
  }
  fill_any(view, random);
}

}  // namespace planwright::tactics
