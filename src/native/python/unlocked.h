// Work without the GIL.

#pragma once

#include "python/module.h"

namespace evertrace {

// Lets other threads run Python until the end of its scope. If the interpreter ends meanwhile, the
// scope is never left: see exit.cc.
class Unlocked {
 public:
  // `worthwhile`: whether there is enough to do; else nothing happens.
  explicit Unlocked(bool worthwhile) : state_(worthwhile ? PyEval_SaveThread() : nullptr) {}
  ~Unlocked() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace evertrace
