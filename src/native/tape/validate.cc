// Programs come from Python: one that is wrong must be refused, since thunks check nothing.

#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/named.h"
#include "tape/program.h"
#include "tape/tape.h"
#include "tape/windows.h"

namespace evertrace::tape {
namespace {

constexpr int64_t kLargest = int64_t{1} << 40;  // elements: sums and products of two do not overflow

void demand(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(std::string("tape: ") + what);
}

bool is_integer(DType dtype) { return dtype <= DType::kUInt64; }

class Validator {
 public:
  explicit Validator(const Program& program)
      : program_(program), is_defined_(program.values.size()) {}

  void run() {
    for (const Value& v : program_.values) {
      demand(v.dtype < DType::kUnknown && v.size >= 0 && v.size <= kLargest, "a value is too large");
    }
    for (int v : program_.inputs) define(v);
    for (const Constant& c : program_.constants) {
      define(c.value);
      demand(static_cast<int64_t>(c.data.size()) == value(c.value).bytes(),
             "a constant has another size");
    }
    for (const Instruction& instr : program_.instructions) {
      for (int v : instr.in) use(v);
      for (int v : instr.out) define(v);
      check(instr);
    }
    for (int v : program_.outputs) use(v);
    for (const auto& [in, out] : program_.carried) {
      demand(in >= 0 && out >= -1 && in < static_cast<int>(program_.inputs.size()) &&
                 out < static_cast<int>(program_.outputs.size()),
             "a carry is no input or output");
    }
  }

 private:
  const Value& value(int v) const { return program_.values[static_cast<size_t>(v)]; }
  bool exists(int v) const { return v >= 0 && static_cast<size_t>(v) < program_.values.size(); }

  void use(int v) {
    demand(exists(v) && is_defined_[static_cast<size_t>(v)], "a value is used before it is defined");
  }
  void define(int v) {
    demand(exists(v) && !is_defined_[static_cast<size_t>(v)], "a value is defined twice");
    is_defined_[static_cast<size_t>(v)] = true;
  }

  static void expect(const Instruction& instr, size_t in, size_t out, size_t numbers) {
    demand(instr.in.size() == in && instr.out.size() == out && instr.numbers.size() == numbers,
           "an instruction has another number of operands or numbers");
  }

  void check(const Instruction& instr) const {
    switch (instr.op) {
      case Op::kLoop: return check_loop(instr);
      case Op::kSpread: return check_spread(instr);
      case Op::kAlias: return check_alias(instr);
      case Op::kCopy: return check_copy(instr);
      case Op::kReduce: return check_reduce(instr);
      case Op::kMatmul: return check_matmul(instr);
      case Op::kWindowMatmul: return check_window_matmul(instr);
      case Op::kSlice: return check_window(instr, 1);
      case Op::kUpdate: return check_window(instr, 2);
      case Op::kKernel: return check_kernel(instr);
      case Op::kGather:
      case Op::kScatter: return check_windows(instr);
      case Op::kCond: return check_cond(instr);
      case Op::kWhile: return check_while(instr);
      case Op::kScan: return check_scan(instr);
      case Op::kFunction:
        return demand(instr.numbers.size() == 3 && instr.numbers[0] != 0 && instr.numbers[1] > 0 &&
                          instr.numbers[2] >= 0 && instr.owner != nullptr,
                      "a function has no address");
      case Op::kCall: return demand(static_cast<bool>(instr.call), "a call has no function");
      default: demand(false, "an instruction is unknown");
    }
  }

  void check_loop(const Instruction& instr) const {
    demand(instr.out.size() == 1 && !instr.in.empty() && instr.numbers.size() <= 1,
           "a loop has one result and at most one number");
    for (int v : instr.in) {
      const int64_t size = value(v).size;
      demand(size == value(instr.out[0]).size || size == 1, "a loop's operand has another size");
    }
  }

  void check_same_items(const Instruction& instr) const {
    for (int v : instr.in) {
      demand(value(v).item() == value(instr.out[0]).item(), "elements have different sizes");
    }
  }

