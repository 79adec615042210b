// A variant of a jitted function as C++ runs it, compiled from `jit/variant.py`.
//
// The match of a call is by its guards and its host program. A run gathers inputs, runs the engine,
// makes results and new state by recipes, applies the writes and repeats the effects. A variant with
// something that is not here (rare recipes, an option that looks at results, a device) is run by the
// Python method.

#pragma once

#include <memory>
#include <vector>

#include "python/guards.h"
#include "python/host_program.h"

namespace evertrace {

// What one call has to work with.
struct Call {
  const Guards& guards;
  Values& values;  // of nodes, by position in the walk
  Values& slots;   // of the host program
  PyObject* const* outs;  // of the program
  Values* made;    // by recipe
};

// How a value is made anew at each call; see `lifting/recipes.py`.
struct Recipe {
  enum Kind { kOut, kOutTree, kExisting, kNumber, kNumberAsArray, kConstant, kTuple, kList, kDict,
              kCall };
  Kind kind;
  int index = 0;                 // of the output, position in the walk, slot
  PyObject* object = nullptr;    // the constant, the class of a named tuple, what makes an array
                                 // or is called, or a dict of the keys
  std::vector<int> parts;        // recipes of the items or arguments; of keys and values in turn
};

// A change of one thing; see `lifting/writes.py`.
struct Write {
  enum Kind { kAttributes, kNames, kEntries, kItems, kExtend, kCell, kOther };
  enum Shape { kOne, kSeveral, kByName };
  static constexpr const char* kShapeNames[] = {"one", "several", "by_name"};
  Kind kind;
  Shape shape;
  int node;                   // position in the walk
  PyObject* names = nullptr;  // a tuple, of `kByName`
  PyObject* rest = nullptr;
  PyObject* apply = nullptr;  // the Python function, for kOther
  Py_ssize_t shift = 0, kept = 0;
  std::vector<int> recipes;
};

// A call that is repeated; see `jit/variant.py`.
struct Effect {
  PyObject* function;
  PyObject* names;           // of the last arguments: a tuple
  std::vector<int> recipes;  // of all arguments
};

// The recipes, writes and effects of a variant.
class Kitchen {
 public:
  Kitchen() = default;
  Kitchen(const Kitchen&) = delete;
  Kitchen& operator=(const Kitchen&) = delete;
  ~Kitchen() { clear(); }

  // Takes recipes as (kind, index, object, parts), the number of the result's, and writes as (kind,
  // node, shape, names, recipes, rest, function), and effects as (function, names, recipes). False with
  // an error set if they make no sense.
  bool compile(const Guards& guards, PyObject* recipes, Py_ssize_t result, PyObject* writes,
               PyObject* effects);

  // Makes everything, applies the writes, repeats the effects and returns the result; null with an
  // error set.
  PyObject* serve(Call& call) const;

  int traverse(visitproc visit, void* arg);
  void clear();

 private:
  PyObject* make(int recipe, Call& call) const;
  PyObject* make_new(int recipe, Call& call) const;
  PyObject* make_dict(const Recipe& recipe, PyObject*& made, Call& call) const;
  PyObject* gather(const Write& write, Call& call) const;
  PyObject* target(const Write& write, PyObject* thing, PyObject* made) const;
  bool apply(const Write& write, PyObject* target, PyObject* made) const;
  bool is_one_change(const Values& changes) const;
  bool apply_all(Call& call, const Values& changes) const;
  bool repeat(const Effect& effect, Call& call) const;

  std::vector<Recipe> recipes_;
  std::vector<Write> writes_;
  std::vector<Effect> effects_;
  int result_ = 0;
};

// Who runs the compiled program of a variant.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual size_t num_outputs() const = 0;
  // Fills `outs` with new references, for borrowed inputs, which are arrays, NumPy arrays and
  // numbers; false with an error set, and some of them filled.
  virtual bool run(PyObject* const* inputs, PyObject** outs) = 0;
  virtual int traverse(visitproc visit, void* arg) = 0;
  virtual void clear() = 0;
};

// The engines; null with an error set where `parts` make no sense. See `jit/compiled.py`.
std::unique_ptr<Engine> make_xla(PyObject* parts);
std::unique_ptr<Engine> make_tape(PyObject* parts);
std::unique_ptr<Engine> make_in_python(PyObject* parts);
std::unique_ptr<Engine> make_divided(PyObject* parts);

// A variant; the base of the Python class.
struct VariantObject {
  PyObject_HEAD
  Py_ssize_t hits, used;
  PyObject* guards;  // `_native.Guards`, or null
  PyObject* host;    // `_native.HostProgram`, or null
  struct Run* run;   // null where the Python method runs it
  std::vector<int>* leaves;  // positions of the host program's leaves in the walk
  int asked;                 // how often the Python side was asked for what `run` is made of
};

PyTypeObject* variant_type();

inline bool is_variant(PyObject* x) {
  // There is one class over the type, and it lives as long as the process.
  static PyTypeObject* known = nullptr;
  if (Py_TYPE(x) == known) return true;
  if (!PyObject_TypeCheck(x, variant_type())) return false;
  Py_XSETREF(known, reinterpret_cast<PyTypeObject*>(Py_NewRef(Py_TYPE(x))));
  return true;
}

// Matches a call and runs it. Returns 1 with a result, which may be null with an error set; 0 for a
// call that is another variant's; -1 with an error set. The counts are those of the function.
int call_variant(PyObject* variant, PyObject* const* roots, Py_ssize_t count, PyObject* counts,
                 PyObject** result);

// The counts of a function; the base of `dispatch.Variants`.
struct CountsObject {
  PyObject_HEAD
  Py_ssize_t hits, misses;
};
PyTypeObject* counts_type();

}  // namespace evertrace
