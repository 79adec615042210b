// Loops as functions of Python, for the host engine and for tests.

#include "python/module.h"

#include <algorithm>

#include "kernels/loops.h"
#include "kernels/parallel.h"
#include "python/ndarrays.h"
#include "python/unlocked.h"

namespace evertrace {
namespace {

constexpr int kMostOperands = 3;
constexpr double kReleaseWork = 1 << 14;  // additions from which on the GIL is worth releasing
constexpr double kSharedWork = 1 << 17;   // and from which on other threads are worth waking

// Runs a loop, on several threads where there is much to do.
void run_loop(Loop loop, const Operand* operands, int count, const size_t* sizes, const Array& out,
              int64_t param, double work) {
  const int64_t n = out.size();
  const int64_t pieces = work < kSharedWork ? 1 : std::min<int64_t>(thread_count(), n);
  if (pieces <= 1) return loop(operands, out.data, n, param);
  parallel_for(pieces, [&](int64_t i) {
    const Piece part = piece(n, pieces, i);
    Operand moved[kMostOperands];
    for (int k = 0; k < count; ++k) {
      const char* data = static_cast<const char*>(operands[k].data);
      const int64_t size = operands[k].is_scalar ? 0 : static_cast<int64_t>(sizes[k]);
      moved[k] = {data + part.begin * size, operands[k].is_scalar};
    }
    const auto size = static_cast<int64_t>(item_size(out.dtype));
    loop(moved, static_cast<char*>(out.data) + part.begin * size, part.end - part.begin, param);
  });
}

// loop(primitive, operands, out, param) -> whether there is such a loop, and it ran
PyObject* py_loop(PyObject*, PyObject* args) {
  const char* name;
  PyObject *inputs, *result;
  long long param;
  if (!PyArg_ParseTuple(args, "sOOL", &name, &inputs, &result, &param)) return nullptr;
  Arrays in, out;
  if (!take_arrays(inputs, false, in) || !take_array(result, true, out)) return nullptr;
  const int count = static_cast<int>(std::min<size_t>(in.size(), kMostOperands + 1));
  if (count == 0 || count > kMostOperands) Py_RETURN_FALSE;
  Operand operands[kMostOperands];
  DType dtypes[kMostOperands];
  size_t sizes[kMostOperands];
  const int64_t n = out[0].size();
  for (int k = 0; k < count; ++k) {
    const int64_t size = in[k].size();
    if (size != n && size != 1) {
      PyErr_SetString(PyExc_ValueError, "operands have one element, or as many as the result");
      return nullptr;
    }
    operands[k] = {in[k].data, size != n};
    dtypes[k] = in[k].dtype;
    sizes[k] = item_size(in[k].dtype);
  }
  const Loop loop = find_loop(name, dtypes, count, out[0].dtype);
  if (loop == nullptr) Py_RETURN_FALSE;
  const double work = static_cast<double>(n) * loop_cost(name);
  {
    const Unlocked unlocked(work >= kReleaseWork);
    run_loop(loop, operands, count, sizes, out[0], param, work);
  }
  Py_RETURN_TRUE;
}

PyObject* py_use_loops_for(PyObject*, PyObject* instructions) {
  Py_ssize_t size;
  const char* name = PyUnicode_AsUTF8AndSize(instructions, &size);
  if (name == nullptr) return nullptr;
  return PyBool_FromLong(use_loops_for({name, static_cast<size_t>(size)}));
}

PyMethodDef methods[] = {
    {"loop", as_method<py_loop>(), METH_VARARGS,
     "loop(primitive, in, out, param): run an elementwise operation; whether there is one."},
    {"use_loops_for", as_method<py_use_loops_for>(), METH_O,
     "Choose the loops of other instructions, for tests; whether the processor has them."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_loops(PyObject* module) { return PyModule_AddFunctions(module, methods); }

}  // namespace evertrace
