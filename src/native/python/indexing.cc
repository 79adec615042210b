#include "python/indexing.h"

#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/blocks.h"
#include "kernels/loops.h"
#include "kernels/small_copy.h"
#include "python/array.h"
#include "python/function.h"
#include "python/plan.h"

namespace evertrace {
namespace {

constexpr int kMostRank = 32;
constexpr int64_t kMostElements = 1 << 16;  // larger results are left to the Python path
constexpr int64_t kSharedFrom = 1 << 14;    // bytes: from here on a dense part is not copied

// Part of a dense array: sizes, and strides in bytes.
struct View {
  int rank = 0;
  int64_t shape[kMostRank], strides[kMostRank];
  int64_t offset = 0;
  std::vector<int64_t> words;  // what the index is, but for which ints are in it, if wanted
  bool has_words = false;

  void say(int64_t word) {
    if (has_words) words.push_back(word);
  }
  bool add(int64_t size, int64_t stride) {
    if (rank == kMostRank) return false;
    shape[rank] = size;
    strides[rank++] = stride;
    return true;
  }
  int64_t count() const {
    int64_t out = 1;
    for (int i = 0; i < rank; ++i) out *= shape[i];
    return out;
  }
  bool is_dense(int64_t item_size) const {
    int64_t stride = item_size;
    for (int i = rank; i-- > 0;) {
      if (shape[i] != 1 && strides[i] != stride) return false;
      stride *= shape[i];
    }
    return true;
  }
};

// An array's dimensions, from the first on, as an index goes through them.
class Walk {
 public:
  Walk(const AvalObject* aval, View& view) : aval_(aval), view_(view), stride_(aval->item_size) {
    for (int i = 0; i < aval->rank; ++i) stride_ *= aval->dims[i];
  }

  // Takes one item of an index; `left` is how many dimensions the items after it are for.
  bool take(PyObject* item, int left) {
    if (item == Py_None) {
      view_.say(kNewDimension);
      return view_.add(1, 0);
    }
    if (item == Py_Ellipsis) return keep(aval_->rank - dim_ - left);
    if (!next()) return false;
    if (PyLong_CheckExact(item)) return take_int(item);
    return PySlice_Check(item) && take_slice(item);
  }

  bool keep_rest() { return keep(aval_->rank - dim_); }

 private:
  enum Word { kNewDimension, kWhole, kInt, kSlice };

  bool next() {
    if (dim_ == aval_->rank) return false;
    size_ = aval_->dims[dim_++];
    if (size_ == 0) return false;  // strides of empty arrays say nothing
    stride_ /= size_;
    return true;
  }
  bool keep(int count) {
    if (count < 0) return false;
    for (int i = 0; i < count; ++i) {
      view_.say(kWhole);
      if (!next() || !view_.add(size_, stride_)) return false;
    }
    return true;
  }
  bool take_int(PyObject* item) {
    int overflow = 0;
    long long i = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (overflow != 0) return false;
    if (i < 0) i += size_;
    if (i < 0 || i >= size_) return false;
    view_.offset += i * stride_;
    view_.say(kInt);
    return true;
  }
  bool take_slice(PyObject* item) {
    auto* slice = reinterpret_cast<PySliceObject*>(item);
    for (PyObject* bound : {slice->start, slice->stop, slice->step}) {
      if (bound != Py_None && !PyLong_CheckExact(bound)) return false;
    }
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(item, &start, &stop, &step) != 0) {
      PyErr_Clear();
      return false;
    }
    const Py_ssize_t count = PySlice_AdjustIndices(size_, &start, &stop, step);
    if (count != 0) view_.offset += start * stride_;
    for (const int64_t word : {int64_t{kSlice}, int64_t{start}, int64_t{count}, int64_t{step}}) {
      view_.say(word);
    }
    return view_.add(count, step * stride_);
  }

