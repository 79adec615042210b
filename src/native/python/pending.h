// Arrays whose contents a run on the queue has yet to compute.

#pragma once

#include <memory>

#include "python/array.h"
#include "python/queue.h"

namespace evertrace {

// Gives an array what it was waiting for, if that has come; whether it is still pending.
bool take_pending(PyObject* array);

// Waits for the contents of an array, if it is pending. False with an error: an interrupt, or that
// of the run. It may run Python.
bool settle(PyObject* array);

// The run that computes the contents of an array, where they are pending; else null.
std::shared_ptr<QueuedRun> pending_run(PyObject* array);

// Where the contents of a pending array will be, and what owns that: both borrowed.
struct PendingData {
  void* data;
  PyObject* owner;
};
PendingData pending_data(PyObject* array);

// Makes an array pending, whose memory a run will write to and holds. False with an error.
bool make_pending(PyObject* array, const std::shared_ptr<QueuedRun>& run);

// The attribute `_settled`: whether nobody would have to wait for what is here.
PyObject* get_settled(PyObject* array, void*);

}  // namespace evertrace