  void check_spread(const Instruction& instr) const {
    expect(instr, 1, 1, 1);
    check_same_items(instr);
    const int64_t from = value(instr.in[0]).size, to = value(instr.out[0]).size;
    demand(instr.numbers[0] >= kScalar && instr.numbers[0] <= kColumn, "a pattern is unknown");
    demand(instr.numbers[0] != kScalar || from == 1, "a scalar is spread that is none");
    demand(from == 0 ? to == 0 : to % from == 0, "a broadcast does not fit");
  }

  void check_alias(const Instruction& instr) const {
    expect(instr, 1, 1, 1);
    check_same_items(instr);
    const int64_t offset = instr.numbers[0];
    demand(offset >= 0 && offset <= kLargest &&
               offset + value(instr.out[0]).size <= value(instr.in[0]).size,
           "a part reaches beyond its whole");
  }

  // Whether a strided view from `offset` on lies within `size` elements.
  static void check_view(const int64_t* shape, const int64_t* strides, int64_t rank, int64_t offset,
                         int64_t size) {
    __int128 low = offset, high = offset;
    for (int64_t d = 0; d < rank; ++d) {
      demand(shape[d] >= 0 && shape[d] <= kLargest, "a size is negative");
      if (shape[d] == 0) return;
      const __int128 reach = static_cast<__int128>(shape[d] - 1) * strides[d];
      (reach < 0 ? low : high) += reach;
    }
    demand(low >= 0 && high < size, "a copy reaches beyond its memory");
  }

  void check_copy(const Instruction& instr) const {
    demand(instr.out.size() == 1, "a copy has one result");
    check_same_items(instr);
    const auto& n = instr.numbers;
    size_t at = 0, used = 0;
    while (at < n.size()) {
      demand(n.size() - at >= 3 && n[at] >= 0 && n[at] <= 64, "a copy has too few numbers");
      const int64_t rank = n[at];
      demand(n.size() - at >= 3 + 3 * static_cast<size_t>(rank), "a copy has too few numbers");
      demand(used < instr.in.size(), "a copy has too few operands");
      const int64_t* shape = n.data() + at + 3;
      check_view(shape, shape + rank, rank, n[at + 1], value(instr.in[used]).size);
      check_view(shape, shape + 2 * rank, rank, n[at + 2], value(instr.out[0]).size);
      at += 3 + 3 * static_cast<size_t>(rank);
      ++used;
    }
    demand(instr.in.size() - used <= 1, "a copy has too many operands");
    if (used < instr.in.size()) demand(value(instr.in[used]).size == 1, "a filling is no scalar");
  }

  void check_reduce(const Instruction& instr) const {
    expect(instr, 1, 1, 3);
    const auto& n = instr.numbers;
    for (int64_t size : n) demand(size >= 0 && size <= kLargest, "a size is negative");
    demand(static_cast<__int128>(n[0]) * n[1] * n[2] == value(instr.in[0]).size &&
               static_cast<__int128>(n[0]) * n[2] == value(instr.out[0]).size,
           "a reduction has another size");
  }

  void check_matmul(const Instruction& instr) const {
    expect(instr, 2, 1, 10);
    const auto& n = instr.numbers;
    for (int v : instr.in) {
      demand(value(v).dtype == value(instr.out[0]).dtype, "a product's dtypes differ");
    }
    const int64_t x[] = {n[0], n[1], n[3]}, y[] = {n[0], n[3], n[2]};
    check_view(x, n.data() + 4, 3, 0, value(instr.in[0]).size);
    check_view(y, n.data() + 7, 3, 0, value(instr.in[1]).size);
    demand(static_cast<__int128>(n[0]) * n[1] * n[2] == value(instr.out[0]).size,
           "a product has another size");
  }

  void check_window_matmul(const Instruction& instr) const {
    const auto& n = instr.numbers;
    demand(n.size() >= 3 && n[0] >= 0 && n[0] <= 64 && n[1] >= 0 && n[1] <= 64,
           "a product of windows has too few numbers");
    const int64_t rank = n[0] + n[1];
    expect(instr, 2, 1, 3 + 2 * static_cast<size_t>(rank));
    for (int v : instr.in) {
      demand(value(v).dtype == value(instr.out[0]).dtype, "a product's dtypes differ");
    }
    const int64_t* const sizes = n.data() + 3;
    check_view(sizes, sizes + rank, rank, 0, value(instr.in[0]).size);
    const __int128 rows = product({sizes, sizes + n[0]}), width = product({n[2]}),
                   columns = product({sizes + n[0], sizes + rank});
    demand(rows <= kLargest && columns <= kLargest &&
               columns * width == value(instr.in[1]).size &&
               rows * width == value(instr.out[0]).size,
           "a product has another size");
  }

