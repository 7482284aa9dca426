// Elementary functions on the tier's float vectors, within 4 units in the last place of the true value (strip_test
// measures); infinities and NaN as in the C library. The polynomials are minimax fits by the Remez exchange, relative
// error of the function below 2^-26 in exact arithmetic, so that rounding is what remains.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_VECTOR_MATH_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_VECTOR_MATH_H_

#include "tactics/kernels/fast/vector.h"

namespace planwright::PW_TIER_NAMESPACE {

// c[0] + x * (c[1] + x * (...)), coefficients from the lowest power.
template <int N>
static HWY_INLINE FloatVec polynomial(FloatVec x, const float (&c)[N]) {
  FloatVec sum = hn::Set(kF, c[N - 1]);
  for (int i = N - 2; i >= 0; --i) sum = hn::MulAdd(sum, x, hn::Set(kF, c[i]));
  return sum;
}

// 2^n as a float, for whole n in [-126, 127].
static HWY_INLINE FloatVec power_of_two(hn::Vec<hn::RebindToSigned<FloatTag>> n) {
  constexpr hn::RebindToSigned<FloatTag> kI{};
  return hn::BitCast(kF, hn::ShiftLeft<23>(hn::Add(n, hn::Set(kI, 127))));
}

// y and n of exp(x) = y * 2^n, n whole. For |x| below 106, or NaN.
struct ScaledExp {
  FloatVec y, n;
};
static HWY_INLINE ScaledExp scaled_exp(FloatVec x) {
  constexpr float kC[] = {0.4999999337f, 0.1666651952f, 0.04166840108f, 0.008368851068f, 0.001381432072f};
  const FloatVec n = hn::Round(hn::Mul(x, hn::Set(kF, 1.44269504f)));
  // ln 2 in two parts, the first with 9 trailing zero bits, so that n * part is exact.
  FloatVec r = hn::NegMulAdd(n, hn::Set(kF, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(kF, -2.12194440e-4f), r);
  const FloatVec y = hn::MulAdd(hn::Mul(r, r), polynomial(r, kC), r);
  return {hn::Add(y, hn::Set(kF, 1.0f)), n};
}

static HWY_INLINE HWY_MAYBE_UNUSED FloatVec vector_exp(FloatVec x) {
  constexpr hn::RebindToSigned<FloatTag> kI{};
  // Past these the result is inf or 0 whatever x is. The operand order makes x the result where it is NaN.
  const ScaledExp e = scaled_exp(hn::Min(hn::Set(kF, 89.0f), hn::Max(hn::Set(kF, -105.0f), x)));
  // In two steps: n reaches from -151 to 128, where one power of two would be no normal number.
  const auto whole = hn::ConvertTo(kI, e.n);
  const auto half = hn::ShiftRight<1>(whole);
  return hn::Mul(hn::Mul(e.y, power_of_two(half)), power_of_two(hn::Sub(whole, half)));
}

// exp(x) for x <= 0 or NaN; 0 below -87, where vector_exp makes denormal numbers, at some hundred cycles a vector: the
// softmax of 12 x 128 rows of 128 masked scores took 0.77 ms with them and 0.1 without.
static HWY_INLINE HWY_MAYBE_UNUSED FloatVec vector_exp_of_negative(FloatVec x) {
  constexpr hn::RebindToSigned<FloatTag> kI{};
  const FloatVec lowest = hn::Set(kF, -87.0f);
  const ScaledExp e = scaled_exp(hn::Max(lowest, x));
  return hn::IfThenZeroElse(hn::Lt(x, lowest), hn::Mul(e.y, power_of_two(hn::ConvertTo(kI, e.n))));
}

static HWY_INLINE HWY_MAYBE_UNUSED FloatVec vector_log(FloatVec x) {
  constexpr hn::RebindToSigned<FloatTag> kI{};
  constexpr float kC[] = {0.3333333171f, -0.2500082103f, 0.2000122687f, -0.1662335754f,
                          0.14201758f,   -0.1316018046f, 0.1276157735f, -0.0763450292f};
  // Denormals are brought into the normal range first.
  const auto tiny = hn::Lt(x, hn::Set(kF, 1.17549435e-38f));
  const FloatVec scaled = hn::IfThenElse(tiny, hn::Mul(x, hn::Set(kF, 33554432.0f)), x);  // 2^25
  const FloatVec lost = hn::IfThenElseZero(tiny, hn::Set(kF, -25.0f));
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)).
  const auto bits = hn::BitCast(kI, scaled);
  const auto shifted = hn::Sub(bits, hn::Set(kI, 0x3f3504f3));  // sqrt(1/2)
  const auto e = hn::ShiftRight<23>(shifted);
  const FloatVec m = hn::BitCast(kF, hn::Sub(bits, hn::ShiftLeft<23>(e)));
  const FloatVec exponent = hn::Add(hn::ConvertTo(kF, e), lost);
  const FloatVec f = hn::Sub(m, hn::Set(kF, 1.0f));
  const FloatVec f2 = hn::Mul(f, f);
  // log(1+f) = f - f^2/2 + f^3 P(f), smallest terms first.
  FloatVec y = hn::Mul(hn::Mul(f2, f), polynomial(f, kC));
  y = hn::MulAdd(exponent, hn::Set(kF, -2.12194440e-4f), y);
  y = hn::NegMulAdd(hn::Set(kF, 0.5f), f2, y);
  y = hn::Add(y, f);
  y = hn::MulAdd(exponent, hn::Set(kF, 0.693359375f), y);
  const FloatVec inf = hn::Set(kF, __builtin_inff());
  y = hn::IfThenElse(hn::Eq(x, inf), inf, y);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(kF)), hn::Neg(inf), y);
  // Negative or NaN.
  return hn::IfThenElse(hn::Ge(x, hn::Zero(kF)), y, hn::Set(kF, __builtin_nanf("")));
}

