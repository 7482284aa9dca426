#include "builder/ir/dim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "schemas/types/error.h"

namespace planwright::ir {
namespace {

class DimTest : public ::testing::Test {
 protected:
  Dim symbol(const std::string& name, int64_t min, int64_t max) {
    return pool_.add_symbol({SymbolOrigin::kInputDim, 0, 0, min, max, name});
  }

  ExprPool pool_;
  Dim n_ = symbol("n", 1, 8);
  Dim h_ = symbol("h", 32, 960);
  Dim w_ = symbol("w", 1, 960);
};

TEST_F(DimTest, ConstantsAreComputed) {
  EXPECT_EQ(Dim(2) + 3, Dim(5));
  EXPECT_EQ(floor_div(-7, 2), Dim(-4));
  EXPECT_EQ(ceil_div(7, 2), Dim(4));
  EXPECT_EQ(mod(-7, 4), Dim(1));
  EXPECT_EQ(max(3, 4), Dim(4));
  EXPECT_EQ(product({2, 3, 4}), Dim(24));
}

TEST_F(DimTest, EqualExpressionsAreEqualDims) {
  EXPECT_EQ((h_ + 1) * n_, n_ + n_ * h_);
  EXPECT_EQ(h_ - h_, Dim(0));
  EXPECT_EQ(n_ * h_ * w_, w_ * n_ * h_);
  EXPECT_EQ(min(h_, w_), min(w_, h_));
  EXPECT_FALSE(h_ == w_);
}

TEST_F(DimTest, QuotientsThatDivideDisappear) {
  EXPECT_EQ(floor_div(h_, 1), h_);
  EXPECT_EQ(floor_div(h_ * 4, 2), h_ * 2);
  EXPECT_EQ(floor_div(h_ * 2 + 1, 2), h_);
  EXPECT_EQ(floor_div(h_ * 4 + 2, 6), floor_div(h_ * 2 + 1, 3));
  EXPECT_EQ(mod(h_ * 4, 2), Dim(0));
  EXPECT_EQ(mod(h_ * 4 + 3, 2), Dim(1));
  EXPECT_EQ(floor_div(n_ * h_ * 12, n_ * 4), h_ * 3);
  EXPECT_EQ(floor_div(n_ * h_ + n_ * w_, h_ + w_), n_);
  EXPECT_EQ(floor_div(n_ * h_ * 12, n_ * 8), floor_div(h_ * 3, 2));
}

TEST_F(DimTest, ChainsOfStridesAreOneQuotient) {
  Dim dim = h_;
  for (int i = 0; i < 5; ++i) dim = floor_div(dim + 2 - 3, 2) + 1;  // kernel 3, pad 1, stride 2
  EXPECT_EQ(to_string(dim), "floor((h + 31)/32)");
  EXPECT_EQ(dim, ceil_div(h_, 32));
}

TEST_F(DimTest, RangesDecideMinAndMax) {
  EXPECT_EQ(max(h_, 0), h_);
  EXPECT_EQ(min(h_, 960), h_);
  EXPECT_EQ(min(h_, h_ + 1), h_);
  EXPECT_EQ(min(h_ * 2, h_), h_);
  EXPECT_EQ(min(min(h_, w_), w_), min(h_, w_));
  EXPECT_EQ(max(floor_div(h_, 2), h_), h_);
  EXPECT_EQ(floor_div(n_, 9), Dim(0));
  EXPECT_EQ(min(h_, INT64_MAX), h_);
}

TEST_F(DimTest, Proofs) {
  EXPECT_TRUE(proven_different(h_, 16));
  EXPECT_TRUE(proven_different(h_ * 2, w_ * 2 + 1));
  EXPECT_FALSE(proven_different(h_, w_));
  EXPECT_TRUE(proven_at_most(floor_div(h_, 2) * 2, h_));
  EXPECT_TRUE(proven_at_most(h_, ceil_div(h_, 32) * 32));
  EXPECT_TRUE(proven_at_most(h_ - min(h_, w_), h_));
  EXPECT_TRUE(proven_divisible(h_ * 32, 16));
  EXPECT_FALSE(proven_divisible(h_, 2));
  EXPECT_TRUE(is_multiple((h_ - 1) * n_, Dim(1) - h_));
  EXPECT_FALSE(is_multiple(h_ * n_ + 1, h_));
}

TEST_F(DimTest, ARemainderIsBelowItsDivisor) {
  const Interval range = range_of(mod(w_ * 3 + 5, 7));
  EXPECT_EQ(range.min, 0);
  EXPECT_EQ(range.max, 6);
}

TEST_F(DimTest, RangesFollowTheSymbols) {
  const Dim dim = floor_div(h_ + 1, 2);
  EXPECT_EQ(range_of(dim).max, 480);
  pool_.set_range(1, 32, 64);
  EXPECT_EQ(range_of(dim).max, 32);
  const Interval narrow = range_of(dim, [](const Symbol&, int) { return Interval{10, 20}; });
  EXPECT_EQ(narrow.min, 5);
  EXPECT_EQ(narrow.max, 10);
}

TEST_F(DimTest, Text) {
  EXPECT_EQ(to_string(h_ * 2 + 1), "2*h + 1");
  EXPECT_EQ(to_string(1 - h_ * n_), "-n*h + 1");
  EXPECT_EQ(to_string(floor_div(w_, 2)), "floor(w/2)");
  EXPECT_EQ(to_string(floor_div(w_, h_ + n_)), "floor(w/(n + h))");
  EXPECT_EQ(to_string(min(w_, 5)), "min(w, 5)");
  EXPECT_EQ(to_string(Shape{1, 3, h_, w_}), "[1, 3, h, w]");
}

TEST_F(DimTest, OverflowAndZeroDivisorsAreErrors) {
  EXPECT_THROW(Dim(INT64_MAX) + 1, Error);
  EXPECT_THROW(h_ * INT64_MAX * 2, Error);
  EXPECT_THROW(floor_div(h_, 0), Error);
  EXPECT_THROW(floor_div(3, 0), Error);
  const auto huge = [](int) { return int64_t{1} << 40; };
  EXPECT_THROW(evaluate(h_ * w_, huge), Error);
  EXPECT_THROW(evaluate(floor_div(w_, h_), [](int) { return 0; }), Error);
}

TEST_F(DimTest, QuotientsOfTheSmallestIntegerDoNotOverflow) {
  EXPECT_EQ(floor_div(Dim(INT64_MIN), 3), Dim(-3074457345618258603));
  EXPECT_EQ(to_string(floor_div(h_ * 3 + INT64_MIN, 3)), "h - 3074457345618258603");
  EXPECT_NO_THROW(floor_div(h_ * INT64_MIN + INT64_MIN, 3));
  EXPECT_NO_THROW(range_of(floor_div(h_ + INT64_MIN, 3) + w_));
}

// Hostile models: a few nodes each, and the stack, the memory or an hour is gone.
TEST_F(DimTest, ExpressionsThatGrowWithoutBoundAreRefused) {
  const auto repeat = [&](int times, const std::function<Dim(Dim)>& step) {
    Dim dim = h_;
    for (int i = 0; i < times; ++i) dim = step(dim);
    return to_string(dim);
  };
  EXPECT_THROW(repeat(64, [&](Dim dim) { return floor_div(dim, n_) + floor_div(dim, w_); }), Error);
  EXPECT_THROW(repeat(20000, [&](Dim dim) { return min((floor_div(dim, n_) + w_) * h_, w_); }), Error);
  EXPECT_THROW(repeat(64, [&](Dim dim) { return dim * dim; }), Error);
}

TEST_F(DimTest, ProofsOverManyMinimaAndMaximaEnd) {
  Dim least = symbol("a", 1, 100), most = symbol("b", 1, 100);
  for (int i = 0; i < 40; ++i) {
    least = min(least, symbol("c" + std::to_string(i), 1, 100));
    most = max(most, symbol("d" + std::to_string(i), 1, 100));
  }
  EXPECT_FALSE(proven_at_most(least, most));
  EXPECT_TRUE(proven_at_most(least, max(least, most)));
}

TEST_F(DimTest, BoundsThatSaturateStaySound) {
  const Dim huge = symbol("huge", 0, int64_t{1} << 62);
  EXPECT_EQ(range_of(huge * huge - 5).max, INT64_MAX);
  EXPECT_FALSE(proven_at_most(huge * huge - 5, INT64_MAX - 5));
}

// The value of a flattened expression.
int64_t run(const std::vector<ExprInstr>& list, uint32_t index, const std::vector<int64_t>& symbols) {
  std::vector<int64_t> values;
  for (const ExprInstr& instr : list) {
    const int64_t a = values.empty() ? 0 : values[instr.a], b = values.empty() ? 0 : values[instr.b];
    const auto floor_quotient = [](int64_t x, int64_t y) { return x / y - (x % y < 0 ? 1 : 0); };
    switch (instr.op) {
      case ExprOp::kConstant: values.push_back(instr.value); break;
      case ExprOp::kSymbol: values.push_back(symbols.at(static_cast<size_t>(instr.value))); break;
      case ExprOp::kAdd: values.push_back(a + b); break;
      case ExprOp::kSub: values.push_back(a - b); break;
      case ExprOp::kMul: values.push_back(a * b); break;
      case ExprOp::kFloorDiv: values.push_back(floor_quotient(a, b)); break;
      case ExprOp::kCeilDiv: values.push_back(-floor_quotient(-a, b)); break;
      case ExprOp::kMod: values.push_back(a - b * floor_quotient(a, b)); break;
      case ExprOp::kMin: values.push_back(std::min(a, b)); break;
      case ExprOp::kMax: values.push_back(std::max(a, b)); break;
    }
  }
  return values.at(index);
}

TEST_F(DimTest, FlattenSharesInstructions) {
  std::vector<ExprInstr> list;
  const uint32_t first = flatten(floor_div(h_ + 1, 2), list);
  const size_t size = list.size();
  EXPECT_EQ(flatten(floor_div(h_ + 1, 2), list), first);
  EXPECT_EQ(list.size(), size);
  const uint32_t second = flatten(floor_div(h_ + 1, 2) - 1, list);
  EXPECT_LE(list.size(), size + 1);  // the constant 1 is there already
  EXPECT_EQ(run(list, second, {1, 9, 1}), 4);
}

// A random expression, as a Dim and as its plain value at every assignment of three small symbols.
class RandomExpressions {
 public:
  explicit RandomExpressions(unsigned seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) {
      const int64_t min = pick(4) - 1, max = min + pick(6);
      symbols_.push_back(pool_.add_symbol({SymbolOrigin::kInputDim, 0, i, min, max, std::string(1, "abc"[i])}));
      ranges_.push_back({min, max});
    }
    std::vector<int64_t> point;
    enumerate(point);
  }