  void check_window(const Instruction& instr, size_t arrays) const {
    demand(!instr.numbers.empty() && instr.numbers[0] >= 0 && instr.numbers[0] <= 64,
           "a slice has no rank");
    const size_t rank = static_cast<size_t>(instr.numbers[0]);
    expect(instr, arrays + rank, 1, 1 + 2 * rank);
    __int128 whole = 1, part = 1;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t size = instr.numbers[1 + d], taken = instr.numbers[1 + rank + d];
      demand(size >= 0 && size <= kLargest && taken >= 0 && taken <= size, "a slice is too large");
      whole *= size;
      part *= taken;
      demand(whole <= kLargest, "a slice is too large");
      const Value& start = value(instr.in[arrays + d]);
      demand(start.size == 1 && is_integer(start.dtype), "a start is no integer");
    }
    const int large = instr.in[0], small = arrays == 1 ? instr.out[0] : instr.in[1];
    demand(value(large).size == whole && value(small).size == part, "a slice has another size");
    demand(value(large).item() == value(small).item() &&
               value(large).item() == value(instr.out[0]).item() &&
               (arrays == 1 || value(instr.out[0]).size == whole),
           "a slice has another dtype");
  }

  void check_kernel(const Instruction& instr) const {
    const auto& n = instr.numbers;
    demand(!n.empty() && n[0] >= 0 && n[0] < 8 && static_cast<size_t>(n[0]) < n.size(),
           "a kernel has too few numbers");
    size_t at = static_cast<size_t>(n[0]) + 1;
    const auto check_shape = [&](int v) {
      demand(at < n.size() && n[at] >= 0 && static_cast<size_t>(n[at]) < n.size() - at,
             "a kernel has too few numbers");
      const size_t rank = static_cast<size_t>(n[at++]);
      __int128 size = 1;
      for (size_t d = 0; d < rank; ++d) {
        demand(n[at] >= 0 && n[at] <= kLargest && size <= kLargest, "a size is negative");
        size *= n[at++];
      }
      demand(size == value(v).size, "a kernel's array has another size");
    };
    for (int v : instr.in) check_shape(v);
    for (int v : instr.out) check_shape(v);
    demand(at == n.size(), "a kernel has too many numbers");
    const Options options(n.begin() + 1, n.begin() + 1 + n[0]);
    const NamedKernel* kernel = find_kernel(instr.name);
    const bool known =
        kernel != nullptr && kernel->takes(instr.in.size(), instr.out.size(), options);
    demand(known, "a kernel is unknown");
  }

  static __int128 product(const std::vector<int64_t>& sizes) {
    __int128 size = 1;
    for (int64_t n : sizes) {
      demand(n >= 0 && n <= kLargest && size <= kLargest, "a size is negative");
      size *= n;
    }
    return size;
  }

  void check_windows(const Instruction& instr) const {
    WindowNumbers numbers;
    demand(numbers.read(instr.numbers), "windows have other numbers");
    const bool takes = instr.op == Op::kGather;
    demand(instr.out.size() == 1 && (instr.in.size() == 3 || (takes && instr.in.size() == 2)),
           "windows have another number of operands");
    const Value &x = value(instr.in[0]), &indices = value(instr.in[1]), &out = value(instr.out[0]);
    demand(product(numbers.shape) == x.size && product(numbers.indices_shape) == indices.size &&
               x.dtype == out.dtype && product(numbers.sizes) <= kLargest,
           "windows are of another array");
    Windows windows;
    demand(windows.set(numbers.shape, numbers.indices_shape, numbers.sizes, numbers.dims,
                       indices.dtype, x.item()),
           "windows do not fit");
    if (takes) {
      demand(windows.size() == out.size, "windows have another size");
      demand(instr.in.size() == 2 || (value(instr.in[2]).size == 1 && value(instr.in[2]).item() == x.item()),
             "a filling is no scalar");
    } else {
      const Value& updates = value(instr.in[2]);
      demand(windows.size() == updates.size && updates.dtype == x.dtype && x.size == out.size,
             "windows have another size");
    }
  }

