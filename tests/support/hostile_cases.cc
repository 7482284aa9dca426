#include "tests/support/hostile_cases.h"

#include <algorithm>

namespace planwright::testing {
namespace {

// One hostile change to a case.
class Mutator {
 public:
  explicit Mutator(Rng& rng) : rng_(rng) {}

  void change(KernelCase* c, std::vector<TensorView>* views) {
    switch (between(0, 7)) {
      case 0:
      case 1: return change_view(views);
      case 2: return change_words(c);
      case 3:
        if (!c->scalars.empty()) c->scalars[index(c->scalars.size())] = number();
        return;
      case 4: return change_program(c);
      case 5: c->core_inputs = static_cast<int>(between(0, 3)); return;
      case 6: {
        TensorView& view = (*views)[index(views->size())];
        view.dtype = static_cast<DType>(between(0, kDTypeCount));
        return;
      }
      default: (*views)[index(views->size())].absent = between(0, 3) == 0; return;
    }
  }

 private:
  int64_t between(int64_t low, int64_t high) { return random_int(rng_, low, high); }
  size_t index(size_t size) { return static_cast<size_t>(between(0, static_cast<int64_t>(size) - 1)); }
  int64_t number() {
    constexpr int64_t kNumbers[] = {0,         1,         2,         3,         4,         7,
                                    -1,        -2,        -3,        1 << 30,   INT32_MAX, INT32_MIN,
                                    INT64_MAX, INT64_MIN, 1ll << 32, 1ll << 60, -(1 << 30)};
    return between(0, 2) == 0 ? kNumbers[index(std::size(kNumbers))] : between(-2, 9);
  }

  void change_view(std::vector<TensorView>* views) {
    TensorView& view = (*views)[index(views->size())];
    switch (between(0, 5)) {
      case 0: view.rank = static_cast<int32_t>(between(-1, kMaxRank + 1)); return;
      case 1:
      case 2: view.strides[between(0, 4)] = number(); return;
      default: view.dims[between(0, 4)] = number(); return;
    }
  }
  void change_words(KernelCase* c) {
    if (c->params.empty()) return;
    int32_t words[2];
    uint64_t& pair = c->params[index(c->params.size())];
    __builtin_memcpy(words, &pair, 8);
    words[between(0, 1)] = static_cast<int32_t>(number());
    __builtin_memcpy(&pair, words, 8);
  }
  void change_program(KernelCase* c) {
    if (c->program.empty()) return;
    uint8_t* byte = reinterpret_cast<uint8_t*>(&c->program[index(c->program.size())]);
    byte[between(0, 15)] = static_cast<uint8_t>(number());
  }

  Rng& rng_;
};

// Whether a view is too large for a test: in bytes from its first element to its last, or (axes that repeat, axes next
// to an empty one) in the steps that a kernel may take along it.
bool is_too_large(const TensorView& view) {
  constexpr double kMost = 1 << 14;
  double last = 0, steps = 1;
  for (int axis = 0; axis < view.rank; ++axis) {
    const double dim = static_cast<double>(view.dims[axis]);
    last += (dim - 1) * static_cast<double>(view.strides[axis]);
    if (dim > 1) steps *= dim;
  }
  return last * static_cast<double>(size_of(view.dtype)) > kMost || steps > kMost;
}

// New tensors of the views' dims and strides; empty where one is too large for a test. Index tensors stay random
// numbers, of which some are in range.
std::vector<TestTensor> tensors_of(Rng& rng, const std::vector<TensorView>& views) {
  std::vector<TestTensor> tensors;
  for (const TensorView& view : views) {
    if (view.absent) {
      tensors.emplace_back();
      continue;
    }
    if (is_too_large(view)) return {};
    const Dims dims(view.dims, view.dims + view.rank), strides(view.strides, view.strides + view.rank);
    tensors.push_back(TestTensor::random(rng, view.dtype, dims, strides, 0, 2));
  }
  return tensors;
}

}  // namespace

bool change_hostilely(Rng& rng, const KernelDescriptor& kernel, KernelCase* c) {
  std::vector<TensorView> views;
  c->args(&views);
  Mutator mutator(rng);
  for (int64_t changes = random_int(rng, 1, 2); changes > 0; --changes) mutator.change(c, &views);

  std::vector<TensorView> storage;
  KernelArgs args = c->args(&storage);
  args.inputs = views.data();
  args.outputs = views.data() + args.input_count;
  if (!kernel.validate(args).ok()) return false;
  const std::vector<TestTensor> tensors = tensors_of(rng, views);
  if (tensors.empty()) return false;
  const auto inputs_end = tensors.begin() + static_cast<int64_t>(c->inputs.size());
  std::copy(tensors.begin(), inputs_end, c->inputs.begin());
  std::copy(inputs_end, tensors.end(), c->outputs.begin());
  return true;
}

}  // namespace planwright::testing
