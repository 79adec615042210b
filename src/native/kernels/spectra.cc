// Eigenvalues and singular values, and the forms on the way there, by LAPACK. What fails to converge
// is NaN.

#include <cmath>

#include "kernels/linalg.h"
#include "kernels/stacks.h"

namespace evertrace {
namespace {

using lapack::Routine;

constexpr double kNanoseconds = 3000;  // of a small matrix

double cost(const Stack& s) {
  return kNanoseconds + 4 * static_cast<double>(s.area() * s.least());
}

template <class T>
void eigh_range(const Array& a, const Arrays& out, bool lower, int64_t begin, int64_t end) {
  int n = static_cast<int>(a.row_size()), info = 0, few = 0, reals = 0;
  const int64_t area = int64_t{n} * n;
  char job = 'V', triangle = lower ? 'L' : 'U';
  Work<T> v(area);
  Real<T>* w = nullptr;
  const auto run = [&](T* work, int* size, Real<T>* real, int* real_size, int* integers,
                       int* integer_size) {
    if constexpr (kIsComplex<T>) {
      lapack::call<T>(Routine::kSyevd, &job, &triangle, &n, static_cast<T*>(v), &n, w, work, size,
                      real, real_size, integers, integer_size, &info);
    } else {
      static_cast<void>(real), static_cast<void>(real_size);
      lapack::call<T>(Routine::kSyevd, &job, &triangle, &n, static_cast<T*>(v), &n, w, work, size,
                      integers, integer_size, &info);
    }
  };
  Real<T> ignored = 0;
  int size = lapack::best_work<T>(
      [&](T* best, int* query) { run(best, query, &ignored, query, &few, query); });
  reals = kIsComplex<T> ? 1 + 5 * n + 2 * n * n : 1;
  few = 3 + 5 * n;
  Work<T> work(size);
  Work<Real<T>> real(reals);
  Work<int> integers(few);
  for (int64_t b = begin; b < end; ++b) {
    to_columns<T>(a.as<T>() + b * area, n, n, v);
    w = out[1].as<Real<T>>() + b * n;
    run(work, &size, real, &reals, integers, &few);
    if (info == 0) {
      to_rows<T>(v, n, n, out[0].as<T>() + b * area);
    } else {
      fill_nan(out[0].as<T>() + b * area, area);
      fill_nan(w, n);
    }
  }
}

struct SvdShape {
  int m, n, u, v;  // u columns of U, v rows of V^H; 0 if only singular values are asked for
  bool by_iteration;
};

template <class T>
class Svd {
 public:
  explicit Svd(const SvdShape& shape)
      : s_(shape), least_(std::min(s_.m, s_.n)),
        job_(s_.u == 0 ? 'N' : s_.u < s_.m || s_.v < s_.n ? 'S' : 'A'), a_(int64_t{s_.m} * s_.n), u_(int64_t{s_.m} * s_.u), vh_(int64_t{s_.v} * s_.n),
        real_(real_size()), integers_(8 * least_),
        size_(lapack::best_work<T>([&](T* best, int* query) { run(nullptr, best, query); })),
        work_(size_) {}

  void operator()(const T* a, Real<T>* values, T* u, T* vh) {
    to_columns<T>(a, s_.m, s_.n, a_);
    if (run(values, work_, &size_) != 0) {
      fill_nan(values, least_);
      fill_nan(u, int64_t{s_.m} * s_.u);
      return fill_nan(vh, int64_t{s_.v} * s_.n);
    }
    if (s_.u == 0) return;
    to_rows<T>(u_, s_.m, s_.u, u);
    to_rows<T>(vh_, s_.v, s_.n, vh);
  }

 private:
  int64_t real_size() const {
    if constexpr (!kIsComplex<T>) return 0;
    const int64_t most = std::max(s_.m, s_.n), least = least_;
    if (job_ == 'N' || s_.by_iteration) return 7 * least;
    return std::max(5 * least * (least + 1), 2 * least * (most + least) + least);
  }