  struct Sample {
    Dim dim;
    std::vector<int64_t> values;  // at each of points()
  };

  Sample make(int depth) {
    if (depth == 0 || pick(6) == 0) return leaf();
    const Sample a = make(depth - 1);
    const int64_t divisor = 1 + pick(6);
    switch (pick(8)) {
      case 0: return combine(a, make(depth - 1), [](auto x, auto y) { return x + y; });
      case 1: return combine(a, make(depth - 1), [](auto x, auto y) { return x - y; });
      case 2: return combine(a, make(depth > 2 ? 1 : depth - 1), [](auto x, auto y) { return x * y; });
      case 3: return combine(a, make(depth - 1), [](auto x, auto y) { return min(x, y); });
      case 4: return combine(a, make(depth - 1), [](auto x, auto y) { return max(x, y); });
      case 5: return combine(a, constant(divisor), [](auto x, auto y) { return floor_div(x, y); });
      case 6: return combine(a, constant(divisor), [](auto x, auto y) { return ceil_div(x, y); });
      default: return combine(a, constant(divisor), [](auto x, auto y) { return mod(x, y); });
    }
  }

  const std::vector<std::vector<int64_t>>& points() const { return points_; }

 private:
  // int64's side of the operations, so that one lambda serves both.
  static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
  static int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }
  static int64_t mod(int64_t a, int64_t b) { return a - b * floor_div(a, b); }
  static int64_t min(int64_t a, int64_t b) { return std::min(a, b); }
  static int64_t max(int64_t a, int64_t b) { return std::max(a, b); }
  static Dim floor_div(Dim a, Dim b) { return ir::floor_div(a, b); }
  static Dim ceil_div(Dim a, Dim b) { return ir::ceil_div(a, b); }
  static Dim mod(Dim a, Dim b) { return ir::mod(a, b); }
  static Dim min(Dim a, Dim b) { return ir::min(a, b); }
  static Dim max(Dim a, Dim b) { return ir::max(a, b); }

