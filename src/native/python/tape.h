// Tapes as Python objects, and how C runs them.

#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <vector>

#include "python/module.h"
#include "tape/tape.h"

namespace evertrace {

// A number as a tape reads it.
union Scalar {
  float f32;
  double f64;
  int32_t i32;
  int64_t i64;
  bool truth;
};

// Nanoseconds of the shortest run of a tape that has not been run.
constexpr int64_t kNeverRun = std::numeric_limits<int64_t>::max();

struct TapeObject {
  PyObject_HEAD
  std::shared_ptr<const tape::Tape>* tape;
  std::shared_ptr<std::atomic<int64_t>>* least;  // nanoseconds of its shortest run, if it is long
  PyObject* avals;  // of the outputs: a tuple; empty for the bodies of control flow
  bool is_long;     // whether a run is worth releasing the GIL for
};

// The class `_native.Tape`.
PyTypeObject* tape_type();

// The dense memory of an array or NumPy array of so many bytes; null with an error. What has to be
// kept alive for it is put into `held`; `is_long`: the GIL will be released while it is read;
// `for_queue`: what is pending is good enough.
const void* tape_input(PyObject* x, int64_t bytes, bool is_long, bool for_queue, Ref& held);

// Makes the outputs of a run, which may run Python: before the inputs are looked for. Those whose
// donors can give their memory away have that, and it is in `in` as well, which is null for the
// other inputs; a tape without donors leaves `in` alone. False with an error.
bool make_outputs(const TapeObject* tape, PyObject* const* inputs, bool for_queue, const void** in,
                  void** out, PyObject** outs);

// Runs a tape on memory, without the GIL if it is long; false with an error.
bool execute_tape(const TapeObject* tape, const void* const* in, void* const* out);

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
  static constexpr size_t kFew = 128;
  T* data_;
  T few_[kFew];
  std::vector<T> many_;
};

}  // namespace evertrace
