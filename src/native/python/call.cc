// The call of a jitted function: `_native.JitBase`, the base of `jit.dispatch.JitFunction`.
//
// A call is recognised by an *entry* (`entries.h`). Functions that share their variants may share
// their entries: one that is made anew before each call has them from the start. What is not
// recognised, or fits no variant, is called as the Python class does it.

#include "python/module.h"

#include <structmember.h>

#include <cstddef>
#include <vector>

#include "python/entries.h"
#include "python/thread_state.h"
#include "python/tree.h"
#include "python/variant.h"

namespace evertrace {
namespace {

constexpr int kPatience = 64;  // calls without a fitting entry, after which few more are made

PyObject* call_in_python = nullptr;  // `JitFunction.__call__`
PyObject* shorten = nullptr;         // takes our frames out of an error's traceback
PyObject* make_entry = nullptr;      // `jit.compiled.entry`

struct JitObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject* fun;      // what is called; null before there are entries
  PyObject* entries;  // an `Entries`, or null
  bool is_shared;     // whether other functions have the entries, too
  int misses;         // calls in a row without an entry
};

PyTypeObject* jit_type;

JitObject* as_jit(PyObject* x) { return reinterpret_cast<JitObject*>(x); }

// ------------------------------------------------------------------------ learning of a call

// Has the Python side say how calls like this one are recognised. What goes wrong in it is no
// error of the call.
void learn(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  JitObject* jit = as_jit(self);
  ++jit->misses;
  if (make_entry == nullptr || (jit->misses > kPatience && jit->misses % 256 != 0)) return;
  const Ref given(PyTuple_New(count));
  if (!given) return PyErr_Clear();
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(given.get(), i, Py_NewRef(args[i]));
  const Ref no_names(PyTuple_New(0));
  const Ref parts(PyObject_CallFunctionObjArgs(make_entry, self, given.get(),
                                               names == nullptr ? no_names.get() : names,
                                               nullptr));
  Ref fun;
  auto entry = parts && parts.get() != Py_None ? read_entry(parts.get(), fun) : nullptr;
  if (entry && jit->entries == nullptr) jit->entries = make_entries();
  if (entry && jit->entries != nullptr) {
    if (jit->fun == nullptr) jit->fun = fun.release();
    const Ref hold = Ref::borrow(jit->entries);
    add_entry(as_entries(hold.get()), std::move(entry));
  }
  forget_error();
}

// ------------------------------------------------------------------------ the call

PyObject* slow_call(PyObject* self, PyObject* const* args, Py_ssize_t positional,
                    Py_ssize_t count, PyObject* names) {
  constexpr Py_ssize_t kFew = 16;
  PyObject* few[kFew + 1];
  std::vector<PyObject*> many;
  if (count > kFew) many.resize(static_cast<size_t>(count) + 1);
  PyObject** all = count > kFew ? many.data() : few;
  all[0] = self;
  for (Py_ssize_t i = 0; i < count; ++i) all[i + 1] = args[i];
  return PyObject_Vectorcall(call_in_python, all, static_cast<size_t>(positional) + 1, names);
}

// Puts the variant that was hit first in a box, if the box still has these variants.
void move_to_front(PyObject* box, PyObject* variants, Py_ssize_t hit) {
  if (PyList_GET_SIZE(box) != 1 || PyList_GET_ITEM(box, 0) != variants) return;
  PyObject* order = PyTuple_New(PyTuple_GET_SIZE(variants));
  if (order == nullptr) return PyErr_Clear();
  Py_ssize_t at = 0;
  PyTuple_SET_ITEM(order, at++, Py_NewRef(PyTuple_GET_ITEM(variants, hit)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(variants); ++i) {
    if (i != hit) PyTuple_SET_ITEM(order, at++, Py_NewRef(PyTuple_GET_ITEM(variants, i)));
  }
  if (PyList_SetItem(box, 0, order) != 0) PyErr_Clear();
}

// Runs the variant of a box that fits. Returns as `call_variant`.
int try_box(PyObject* box, PyObject* const* roots, Py_ssize_t count, PyObject* counts,
            PyObject** result) {
  if (PyList_GET_SIZE(box) != 1) return 0;
  const Ref variants = Ref::borrow(PyList_GET_ITEM(box, 0));
  if (!PyTuple_CheckExact(variants.get())) return 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(variants.get()); ++i) {
    PyObject* variant = PyTuple_GET_ITEM(variants.get(), i);
    if (!is_variant(variant)) continue;
    const int done = call_variant(variant, roots, count, counts, result);
    if (done == 0) continue;
    if (done == 1 && i != 0) move_to_front(box, variants.get(), i);
    return done;
  }
  return 0;
}

// Runs the variant of an entry that fits. Returns as `call_variant`. Python code on the way can drop
// the entry.
int try_variants(const Entry& entry, PyObject* const* roots, PyObject** result) {
  const Py_ssize_t count = static_cast<Py_ssize_t>(entry.tokens.size()) + 1;
  const Ref fun = Ref::borrow(roots[0]), boxes = Ref::borrow(entry.boxes),
            counts = Ref::borrow(entry.counts);
  // Defaults are the function's, which Python code on the way can change.
  const bool own = entry.defaults != nullptr || entry.kwdefaults != nullptr;
  if (own) {
    for (Py_ssize_t i = 0; i < count; ++i) Py_INCREF(roots[i]);
  }
  int done = 0;
  for (Py_ssize_t i = 0; done == 0 && i < PyTuple_GET_SIZE(boxes.get()); ++i) {
    done = try_box(PyTuple_GET_ITEM(boxes.get(), i), roots, count, counts.get(), result);
  }
  if (own) {
    for (Py_ssize_t i = 0; i < count; ++i) Py_DECREF(roots[i]);
  }
  return done;
}

// Has the traceback of the error that is set lose our frames; only Python can say which.
void shorten_traceback() {
  PyObject *kind, *error, *traceback;
  PyErr_Fetch(&kind, &error, &traceback);
  PyErr_NormalizeException(&kind, &error, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(error, traceback);
  if (shorten == nullptr || !Ref(PyObject_CallOneArg(shorten, error))) PyErr_Clear();
  Py_XDECREF(traceback);
  PyErr_Restore(kind, error, PyException_GetTraceback(error));
}

PyObject* jit_call(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  const Py_ssize_t positional = PyVectorcall_NARGS(flags);
  const Py_ssize_t count = positional + (names == nullptr ? 0 : PyTuple_GET_SIZE(names));
  if (call_in_python == nullptr) {
    PyErr_SetString(PyExc_TypeError, "JitBase is called by a class over it");
    return nullptr;
  }
  JitObject* jit = as_jit(self);
  if (!computes_at_once()) return slow_call(self, args, positional, count, names);
  PyObject* config = current_config();  // compared only
  if (config == nullptr) return nullptr;
  constexpr Py_ssize_t kFew = 24;
  PyObject* few[kFew];
  std::vector<PyObject*> many;
  Ref boxes;
  References leaves;  // of trees, so that they live as long as the call
  const Ref hold(Py_XNewRef(jit->entries));
  EntriesObject* kept = as_entries(hold.get());
  for (size_t i = 0; kept != nullptr && i < kept->list->size(); ++i) {
    const Entry& entry = *(*kept->list)[i];
    const size_t needed = entry.tokens.size() + 1;
    if (needed > kFew && many.size() < needed) many.resize(needed);
    PyObject** roots = needed > kFew ? many.data() : few;
    if (!recognise(kept, entry, jit->fun, config, args, count, names, roots, leaves)) {
      if (PyErr_Occurred()) return nullptr;
      leaves.pop_to(0);
      continue;
    }
    if (i != 0) std::swap((*kept->list)[0], (*kept->list)[i]);
    jit->misses = 0;
    boxes = Ref::borrow(entry.boxes);
    PyObject* result = nullptr;
    const int done = try_variants(entry, roots, &result);
    if (done == 1) return result;
    if (done < 0) return nullptr;
    break;
  }
  PyObject* result = slow_call(self, args, positional, count, names);
  const bool is_known = boxes && is_open(boxes.get());  // unless something new was traced
  if (result != nullptr && !is_known && computes_at_once()) learn(self, args, count, names);
  return result;
}

PyObject* jit_vectorcall(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  PyObject* result = jit_call(self, args, flags, names);
  if (result == nullptr && PyErr_Occurred()) shorten_traceback();
  return result;
}

// ------------------------------------------------------------------------ the types

PyObject* jit_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  as_jit(self)->vectorcall = guarded<jit_vectorcall>();
  return self;
}

int jit_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_jit(self)->fun);
  Py_VISIT(as_jit(self)->entries);
  return 0;
}