  int64_t pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

  Sample constant(int64_t value) { return {value, std::vector<int64_t>(points_.size(), value)}; }

  Sample leaf() {
    if (pick(3) == 0) return constant(pick(9) - 3);
    const auto index = static_cast<size_t>(pick(3));
    Sample sample{symbols_[index], {}};
    for (const auto& point : points_) sample.values.push_back(point[index]);
    return sample;
  }

  template <typename Op>
  Sample combine(const Sample& a, const Sample& b, Op op) {
    Sample result{op(a.dim, b.dim), {}};
    for (size_t i = 0; i < points_.size(); ++i) result.values.push_back(op(a.values[i], b.values[i]));
    return result;
  }

  void enumerate(std::vector<int64_t>& point) {
    if (point.size() == ranges_.size()) return points_.push_back(point);
    const Interval range = ranges_[point.size()];
    for (int64_t value = range.min; value <= range.max; ++value) {
      point.push_back(value);
      enumerate(point);
      point.pop_back();
    }
  }

  std::mt19937 random_;
  ExprPool pool_;
  std::vector<Dim> symbols_;
  std::vector<Interval> ranges_;
  std::vector<std::vector<int64_t>> points_;
};

TEST(RandomDims, EvaluateToWhatTheOperationsGive) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    RandomExpressions random(seed);
    const auto sample = random.make(5);
    std::vector<ExprInstr> list;
    const uint32_t index = flatten(sample.dim, list);
    for (size_t i = 0; i < random.points().size(); ++i) {
      const auto& point = random.points()[i];
      const auto value_of = [&](int symbol) { return point[static_cast<size_t>(symbol)]; };
      ASSERT_EQ(evaluate(sample.dim, value_of), sample.values[i]) << to_string(sample.dim) << " seed " << seed;
      ASSERT_EQ(run(list, index, point), sample.values[i]) << to_string(sample.dim) << " seed " << seed;
    }
  }
}

