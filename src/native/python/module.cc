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
  for (const auto add : {evertrace::add_kernels}) {
    if (add(module.get()) != 0) return nullptr;
  }
  return module.release();
}
