// What is in force in a thread: the current trace, its recorder, the options.
//
// The Python attributes of `_native.thread_state` are those of `core.tracer.state` and of the
// overrides in `config`; these functions are how C++ reads them, in a few nanoseconds.

#pragma once

#include "python/module.h"

namespace evertrace {

// One thread's values, all of them owned. `overrides`, `base` and `config` are the options' (see
// `config.current`), None where nothing is overridden.
struct ThreadState {
  PyObject* trace;
  PyObject* src;
  PyObject* scope;
  PyObject* recorder;
  PyObject* overrides;
  PyObject* base;
  PyObject* config;
};

// The values of this thread; null with a Python error set where memory is out.
ThreadState* thread_state();

// The options in force. Borrowed; null with a Python error set. It may run Python.
PyObject* current_config();

// Whether operations of this thread are run at once and nobody records what is read: no
// transformation and no trace is active. False, with no error set, where that is not known.
bool computes_at_once();

}  // namespace evertrace
