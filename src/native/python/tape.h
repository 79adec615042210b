// Tapes as Python objects, and how C runs them.

#pragma once

#include <vector>

#include "python/module.h"
#include "tape/tape.h"

namespace evertrace {

struct TapeObject {
  PyObject_HEAD
  std::shared_ptr<const tape::Tape>* tape;
  PyObject* avals;  // of the outputs: a tuple; empty for the bodies of control flow
  bool is_long;     // whether a run is worth releasing the GIL for
};

// The class `_native.Tape`.
PyTypeObject* tape_type();

// The dense memory of an array or NumPy array of so many bytes; null with an error. What has to be
// kept alive for it is put into `held`; `is_long`: the GIL will be released while it is read.
const void* tape_input(PyObject* x, int64_t bytes, bool is_long, Ref& held);

// A list for the outputs of a run. Those that have donors are in it, if these could give their
// memory away, which is then in `in` and `out`; null with an error.
PyObject* lent_outputs(const TapeObject* tape, PyObject* const* inputs, const void** in, void** out);

// Adds the other outputs to the list and runs a tape on memory, without the GIL if it is long; false
// with an error.
bool execute_tape(const TapeObject* tape, PyObject* outputs, const void* const* in, void** out);

// As many things as a call has inputs or outputs: on the stack, if they are few.
template <class T>
class Few {
 public:
  explicit Few(size_t count) : many_(count > kFew ? count : 0) {
    data_ = count > kFew ? many_.data() : few_;
  }
  Few(const Few&) = delete;
  Few& operator=(const Few&) = delete;
  T& operator[](size_t i) { return data_[i]; }
  T* data() { return data_; }

 private:
  static constexpr size_t kFew = 12;
  T* data_;
  T few_[kFew] = {};
  std::vector<T> many_;
};

// Runs a tape on inputs of which `read(i, held)` gives the memory, or null with an error; returns a
// new list of arrays, or null with an error.
template <class Read>
PyObject* run_tape(const TapeObject* tape, PyObject* const* inputs, const Read& read) {
  const size_t num_in = (*tape->tape)->num_inputs();
  Few<const void*> in(num_in);
  Few<void*> out((*tape->tape)->num_outputs());
  std::vector<Ref> held;  // what is not held by the inputs themselves: hardly ever anything
  Ref outputs(lent_outputs(tape, inputs, in.data(), out.data()));
  if (!outputs) return nullptr;
  for (size_t i = 0; i < num_in; ++i) {
    if (in[i] != nullptr) continue;
    Ref keep;
    if (!(in[i] = read(i, keep))) return nullptr;
    if (keep) held.push_back(std::move(keep));
  }
  return execute_tape(tape, outputs.get(), in.data(), out.data()) ? outputs.release() : nullptr;
}

}  // namespace evertrace
