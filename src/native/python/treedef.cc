// `_native.TreeDefBase`, the base of `PyTreeDef`, and the functions on trees that Python calls.

#include "python/tree.h"

#include <structmember.h>

#include <cstddef>

#include "python/nodes.h"

namespace evertrace {
namespace {

PyObject* the_leaf = nullptr;  // `LEAF`; null before `set_tree`
PyTypeObject *base_type = nullptr, *class_type = nullptr;  // `TreeDefBase`, `PyTreeDef`

// The structure of a tree.
struct TreeDefObject {
  PyObject_HEAD
  PyObject* spec;
  Py_ssize_t num_leaves;
  Py_hash_t hash;  // -1 before it is asked for
};

TreeDefObject* as_treedef(PyObject* x) { return reinterpret_cast<TreeDefObject*>(x); }
bool is_treedef(PyObject* x) { return PyObject_TypeCheck(x, base_type); }

// Takes the reference to the spec, which may be null with an error set.
PyObject* make_treedef(PyTypeObject* type, Ref spec, Py_ssize_t num_leaves) {
  if (!spec) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  as_treedef(self)->spec = spec.release();
  as_treedef(self)->num_leaves = num_leaves;
  as_treedef(self)->hash = -1;
  return self;
}

PyObject* treedef_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"spec", "num_leaves", nullptr};
  PyObject* spec;
  Py_ssize_t num_leaves;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "On", const_cast<char**>(names), &spec,
                                   &num_leaves)) {
    return nullptr;
  }
  return make_treedef(type, Ref::borrow(spec), num_leaves);
}

int treedef_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_treedef(self)->spec);
  return 0;
}

int treedef_clear(PyObject* self) {
  Py_CLEAR(as_treedef(self)->spec);
  return 0;
}

void treedef_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  treedef_clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* treedef_compare(PyObject* self, PyObject* other, int op) {
  if ((op != Py_EQ && op != Py_NE) || !is_treedef(other)) Py_RETURN_NOTIMPLEMENTED;
  int same = self == other;
  if (!same && as_treedef(self)->num_leaves == as_treedef(other)->num_leaves) {
    const Ref a = Ref::borrow(as_treedef(self)->spec), b = Ref::borrow(as_treedef(other)->spec);
    same = PyObject_RichCompareBool(a.get(), b.get(), Py_EQ);
  }
  if (same < 0) {
    if (PyErr_ExceptionMatches(PyExc_Exception)) raise_fault_from_error(kCompare, self);
    return nullptr;
  }
  return PyBool_FromLong(same == (op == Py_EQ));
}

Py_hash_t treedef_hash(PyObject* self) {
  TreeDefObject* treedef = as_treedef(self);
  if (treedef->hash != -1) return treedef->hash;
  treedef->hash = PyObject_Hash(treedef->spec);
  if (treedef->hash == -1 && PyErr_ExceptionMatches(PyExc_TypeError)) {
    raise_fault_from_error(kHash, treedef->spec);
  }
  return treedef->hash;
}

