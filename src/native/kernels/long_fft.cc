// The idea: a row of n = n1 n2 numbers is a matrix of n1 rows and n2 columns. Its columns are
// transformed, element (k, j) is multiplied by w^(j k), and the rows of the result are transformed:
// what comes out is the transform, column by column. (Bailey, "FFTs in external or hierarchical
// memory", 1990.) Memory is read and written twice. Eight columns are transformed at a time, so that
// vectors hold the same element of each, and no element is ever looked for within a vector; the
// passes over them are Stockham's, which need no reordering. (Van Loan, "Computational Frameworks
// for the Fast Fourier Transform", 1992, sections 1.7 and 3.)
//
// The inverse is the transform with real and imaginary parts exchanged, before and after.

#include "kernels/long_fft.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/clones.h"
#include "kernels/parallel.h"
#include "kernels/scratch.h"

namespace evertrace {
namespace {

constexpr int kLanes = 8;
constexpr int64_t kShared = 1 << 15;  // rows from which on threads are worth waking
constexpr double kPi = 3.14159265358979323846;

template <class T>
struct Complex {
  T re, im;
};

template <class T>
EVERTRACE_INLINE Complex<T> operator+(Complex<T> x, Complex<T> y) {
  return {x.re + y.re, x.im + y.im};
}
template <class T>
EVERTRACE_INLINE Complex<T> operator-(Complex<T> x, Complex<T> y) {
  return {x.re - y.re, x.im - y.im};
}
template <class T>
EVERTRACE_INLINE Complex<T> operator*(Complex<T> x, Complex<T> y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
template <class T>
EVERTRACE_INLINE Complex<T> operator*(T x, Complex<T> y) {
  return {x * y.re, x * y.im};
}
template <class T>
EVERTRACE_INLINE Complex<T> conj(Complex<T> x) {
  return {x.re, -x.im};
}
template <class T>
EVERTRACE_INLINE Complex<T> times_i(Complex<T> x) {
  return {-x.im, x.re};
}

// The same element of eight columns.
template <class T>
struct alignas(64) Lanes {
  T re[kLanes], im[kLanes];

  EVERTRACE_INLINE Complex<T> get(int lane) const { return {re[lane], im[lane]}; }
  EVERTRACE_INLINE void set(int lane, Complex<T> x) {
    re[lane] = x.re;
    im[lane] = x.im;
  }
};

// ---------------------------------------------------------------- roots of unity

// exp(-2 pi i k / n) for 0 <= k < n, from an angle of at most an eighth of a turn.
Complex<double> root(int64_t k, int64_t n) {
  const int64_t eighth = 8 * k / n, rest = 8 * k % n;
  const bool from_above = eighth % 2 != 0;
  const double angle =
      kPi / 4 * static_cast<double>(from_above ? n - rest : rest) / static_cast<double>(n);
  double x = std::cos(angle), y = std::sin(angle);
  if (from_above) std::swap(x, y);
  switch (eighth / 2) {
    case 0: return {x, -y};
    case 1: return {-y, -x};
    case 2: return {-x, y};
    default: return {y, x};
  }
}

// All the n-th roots, as products of two of some sqrt(n).
class Roots {
 public:
  explicit Roots(int64_t n) {
    while ((int64_t{1} << (2 * bits_)) < n) ++bits_;
    for (int64_t k = 0; k < std::min(n, int64_t{1} << bits_); ++k) fine_.push_back(root(k, n));
    for (int64_t k = 0; k < n; k += int64_t{1} << bits_) coarse_.push_back(root(k, n));
  }
  Complex<double> operator[](int64_t k) const {
    return coarse_[static_cast<size_t>(k >> bits_)] *
           fine_[static_cast<size_t>(k & ((int64_t{1} << bits_) - 1))];
  }

 private:
  int bits_ = 0;
  std::vector<Complex<double>> fine_, coarse_;
};

// ---------------------------------------------------------------- columns

// Sums over R elements with the R-th roots of unity.
template <class T>
EVERTRACE_INLINE void butterfly(Complex<T> (&a)[2]) {
  const Complex<T> x = a[0], y = a[1];
  a[0] = x + y;
  a[1] = x - y;
}
template <class T>
EVERTRACE_INLINE void butterfly(Complex<T> (&a)[3]) {
  constexpr T kSin = static_cast<T>(0.86602540378443864676);
  const Complex<T> sum = a[1] + a[2], rest = a[0] - T(0.5) * sum;
  const Complex<T> turned = times_i(kSin * (a[1] - a[2]));
  a[0] = a[0] + sum;
  a[1] = rest - turned;
  a[2] = rest + turned;
}
template <class T>
EVERTRACE_INLINE void butterfly(Complex<T> (&a)[4]) {
  const Complex<T> even = a[0] + a[2], odd = a[1] + a[3];
  const Complex<T> rest = a[0] - a[2], turned = times_i(a[1] - a[3]);
  a[0] = even + odd;
  a[1] = rest - turned;
  a[2] = even - odd;
  a[3] = rest + turned;
}
template <class T>
EVERTRACE_INLINE void butterfly(Complex<T> (&a)[5]) {
  constexpr T kCos1 = static_cast<T>(0.30901699437494742410);
  constexpr T kCos2 = static_cast<T>(-0.80901699437494742410);
  constexpr T kSin1 = static_cast<T>(0.95105651629515357212);
  constexpr T kSin2 = static_cast<T>(0.58778525229247312917);
  const Complex<T> sum1 = a[1] + a[4], sum2 = a[2] + a[3];
  const Complex<T> difference1 = a[1] - a[4], difference2 = a[2] - a[3];
  const Complex<T> even1 = a[0] + kCos1 * sum1 + kCos2 * sum2;
  const Complex<T> even2 = a[0] + kCos2 * sum1 + kCos1 * sum2;
  const Complex<T> odd1 = times_i(kSin1 * difference1 + kSin2 * difference2);
  const Complex<T> odd2 = times_i(kSin2 * difference1 - kSin1 * difference2);
  a[0] = a[0] + sum1 + sum2;
  a[1] = even1 - odd1;
  a[2] = even2 - odd2;
  a[3] = even2 + odd2;
  a[4] = even1 + odd1;
}

// One pass over columns: sums of R elements that lie `count * step` apart, of which those after the
// first are multiplied by the roots.
template <class T>
struct Pass {
  int radix;
  int64_t count, step;
  std::vector<Complex<T>> roots;  // [count, radix - 1]
};

template <class T, int R>
EVERTRACE_CLONES void run_pass(const Pass<T>& pass, const Lanes<T>* in, Lanes<T>* out) {
  const int64_t step = pass.step, apart = pass.count * step;
  const Complex<T>* root = pass.roots.data();
  for (int64_t p = 0; p < pass.count; ++p, root += R - 1, out += (R - 1) * step) {
    Complex<T> w[R];
    for (int r = 1; r < R; ++r) w[r] = root[r - 1];
    for (int64_t q = 0; q < step; ++q, ++in, ++out) {
      EVERTRACE_INDEPENDENT
      for (int lane = 0; lane < kLanes; ++lane) {
        Complex<T> a[R];
        for (int r = 0; r < R; ++r) a[r] = in[r * apart].get(lane);
        butterfly(a);
        out[0].set(lane, a[0]);
        for (int r = 1; r < R; ++r) out[r * step].set(lane, w[r] * a[r]);
      }
    }
  }
}

// The transform of columns of one length.
template <class T>
class Columns {
 public:
  explicit Columns(int64_t n) {
    for (int64_t left = n, step = 1; left > 1;) {
      const int radix = left % 4 == 0 ? 4 : left % 2 == 0 ? 2 : left % 3 == 0 ? 3 : 5;
      Pass<T> pass{radix, left / radix, step, {}};
      for (int64_t p = 0; p < pass.count; ++p) {
        for (int r = 1; r < radix; ++r) {
          const Complex<double> w = root(p * r, left);
          pass.roots.push_back({static_cast<T>(w.re), static_cast<T>(w.im)});
        }
      }
      left = pass.count;
      step *= radix;
      passes_.push_back(std::move(pass));
    }
  }

  // Transforms what `x` holds, with `y` to work in; returns which of both has the result.
  const Lanes<T>* run(Lanes<T>* x, Lanes<T>* y) const {
    for (const Pass<T>& pass : passes_) {
      switch (pass.radix) {
        case 2: run_pass<T, 2>(pass, x, y); break;
        case 3: run_pass<T, 3>(pass, x, y); break;
        case 4: run_pass<T, 4>(pass, x, y); break;
        default: run_pass<T, 5>(pass, x, y);
      }
      std::swap(x, y);
    }
    return x;
  }

 private:
  std::vector<Pass<T>> passes_;
};

// Eight neighbours out of each of n rows, of which the first number is at `in` or, exchanged, beside it.
template <class T>
EVERTRACE_CLONES void load(const T* in, int64_t n, int64_t row, bool exchanged, Lanes<T>* x) {
  for (int64_t i = 0; i < n; ++i, in += 2 * row) {
    T* const re = exchanged ? x[i].im : x[i].re;
    T* const im = exchanged ? x[i].re : x[i].im;
    EVERTRACE_INDEPENDENT
    for (int lane = 0; lane < kLanes; ++lane) {
      re[lane] = in[2 * lane];
      im[lane] = in[2 * lane + 1];
    }
  }
}

template <class T>
EVERTRACE_CLONES void store(const Lanes<T>* x, int64_t n, int64_t row, bool exchanged, T factor,
                            T* out) {
  for (int64_t i = 0; i < n; ++i, out += 2 * row) {
    const T* const re = exchanged ? x[i].im : x[i].re;
    const T* const im = exchanged ? x[i].re : x[i].im;
    EVERTRACE_INDEPENDENT
    for (int lane = 0; lane < kLanes; ++lane) {
      out[2 * lane] = factor * re[lane];
      out[2 * lane + 1] = factor * im[lane];
    }
  }
}

// Multiplies element k by low[k % size] high[k / size], and puts it into tile k / 8 of those that lie
// `apart`.
template <class T>
EVERTRACE_CLONES void twist(const Lanes<T>* x, int64_t n, const Lanes<T>* low, const Lanes<T>* high,
                            int64_t size, Lanes<T>* tiles, int64_t apart) {
  for (int64_t begin = 0, k = 0; begin < n; begin += size, ++high) {
    for (; k < begin + size && k < n; ++k) {
      Lanes<T>& to = tiles[k / kLanes * apart + k % kLanes];
      EVERTRACE_INDEPENDENT
      for (int lane = 0; lane < kLanes; ++lane) {
        to.set(lane, x[k].get(lane) * (low[k - begin].get(lane) * high->get(lane)));
      }
    }
  }
}

template <class T>
EVERTRACE_CLONES void turn_tiles(const Lanes<T>* x, int64_t count, Lanes<T>* out) {
  for (int64_t i = 0; i < count; ++i, x += kLanes, out += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int k = 0; k < kLanes; ++k) {
        out[lane].re[k] = x[k].re[lane];
        out[lane].im[k] = x[k].im[lane];
      }
    }
  }
}

// ---------------------------------------------------------------- rows

int64_t tiles_of(int64_t n) { return (n + kLanes - 1) / kLanes; }

// The divisor of n next to its root, from below.
int64_t divisor(int64_t n) {
  int64_t found = 1;
  for (int64_t d = 2; d * d <= n; ++d) found = n % d == 0 ? d : found;
  return found;
}

template <class Body>
void share_pieces(int64_t count, const Body& body) {
  if (count == 1) body(0);
  else parallel_for(count, body);
}

template <class T>
class Plan {
 public:
  explicit Plan(int64_t n)
      : n_(n), n1_(n / divisor(n)), n2_(divisor(n)), size_(1), roots_(n), first_(n1_), second_(n2_) {
    while (size_ * size_ < n1_) ++size_;
  }

