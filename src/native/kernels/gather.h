// Gather and scatter: taking and putting windows of an array, where an array of indices says.

#pragma once

#include <cstdint>
#include <vector>

#include "kernels/dtypes.h"
#include "kernels/loops.h"

namespace evertrace {

// How windows lie in an array; see `GatherDimensionNumbers` in `ops/dimension_numbers.py`, and for
// scatter the corresponding names there.
struct DimensionNumbers {
  std::vector<int64_t> window_dims;    // those of the array of windows that are a window's
  std::vector<int64_t> dropped;        // of the operand: a window's size 1, not in the windows
  std::vector<int64_t> index_map;      // of the operand: what each component of an index is for
  std::vector<int64_t> operand_batch;  // of the operand: walked along with those of the indices
  std::vector<int64_t> indices_batch;
};

// Windows by strides, in bytes; all arrays are dense. Made once for shapes, used for many arrays.
class Windows {
 public:
  // Sets what is needed for windows of these sizes; false if the shapes do not fit together.
  bool set(const std::vector<int64_t>& shape, const std::vector<int64_t>& indices_shape,
           const std::vector<int64_t>& sizes, const DimensionNumbers& dims, DType index_dtype,
           int64_t item);

  // The number of elements of the array of all windows.
  int64_t size() const { return count_ * window_size_; }

  // Takes windows. Those that are not inside are moved there, or if there is a `filler` consist of
  // that item.
  void gather(const void* array, const void* indices, const void* filler, void* windows) const;

  // Puts windows, one after the other, into an array: joins elements by a loop, or replaces them if
  // there is none. Windows that are not inside are moved there, or dropped.
  void scatter(void* array, const void* indices, const void* windows, Loop join, bool drops) const;

 private:
  struct Batch {  // a dimension that numbers the windows
    int64_t size, indices, array, windows;
  };
  struct Component {  // of an index
    int64_t indices, array, limit;
  };
  struct Dim {  // of a window
    int64_t size, array, windows;
  };

  struct Place {
    int64_t array, windows;
    bool inside;
  };
  template <class Index, class Body>
  void each_typed(const char* indices, int64_t begin, int64_t end, const Body& body) const;
  template <class Body>
  void each(const void* indices, int64_t begin, int64_t end, const Body& body) const;
  template <class Body>
  void each_run(const Body& body) const;
  void set_runs();

  std::vector<Batch> batch_;
  std::vector<Component> components_;
  std::vector<Dim> window_;  // without the run
  DType index_dtype_ = DType::kUnknown;
  int64_t item_ = 0;
  int64_t run_ = 1;          // items that are next to each other in both arrays
  int64_t count_ = 0;        // windows
  int64_t window_size_ = 0;  // items
};

}  // namespace evertrace