int jit_clear(PyObject* self) {
  Py_CLEAR(as_jit(self)->entries);
  Py_CLEAR(as_jit(self)->fun);
  return 0;
}

void jit_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  jit_clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// _share(fun, entries): calls of the function are recognised by entries that others have, too.
PyObject* jit_share(PyObject* self, PyObject* args) {
  PyObject *fun, *entries;
  if (!PyArg_ParseTuple(args, "OO", &fun, &entries)) return nullptr;
  if (!is_entries(entries)) {
    PyErr_SetString(PyExc_TypeError, "_share: no Entries");
    return nullptr;
  }
  Py_XSETREF(as_jit(self)->fun, Py_NewRef(fun));
  Py_XSETREF(as_jit(self)->entries, Py_NewRef(entries));
  as_jit(self)->is_shared = true;
  Py_RETURN_NONE;
}

// _share_no_more(): the entries that are made from now on are this function's alone.
PyObject* jit_share_no_more(PyObject* self, PyObject*) {
  if (std::exchange(as_jit(self)->is_shared, false)) Py_CLEAR(as_jit(self)->entries);
  Py_RETURN_NONE;
}

PyMethodDef jit_methods[] = {
    {"_share", as_method<jit_share>(), METH_VARARGS, "Have entries that other functions have, too."},
    {"_share_no_more", as_method<jit_share_no_more>(), METH_NOARGS, "Have entries of its own."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(JitObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, as_slot<jit_new>()},
    {Py_tp_dealloc, reinterpret_cast<void*>(jit_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(jit_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(jit_clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_members, members},
    {Py_tp_methods, jit_methods},
    {0, nullptr},
};

PyType_Spec spec = {
    "evertrace._src._native.JitBase", sizeof(JitObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_METHOD_DESCRIPTOR,
    slots,
};

// set_jit_class(cls, entry, shorten): the class whose `__call__` does what is not done here, what
// makes entries, and what takes our frames out of an error's traceback. Python classes do not inherit how they are called fast; this one may.
PyObject* set_jit_class(PyObject*, PyObject* args) {
  PyObject *cls, *entry, *function;
  if (!PyArg_ParseTuple(args, "O!OO", &PyType_Type, &cls, &entry, &function)) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  if (!PyType_IsSubtype(type, jit_type)) {
    PyErr_SetString(PyExc_TypeError, "set_jit_class: not a class over JitBase");
    return nullptr;
  }
  Ref call(PyObject_GetAttrString(cls, "__call__"));
  if (!call) return nullptr;
  type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
  PyType_Modified(type);
  Py_XSETREF(call_in_python, call.release());
  Py_XSETREF(make_entry, Py_NewRef(entry));
  Py_XSETREF(shorten, Py_NewRef(function));
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"set_jit_class", as_method<set_jit_class>(), METH_VARARGS, "Name the class of jitted functions."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_call(PyObject* module) {
  Ref type(PyType_FromSpec(&spec));
  if (!type || PyModule_AddObjectRef(module, "JitBase", type.get()) != 0) return -1;
  jit_type = reinterpret_cast<PyTypeObject*>(type.release());
  return PyModule_AddFunctions(module, methods);
}

}  // namespace evertrace
