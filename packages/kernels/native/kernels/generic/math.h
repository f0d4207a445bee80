#pragma once

// Elementary functions, operation by operation as docs/numerics.md has them ("elementary functions") and as
// packages/core/src/math writes them. f32 in and out.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/compiler.h"

namespace hearth {

/// e^x in 8 lanes for x <= 0 or NaN; the same as exp8 there.
template <class Isa>
HEARTH_INLINE typename Isa::F8 exp8_to_one(typename Isa::F8 x) {
  using F8 = typename Isa::F8;
  // t = 1.5 · 2^23 + n: the addition rounds x / ln 2 to the integer n, which is then in the low bits of t.
  const F8 magic = Isa::broadcast(12582912.0f);
  const F8 t = Isa::add(Isa::mul(x, Isa::broadcast(1.44269504088896341f)), magic);
  const F8 n = Isa::sub(t, magic);
  F8 r = Isa::fma(n, Isa::broadcast(-0.693359375f), x);
  r = Isa::fma(n, Isa::broadcast(2.12194440e-4f), r);
  F8 p = Isa::broadcast(1.9875691500e-4f);
  p = Isa::fma(p, r, Isa::broadcast(1.3981999507e-3f));
  p = Isa::fma(p, r, Isa::broadcast(8.3334519073e-3f));
  p = Isa::fma(p, r, Isa::broadcast(4.1665795894e-2f));
  p = Isa::fma(p, r, Isa::broadcast(1.6666665459e-1f));
  p = Isa::fma(p, r, Isa::broadcast(5.0000001201e-1f));
  const F8 z = Isa::mul(r, r);
  F8 y = Isa::add(Isa::fma(p, z, r), Isa::broadcast(1.0f));
  // Out of range the power is meaningless, and replaced below. NaN stays NaN whatever it is multiplied with.
  y = Isa::mul(y, Isa::power_of_two(t));
  return Isa::select(Isa::less(x, Isa::broadcast(-87.0f)), Isa::zero(), y);
}

/// e^x in 8 lanes. exp(0) = 1; x < -87 gives +0, x > 88 gives infinity, NaN gives NaN. Coefficients: Cephes (S. Moshier).
template <class Isa>
HEARTH_INLINE typename Isa::F8 exp8(typename Isa::F8 x) {
  const typename Isa::F8 y = exp8_to_one<Isa>(x);
  return Isa::select(Isa::less(Isa::broadcast(88.0f), x), Isa::broadcast(HUGE_VALF), y);
}

/// x / (1 + e^-x)
template <class Isa>
HEARTH_INLINE typename Isa::F8 silu8(typename Isa::F8 x) {
  return Isa::div(x, Isa::add(Isa::broadcast(1.0f), exp8<Isa>(Isa::negate(x))));
}

/// x · sigmoid(2u), u = sqrt(2 / pi) · (x + 0.044715 x³): the tanh form of GELU without its cancellation below 0.
template <class Isa>
HEARTH_INLINE typename Isa::F8 gelu_tanh8(typename Isa::F8 x) {
  using F8 = typename Isa::F8;
  const F8 z = Isa::mul(x, x);
  const F8 u = Isa::mul(x, Isa::fma(z, Isa::broadcast(0.035677408136f), Isa::broadcast(0.797884560803f)));
  return Isa::div(x, Isa::add(Isa::broadcast(1.0f), exp8<Isa>(Isa::negate(Isa::add(u, u)))));
}

/// Hyperbolic tangent in 8 lanes; zeros of either sign give +0. Coefficients: Cephes.
template <class Isa>
HEARTH_INLINE typename Isa::F8 tanh8(typename Isa::F8 x) {
  using F8 = typename Isa::F8;
  const F8 one = Isa::broadcast(1.0f);
  const F8 magnitude = Isa::abs(x);
  const F8 z = Isa::mul(x, x);
  F8 p = Isa::broadcast(-5.70498872745e-3f);
  p = Isa::fma(p, z, Isa::broadcast(2.06390887954e-2f));
  p = Isa::fma(p, z, Isa::broadcast(-5.37397155531e-2f));
  p = Isa::fma(p, z, Isa::broadcast(1.33314422036e-1f));
  p = Isa::fma(p, z, Isa::broadcast(-3.33332819422e-1f));
  const F8 small = Isa::fma(Isa::mul(p, z), x, x);
  // 1 - 2 / (e^2a + 1), exact enough where a is not small.
  const F8 doubled = exp8<Isa>(Isa::add(magnitude, magnitude));
  const F8 large = Isa::sub(one, Isa::div(Isa::broadcast(2.0f), Isa::add(doubled, one)));
  const F8 with_sign = Isa::select(Isa::less(x, Isa::zero()), Isa::negate(large), large);
  return Isa::select(Isa::less(magnitude, Isa::broadcast(0.625f)), small, with_sign);
}

/// cap · tanh(x / cap)
template <class Isa>
HEARTH_INLINE typename Isa::F8 softcap8(typename Isa::F8 x, typename Isa::F8 cap) {
  return Isa::mul(cap, tanh8<Isa>(Isa::div(x, cap)));
}

/// Natural logarithm of one value; log(1) = +0, 0 gives -infinity, x < 0 and NaN give NaN. Coefficients: Cephes.
template <class Isa>
HEARTH_INLINE float log1(float x) {
  if (!(x >= 0.0f)) return NAN;
  if (x == 0.0f) return -HUGE_VALF;
  if (x == HUGE_VALF) return x;
  // x = m · 2^e with 1/2 <= m < 1; a denormal is made normal first (exact)
  int32_t e = -126;
  float normal = x;
  if (x < 0x1p-126f) {
    normal = x * 8388608.0f;
    e = -149;
  }
  uint32_t bits;
  std::memcpy(&bits, &normal, sizeof bits);
  e += static_cast<int32_t>(bits >> 23);
  bits = (bits & 0x007fffffu) | 0x3f000000u;
  float t;
  std::memcpy(&t, &bits, sizeof t);
  // sqrt(1/2) <= m < sqrt(2), then t = m - 1 (all exact)
  if (t < 0.70710678118654752f) {
    e -= 1;
    t = t + t;
  }
  t = t - 1.0f;
  float p = 7.0376836292e-2f;
  p = Isa::fma(p, t, -1.151461031e-1f);
  p = Isa::fma(p, t, 1.167699874e-1f);
  p = Isa::fma(p, t, -1.2420140846e-1f);
  p = Isa::fma(p, t, 1.4249322787e-1f);
  p = Isa::fma(p, t, -1.6668057665e-1f);
  p = Isa::fma(p, t, 2.0000714765e-1f);
  p = Isa::fma(p, t, -2.4999993993e-1f);
  p = Isa::fma(p, t, 3.3333331174e-1f);
  const float z = t * t;
  float y = t * z;
  y = y * p;
  y = Isa::fma(static_cast<float>(e), -2.1219444e-4f, y);
  y = Isa::fma(-0.5f * t, t, y);
  y = t + y;
  return Isa::fma(static_cast<float>(e), 0.693359375f, y);
}

/// sin and cos of an angle, 0 <= angle < 2^20 · pi/2, in f64 throughout and without any fma; the kernels are fdlibm's.
/// Written without branches, so that a loop over it can be vectorized.
template <class Isa>
HEARTH_INLINE void sincos1(float angle, float* sine, float* cosine) {
  const double a = static_cast<double>(angle);
  const double n = std::floor(a * 0.6366197723675814 + 0.5);
  double r = a - n * 1.57079632673412561417;
  r = r - n * 6.07710050630396597660e-11;
  r = r - n * 2.02226624879595063154e-21;
  const double z = r * r;
  const double s_poly =
      -1.66666666666666324348e-01 +
      z * (8.33333333332248946124e-03 +
           z * (-1.98412698298579493134e-04 +
                z * (2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10))));
  const double c_poly =
      4.16666666666666019037e-02 +
      z * (-1.38888888888741095749e-03 +
           z * (2.48015872894767294178e-05 +
                z * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11))));
  const double s = r + (r * z) * s_poly;
  const double c = (1.0 - 0.5 * z) + (z * z) * c_poly;
  // n mod 4: the quarter turn that r starts from
  const int32_t quarter = static_cast<int32_t>(n) & 3;
  const double sin_magnitude = (quarter & 1) != 0 ? c : s;
  const double cos_magnitude = (quarter & 1) != 0 ? s : c;
  *sine = static_cast<float>((quarter & 2) != 0 ? -sin_magnitude : sin_magnitude);
  *cosine = static_cast<float>(quarter == 1 || quarter == 2 ? -cos_magnitude : cos_magnitude);
}

}  // namespace hearth