  int run(Real<T>* values, T* work, int* size) {
    int info = 0, rows = std::max(1, s_.v);
    T *a = a_, *u = u_, *vh = vh_;
    [[maybe_unused]] Real<T>* real = real_;
    int* integers = integers_;
    if (s_.by_iteration) {
      if constexpr (kIsComplex<T>) {
        lapack::call<T>(Routine::kGesvd, &job_, &job_, &s_.m, &s_.n, a, &s_.m, values, u, &s_.m, vh,
                        &rows, work, size, real, &info);
      } else {
        lapack::call<T>(Routine::kGesvd, &job_, &job_, &s_.m, &s_.n, a, &s_.m, values, u, &s_.m, vh,
                        &rows, work, size, &info);
      }
    } else if constexpr (kIsComplex<T>) {
      lapack::call<T>(Routine::kGesdd, &job_, &s_.m, &s_.n, a, &s_.m, values, u, &s_.m, vh, &rows,
                      work, size, real, integers, &info);
    } else {
      lapack::call<T>(Routine::kGesdd, &job_, &s_.m, &s_.n, a, &s_.m, values, u, &s_.m, vh, &rows,
                      work, size, integers, &info);
    }
    return info;
  }

  SvdShape s_;
  int least_;
  char job_;
  Work<T> a_, u_, vh_;
  Work<Real<T>> real_;
  Work<int> integers_;
  int size_;
  Work<T> work_;
};

// Complex eigenvectors: of each conjugate pair LAPACK gives real and imaginary part, in columns.
template <class T>
void join_pairs(const T* columns, const T* imaginary, int64_t n, std::complex<T>* rows) {
  for (int64_t j = 0; j < n; ++j) {
    const bool is_pair = imaginary[j] > 0 && j + 1 < n;
    for (int64_t i = 0; i < n; ++i) {
      const T x = columns[j * n + i], y = is_pair ? columns[(j + 1) * n + i] : T(0);
      rows[i * n + j] = {x, y};
      if (is_pair) rows[i * n + j + 1] = {x, -y};
    }
    j += is_pair;
  }
}

template <class T>
class Eig {
  using Complex = std::complex<Real<T>>;

 public:
  Eig(int n, bool left, bool right)
      : n_(n), jobs_{left ? 'V' : 'N', right ? 'V' : 'N'}, a_(area()), left_(left ? area() : 0),
        right_(right ? area() : 0), real_(2 * int64_t{n}),
        size_(lapack::best_work<T>([&](T* best, int* query) { run(nullptr, best, query); })),
        work_(size_) {}

  // `vectors` are those that were asked for; null else.
  void operator()(const T* a, Complex* w, Complex* left, Complex* right) {
    // LAPACK would complain on standard error.
    const bool is_finite = std::all_of(a, a + area(), [](T x) {
      return std::isfinite(std::real(x)) && std::isfinite(std::imag(x));
    });
    to_columns<T>(a, n_, n_, a_);
    if (!is_finite || run(w, work_, &size_) != 0) {
      fill_nan(w, n_);
      for (Complex* vectors : {left, right}) {
        if (vectors != nullptr) fill_nan(vectors, area());
      }
      return;
    }
    if constexpr (!kIsComplex<T>) {
      for (int i = 0; i < n_; ++i) w[i] = {real_[i], real_[n_ + i]};
    }
    write(left_, left);
    write(right_, right);
  }

 private:
  int64_t area() const { return int64_t{n_} * n_; }

  void write(const T* columns, Complex* rows) {
    if (rows == nullptr) return;
    if constexpr (kIsComplex<T>) to_rows(columns, n_, n_, rows);
    else join_pairs<T>(columns, real_ + n_, n_, rows);
  }

  int run(Complex* w, T* work, int* size) {
    int info = 0;
    T *a = a_, *left = left_, *right = right_;
    Real<T>* real = real_;
    if constexpr (kIsComplex<T>) {
      lapack::call<T>(Routine::kGeev, &jobs_[0], &jobs_[1], &n_, a, &n_, w, left, &n_, right, &n_,
                      work, size, real, &info);
    } else {
      static_cast<void>(w);
      lapack::call<T>(Routine::kGeev, &jobs_[0], &jobs_[1], &n_, a, &n_, real, real + n_, left, &n_,
                      right, &n_, work, size, &info);
    }
    return info;
  }

