// Orthogonal factors of matrices: Householder reflectors, by LAPACK.

#include "kernels/linalg.h"
#include "kernels/stacks.h"

namespace evertrace {
namespace {

using lapack::Routine;

constexpr double kNanoseconds = 2000;  // of a few small matrices' worth of calls

// The number of nanoseconds that factors of one matrix take, roughly.
double cost(const Stack& s) {
  return kNanoseconds + static_cast<double>(s.area() * s.least());
}

// Factors an m by n matrix in place into reflectors and R.
template <class T>
class Geqrf {
 public:
  Geqrf(int m, int n) : m_(m), n_(n), size_(ask()), work_(size_) {}
  void operator()(T* a, T* taus) { run(a, taus, work_, &size_); }

 private:
  void run(T* a, T* taus, T* work, int* size) {
    int info = 0;
    lapack::call<T>(Routine::kGeqrf, &m_, &n_, a, &m_, taus, work, size, &info);
  }
  int ask() {
    return lapack::best_work<T>([&](T* size, int* query) { run(nullptr, nullptr, size, query); });
  }

  int m_, n_, size_;
  Work<T> work_;
};

// The same with the largest of the columns first, whose numbers from 1 go to `columns`.
template <class T>
class Geqp3 {
 public:
  Geqp3(int m, int n) : m_(m), n_(n), reals_(2 * n), size_(ask()), work_(size_) {}
  void operator()(T* a, int* columns, T* taus) {
    std::fill(columns, columns + n_, 0);  // none is bound to stay in front
    run(a, columns, taus, work_, &size_);
  }

 private:
  void run(T* a, int* columns, T* taus, T* work, int* size) {
    int info = 0;
    Real<T>* reals = reals_;
    if constexpr (kIsComplex<T>) {
      lapack::call<T>(Routine::kGeqp3, &m_, &n_, a, &m_, columns, taus, work, size, reals, &info);
    } else {
      lapack::call<T>(Routine::kGeqp3, &m_, &n_, a, &m_, columns, taus, work, size, &info);
    }
  }
  int ask() {
    return lapack::best_work<T>(
        [&](T* size, int* query) { run(nullptr, nullptr, nullptr, size, query); });
  }

  int m_, n_;
  Work<Real<T>> reals_;
  int size_;
  Work<T> work_;
};

// Makes the first n columns of the product of k reflectors of size m, in place.
template <class T>
class Orgqr {
 public:
  Orgqr(int m, int n, int k) : m_(m), n_(n), k_(k), size_(ask()), work_(size_) {}
  void operator()(T* a, T* taus) { run(a, taus, work_, &size_); }

 private:
  void run(T* a, T* taus, T* work, int* size) {
    int info = 0;
    lapack::call<T>(Routine::kOrgqr, &m_, &n_, &k_, a, &m_, taus, work, size, &info);
  }
  int ask() {
    return lapack::best_work<T>([&](T* size, int* query) { run(nullptr, nullptr, size, query); });
  }

  int m_, n_, k_, size_;
  Work<T> work_;
};

// Writes the triangle of packed factors, m by n in column-major order, to k rows.
template <class T>
void write_upper(const T* packed, int64_t m, int64_t n, int64_t k, T* rows) {
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j < n; ++j) rows[i * n + j] = j < i ? T(0) : packed[j * m + i];
  }
}

template <class T>
void factor_orthogonal(const Stack& s, const Arrays& in, const Arrays& out, int64_t begin,
                       int64_t end) {
  const int64_t m = s.m, n = s.n, width = out[0].row_size(), least = s.least();
  const bool is_pivoted = out.size() == 3;
  Work<T> packed(m * n), q(m * width), taus(least);
  Geqrf<T> plain(static_cast<int>(m), static_cast<int>(n));
  Geqp3<T> pivoted(static_cast<int>(m), static_cast<int>(n));
  Orgqr<T> complete(static_cast<int>(m), static_cast<int>(width), static_cast<int>(least));
  const int64_t taken = std::min(n, width) * m;
  for (int64_t b = begin; b < end; ++b) {
    to_columns(in[0].as<T>() + b * m * n, m, n, static_cast<T*>(packed));
    if (is_pivoted) {
      int32_t* columns = out[2].as<int32_t>() + b * n;
      pivoted(packed, columns, taus);
      for (int64_t j = 0; j < n; ++j) --columns[j];
    } else {
      plain(packed, taus);
    }
    write_upper<T>(packed, m, n, width, out[1].as<T>() + b * width * n);
    std::copy(packed + 0, packed + taken, q + 0);
    std::fill(q + taken, q + m * width, T(0));
    complete(q, taus);
    to_rows<T>(q, m, width, out[0].as<T>() + b * m * width);
  }
}