PyMemberDef treedef_members[] = {
    {"spec", T_OBJECT, offsetof(TreeDefObject, spec), READONLY, nullptr},
    {"num_leaves", T_PYSSIZET, offsetof(TreeDefObject, num_leaves), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot treedef_slots[] = {
    {Py_tp_new, as_slot<treedef_new>()},
    {Py_tp_dealloc, reinterpret_cast<void*>(treedef_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(treedef_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(treedef_clear)},
    {Py_tp_richcompare, as_slot<treedef_compare>()},
    {Py_tp_hash, as_slot<treedef_hash>()},
    {Py_tp_members, treedef_members},
    {0, nullptr},
};

PyType_Spec treedef_spec = {
    "evertrace._src._native.TreeDefBase", sizeof(TreeDefObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, treedef_slots,
};

// ---------------------------------------------------------------- the module's functions

bool takes(Py_ssize_t count, Py_ssize_t want) {
  if (count == want && the_leaf != nullptr) return true;
  PyErr_SetString(PyExc_TypeError, "tree: another number of arguments, or `set_tree` is missing");
  return false;
}

// A treedef of a spec, which may be null with an error set.
Ref wrapped(Ref spec, size_t num_leaves) {
  if (spec && spec.get() == Py_None) return Ref::borrow(the_leaf);
  return Ref(make_treedef(class_type, std::move(spec), static_cast<Py_ssize_t>(num_leaves)));
}

// The leaves in a list, and the treedef.
PyObject* flattened(PyObject* tree, PyObject* is_leaf, const Wanted& wanted) {
  References leaves;
  Ref spec = flatten_tree(tree, is_leaf, wanted, leaves);
  const Ref treedef = wrapped(std::move(spec), leaves.size());
  const Ref list(treedef ? leaves.into_list() : nullptr);
  return list ? PyTuple_Pack(2, list.get(), treedef.get()) : nullptr;
}

PyObject* py_flatten(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return takes(count, 2) ? flattened(args[0], args[1], Wanted()) : nullptr;
}

PyObject* py_flatten_with_path(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!takes(count, 3)) return nullptr;
  Wanted wanted;
  wanted.paths = true;
  wanted.leaf_by_path = args[2] == Py_True;
  return flattened(args[0], args[1], wanted);
}

PyObject* py_leaves(PyObject*, PyObject* const* args, Py_ssize_t count) {
  References leaves;
  Wanted wanted;
  wanted.spec = false;
  if (!takes(count, 2) || !flatten_tree(args[0], args[1], wanted, leaves)) return nullptr;
  return leaves.into_list();
}

PyObject* py_structure(PyObject*, PyObject* const* args, Py_ssize_t count) {
  References leaves;
  if (!takes(count, 2)) return nullptr;
  Ref spec = flatten_tree(args[0], args[1], Wanted(), leaves);
  return wrapped(std::move(spec), leaves.size()).release();
}

PyObject* py_unflatten(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!takes(count, 2)) return nullptr;
  PyObject* treedef = args[0];
  if (!is_treedef(treedef)) return PyObject_CallMethod(treedef, "unflatten", "O", args[1]);
  const Ref leaves(PySequence_Tuple(args[1]));
  if (!leaves) return nullptr;
  const Py_ssize_t given = PyTuple_GET_SIZE(leaves.get());
  if (given != as_treedef(treedef)->num_leaves) {
    const Ref number(PyLong_FromSsize_t(given));
    if (number) raise_fault(kCount, treedef, number.get());
    return nullptr;
  }
  return build_tree(as_treedef(treedef)->spec, &PyTuple_GET_ITEM(leaves.get(), 0), given);
}

// tree_match(spec, tree): the subtrees at the leaves of the spec, None if it is no prefix.
PyObject* py_match(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!takes(count, 2)) return nullptr;
  References leaves;
  const int same = match_tree(args[0], args[1], leaves);
  if (same < 0) return nullptr;
  return same == 0 ? Py_NewRef(Py_None) : leaves.into_list();
}

// set_tree(kinds, class of treedefs, LEAF, functions that make errors, what makes keys)
PyObject* set_tree(PyObject*, PyObject* args) {
  PyObject *table, *cls, *leaf, *functions, *keys;
  if (!PyArg_ParseTuple(args, "O!O!OO!O!", &PyDict_Type, &table, &PyType_Type, &cls, &leaf,
                        &PyTuple_Type, &functions, &PyTuple_Type, &keys)) {
    return nullptr;
  }
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  if (!PyType_IsSubtype(type, base_type) || PyTuple_GET_SIZE(functions) != kFaults) {
    PyErr_SetString(PyExc_ValueError, "set_tree: a class over TreeDefBase, and all functions");
    return nullptr;
  }
  if (!set_nodes(table, keys)) return nullptr;
  set_faults(functions);
  Py_XSETREF(class_type, reinterpret_cast<PyTypeObject*>(Py_NewRef(cls)));
  Py_XSETREF(the_leaf, Py_NewRef(leaf));
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"tree_flatten", as_method<py_flatten>(), METH_FASTCALL, "tree_flatten(tree, is_leaf)"},
    {"tree_flatten_with_path", as_method<py_flatten_with_path>(), METH_FASTCALL,
     "tree_flatten_with_path(tree, is_leaf, whether that takes paths)"},
    {"tree_leaves", as_method<py_leaves>(), METH_FASTCALL, "tree_leaves(tree, is_leaf)"},
    {"tree_structure", as_method<py_structure>(), METH_FASTCALL, "tree_structure(tree, is_leaf)"},
    {"tree_unflatten", as_method<py_unflatten>(), METH_FASTCALL, "tree_unflatten(treedef, leaves)"},
    {"tree_match", as_method<py_match>(), METH_FASTCALL, "tree_match(spec, tree)"},
    {"set_tree", as_method<set_tree>(), METH_VARARGS, "Name the registry, the class of treedefs, the errors."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_tree(PyObject* module) {
  Ref type(PyType_FromSpec(&treedef_spec));
  if (!type || PyModule_AddObjectRef(module, "TreeDefBase", type.get()) != 0) return -1;
  base_type = reinterpret_cast<PyTypeObject*>(type.release());
  return PyModule_AddFunctions(module, methods);
}

}  // namespace evertrace
