#include "python/pending.h"

#include <new>
#include <utility>

namespace evertrace {
namespace {

PyTypeObject* pending_class = nullptr;

// Owns, in a pending array, what will be its contents.
struct PendingObject {
  PyObject_HEAD
  void* data;
  PyObject* owner;
  std::shared_ptr<QueuedRun> run;
};

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  auto* pending = reinterpret_cast<PendingObject*>(self);
  Py_XDECREF(pending->owner);
  pending->run.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

ArrayObject* as_array(PyObject* x) { return reinterpret_cast<ArrayObject*>(x); }

// What an array waits for; null where it does not.
PendingObject* pending_of(PyObject* array) {
  const ArrayObject* self = as_array(array);
  const bool is_pending = self->data == nullptr && self->owner != nullptr;
  return is_pending ? reinterpret_cast<PendingObject*>(self->owner) : nullptr;
}

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {0, nullptr},
};

PyType_Spec spec = {
    "evertrace._src._native.Pending", sizeof(PendingObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots,
};

PyObject* py_settle(PyObject*, PyObject* x) {
  if (is_array(x) && !settle(x)) return nullptr;
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"settle", as_method<py_settle>(), METH_O, "settle(array): wait until it has been computed."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool take_pending(PyObject* array) {
  PendingObject* pending = pending_of(array);
  if (pending == nullptr) return false;
  if (pending->run->stage.load(std::memory_order_acquire) != QueuedRun::kDone) return true;
  ArrayObject* self = as_array(array);
  const Ref dropped(self->owner);
  self->data = pending->data;
  self->owner = Py_NewRef(pending->owner);
  return false;
}

bool settle(PyObject* array) {
  PendingObject* pending = pending_of(array);
  if (pending == nullptr) return true;
  const std::shared_ptr<QueuedRun> run = pending->run;
  if (!wait_for(*run)) return false;
  take_pending(array);  // unless it was deleted meanwhile
  return true;
}

std::shared_ptr<QueuedRun> pending_run(PyObject* array) {
  return take_pending(array) ? pending_of(array)->run : nullptr;
}

PendingData pending_data(PyObject* array) {
  const PendingObject* pending = pending_of(array);
  return {pending->data, pending->owner};
}

bool make_pending(PyObject* array, const std::shared_ptr<QueuedRun>& run) {
  Ref owner(data_owner(array));
  if (!owner) return false;
  auto* pending = PyObject_New(PendingObject, pending_class);
  if (pending == nullptr) return false;
  ArrayObject* self = as_array(array);
  new (&pending->run) std::shared_ptr<QueuedRun>(run);
  pending->data = const_cast<void*>(std::exchange(self->data, nullptr));
  pending->owner = owner.release();
  Py_SETREF(self->owner, reinterpret_cast<PyObject*>(pending));
  return true;
}

PyObject* get_settled(PyObject* array, void*) {
  const PendingObject* pending = pending_of(array);
  return PyBool_FromLong(pending == nullptr || pending->run->is_over());
}

int add_pending(PyObject* module) {
  pending_class = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return pending_class == nullptr ? -1 : PyModule_AddFunctions(module, methods);
}

}  // namespace evertrace