  // How much memory `run` works in, which is not to be allotted where threads run.
  size_t bytes(int64_t threads) const {
    const int64_t tiles = tiles_of(n1_) * tiles_of(n2_) * kLanes;
    return static_cast<size_t>(tiles + pieces(threads) * work()) * sizeof(Lanes<T>);
  }

  // Transforms a row; so many threads share it.
  void run(const T* in, T* out, bool inverse, int64_t threads, char* memory) const {
    const int64_t down = tiles_of(n1_), across = tiles_of(n2_);
    Lanes<T>* const tiles = reinterpret_cast<Lanes<T>*>(memory);
    Lanes<T>* const rest = tiles + down * across * kLanes;
    share(across, pieces(threads), rest, [&](int64_t j, Lanes<T>* x) {
      transform_columns(in, inverse, j, x, tiles + j * kLanes);
    });
    const T factor = inverse ? T(1) / static_cast<T>(n_) : T(1);
    share(down, pieces(threads), rest, [&](int64_t k, Lanes<T>* x) {
      transform_rows(tiles + k * across * kLanes, k, inverse, factor, x, out);
    });
  }

 private:
  static int64_t pieces(int64_t threads) { return threads > 1 ? 4 * threads : 1; }

  // Elements of eight columns that one piece works in: two sets of columns, and roots.
  int64_t work() const { return 2 * room() + 2 * size_; }

