// The hyperbolic tangent.

#include "kernels/loops/exponential.h"

#ifdef __AVX512F__
#if defined(__GNUC__) && !defined(__clang__)  // GCC warns of its own functions
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

namespace evertrace::EVERTRACE_TARGET {
namespace {

// t / (2 + t) of t = exp(2 x) - 1, with what is lost in both. Of a large t the sum does not count.
struct Tanh {
  template <class T>
  static T of(T x) { return quick(clamped(x, -kMost<T>, kMost<T>)); }
  template <class T>
  static bool is_rare(T x) { return !(std::fabs(x) <= kMost<T>); }
  template <class T>
  static T quick(T x) {
    const ExpParts<T> e = exp_parts(2 * std::fabs(x));
    const T power = power_of_two<T>(e.k), less = power - 1;
    const T t = fused(power, e.p, less), t_lost = fused(power, e.p, less - t);
    const T sum = 2 + t, sum_lost = (t - (sum - 2)) + t_lost;
    const T reciprocal = 1 / sum, quotient = kFuses ? t * reciprocal : t / sum;
    const T inexact = kFuses ? fused(-quotient, sum, t) : 0;
    const T rest = inexact + fused(-quotient, sum_lost, t_lost);
    return with_sign_of(fused(rest, reciprocal, quotient), x);
  }

 private:
  template <class T>
  static constexpr T kMost = 22;  // where it is 1
};

#ifdef __AVX512F__

// Polynomials in x - c on 32 intervals, whose ends are the numbers with two bits of fraction from
// 1 / 16 to 16; the first begins at 0. One instruction looks up a number of 32 for each of 16
// floats; the quotient above costs more. Minimax approximations by Remez' algorithm.
alignas(64) constexpr float kTable[7][32] = {  // c, and the coefficients from the lowest on
    {0, 0.0859375f, 0.1015625f, 0.1171875f, 0.140625f, 0.171875f, 0.203125f, 0.234375f, 0.28125f,
     0.34375f, 0.40625f, 0.46875f, 0.5625f, 0.6875f, 0.8125f, 0.9375f, 1.125f, 1.375f, 1.625f,
     1.875f, 2.25f, 2.75f, 3.25f, 3.75f, 4.5f, 5.5f, 6.5f, 7.5f, 9.0f, 11, 13.0f, 15.0f},
    {0, 0.0857265666f, 0.101214729f, 0.116653986f, 0.1397053f, 0.170202315f, 0.200376719f,
     0.230175704f, 0.27406159f, 0.330821127f, 0.385283977f, 0.437188774f, 0.509829998f,
     0.596373558f, 0.670967102f, 0.734071493f, 0.809301078f, 0.879826725f, 0.925346255f,
     0.954045236f, 0.978026092f, 0.991859734f, 0.996997654f, 0.998894453f, 0.999753177f,
     0.999966621f, 0.99999547f, 0.999999404f, 0.99999994f, 1, 1, 1},
    {1, 0.992650926f, 0.989755571f, 0.986391842f, 0.980482399f, 0.971031189f, 0.959849179f,
     0.94701916f, 0.92489022f, 0.890557408f, 0.851556242f, 0.808865964f, 0.740073383f,
     0.644338608f, 0.549803197f, 0.461138994f, 0.345031768f, 0.225904971f, 0.143734366f,
     0.0897976384f, 0.043464914f, 0.0162142925f, 0.00599571783f, 0.00220989343f,
     0.000493536063f, 6.68071298e-5f, 9.04162334e-6f, 1.22365543e-6f, 6.10835258e-8f, 0, 0, 0},
    {0, -0.0850965604f, -0.100177847f, -0.115066543f, -0.136978596f, -0.165271744f, -0.192331418f,
     -0.217980802f, -0.253476858f, -0.294615149f, -0.328090936f, -0.353627086f, -0.377311289f,
     -0.384266406f, -0.368899882f, -0.338509142f, -0.279237121f, -0.198758736f, -0.133004621f,
     -0.0856711045f, -0.0425082408f, -0.0160811003f, -0.00597717939f, -0.00220723939f,
     -0.00049260963f, -6.66951746e-5f, -9.02671763e-6f, -1.22164272e-6f, -5.9220298e-8f, 0, 0,
     0},
    {-0.333332211f, -0.32358861f, -0.319779038f, -0.315374315f, -0.307690859f, -0.295547426f,
     -0.281410992f, -0.265499175f, -0.238828599f, -0.199387655f, -0.157444f, -0.115020268f,
     -0.0543274432f, 0.0143862478f, 0.0642516762f, 0.0947768092f, 0.110976212f, 0.0995720699f,
     0.0751642808f, 0.0518018305f, 0.02708783f, 0.0105461106f, 0.00396090234f, 0.00146825553f,
     0.000328297814f, 4.4467386e-5f, 6.01868624e-6f, 8.14553061e-7f, 3.95910824e-8f, 0, 0, 0},
    {0, 0.0561027937f, 0.065755628f, 0.0751413926f, 0.0886279196f, 0.105372868f, 0.120475739f,
     0.133746997f, 0.149840921f, 0.164061517f, 0.169927299f, 0.168078676f, 0.153249547f,
     0.119441099f, 0.0798982009f, 0.0433629751f, 0.00370061235f, -0.0210951604f,
     -0.0251212381f, -0.0208489299f, -0.0123903099f, -0.00515112933f, -0.00197949936f,
     -0.000739873038f, -0.000172550936f, -2.33984738e-5f, -3.16748674e-6f, -4.28688224e-7f,
     -2.47210394e-8f, 0, 0, 0},
    {0.132840708f, 0.125117227f, 0.121937074f, 0.118283965f, 0.111989982f, 0.102179095f,
     0.0910124779f, 0.0787784606f, 0.0591724999f, 0.0320506915f, 0.0060043335f,
     -0.0171013698f, -0.0433412716f, -0.0615180507f, -0.0626643673f, -0.0530744717f,
     -0.0321104564f, -0.00955474935f, 0.00137856661f, 0.00459587481f, 0.00397615135f,
     0.0019167451f, 0.000771511346f, 0.000293064368f, 6.87046413e-5f, 9.33461797e-6f,
     1.26397163e-6f, 1.71072216e-7f, 9.79939507e-9f, 0, 0, 0},
};

inline __m512 looked_up(int row, __m512i index) {
  const __m512 low = _mm512_load_ps(kTable[row]), high = _mm512_load_ps(kTable[row] + 16);
  return _mm512_permutex2var_ps(low, index, high);
}

inline __m512 tanh_of(__m512 x) {
  const __m512 magnitude = _mm512_abs_ps(x);
  const __m512 within = _mm512_min_ps(_mm512_set1_ps(15.99f), magnitude);  // this order keeps NaNs
  const __m512i bits = _mm512_castps_si512(_mm512_max_ps(_mm512_set1_ps(0.0625f), within));
  const __m512i index = _mm512_sub_epi32(_mm512_srli_epi32(bits, 21), _mm512_set1_epi32(492));
  const __m512 d = _mm512_sub_ps(within, looked_up(0, index));
  __m512 value = looked_up(6, index);
  for (int row = 5; row > 0; --row) value = _mm512_fmadd_ps(value, d, looked_up(row, index));
  const __m512i sign = _mm512_set1_epi32(INT32_MIN);
  return _mm512_or_ps(value, _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(x), sign)));
}

