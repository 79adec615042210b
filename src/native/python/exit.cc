// Threads that are at work when the interpreter ends.
//
// Before 3.14, Python ends a thread that wants the GIL of an interpreter that is ending by
// `pthread_exit`, which unwinds its stack. Destructors would run that touch Python's objects without
// the GIL, and a function that may not throw would end the process. So such a thread is parked, as
// 3.14 does it, before it leaves the first C++ function: ours have a personality function, which
// unwinding asks what to do, and the linker puts the one below in the place of the usual one; those
// of others, jaxlib's above all, take the GIL in destructors, which may not throw, and call
// `std::terminate`. What jaxlib calls back is called through a function of ours.
//
// Other threads, parked or at work without the GIL, also live on while the process ends: then the
// destructors of libraries are not run, whose objects they may be using (XLA's compiler does).

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "python/module.h"
#include "python/queue.h"

#if defined(EVERTRACE_WRAP_PERSONALITY)
#include <unwind.h>
#endif

namespace evertrace {
namespace {

std::atomic<bool> is_ending{false};
std::thread::id ends;  // the thread that ends the interpreter
std::terminate_handler others = nullptr;

bool is_late() {
  return is_ending.load(std::memory_order_acquire) && std::this_thread::get_id() != ends;
}

[[noreturn]] void park() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

[[noreturn]] void on_terminate() {
  if (is_late()) park();
  if (others != nullptr) others();
  std::abort();
}

#if defined(__GLIBC__)
// Called before all that was registered earlier, such as destructors.
void leave(int status, void*) {
  std::fflush(nullptr);
  std::_Exit(status);
}
#endif

PyObject* py_ending(PyObject*, PyObject*) {
  ends = std::this_thread::get_id();
  is_ending.store(true, std::memory_order_release);
  [[maybe_unused]] const bool is_busy = close_queue();
#if defined(__GLIBC__)
  PyThreadState* first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
  if (is_busy || PyThreadState_Next(first) != nullptr) on_exit(leave, nullptr);
#endif
  Py_RETURN_NONE;
}

PyMethodDef ending = {"ending", as_method<py_ending>(), METH_NOARGS, "Called when the interpreter ends."};

PyObject* call(PyObject* function, PyObject* args) {
  const Ref held = Ref::borrow(function);  // unwinding stops where there is something to destroy
  return PyObject_CallObject(held.get(), args);
}

PyMethodDef parkable = {"parkable", as_method<call>(), METH_VARARGS, "A function that other libraries call."};

PyObject* py_parkable(PyObject*, PyObject* function) { return PyCFunction_New(&parkable, function); }

PyMethodDef methods[] = {
    {"parkable", as_method<py_parkable>(), METH_O,
     "parkable(function): the same for C++ of others, where the interpreter may end meanwhile."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_exit(PyObject* module) {
  const Ref function(PyCFunction_New(&ending, nullptr));
  const Ref atexit(PyImport_ImportModule("atexit"));
  if (!function || !atexit) return -1;
  const Ref done(PyObject_CallMethod(atexit.get(), "register", "O", function.get()));
  if (!done) return -1;
  const std::terminate_handler before = std::set_terminate(on_terminate);
  if (before != on_terminate) others = before;
  return PyModule_AddFunctions(module, methods);
}

}  // namespace evertrace

#if defined(EVERTRACE_WRAP_PERSONALITY)

extern "C" {

_Unwind_Reason_Code __real___gxx_personality_v0(int, _Unwind_Action, _Unwind_Exception_Class,
                                                _Unwind_Exception*, _Unwind_Context*);

// Called for each of our functions that has something to do when it is unwound.
_Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class kind,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context) {
  if ((actions & _UA_FORCE_UNWIND) != 0 && evertrace::is_late()) evertrace::park();
  return __real___gxx_personality_v0(version, actions, kind, exception, context);
}

}  // extern "C"

#endif