  const AvalObject* aval_;
  View& view_;
  int64_t stride_, size_ = 0;
  int dim_ = 0;
};

// Works out which part an index means. False where the Python path is to look.
bool find_view(const AvalObject* aval, PyObject* index, View& view) {
  Walk walk(aval, view);
  if (!PyTuple_CheckExact(index)) return walk.take(index, 0) && walk.keep_rest();
  int left = 0;
  bool has_dots = false;
  const Py_ssize_t count = PyTuple_GET_SIZE(index);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GET_ITEM(index, i);
    if (item == Py_Ellipsis && has_dots) return false;
    has_dots = has_dots || item == Py_Ellipsis;
    left += item != Py_None && item != Py_Ellipsis;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GET_ITEM(index, i);
    left -= item != Py_None && item != Py_Ellipsis;
    if (!walk.take(item, left)) return false;
  }
  return walk.keep_rest();
}

// What can be indexed here: an array on the host. Null: the Python path.
const AvalObject* facts_of(PyObject* array, bool may_be_laid_out = false) {
  if (!is_on_host(array)) return nullptr;
  if (array_sharding(array) != nullptr && !may_be_laid_out) return nullptr;
  const AvalObject* aval = aval_facts(array_aval(array));
  if (aval == nullptr) forget_error();
  return aval;
}

void copy_view(const char* in, const View& view, char* out, int64_t item_size) {
  if (view.is_dense(item_size)) {
    std::memcpy(out, in + view.offset, static_cast<size_t>(view.count() * item_size));
    return;
  }
  int64_t out_strides[kMostRank];
  int64_t stride = item_size;
  for (int i = view.rank; i-- > 0;) {
    out_strides[i] = stride;
    stride *= view.shape[i];
  }
  copy_items(in + view.offset, out, view.rank, view.shape, view.strides, out_strides, item_size);
}

// ---------------------------------------------------------------- what is laid out over a mesh

// How the Python path has laid out a part of an array: by the array's sharding and aval, and the
// index as words.
struct Place {
  Ref of, aval, sharding, device;
  std::vector<int64_t> words;
};

class Places {
 public:
  // Borrowed, until another is added; null where there is none.
  const Place* find(PyObject* array, const View& view) const {
    const auto [first, last] = known_.equal_range(hash_of(array, view));
    for (auto i = first; i != last; ++i) {
      const Place& place = *i->second;
      if (place.of.get() == array_sharding(array) && place.aval.get() == array_aval(array) &&
          place.words == view.words) {
        return &place;
      }
    }
    return nullptr;
  }

  void add(PyObject* array, const View& view, PyObject* part) {
    constexpr size_t kMost = 1024;
    std::unordered_multimap<uint64_t, std::unique_ptr<Place>> old;  // to drop it may run Python
    if (known_.size() >= kMost) old.swap(known_);
    auto place = std::make_unique<Place>();
    place->of = Ref::borrow(array_sharding(array));
    place->aval = Ref::borrow(array_aval(array));
    place->sharding = Ref::borrow(array_sharding(part));
    place->device = Ref::borrow(reinterpret_cast<ArrayObject*>(part)->device);
    place->words = view.words;
    known_.emplace(hash_of(array, view), std::move(place));
  }

 private:
  static uint64_t hash_of(PyObject* array, const View& view) {
    uint64_t out = reinterpret_cast<uint64_t>(array_sharding(array)) * 31 +
                   reinterpret_cast<uint64_t>(array_aval(array));
    for (const int64_t word : view.words) {
      out = (out ^ static_cast<uint64_t>(word)) * 0x9E3779B97F4A7C15ull;
      out ^= out >> 32;
    }
    return out;
  }

  std::unordered_multimap<uint64_t, std::unique_ptr<Place>> known_;
};

Places& places() {
  static auto* const all = new Places;  // never freed: there is no Python then
  return *all;
}

