// NumPy's C-API; `array.cc` imports it when the module is loaded.

#pragma once

#include "python/module.h"

#define PY_ARRAY_UNIQUE_SYMBOL evertrace_numpy_api
#ifndef EVERTRACE_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