static HWY_INLINE HWY_MAYBE_UNUSED FloatVec vector_sigmoid(FloatVec x) {
  const FloatVec one = hn::Set(kF, 1.0f);
  return hn::Div(one, hn::Add(one, vector_exp(hn::Neg(x))));
}

static HWY_INLINE HWY_MAYBE_UNUSED FloatVec vector_tanh(FloatVec x) {
  constexpr float kC[] = {-0.3333328194f, 0.133314422f, -0.05373971509f, 0.02063908724f, -0.005704986993f};
  const FloatVec a = hn::Abs(x);
  const FloatVec s = hn::Mul(x, x);
  const FloatVec near_zero = hn::MulAdd(hn::Mul(s, polynomial(s, kC)), x, x);
  const FloatVec one = hn::Set(kF, 1.0f);
  const FloatVec power = vector_exp(hn::Add(a, a));
  const FloatVec far = hn::Sub(one, hn::Div(hn::Set(kF, 2.0f), hn::Add(power, one)));
  // Lt is false for NaN, and `far` carries it.
  return hn::IfThenElse(hn::Lt(a, hn::Set(kF, 0.625f)), near_zero, hn::CopySign(far, x));
}

static HWY_INLINE HWY_MAYBE_UNUSED FloatVec vector_erf(FloatVec x) {
  constexpr float kNear[] = {0.1283791496f,   -0.3761249368f,  0.1128181616f,
                             -0.02676661599f, 0.004993180021f, -0.0005990853005f};
  // -log(1 - erf(a)) on [0.92, 3.95]; from 3.92 on erf rounds to 1.
  constexpr float kFar[] = {-0.0001758735746f, 1.129520818f,    0.6333346639f,     0.1082939338f,
                            -0.02512861575f,   0.004174639447f, -0.0004352181016f, 2.116183446e-5f};
  const FloatVec a = hn::Abs(x);
  const FloatVec s = hn::Mul(x, x);
  const FloatVec near_zero = hn::MulAdd(polynomial(s, kNear), x, x);
  // The operand order keeps NaN.
  const FloatVec t = hn::Min(hn::Set(kF, 3.95f), a);
  const FloatVec far = hn::Sub(hn::Set(kF, 1.0f), vector_exp(hn::Neg(polynomial(t, kFar))));
  return hn::IfThenElse(hn::Lt(a, hn::Set(kF, 0.92f)), near_zero, hn::CopySign(far, x));
}

}  // namespace planwright::PW_TIER_NAMESPACE

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_VECTOR_MATH_H_