  // Inputs of a body from `first` on against the values that it is given.
  void check_inputs(const Tape& body, size_t first, const Slots& given, size_t begin,
                    size_t count) const {
    demand(first + count <= body.num_inputs() && begin + count <= given.size(),
           "a body has another number of inputs");
    for (size_t i = 0; i < count; ++i) {
      demand(body.input_bytes(first + i) == value(given[begin + i]).bytes(),
             "a body's input has another size");
    }
  }

  void check_outputs(const Tape& body, size_t first, const Slots& given, size_t begin,
                     size_t count) const {
    demand(first + count <= body.num_outputs() && begin + count <= given.size(),
           "a body has another number of outputs");
    for (size_t i = 0; i < count; ++i) {
      demand(body.output_bytes(first + i) == value(given[begin + i]).bytes(),
             "a body's output has another size");
    }
  }

  void check_cond(const Instruction& instr) const {
    demand(!instr.bodies.empty() && !instr.in.empty() && value(instr.in[0]).size == 1 &&
               is_integer(value(instr.in[0]).dtype),
           "a choice has no index or branches");
    for (const auto& body : instr.bodies) {
      demand(body->num_inputs() == instr.in.size() - 1 && body->num_outputs() == instr.out.size(),
             "a branch has another number of inputs or outputs");
      check_inputs(*body, 0, instr.in, 1, instr.in.size() - 1);
      check_outputs(*body, 0, instr.out, 0, instr.out.size());
    }
  }

  void check_while(const Instruction& instr) const {
    demand(instr.bodies.size() == 2 && instr.numbers.size() == 2, "a loop has no bodies");
    const Tape &test = *instr.bodies[0], &body = *instr.bodies[1];
    const size_t carries = instr.out.size();
    demand(instr.numbers[0] >= 0 && instr.numbers[1] >= 0, "a number is negative");
    const size_t a = static_cast<size_t>(instr.numbers[0]), b = static_cast<size_t>(instr.numbers[1]);
    demand(a <= instr.in.size() && b <= instr.in.size() && instr.in.size() == a + b + carries &&
               test.num_inputs() == a + carries && body.num_inputs() == b + carries &&
               test.num_outputs() == 1 && test.output_bytes(0) == 1 &&
               body.num_outputs() == carries,
           "a loop's bodies have other inputs or outputs");
    check_inputs(test, 0, instr.in, 0, a);
    check_inputs(test, a, instr.in, a + b, carries);
    check_inputs(body, 0, instr.in, a, b + carries);
    check_outputs(body, 0, instr.out, 0, carries);
  }

  void check_scan(const Instruction& instr) const {
    demand(instr.bodies.size() == 1 && instr.numbers.size() == 4, "a scan has no body");
    const Tape& body = *instr.bodies[0];
    const auto& n = instr.numbers;
    demand(n[0] >= 0 && n[1] >= 0 && n[2] >= 0 && n[2] <= kLargest, "a number is negative");
    demand(body.num_inputs() == instr.in.size() && body.num_outputs() == instr.out.size() &&
               static_cast<size_t>(n[0]) <= instr.in.size() &&
               static_cast<size_t>(n[1]) <= instr.in.size() - static_cast<size_t>(n[0]) &&
               static_cast<size_t>(n[1]) <= instr.out.size(),
           "a scan's body has other inputs or outputs");
    const size_t fixed = static_cast<size_t>(n[0] + n[1]), carries = static_cast<size_t>(n[1]);
    check_inputs(body, 0, instr.in, 0, fixed);
    check_outputs(body, 0, instr.out, 0, carries);
    for (size_t i = fixed; i < instr.in.size(); ++i) {
      demand(body.input_bytes(i) * n[2] == value(instr.in[i]).bytes(), "a slice has another size");
    }
    for (size_t i = carries; i < instr.out.size(); ++i) {
      demand(body.output_bytes(i) * n[2] == value(instr.out[i]).bytes(), "a slice has another size");
    }
  }

  const Program& program_;
  std::vector<bool> is_defined_;
};

}  // namespace

void validate(const Program& program) { Validator(program).run(); }

}  // namespace evertrace::tape
