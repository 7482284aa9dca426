#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/reference/walk.h"

namespace planwright::reference {
namespace {

double magnitude(double x) { return x < 0 ? -x : x; }

// One row's problem: of classes i < j, pairs[pair(i, j)] is how likely it is i. The probabilities p of all classes that
// fit best minimise p'Qp and add up to 1 (Wu, Lin and Weng 2004, their second method), where Q[i][j] is -r_ij r_ji and
// Q[i][i] the sum of r_ji^2 over the other classes j.
class Row {
 public:
  // The memory holds the pairs and three numbers a class.
  Row(double* memory, int64_t classes, int64_t pairs)
      : classes_(classes), pairs_(memory), p_(memory + pairs), product_(p_ + classes), diagonal_(product_ + classes) {}

  double* pairs() { return pairs_; }
  double probability(int64_t i) const { return p_[i]; }

  // Gets near that minimum and stops where libsvm does: what follows are the numbers of the library in which the model
  // was fitted, and of every runtime that took its iteration over; the minimum itself is up to 0.005 from them.
  void solve() {
    for (int64_t i = 0; i < classes_; ++i) {
      p_[i] = 1.0 / static_cast<double>(classes_);
      diagonal_[i] = 0;
      for (int64_t j = 0; j < classes_; ++j) {
        const double loses = j == i ? 0 : j > i ? 1 - pairs_[pair(i, j)] : pairs_[pair(j, i)];
        diagonal_[i] += loses * loses;
      }
    }
    const double close = 0.005 / static_cast<double>(classes_);
    for (int round = 0; round < kMaxRounds; ++round) {
      const double value = multiply();
      double worst = 0;
      for (int64_t i = 0; i < classes_; ++i) {
        const double error = magnitude(product_[i] - value);
        worst = error > worst ? error : worst;
      }
      if (worst < close) return;
      improve(value);
    }
  }

 private:
  // It takes a handful.
  static constexpr int kMaxRounds = 100;

  // Of i < j: their place among the pairs (0, 1), (0, 2), ..., (1, 2), ...
  int64_t pair(int64_t i, int64_t j) const { return i * (2 * classes_ - i - 1) / 2 + j - i - 1; }

  double q(int64_t i, int64_t j) const {
    if (i == j) return diagonal_[i];
    const double r = pairs_[i < j ? pair(i, j) : pair(j, i)];
    return r * (r - 1);
  }

  // product = Q p; returns p'Qp.
  double multiply() {
    double value = 0;
    for (int64_t i = 0; i < classes_; ++i) {
      product_[i] = 0;
      for (int64_t j = 0; j < classes_; ++j) product_[i] += q(i, j) * p_[j];
      value += p_[i] * product_[i];
    }
    return value;
  }

  // Moves each probability to where its own condition holds, and scales all so that they still add up to 1.
  void improve(double value) {
    for (int64_t i = 0; i < classes_; ++i) {
      const double step = (value - product_[i]) / diagonal_[i], sum = 1 + step;
      value = (value + step * (step * diagonal_[i] + 2 * product_[i])) / sum / sum;
      p_[i] += step;
      for (int64_t j = 0; j < classes_; ++j) {
        product_[j] = (product_[j] + step * q(i, j)) / sum;
        p_[j] /= sum;
      }
    }
  }

  int64_t classes_;
  double *pairs_, *p_, *product_, *diagonal_;
};

}  // namespace

Status validate_pair_coupling(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  PW_REQUIRE(x.rank == 2 && y.rank == 2, "PairCoupling: operands of %d and %d axes, not of rows", x.rank, y.rank);
  PW_REQUIRE(is_float(x.dtype), "PairCoupling: the input is %s, not a float", name_of(x.dtype));
  const int64_t classes = y.dims[1];
  PW_REQUIRE(classes >= 2 && classes <= kMaxCoupledClasses, "PairCoupling: %ld classes", classes);
  PW_REQUIRE(x.dims[1] == classes * (classes - 1) / 2, "PairCoupling: %ld pairs of %ld classes", x.dims[1], classes);
  PW_REQUIRE(x.dims[0] == y.dims[0], "PairCoupling: %ld rows become %ld", x.dims[0], y.dims[0]);
  return require_same_type(args);
}

size_t pair_coupling_workspace(const KernelArgs&) { return 0; }
size_t pair_coupling_scratch(const KernelArgs& args) {
  return static_cast<size_t>(args.inputs[0].dims[1] + 3 * args.outputs[0].dims[1]) * sizeof(double);
}

Status run_pair_coupling(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  for_each_position(args, Box(y, 0, 1), [&](const Position& at, int worker) {
    double* memory = reinterpret_cast<double*>(args.scratch + static_cast<size_t>(worker) * args.scratch_stride);
    Row row(memory, y.dims[1], x.dims[1]);
    const int64_t from = at.at[0] * x.strides[0], to = at.at[0] * y.strides[0];
    for (int64_t i = 0; i < x.dims[1]; ++i) row.pairs()[i] = load<double>(x, from + i * x.strides[1]);
    row.solve();
    for (int64_t i = 0; i < y.dims[1]; ++i) store(y, to + i * y.strides[1], row.probability(i));
  });
  return kOkStatus;
}

}  // namespace planwright::reference