// The part, of the aval `type`, as an array of its own, or one that shares memory where it is large.
PyObject* take_view(PyObject* array, const AvalObject* aval, const View& view, PyObject* type) {
  const int64_t count = view.count();
  if (count > kMostElements || array_contents(array) == nullptr) return nullptr;
  if (type == array_aval(array) && view.is_dense(aval->item_size)) return Py_NewRef(array);
  if (count * aval->item_size >= kSharedFrom && view.is_dense(aval->item_size)) {
    return new_view(type, array, static_cast<const char*>(array_data(array)) + view.offset);
  }
  void* out;
  Ref result(new_array(type, &out));
  const void* data = result ? array_data(array) : nullptr;
  if (data == nullptr) return nullptr;
  if (count != 0) {
    copy_view(static_cast<const char*>(data), view, static_cast<char*>(out), aval->item_size);
  }
  return result.release();
}

// ---------------------------------------------------------------- updates

// New values for a view: a number as an item, or an array's contents and how they broadcast.
struct Values {
  alignas(16) char number[16];
  PyObject* array = nullptr;
  int64_t strides[kMostRank];  // in bytes, over the view's dimensions
  bool is_whole = false;       // one value per element, in order
  bool is_single = false;
};

// Numbers that `asarray` would take as they are: larger integers have a dtype of their own.
bool fits_int32(PyObject* number) {
  if (!PyLong_Check(number)) return true;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  return overflow == 0 && value >= INT32_MIN && value <= INT32_MAX;
}

bool find_values(PyObject* x, const AvalObject* aval, const View& view, Values& out) {
  if (!is_array(x)) {
    const bool is_number = PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyBool_Check(x);
    out.is_single = true;
    for (int i = 0; i < view.rank; ++i) out.strides[i] = 0;
    return is_number && fits_int32(x) && write_number(x, aval->code, out.number);
  }
  const AvalObject* facts = facts_of(x);
  if (facts == nullptr || facts->dtype != aval->dtype || facts->rank > view.rank) return false;
  out.array = x;
  out.is_single = facts->count == 1;
  out.is_whole = facts->rank == view.rank;
  int64_t stride = aval->item_size;
  const int added = view.rank - facts->rank;
  for (int i = view.rank; i-- > 0;) {
    const int64_t size = i < added ? 1 : facts->dims[i - added];
    if (size != view.shape[i] && size != 1) return false;
    out.is_whole = out.is_whole && size == view.shape[i];
    out.strides[i] = size == 1 ? 0 : stride;
    stride *= size;
  }
  return array_contents(x) != nullptr;
}

const char* kUpdates[] = {"", "add", "sub", "mul", "min", "max"};

// The loop of an update by the place of its name above; looked up once.
Loop loop_of(int which, DType dtype) {
  constexpr int kDTypes = static_cast<int>(DType::kUnknown);
  static Loop loops[std::size(kUpdates)][kDTypes];
  static bool is_known[std::size(kUpdates)][kDTypes];
  const auto code = static_cast<int>(dtype);
  if (!is_known[which][code]) {
    const DType operands[] = {dtype, dtype};
    loops[which][code] = find_loop(kUpdates[which], operands, 2, dtype);
    is_known[which][code] = true;
  }
  return loops[which][code];
}

// Writes to a part of `out`, which holds the old contents.
bool write_view(char* out, const View& view, const Values& values, const char* given, Loop loop,
                int64_t item_size) {
  char* place = out + view.offset;
  const int64_t count = view.count();
  if (loop == nullptr) {
    if (view.rank == 0) {
      std::memcpy(place, given, static_cast<size_t>(item_size));
    } else {
      copy_items(given, place, view.rank, view.shape, values.strides, view.strides, item_size);
    }
    return true;
  }
  if (count == 1) {
    const Operand operands[] = {{place, false}, {given, false}};
    loop(operands, place, 1, 0);
    return true;
  }
  char* old = static_cast<char*>(take_block(static_cast<size_t>(count * item_size)));
  if (old == nullptr) return false;
  copy_view(out, view, old, item_size);
  const Operand operands[] = {{old, false}, {given, values.is_single}};
  loop(operands, old, count, 0);
  int64_t old_strides[kMostRank];
  int64_t stride = item_size;
  for (int i = view.rank; i-- > 0;) {
    old_strides[i] = stride;
    stride *= view.shape[i];
  }
  copy_items(old, place, view.rank, view.shape, old_strides, view.strides, item_size);
  give_block(old);
  return true;
}

}  // namespace

