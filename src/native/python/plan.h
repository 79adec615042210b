// Plans: what a function of the Python path did for operands of some types, as a list of kernels.
//
// A plan is made from a description that `engines/host/plans.py` gives, once per function and types
// of operands, and then repeats the same work without Python. Its operands are arrays of the types
// it was made for and Python numbers.

#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/loops.h"
#include "kernels/structure.h"
#include "python/array.h"
#include "python/tape.h"
#include "python/tree.h"

namespace evertrace {

class Plan {
 public:
  // A plan with one reference; null with a Python error: LookupError where a kernel is missing.
  static Plan* make(PyObject* description);
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // References to the plan, which the GIL guards.
  void retain() const { ++references_; }
  void release() const {
    if (--references_ == 0) delete this;
  }

  // Whether it is for operands such as these: arrays where it reads arrays.
  bool fits(PyObject* const* args, size_t count) const;

  // The result for these operands. Null without a Python error: it takes the Python path, say for
  // an integer that does not fit.
  PyObject* run(PyObject* const* args) const;

 private:
  static constexpr int kMostSlots = 64;
  static constexpr int kMostOuts = 16;
  static constexpr int kMostOperands = 16;

  // A place for an array: of an operand, or what steps write and read.
  struct Slot {
    enum class Kind { kArray, kNumber, kConstant, kTemporary, kResult, kUnused } kind;
    int arg;         // of operands
    DType dtype;     // of numbers
    bool is_scalar;  // has one element
    int64_t offset;  // of temporaries, in working memory
    const void* constant;
  };

  struct Step {
    enum class Kind { kLoop, kReduce, kCopy, kMatmul, kDraw, kTape } kind;
    int out, count, operands[kMostOperands];
    int num_outs, outs[kMostOuts];     // of tapes, of which `out` is the first
    const TapeObject* tape;            // owned by kept_
    int64_t n, param;                  // of loops
    int64_t outer, reduced, inner;     // of reductions
    int64_t offset, item_size;         // of copies: where they start, in bytes
    std::vector<int64_t> shape, strides, out_strides;
    MatmulShape matmul_shape;
    int64_t num_keys, num_draws;       // of random numbers and keys: how many of each key
    Draw draw;
    Loop loop;
    Reduce reduce;
    Matmul matmul;
  };

  // An array of the result: a slot, and the aval, of keys where the slot is of their words.
  struct Result {
    int slot;
    PyObject* aval;  // owned by kept_
    PyObject *sharding, *device;  // where it is laid out over a mesh, likewise; else null
  };

  bool read(PyObject* description);
  bool add_result(PyObject* description);
  bool add_places(PyObject* places);
  bool add_slot(PyObject* description);
  bool add_step(PyObject* description);
  bool add_loop(Step& step, PyObject* rest);
  bool add_reduce(Step& step, PyObject* rest);
  bool add_copy(Step& step, PyObject* rest);
  bool add_matmul(Step& step, PyObject* rest);
  bool add_draw(Step& step, PyObject* rest);
  bool add_tape(Step& step, PyObject* rest);
  bool prepare(PyObject* const* args) const;
  PyObject* make_result(const Result& result, PyObject* const* args, void** at) const;
  PyObject* make_array(const Result& result, PyObject* const* args, void** at) const;
  bool find_operands(PyObject* const* args, void** at, char* numbers) const;
  static bool execute(const Step& step, void* const* at, const Slot* slots);
  PyObject* run_long(PyObject* const* args) const;
  PyObject* start(PyObject* const* args, PyObject* const* operands) const;
  PyObject* finish(const References& made) const;

  ~Plan() = default;

  mutable int64_t references_ = 1;
  std::vector<Slot> slots_;
  std::vector<DType> dtypes_;
  std::vector<int64_t> counts_;
  std::vector<Step> steps_;
  std::vector<Ref> kept_;
  std::vector<Result> results_;
  PyObject* tree_ = nullptr;  // that they are put into, owned by kept_; null for one array
  int64_t temporary_bytes_ = 0;
  bool is_long_ = false;  // one step, of which Python need not wait for the end
};

// The contents of an array for reading, which may run Python; null without an error where there are
// none.
const void* array_contents(PyObject* array);

// Writes a Python number of one of Python's own types as an element. False where it does not fit, or
// is of another kind than the dtype.
bool write_number(PyObject* number, DType dtype, void* out);

}  // namespace evertrace
