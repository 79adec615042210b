// The kernels as handlers of XLA custom calls, by the name of their target.

#pragma once

namespace evertrace {

struct Handler {
  const char* target;
  void* function;
};

// The handlers, until one whose target is null. A target's name ends in the version of its
// interface: programs on disk call it by name, so a change of operands or attributes needs a new
// one.
extern const Handler kHandlers[];

}  // namespace evertrace