  // Calls `body` for each index below `count`, with what its piece works in.
  template <class Body>
  void share(int64_t count, int64_t pieces, Lanes<T>* memory, const Body& body) const {
    share_pieces(pieces, [&](int64_t i) {
      const Piece part = piece(count, pieces, i);
      for (int64_t at = part.begin; at < part.end; ++at) body(at, memory + i * work());
    });
  }

  int64_t room() const { return kLanes * tiles_of(std::max(n1_, n2_)); }

  void transform_columns(const T* in, bool inverse, int64_t tile, Lanes<T>* x,
                         Lanes<T>* tiles) const {
    const int64_t j = tile * kLanes, count = std::min<int64_t>(kLanes, n2_ - j);
    Lanes<T>* const y = x + room();
    Lanes<T>* const low = y + room();
    Lanes<T>* const high = low + size_;
    for (int64_t k = 0; k < size_; ++k) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const int64_t column = lane < count ? j + lane : 0;
        const Complex<double> fine = roots_[column * k];
        low[k].set(lane, {static_cast<T>(fine.re), static_cast<T>(fine.im)});
        if (k * size_ >= n1_) continue;
        const Complex<double> coarse = roots_[column * k * size_];
        high[k].set(lane, {static_cast<T>(coarse.re), static_cast<T>(coarse.im)});
      }
    }
    if (count == kLanes) {
      load(in + 2 * j, n1_, n2_, inverse, x);
    } else {
      for (int64_t i = 0; i < n1_; ++i) {
        for (int lane = 0; lane < kLanes; ++lane) {
          const T* from = in + 2 * (i * n2_ + j + lane);
          x[i].set(lane, lane >= count ? Complex<T>{} : Complex<T>{from[inverse], from[!inverse]});
        }
      }
    }
    const int64_t apart = tiles_of(n2_) * kLanes;
    twist(first_.run(x, y), n1_, low, high, size_, tiles, apart);
    for (int64_t k = n1_; k % kLanes != 0; ++k) {
      tiles[k / kLanes * apart + k % kLanes] = Lanes<T>{};
    }
  }

  void transform_rows(const Lanes<T>* tiles, int64_t tile, bool inverse, T factor, Lanes<T>* x,
                      T* out) const {
    turn_tiles(tiles, tiles_of(n2_), x);
    const Lanes<T>* y = second_.run(x, x + room());
    const int64_t k = tile * kLanes, count = std::min<int64_t>(kLanes, n1_ - k);
    if (count == kLanes) return store(y, n2_, n1_, inverse, factor, out + 2 * k);
    for (int64_t i = 0; i < n2_; ++i) {
      for (int lane = 0; lane < count; ++lane) {
        T* const to = out + 2 * (i * n1_ + k + lane);
        to[inverse] = factor * y[i].re[lane];
        to[!inverse] = factor * y[i].im[lane];
      }
    }
  }

  int64_t n_, n1_, n2_, size_;
  Roots roots_;
  Columns<T> first_, second_;
};