TEST(RandomDims, RangesHoldEveryValue) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    RandomExpressions random(seed);
    const auto sample = random.make(5);
    const Interval range = range_of(sample.dim);
    for (int64_t value : sample.values) {
      ASSERT_LE(range.min, value) << to_string(sample.dim) << " seed " << seed;
      ASSERT_GE(range.max, value) << to_string(sample.dim) << " seed " << seed;
    }
  }
}

TEST(RandomDims, ProofsHoldAtEveryPoint) {
  int proven = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    RandomExpressions random(seed);
    const auto a = random.make(3), b = random.make(3);
    const bool equal = proven_equal(a.dim, b.dim), different = proven_different(a.dim, b.dim);
    const bool at_most = proven_at_most(a.dim, b.dim), even = proven_divisible(a.dim, 2);
    proven += equal + different + at_most + even;
    for (size_t i = 0; i < a.values.size(); ++i) {
      const int64_t x = a.values[i], y = b.values[i];
      ASSERT_TRUE(!equal || x == y) << to_string(a.dim) << " == " << to_string(b.dim);
      ASSERT_TRUE(!different || x != y) << to_string(a.dim) << " != " << to_string(b.dim);
      ASSERT_TRUE(!at_most || x <= y) << to_string(a.dim) << " <= " << to_string(b.dim);
      ASSERT_TRUE(!even || x % 2 == 0) << to_string(a.dim);
    }
  }
  EXPECT_GT(proven, 100);
}

}  // namespace
}  // namespace planwright::ir
