#include "kernels/fft.h"

#include <algorithm>
#include <cstring>

#include "kernels/long_fft.h"
#include "kernels/scratch.h"

namespace evertrace {
namespace {

FftLoop loops[static_cast<size_t>(FftStep::kCount)][2];

enum Type : int64_t { kFft, kIfft, kRfft, kIrfft };

// Elements along an axis of a dense array, before and after it.
struct Axis {
  int64_t outer, size, inner;
};

Axis axis_of(const std::vector<int64_t>& shape, size_t axis) {
  Axis made{1, shape[axis], 1};
  for (size_t d = 0; d < axis; ++d) made.outer *= shape[d];
  for (size_t d = axis + 1; d < shape.size(); ++d) made.inner *= shape[d];
  return made;
}

// Transforms along one axis, which has `size` elements after it, multiplied by `factor`.
template <class T>
void transform(FftStep step, const void* in, int64_t in_item, void* out, int64_t out_item,
               const Axis& axis, int64_t size, T factor) {
  const FftLoop& loop = loops[static_cast<size_t>(step)][sizeof(T) == 8];
  const int64_t in_row = axis.size * axis.inner * in_item, out_row = size * axis.inner * out_item;
  const bool is_last = axis.inner == 1;
  const int64_t calls = is_last ? 1 : axis.outer;
  const intptr_t sizes[] = {is_last ? axis.outer : axis.inner, axis.size, size};
  const intptr_t steps[] = {is_last ? in_row : in_item, 0, is_last ? out_row : out_item,
                            axis.inner * in_item, axis.inner * out_item};
  for (int64_t i = 0; i < calls; ++i) {
    char* args[] = {const_cast<char*>(static_cast<const char*>(in)) + i * in_row,
                    reinterpret_cast<char*>(&factor), static_cast<char*>(out) + i * out_row};
    loop.run(args, sizes, steps, loop.data);
  }
}

// Complex transforms along axes [first, last), from `in` to `out`, which may be the same.
template <class T>
void transform_axes(bool inverse, const void* in, void* out, const std::vector<int64_t>& shape,
                    size_t first, size_t last) {
  constexpr int64_t kItem = 2 * sizeof(T);
  for (size_t axis = last; axis-- > first;) {
    const Axis along = axis_of(shape, axis);
    transform<T>(inverse ? FftStep::kInverse : FftStep::kForward, in, kItem, out, kItem, along,
                 along.size, inverse ? T(1) / static_cast<T>(along.size) : T(1));
    in = out;
  }
}

template <class T>
void transform_all(Type type, const Array& in, const Array& out, size_t count) {
  constexpr int64_t kReal = sizeof(T), kComplex = 2 * sizeof(T);
  const size_t rank = in.shape.size(), first = rank - count, last = rank - 1;
  if (type == kFft || type == kIfft) {
    return transform_axes<T>(type == kIfft, in.data, out.data, in.shape, first, rank);
  }
  const int64_t half = type == kRfft ? out.row_size() : in.row_size();
  const int64_t whole = type == kRfft ? in.row_size() : out.row_size();
  if (type == kRfft) {
    const FftStep step = whole % 2 == 0 ? FftStep::kRealEven : FftStep::kRealOdd;
    transform<T>(step, in.data, kReal, out.data, kComplex, axis_of(in.shape, last), half, T(1));
    return transform_axes<T>(false, out.data, out.data, out.shape, first, last);
  }
  Scratch spectrum(count == 1 ? 0 : static_cast<size_t>(in.size() * kComplex));
  transform_axes<T>(true, in.data, spectrum.data(), in.shape, first, last);
  const void* rows = count == 1 ? in.data : spectrum.data();
  transform<T>(FftStep::kRealInverse, rows, kComplex, out.data, kReal, axis_of(in.shape, last),
               whole, T(1) / static_cast<T>(whole));
}

// Transforms rows by loops of our own; returns whether they are long, and there are such.
template <class T>
bool transform_long(Type type, const Array& in, const Array& out, size_t count) {
  const int64_t n = type == kRfft ? in.row_size() : out.row_size(), rows = in.rows();
  const bool is_real = type == kRfft || type == kIrfft;
  if (count != 1 || !(is_real ? n % 2 == 0 && is_long(n / 2) : is_long(n))) return false;
  if (type == kRfft) long_rfft(in.as<T>(), out.as<T>(), rows, n);
  else if (type == kIrfft) long_irfft(in.as<T>(), out.as<T>(), rows, n);
  else long_fft(type == kIfft, in.as<T>(), out.as<T>(), rows, n);
  return true;
}

bool is_fit(Type type, const Array& in, const Array& out, size_t count) {
  const size_t rank = in.shape.size();
  if (count < 1 || count > rank || out.shape.size() != rank || in.size() == 0 || out.size() == 0 ||
      !std::equal(in.shape.begin(), in.shape.end() - 1, out.shape.begin())) {
    return false;
  }
  const bool is_double = in.dtype == DType::kFloat64 || in.dtype == DType::kComplex128;
  const DType real = is_double ? DType::kFloat64 : DType::kFloat32;
  const DType complex = is_double ? DType::kComplex128 : DType::kComplex64;
  const int64_t n = in.row_size(), m = out.row_size();
  switch (type) {
    case kFft:
    case kIfft: return in.dtype == complex && out.dtype == complex && n == m;
    case kRfft: return in.dtype == real && out.dtype == complex && m == n / 2 + 1;
    case kIrfft: return in.dtype == complex && out.dtype == real && n == m / 2 + 1;
  }
  return false;
}

}  // namespace

void set_fft_loop(FftStep step, bool is_double, const FftLoop& loop) {
  loops[static_cast<size_t>(step)][is_double] = loop;
}

Failure fft(const Arrays& in, const Arrays& out, const Options& options) {
  if (loops[0][0].run == nullptr) return "fft: it was not loaded";
  const Type type = static_cast<Type>(options[0]);
  const size_t count = static_cast<size_t>(std::max<int64_t>(0, options[1]));
  if (options[0] < kFft || options[0] > kIrfft || !is_fit(type, in[0], out[0], count)) {
    return "fft: operands";
  }
  const bool is_double = item_size(out[0].dtype) == (is_complex(out[0].dtype) ? 16u : 8u);
  if (is_double) {
    if (!transform_long<double>(type, in[0], out[0], count)) {
      transform_all<double>(type, in[0], out[0], count);
    }
  } else if (!transform_long<float>(type, in[0], out[0], count)) {
    transform_all<float>(type, in[0], out[0], count);
  }
  return nullptr;
}

}  // namespace evertrace