// What a length needs, made at its first use. That of the last few lengths is kept.
template <class Kind>
std::shared_ptr<const Kind> kept(int64_t n) {
  constexpr size_t kKept = 8;
  static std::mutex mutex;
  static auto& all = *new std::vector<std::pair<int64_t, std::shared_ptr<const Kind>>>;
  // Where another thread looks, or did when this process was forked, it is made anew.
  const std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  if (!lock) return std::make_shared<const Kind>(n);
  auto found = std::find_if(all.begin(), all.end(), [n](auto& each) { return each.first == n; });
  if (found == all.end()) {
    auto made = std::make_shared<const Kind>(n);
    if (all.size() == kKept) all.pop_back();
    found = all.insert(all.end(), {n, std::move(made)});
  }
  std::rotate(all.begin(), found, found + 1);
  return all.front().second;
}

// Calls `body` with each row, how many threads may share it, and so many bytes to work in.
template <class Size, class Body>
void for_rows(int64_t rows, int64_t n, const Size& bytes, const Body& body) {
  const bool is_much = rows * n >= kShared, is_wide = rows >= thread_count();
  const int64_t pieces = is_much && is_wide ? thread_count() : 1;
  const int64_t threads = is_much && !is_wide ? thread_count() : 1;
  const size_t size = bytes(threads);
  const Scratch memory(static_cast<size_t>(pieces) * size);
  share_pieces(pieces, [&](int64_t i) {
    const Piece part = piece(rows, pieces, i);
    for (int64_t row = part.begin; row < part.end; ++row) {
      body(row, threads, memory.data() + static_cast<size_t>(i) * size);
    }
  });
}

