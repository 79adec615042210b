// Spans: what ran when in C++, noted while a profile is taken, for `evertrace.profiler`.
//
// XLA's profiler sees functions of Python and its own programs. Calls that run no Python note
// themselves here: which function, from which of the user's lines, on which thread, from when to
// when. Nothing is noted and hardly anything spent where no profile is taken.

#pragma once

#include "python/module.h"

namespace evertrace {

extern bool takes_spans;  // whether a profile is taken; the GIL guards it

// The time of its own life; the GIL is held at both ends.
class Span {
 public:
  // What runs: an object that Python will ask for its name.
  explicit Span(PyObject* owner) {
    if (takes_spans) begin(owner);
  }
  ~Span() {
    if (index_ >= 0) end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  void begin(PyObject* owner);
  void end() const;

  Py_ssize_t index_ = -1, session_ = 0;
};

}  // namespace evertrace
