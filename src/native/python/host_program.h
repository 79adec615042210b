// What a variant computes on the host at each call, compiled from `lifting/hostprogram.py`.

#pragma once

#include <vector>

#include "python/guards.h"

namespace evertrace {

class HostProgram {
 public:
  HostProgram() = default;
  HostProgram(const HostProgram&) = delete;
  HostProgram& operator=(const HostProgram&) = delete;
  ~HostProgram() { clear(); }

  // Takes the list of slots with the constants in place, the slots that a call fills, and the
  // instructions: (function, slots of its operands, slot to fill or -1, what the result must be, a demand of that
  // value as a function, or None). False with an error set if it makes no sense.
  bool compile(PyObject* slots, PyObject* leaves, PyObject* instructions);

  size_t size() const { return constants_.size(); }
  size_t leaf_count() const { return leaves_.size(); }

  // Puts the constants into empty slots, and the leaves, which are borrowed.
  void fill(PyObject* const* leaves, Values& slots) const;

  // Runs over filled slots; returns 1, 0 where a call would go another way, or -1 with an error
  // set that is no `Exception`.
  int run(Values& slots) const;

  int traverse(visitproc visit, void* arg);
  void clear();

 private:
  struct Step {
    PyObject* function;
    PyObject* want;
    int code;  // of the operation
    int first, second, out;
    std::vector<int> operands;
    bool by_value;  // a demand of a value rather than of one object
  };

  bool add(PyObject* entry);
  bool is_slot(Py_ssize_t slot) const;
  PyObject* apply(const Step& step, const Values& slots) const;

  std::vector<PyObject*> constants_;  // null where a slot has none
  std::vector<int> leaves_;
  std::vector<Step> steps_;
};

// The Python types around `Guards` and `HostProgram`.
struct GuardsObject {
  PyObject_HEAD
  Guards guards;
};
struct HostProgramObject {
  PyObject_HEAD
  HostProgram program;
};
PyTypeObject* guards_type();
PyTypeObject* host_program_type();

}  // namespace evertrace