// ---------------------------------------------------------------- real rows
// Real numbers in pairs are half as many complex ones. With h = n / 2, Z the transform of these, E
// and D the transforms of the elements of even and odd positions, and w the first n-th root,
//     E[k] = (Z[k] + conj Z[h - k]) / 2,  i D[k] = (Z[k] - conj Z[h - k]) / 2,  Y[k] = E[k] + w^k D[k].

template <class T, class Body>
void for_pairs(const Roots& roots, int64_t half, int64_t threads, const Body& body) {
  const int64_t count = half / 2 + 1, pieces = threads > 1 ? 4 * threads : 1;
  share_pieces(pieces, [&](int64_t i) {
    const Piece part = piece(count, pieces, i);
    for (int64_t k = part.begin; k < part.end; ++k) {
      const Complex<double> w = roots[k];
      body(k, half - k, Complex<T>{static_cast<T>(w.re), static_cast<T>(w.im)});
    }
  });
}

}  // namespace

bool is_long(int64_t n) {
  if (n < kLongFft) return false;
  for (int64_t p : {2, 3, 5}) {
    while (n % p == 0) n /= p;
  }
  return n == 1;
}

template <class T>
void long_fft(bool inverse, const T* in, T* out, int64_t rows, int64_t n) {
  const auto plan = kept<Plan<T>>(n);
  auto bytes = [&](int64_t threads) { return plan->bytes(threads); };
  for_rows(rows, n, bytes, [&](int64_t row, int64_t threads, char* memory) {
    plan->run(in + 2 * row * n, out + 2 * row * n, inverse, threads, memory);
  });
}

template <class T>
void long_rfft(const T* in, T* out, int64_t rows, int64_t n) {
  const int64_t half = n / 2;
  const auto plan = kept<Plan<T>>(half);
  const auto roots = kept<Roots>(n);
  auto bytes = [&](int64_t threads) { return plan->bytes(threads); };
  for_rows(rows, half, bytes, [&](int64_t row, int64_t threads, char* memory) {
    Complex<T>* const y = reinterpret_cast<Complex<T>*>(out) + row * (half + 1);
    plan->run(in + row * n, &y->re, false, threads, memory);
    y[half] = y[0];
    for_pairs<T>(*roots, half, threads, [&](int64_t k, int64_t other, Complex<T> w) {
      const Complex<T> even = T(0.5) * (y[k] + conj(y[other]));
      const Complex<T> odd = w * times_i(T(-0.5) * (y[k] - conj(y[other])));
      y[k] = even + odd;
      y[other] = conj(even - odd);
    });
  });
}

template <class T>
void long_irfft(const T* in, T* out, int64_t rows, int64_t n) {
  const int64_t half = n / 2;
  const auto plan = kept<Plan<T>>(half);
  const auto roots = kept<Roots>(n);
  const size_t spectrum = static_cast<size_t>(tiles_of(half + 1)) * sizeof(Lanes<T>);
  auto bytes = [&](int64_t threads) { return spectrum + plan->bytes(threads); };
  for_rows(rows, half, bytes, [&](int64_t row, int64_t threads, char* memory) {
    const Complex<T>* const y = reinterpret_cast<const Complex<T>*>(in) + row * (half + 1);
    Complex<T>* const z = reinterpret_cast<Complex<T>*>(memory);
    for_pairs<T>(*roots, half, threads, [&](int64_t k, int64_t other, Complex<T> w) {
      // The ends are real: each is its own partner.
      const Complex<T> a = k == 0 ? Complex<T>{y[k].re, 0} : y[k];
      const Complex<T> b = k == 0 ? Complex<T>{y[other].re, 0} : y[other];
      const Complex<T> even = T(0.5) * (a + conj(b));
      const Complex<T> odd = times_i(conj(w) * (T(0.5) * (a - conj(b))));
      z[k] = even + odd;
      z[other] = conj(even - odd);
    });
    plan->run(&z->re, out + row * n, true, threads, memory + spectrum);
  });
}

template void long_fft(bool, const float*, float*, int64_t, int64_t);
template void long_fft(bool, const double*, double*, int64_t, int64_t);
template void long_rfft(const float*, float*, int64_t, int64_t);
template void long_rfft(const double*, double*, int64_t, int64_t);
template void long_irfft(const float*, float*, int64_t, int64_t);
template void long_irfft(const double*, double*, int64_t, int64_t);

}  // namespace evertrace