void tanh_loop(const Operand* operands, void* result, int64_t n, int64_t) {
  const float* x = static_cast<const float*>(operands[0].data);
  float* out = static_cast<float*>(result);
  if (operands[0].is_scalar) {
    const float value = _mm512_cvtss_f32(tanh_of(_mm512_set1_ps(*x)));
    for (int64_t i = 0; i < n; ++i) out[i] = value;
    return;
  }
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) _mm512_storeu_ps(out + i, tanh_of(_mm512_loadu_ps(x + i)));
  if (i < n) {
    const auto mask = static_cast<__mmask16>((1u << (n - i)) - 1);
    _mm512_mask_storeu_ps(out + i, mask, tanh_of(_mm512_maskz_loadu_ps(mask, x + i)));
  }
}

#else

constexpr Loop tanh_loop = &unary_quick<Tanh, float>;

#endif

Loop find_tanh(DType dtype) {
  if (dtype == DType::kFloat64) return &unary_quick<Tanh, double>;
  return dtype == DType::kFloat32 ? tanh_loop : find_half<tanh_loop, 1>(dtype);
}

constexpr Entry kEntries[] = {
    {"tanh", 1, 6, same<find_tanh>},
};

}  // namespace

constexpr Family kTanh = family_of(kEntries);

}  // namespace evertrace::EVERTRACE_TARGET