const char* update_named(const char* name) {
  for (const char* known : kUpdates) {
    if (std::strcmp(known, name) == 0) return known;
  }
  return nullptr;
}

PyObject* take_static(PyObject* array, PyObject* index) {
  const AvalObject* aval = facts_of(array, true);
  View view;
  view.has_words = array_sharding(array) != nullptr;
  if (aval == nullptr || !find_view(aval, index, view)) return nullptr;
  Ref sharding, device;
  if (view.has_words) {
    const Place* place = places().find(array, view);
    if (place == nullptr) return nullptr;
    sharding = Ref::borrow(place->sharding.get());
    device = Ref::borrow(place->device.get());
  }
  Ref type(find_aval(aval->dtype, aval->is_weak, view.rank, view.shape));
  Ref part(type ? take_view(array, aval, view, type.get()) : nullptr);
  if (!part || !sharding) return part.release();
  if (part.get() == array) return sharding.get() == array_sharding(array) ? part.release() : nullptr;
  lay_out(part.get(), sharding.get(), device.get());
  return part.release();
}

void note_static(PyObject* array, PyObject* index, PyObject* part) {
  if (array_sharding(array) == nullptr || array_sharding(part) == nullptr) return;
  const AvalObject* aval = facts_of(array, true);
  View view;
  view.has_words = true;
  if (aval == nullptr || !find_view(aval, index, view)) return;
  if (places().find(array, view) == nullptr) places().add(array, view, part);
}

PyObject* take_rows(PyObject* array) {
  const AvalObject* aval = facts_of(array);
  if (aval == nullptr || aval->rank == 0 || aval->count == 0 || aval->count > kMostElements ||
      aval->rank > kMostRank) {
    return nullptr;
  }
  const int64_t rows = aval->dims[0];
  View view;
  view.rank = aval->rank - 1;
  int64_t stride = aval->item_size;
  for (int i = view.rank; i-- > 0;) {
    view.shape[i] = aval->dims[i + 1];
    view.strides[i] = stride;
    stride *= view.shape[i];
  }
  Ref type(find_aval(aval->dtype, aval->is_weak, view.rank, view.shape));
  Ref list(type ? PyList_New(rows) : nullptr);
  if (!list) return nullptr;
  for (int64_t i = 0; i < rows; ++i) {
    view.offset = i * stride;
    PyObject* row = take_view(array, aval, view, type.get());
    if (row == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), i, row);
  }
  return list.release();
}

PyObject* update_static(PyObject* array, PyObject* index, PyObject* values, const char* operation) {
  const AvalObject* aval = facts_of(array);
  View view;
  Values found;
  if (aval == nullptr || aval->is_weak || aval->code == DType::kUnknown ||
      aval->count > kMostElements || !find_view(aval, index, view) || view.count() == 0 ||
      array_contents(array) == nullptr || !find_values(values, aval, view, found)) {
    return nullptr;
  }
  Loop loop = nullptr;
  if (*operation != '\0') {
    int which = 1;
    while (std::strcmp(kUpdates[which], operation) != 0) ++which;
    loop = loop_of(which, aval->code);
    // A value that is neither one per element nor one for all would have to be spread first.
    if (loop == nullptr || aval->code == DType::kBool || !(found.is_single || found.is_whole)) {
      return nullptr;
    }
  }
  void* out;
  Ref result(new_array(array_aval(array), &out));
  if (!result) return nullptr;
  const void* old = array_data(array);  // again: making the result may have run a finalizer
  const void* given = found.array == nullptr ? found.number : array_data(found.array);
  if (old == nullptr || given == nullptr) return nullptr;
  std::memcpy(out, old, static_cast<size_t>(aval->count * aval->item_size));
  if (!write_view(static_cast<char*>(out), view, found, static_cast<const char*>(given), loop,
                  aval->item_size)) {
    return PyErr_NoMemory();
  }
  return result.release();
}

}  // namespace evertrace
