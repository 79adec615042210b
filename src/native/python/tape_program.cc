#include "python/tape_program.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>

#include "python/tape.h"

namespace evertrace {
namespace {

PyTypeObject* template_type = nullptr;

// A sequence of Python's, held while it is read.
class Items {
 public:
  explicit Items(PyObject* sequence) : fast_(PySequence_Fast(sequence, "a sequence is expected")) {
    if (!fast_) throw PythonError();
  }
  Py_ssize_t size() const { return PySequence_Fast_GET_SIZE(fast_.get()); }
  PyObject* operator[](Py_ssize_t i) const { return PySequence_Fast_GET_ITEM(fast_.get(), i); }

 private:
  Ref fast_;
};

int64_t integer(PyObject* x) {
  const long long value = PyLong_AsLongLong(x);
  if (value == -1 && PyErr_Occurred()) throw PythonError();
  return value;
}

int index(PyObject* x) {
  const int64_t value = integer(x);
  if (value < 0 || value > (1 << 30)) throw std::invalid_argument("tape: an index is out of range");
  return static_cast<int>(value);
}

template <class T, class Read>
std::vector<T> list(PyObject* sequence, const Read& read) {
  const Items items(sequence);
  std::vector<T> result;
  result.reserve(static_cast<size_t>(items.size()));
  for (Py_ssize_t i = 0; i < items.size(); ++i) result.push_back(read(items[i]));
  return result;
}

std::vector<char> bytes(PyObject* x) {
  char* data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(x, &data, &size) != 0) throw PythonError();
  return {data, data + size};
}

std::shared_ptr<const tape::Tape> body(PyObject* x) {
  if (Py_TYPE(x) != tape_type()) throw std::invalid_argument("tape: a body is no tape");
  return *reinterpret_cast<TapeObject*>(x)->tape;
}

// Holds the GIL, whether the thread has it or not.
class Locked {
 public:
  Locked() : state_(PyGILState_Ensure()) {}
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

// What keeps machine code in memory; a tape may be freed on any thread.
std::shared_ptr<void> read_owner(PyObject* bodies) {
  const Items items(bodies);
  if (items.size() != 1) throw std::invalid_argument("tape: a function has one owner");
  return {Py_NewRef(items[0]), [](void* owner) {
            if (!Py_IsInitialized()) return;
            const Locked locked;
            Py_DECREF(static_cast<PyObject*>(owner));
          }};
}

// Calls a function of bytes that returns a sequence of bytes. Throws with its error set.
void call_function(PyObject* function, size_t num_in, size_t num_out, char* const* pointers,
                   const int64_t* sizes) {
  const Ref args(PyTuple_New(static_cast<Py_ssize_t>(num_in)));
  if (!args) throw PythonError();
  for (size_t i = 0; i < num_in; ++i) {
    PyObject* operand = PyBytes_FromStringAndSize(pointers[i], sizes[i]);
    if (operand == nullptr) throw PythonError();
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), operand);
  }
  const Ref made(PyObject_CallObject(function, args.get()));
  if (!made) throw PythonError();
  const Items results(made.get());
  if (static_cast<size_t>(results.size()) != num_out) {
    throw std::invalid_argument("a call has another number of results");
  }
  for (size_t i = 0; i < num_out; ++i) {
    char* data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(results[static_cast<Py_ssize_t>(i)], &data, &size) != 0) throw PythonError();
    if (size != sizes[num_in + i]) throw std::invalid_argument("a result of a call has another size");
    if (size > 0) std::memcpy(pointers[num_in + i], data, static_cast<size_t>(size));
  }
}

tape::Call read_call(PyObject* bodies, size_t num_in, size_t num_out) {
  return [owner = read_owner(bodies), num_in, num_out](char* const* pointers, const int64_t* sizes) {
    const Locked locked;
    call_function(static_cast<PyObject*>(owner.get()), num_in, num_out, pointers, sizes);
  };
}

// What is filled in: which of what is given, and where.
struct Hole {
  enum Kind : uint8_t { kSize, kNumber, kConstant, kBody };
  Kind kind;
  int given;
  size_t at, part;  // a value, constant or instruction; of that a number or body
};

// Reads a program, in which a tuple of one number stands for a hole where there may be some.
class Reader {
 public:
  explicit Reader(std::vector<Hole>* holes) : holes_(holes) {}

  tape::Program read(PyObject* const* parts) {
    program_.values = list<tape::Value>(parts[0], [this](PyObject* x) { return value(x); });
    program_.inputs = read_indices(parts[1]);
    program_.outputs = read_indices(parts[2]);
    at_ = 0;
    program_.constants = list<tape::Constant>(parts[3], [this](PyObject* x) { return constant(x); });
    at_ = 0;
    program_.instructions =
        list<tape::Instruction>(parts[4], [this](PyObject* x) { return instruction(x); });
    return std::move(program_);
  }

 private:
  bool is_hole(PyObject* x, Hole::Kind kind, size_t part = 0) {
    if (holes_ == nullptr || !PyTuple_Check(x)) return false;
    if (PyTuple_GET_SIZE(x) != 1) throw std::invalid_argument("tape: a hole has one number");
    holes_->push_back({kind, index(PyTuple_GET_ITEM(x, 0)), at_, part});
    return true;
  }

  tape::Value value(PyObject* pair) {
    const Items items(pair);
    if (items.size() != 2) throw std::invalid_argument("tape: a value is (dtype, size)");
    const int64_t dtype = integer(items[0]);
    if (dtype < 0 || dtype >= static_cast<int64_t>(DType::kUnknown)) {
      throw std::invalid_argument("tape: a dtype is unknown");
    }
    const int64_t size = is_hole(items[1], Hole::kSize) ? 0 : integer(items[1]);
    ++at_;
    return {static_cast<DType>(dtype), size};
  }

