// The extension module `evertrace._src._native`.

#include "python/module.h"

namespace {

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "What evertrace has in C++.", -1, nullptr, nullptr, nullptr,
    nullptr, nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__native() {
  evertrace::Ref module(PyModule_Create(&definition));
  if (!module) return nullptr;
  using namespace evertrace;
  for (const auto add : {
           add_engines,
           add_exit,
           add_thread_state,
           add_aval,
           add_array,
           add_operators,
           add_function,
           add_at,
           add_kernels,
           add_loops,
           add_structure,
           add_tape,
           add_tree,
           add_guards,
           add_host_program,
           add_variant,
           add_call,
       }) {
    if (add(module.get()) != 0) return nullptr;
  }
  return module.release();
}
