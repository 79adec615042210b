// What the parts of the extension module have in common.

#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace evertrace {

// A reference that is given back at the end of its scope.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  ~Ref() { Py_XDECREF(object_); }

  static Ref borrow(PyObject* object) {
    Py_XINCREF(object);
    return Ref(object);
  }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// Sets the error of the exception that is being handled, unless one is set. One of C++ may not go
// through functions in C, of which Python is made.
inline void set_error_of_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

template <auto kFunction, class Type = decltype(kFunction)>
struct Guarded;

template <auto kFunction, class Result, class... Args>
struct Guarded<kFunction, Result (*)(Args...)> {
  static Result call(Args... args) {
    try {
      return kFunction(args...);
    } catch (const std::exception&) {
      set_error_of_exception();
    }
    if constexpr (std::is_pointer_v<Result>) {
      return nullptr;
    } else {
      return static_cast<Result>(-1);
    }
  }
};

// A function that Python calls and that may run out of memory: this is an error of Python then.
template <auto kFunction>
constexpr auto guarded() noexcept {
  return &Guarded<kFunction>::call;
}

// The same as tables of methods have it, whatever its signature, and as those of slots.
template <auto kFunction>
PyCFunction as_method() noexcept {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(guarded<kFunction>()));
}
template <auto kFunction>
void* as_slot() noexcept {
  return reinterpret_cast<void*>(guarded<kFunction>());
}

// Whether two numbers are the same, NaN and the signs of zeros included.
inline bool same_bits(double a, double b) noexcept {
  uint64_t x, y;
  std::memcpy(&x, &a, sizeof x);
  std::memcpy(&y, &b, sizeof y);
  return x == y;
}

// Takes the error that is set, as an exception object with its traceback.
inline Ref take_error() {
#if PY_VERSION_HEX >= 0x030C0000
  return Ref(PyErr_GetRaisedException());
#else
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return Ref(value);
#endif
}

// Forgets the error that is set. One that is no `Exception`, such as an interrupt that came while
// Python code ran, is not forgotten: it is raised again where Python goes on.
void forget_error();

// Leaves the error set, where who has called is known to forget errors: one that is no `Exception`
// is raised again where Python goes on, unless it was not forgotten.
void keep_interrupt();

// Each part puts its functions and types into the module; -1 with a Python error set.
int add_array(PyObject* module);
int add_at(PyObject* module);
int add_aval(PyObject* module);
int add_call(PyObject* module);
int add_engines(PyObject* module);
int add_entries(PyObject* module);
int add_exit(PyObject* module);
int add_function(PyObject* module);
int add_guards(PyObject* module);
int add_host_program(PyObject* module);
int add_handlers(PyObject* module);
int add_in_force(PyObject* module);
int add_kernels(PyObject* module);
int add_loops(PyObject* module);
int add_operators(PyObject* module);
int add_spans(PyObject* module);
int add_structure(PyObject* module);
int add_pending(PyObject* module);
int add_queue(PyObject* module);
int add_tape(PyObject* module);
int add_tape_template(PyObject* module);
int add_thread_state(PyObject* module);
int add_tree(PyObject* module);
int add_kitchen(PyObject* module);
int add_variant(PyObject* module);

// Adds the names of an enum's values, which count from 0, or of something else, as a tuple; -1 on error.
int add_names(PyObject* module, const char* what, const char* const* names, size_t count);

template <size_t n>
int add_names(PyObject* module, const char* what, const char* const (&names)[n]) {
  return add_names(module, what, names, n);
}

}  // namespace evertrace