  int n_;
  char jobs_[2];
  Work<T> a_, left_, right_;
  Work<Real<T>> real_;  // real and imaginary parts, or LAPACK's
  int size_;
  Work<T> work_;
};

template <class T>
void schur_range(const Array& a, const Arrays& out, int64_t begin, int64_t end) {
  int n = static_cast<int>(a.row_size()), chosen = 0, info = 0;
  const int64_t area = int64_t{n} * n;
  const bool has_vectors = out.size() == 2;
  char job = has_vectors ? 'V' : 'N', sort = 'N';
  void* select = nullptr;
  int* selected = nullptr;  // for sorting
  Work<T> t(area), z(has_vectors ? area : 0), values(2 * int64_t{n});
  Work<Real<T>> real(n);
  const auto run = [&](T* work, int* size) {
    T *w = values, *form = t, *vectors = z;
    if constexpr (kIsComplex<T>) {
      lapack::call<T>(Routine::kGees, &job, &sort, select, &n, form, &n, &chosen, w, vectors, &n,
                      work, size, static_cast<Real<T>*>(real), selected, &info);
    } else {
      lapack::call<T>(Routine::kGees, &job, &sort, select, &n, form, &n, &chosen, w, w + n, vectors,
                      &n, work, size, selected, &info);
    }
  };
  int size = lapack::best_work<T>(run);
  Work<T> work(size);
  for (int64_t b = begin; b < end; ++b) {
    to_columns<T>(a.as<T>() + b * area, n, n, t);
    run(work, &size);
    for (size_t k = 0; k < out.size(); ++k) {
      T* rows = out[k].as<T>() + b * area;
      if (info == 0) to_rows<T>(k == 0 ? t : z, n, n, rows);
      else fill_nan(rows, area);
    }
  }
}

template <class T>
void hessenberg_range(const Array& a, const Arrays& out, int64_t begin, int64_t end) {
  int n = static_cast<int>(a.row_size()), low = 1, high = n, info = 0;
  const int64_t area = int64_t{n} * n;
  Work<T> packed(area);
  T* taus = nullptr;
  const auto run = [&](T* work, int* size) {
    lapack::call<T>(Routine::kGehrd, &n, &low, &high, static_cast<T*>(packed), &n, taus, work, size,
                    &info);
  };
  int size = lapack::best_work<T>(run);
  Work<T> work(size);
  for (int64_t b = begin; b < end; ++b) {
    to_columns<T>(a.as<T>() + b * area, n, n, packed);
    taus = out[1].as<T>() + b * (n - 1);
    run(work, &size);
    to_rows<T>(packed, n, n, out[0].as<T>() + b * area);
  }
}

template <class T>
void tridiagonal_range(const Array& a, const Arrays& out, bool lower, int64_t begin, int64_t end) {
  int n = static_cast<int>(a.row_size()), info = 0;
  const int64_t area = int64_t{n} * n;
  char triangle = lower ? 'L' : 'U';
  Work<T> packed(area);
  Real<T>*on = nullptr, *off = nullptr;
  T* taus = nullptr;
  const auto run = [&](T* work, int* size) {
    lapack::call<T>(Routine::kSytrd, &triangle, &n, static_cast<T*>(packed), &n, on, off, taus,
                    work, size, &info);
  };
  int size = lapack::best_work<T>(run);
  Work<T> work(size);
  for (int64_t b = begin; b < end; ++b) {
    to_columns<T>(a.as<T>() + b * area, n, n, packed);
    on = out[1].as<Real<T>>() + b * n;
    off = out[2].as<Real<T>>() + b * (n - 1);
    taus = out[3].as<T>() + b * (n - 1);
    run(work, &size);
    to_rows<T>(packed, n, n, out[0].as<T>() + b * area);
  }
}

// Checks that LAPACK can work on square matrices.
Failure check_square(const Stack& s) {
  return s.m != s.n ? "LAPACK: a matrix is not square" : check_lapack(s);
}

// Calls body(zero, begin, end) for ranges of a stack.
template <class Body>
Failure over(const Array& a, const Body& body) {
  const Stack s = stack_of(a);
  const bool known = with_zero(a.dtype, [&](auto zero) {
    over_stack(s, cost(s), [&](int64_t begin, int64_t end) { body(zero, begin, end); });
  });
  return known ? nullptr : "LAPACK: dtype";
}

}  // namespace

Failure eigh(const Arrays& in, const Arrays& out, const Options& options) {
  const Array& a = in[0];
  const Stack s = stack_of(a);
  if (const Failure failure = check_square(s)) return failure;
  if (!fits(out[0], a, a.dtype, {s.n, s.n}) || !fits(out[1], a, real_dtype(a.dtype), {s.n})) {
    return "eigh: operands";
  }
  return over(a, [&](auto zero, int64_t begin, int64_t end) {
    eigh_range<decltype(zero)>(a, out, options[0] != 0, begin, end);
  });
}

Failure svd(const Arrays& in, const Arrays& out, const Options& options) {
  const Array& a = in[0];
  const Stack s = stack_of(a);
  const bool has_vectors = out.size() == 3;
  const int64_t u = has_vectors ? out[1].row_size() : 0, v = has_vectors ? stack_of(out[2]).m : 0;
  if (const Failure failure = check_lapack(s)) return failure;
  const bool is_known = (u == s.m && v == s.n) || (u == s.least() && v == s.least());
  if (!fits(out[0], a, real_dtype(a.dtype), {s.least()}) || out.size() == 2 ||
      (has_vectors && (!is_known || !fits(out[1], a, a.dtype, {s.m, u}) ||
                       !fits(out[2], a, a.dtype, {v, s.n})))) {
    return "svd: operands";
  }
  const SvdShape shape{static_cast<int>(s.m), static_cast<int>(s.n), static_cast<int>(u),
                       static_cast<int>(v), options[0] != 0};
  return over(a, [&](auto zero, int64_t begin, int64_t end) {
    using T = decltype(zero);
    Svd<T> decompose(shape);
    for (int64_t b = begin; b < end; ++b) {
      decompose(a.as<T>() + b * s.area(), out[0].as<Real<T>>() + b * s.least(),
                has_vectors ? out[1].as<T>() + b * s.m * u : nullptr,
                has_vectors ? out[2].as<T>() + b * v * s.n : nullptr);
    }
  });
}

Failure eig(const Arrays& in, const Arrays& out, const Options& options) {
  const Array& a = in[0];
  const Stack s = stack_of(a);
  const bool left = options[0] != 0, right = options[1] != 0;
  const DType dtype = complex_dtype(a.dtype);
  if (const Failure failure = check_square(s)) return failure;
  bool is_fit = out.size() == size_t{1} + left + right && fits(out[0], a, dtype, {s.n});
  for (size_t k = 1; k < out.size(); ++k) is_fit = is_fit && fits(out[k], a, dtype, {s.n, s.n});
  if (!is_fit) return "eig: operands";
  return over(a, [&](auto zero, int64_t begin, int64_t end) {
    using T = decltype(zero);
    using Complex = std::complex<Real<T>>;
    Eig<T> decompose(static_cast<int>(s.n), left, right);
    for (int64_t b = begin; b < end; ++b) {
      decompose(a.as<T>() + b * s.area(), out[0].as<Complex>() + b * s.n,
                left ? out[1].as<Complex>() + b * s.area() : nullptr,
                right ? out.back().as<Complex>() + b * s.area() : nullptr);
    }
  });
}

Failure schur(const Arrays& in, const Arrays& out, const Options&) {
  const Array& a = in[0];
  const Stack s = stack_of(a);
  if (const Failure failure = check_square(s)) return failure;
  for (const Array& x : out) {
    if (!fits(x, a, a.dtype, {s.n, s.n})) return "schur: operands";
  }
  return over(a, [&](auto zero, int64_t begin, int64_t end) {
    schur_range<decltype(zero)>(a, out, begin, end);
  });
}

Failure hessenberg(const Arrays& in, const Arrays& out, const Options&) {
  const Array& a = in[0];
  const Stack s = stack_of(a);
  if (const Failure failure = check_square(s)) return failure;
  if (!fits(out[0], a, a.dtype, {s.n, s.n}) || !fits(out[1], a, a.dtype, {s.n - 1})) {
    return "hessenberg: operands";
  }
  return over(a, [&](auto zero, int64_t begin, int64_t end) {
    hessenberg_range<decltype(zero)>(a, out, begin, end);
  });
}

Failure tridiagonal(const Arrays& in, const Arrays& out, const Options& options) {
  const Array& a = in[0];
  const Stack s = stack_of(a);
  const DType real = real_dtype(a.dtype);
  if (const Failure failure = check_square(s)) return failure;
  if (!fits(out[0], a, a.dtype, {s.n, s.n}) || !fits(out[1], a, real, {s.n}) ||
      !fits(out[2], a, real, {s.n - 1}) || !fits(out[3], a, a.dtype, {s.n - 1})) {
    return "tridiagonal: operands";
  }
  return over(a, [&](auto zero, int64_t begin, int64_t end) {
    tridiagonal_range<decltype(zero)>(a, out, options[0] != 0, begin, end);
  });
}

}  // namespace evertrace