  tape::Constant constant(PyObject* pair) {
    const Items items(pair);
    if (items.size() != 2) throw std::invalid_argument("tape: a constant is (value, bytes)");
    tape::Constant made{index(items[0]), {}};
    if (!is_hole(items[1], Hole::kConstant)) made.data = bytes(items[1]);
    ++at_;
    return made;
  }

  // (operation, outputs, inputs, name, numbers, bodies)
  tape::Instruction instruction(PyObject* tuple) {
    const Items items(tuple);
    if (items.size() != 6) throw std::invalid_argument("tape: an instruction has six parts");
    tape::Instruction made;
    const int64_t op = integer(items[0]);
    if (op < 0 || op >= static_cast<int64_t>(tape::Op::kCount)) {
      throw std::invalid_argument("tape: an instruction is unknown");
    }
    made.op = static_cast<tape::Op>(op);
    made.out = read_indices(items[1]);
    made.in = read_indices(items[2]);
    Py_ssize_t length;
    const char* name = PyUnicode_AsUTF8AndSize(items[3], &length);
    if (name == nullptr) throw PythonError();
    made.name.assign(name, static_cast<size_t>(length));
    size_t part = 0;
    made.numbers = list<int64_t>(items[4], [&](PyObject* x) {
      return is_hole(x, Hole::kNumber, part++) ? 0 : integer(x);
    });
    part = 0;
    if (made.op == tape::Op::kFunction) made.owner = read_owner(items[5]);
    else if (made.op == tape::Op::kCall) made.call = read_call(items[5], made.in.size(), made.out.size());
    else made.bodies = list<std::shared_ptr<const tape::Tape>>(items[5], [&](PyObject* x) {
      return is_hole(x, Hole::kBody, part++) ? nullptr : body(x);
    });
    ++at_;
    return made;
  }

  std::vector<Hole>* holes_;
  size_t at_ = 0;
  tape::Program program_;
};

// A program that is the same for many sizes but for its holes.
struct Template {
  tape::Program program;
  std::vector<Hole> holes;
  Py_ssize_t count = 0;  // of what is filled in
};

struct TemplateObject {
  PyObject_HEAD
  Template* made;
};

// TapeTemplate(values, inputs, outputs, constants, instructions)
PyObject* make(PyTypeObject* cls, PyObject* args, PyObject* kwargs) {
  if (PyTuple_GET_SIZE(args) != 5 || (kwargs != nullptr && PyDict_GET_SIZE(kwargs) != 0)) {
    PyErr_SetString(PyExc_TypeError, "TapeTemplate takes five arguments");
    return nullptr;
  }
  auto made = std::make_unique<Template>();
  try {
    made->program = Reader(&made->holes).read(&PyTuple_GET_ITEM(args, 0));
  } catch (const PythonError&) {
    return nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
    return nullptr;
  }
  for (const Hole& hole : made->holes) made->count = std::max<Py_ssize_t>(made->count, hole.given + 1);
  PyObject* self = cls->tp_alloc(cls, 0);
  if (self != nullptr) reinterpret_cast<TemplateObject*>(self)->made = made.release();
  return self;
}

void dealloc(PyObject* self) {
  delete reinterpret_cast<TemplateObject*>(self)->made;
  PyTypeObject* own = Py_TYPE(self);
  own->tp_free(self);
  Py_DECREF(own);
}

PyType_Slot slots[] = {
    {Py_tp_new, as_slot<make>()},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_doc, const_cast<char*>("A program of a tape that is filled in for each size.")},
    {0, nullptr},
};

PyType_Spec spec = {"evertrace._src._native.TapeTemplate", sizeof(TemplateObject), 0,
                    Py_TPFLAGS_DEFAULT, slots};

}  // namespace

std::vector<int> read_indices(PyObject* sequence) { return list<int>(sequence, index); }

tape::Program read_program(PyObject* const* parts) { return Reader(nullptr).read(parts); }

std::vector<std::pair<int, int>> read_carried(PyObject* pairs) {
  return list<std::pair<int, int>>(pairs, [](PyObject* pair) {
    const Items items(pair);
    if (items.size() != 2) throw std::invalid_argument("tape: a carry is a pair");
    return std::pair<int, int>(index(items[0]), integer(items[1]) == -1 ? -1 : index(items[1]));
  });
}

tape::Program filled_program(PyObject* tape_template, PyObject* given) {
  if (Py_TYPE(tape_template) != template_type) throw std::invalid_argument("tape: no template");
  const Template& made = *reinterpret_cast<TemplateObject*>(tape_template)->made;
  const Items items(given);
  if (items.size() < made.count) throw std::invalid_argument("tape: a template is not filled in");
  tape::Program program = made.program;
  for (const Hole& hole : made.holes) {
    PyObject* const x = items[hole.given];
    switch (hole.kind) {
      case Hole::kSize: program.values[hole.at].size = integer(x); break;
      case Hole::kNumber: program.instructions[hole.at].numbers[hole.part] = integer(x); break;
      case Hole::kConstant: program.constants[hole.at].data = bytes(x); break;
      case Hole::kBody: program.instructions[hole.at].bodies[hole.part] = body(x); break;
    }
  }
  return program;
}

int add_tape_template(PyObject* module) {
  template_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (template_type == nullptr) return -1;
  Py_INCREF(template_type);
  return PyModule_AddObject(module, "TapeTemplate", reinterpret_cast<PyObject*>(template_type));
}

}  // namespace evertrace