template <class T>
void multiply_reflected(const Arrays& in, const Array& out, bool left, bool transposed,
                        int64_t begin, int64_t end) {
  const Stack a = stack_of(in[0]), c = stack_of(in[2]);
  int rows = static_cast<int>(a.m), k = static_cast<int>(a.n), info = 0;
  int m = static_cast<int>(c.m), n = static_cast<int>(c.n);
  char side = left ? 'L' : 'R', kind = !transposed ? 'N' : kIsComplex<T> ? 'C' : 'T';
  Work<T> reflectors(a.area()), product(c.area());
  T* taus = nullptr;
  const auto run = [&](T* work, int* size) {
    lapack::call<T>(Routine::kOrmqr, &side, &kind, &m, &n, &k, static_cast<T*>(reflectors), &rows,
                    taus, static_cast<T*>(product), &m, work, size, &info);
  };
  int size = lapack::best_work<T>(run);
  Work<T> work(size);
  for (int64_t b = begin; b < end; ++b) {
    to_columns<T>(in[0].as<T>() + b * a.area(), a.m, a.n, reflectors);
    to_columns<T>(in[2].as<T>() + b * c.area(), c.m, c.n, product);
    taus = in[1].as<T>() + b * a.n;
    run(work, &size);
    to_rows<T>(product, c.m, c.n, out.as<T>() + b * c.area());
  }
}

}  // namespace

Failure geqrf(const Arrays& in, const Arrays& out, const Options&) {
  const Array& a = in[0];
  const Stack s = stack_of(a);
  if (!fits(out[0], a, a.dtype, {s.m, s.n}) || !fits(out[1], a, a.dtype, {s.least()})) {
    return "geqrf: operands";
  }
  if (const Failure failure = check_lapack(s)) return failure;
  const bool known = with_zero(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    over_stack(s, cost(s), [&](int64_t begin, int64_t end) {
      Geqrf<T> factor(static_cast<int>(s.m), static_cast<int>(s.n));
      Work<T> packed(s.area());
      for (int64_t b = begin; b < end; ++b) {
        to_columns<T>(a.as<T>() + b * s.area(), s.m, s.n, packed);
        factor(packed, out[1].as<T>() + b * s.least());
        to_rows<T>(packed, s.m, s.n, out[0].as<T>() + b * s.area());
      }
    });
  });
  return known ? nullptr : "geqrf: dtype";
}

Failure householder_product(const Arrays& in, const Arrays& out, const Options&) {
  const Array &a = in[0], &taus = in[1];
  const Stack s = stack_of(a);
  const int64_t k = taus.row_size();
  if (!fits(out[0], a, a.dtype, {s.m, s.n}) || !fits(taus, a, a.dtype, {k}) || k > s.n ||
      s.n > s.m) {
    return "householder_product: operands";
  }
  if (const Failure failure = check_lapack(s)) return failure;
  const bool known = with_zero(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    over_stack(s, cost(s), [&](int64_t begin, int64_t end) {
      Orgqr<T> complete(static_cast<int>(s.m), static_cast<int>(s.n), static_cast<int>(k));
      Work<T> q(s.area());
      for (int64_t b = begin; b < end; ++b) {
        to_columns<T>(a.as<T>() + b * s.area(), s.m, s.n, q);
        complete(q, taus.as<T>() + b * k);
        to_rows<T>(q, s.m, s.n, out[0].as<T>() + b * s.area());
      }
    });
  });
  return known ? nullptr : "householder_product: dtype";
}

Failure ormqr(const Arrays& in, const Arrays& out, const Options& options) {
  const Array& a = in[0];
  const Stack s = stack_of(a), c = stack_of(in[2]);
  const bool left = options[0] != 0;
  if (s.n > s.m || !fits(in[1], a, a.dtype, {s.n}) || !fits(in[2], a, a.dtype, {c.m, c.n}) ||
      !fits(out[0], a, a.dtype, {c.m, c.n}) || (left ? c.m : c.n) != s.m) {
    return "ormqr: operands";
  }
  for (const Stack& each : {s, c}) {
    if (const Failure failure = check_lapack(each)) return failure;
  }
  const bool known = with_zero(a.dtype, [&](auto zero) {
    over_stack(s, cost(s), [&](int64_t begin, int64_t end) {
      multiply_reflected<decltype(zero)>(in, out[0], left, options[1] != 0, begin, end);
    });
  });
  return known ? nullptr : "ormqr: dtype";
}

Failure qr(const Arrays& in, const Arrays& out, const Options&) {
  const Array& a = in[0];
  const Stack s = stack_of(a);
  const int64_t width = out[0].row_size();
  if ((width != s.m && width != s.least()) || !fits(out[0], a, a.dtype, {s.m, width}) ||
      !fits(out[1], a, a.dtype, {width, s.n}) ||
      (out.size() == 3 && !fits(out[2], a, DType::kInt32, {s.n}))) {
    return "qr: operands";
  }
  if (const Failure failure = check_lapack(s)) return failure;
  const bool known = with_zero(a.dtype, [&](auto zero) {
    over_stack(s, 2 * cost(s), [&](int64_t begin, int64_t end) {
      factor_orthogonal<decltype(zero)>(s, in, out, begin, end);
    });
  });
  return known ? nullptr : "qr: dtype";
}

}  // namespace evertrace
