#include "python/spans.h"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tape/tape.h"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace evertrace {

bool takes_spans = false;

namespace {

constexpr size_t kMost = 1 << 21;  // spans of a profile, as XLA bounds its own

struct Noted {
  Ref owner, code;  // the code may be null: no Python called
  int line;
  unsigned long thread;
  int64_t begin, end;
};

// Never destroyed: the interpreter, whose objects it holds, ends before the process.
std::vector<Noted>& noted = *new std::vector<Noted>();
PyObject* hidden = nullptr;  // a prefix of names of files whose frames are not the user's
Py_ssize_t session = 0;      // spans that begin in one profile and end in the next are of neither

// A step of a tape, which runs without the GIL.
struct NotedStep {
  std::string label;
  unsigned long thread;
  int64_t begin, end;
};

std::vector<NotedStep>& noted_steps = *new std::vector<NotedStep>();
std::mutex& steps_mutex = *new std::mutex();

#if defined(__unix__) || defined(__APPLE__)
[[maybe_unused]] const int at_fork =
    pthread_atfork([] { steps_mutex.lock(); }, [] { steps_mutex.unlock(); },
                   [] { steps_mutex.unlock(); });
#endif

int64_t now() { return tape::clock_now(); }

void note_step(const std::string& label, int64_t begin, int64_t end) {
  const std::lock_guard lock(steps_mutex);
  if (noted_steps.size() >= kMost) return;
  try {
    noted_steps.push_back({label, PyThread_get_thread_ident(), begin, end});
  } catch (const std::bad_alloc&) {
    return;  // what is watched goes on
  }
}

std::vector<NotedStep> take_steps() {
  const std::lock_guard lock(steps_mutex);
  return std::exchange(noted_steps, {});
}

// The code that called, and its line: that of the innermost frame of the user's.
Ref caller(int& line) {
  Ref frame(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  while (frame) {
    PyFrameObject* at = reinterpret_cast<PyFrameObject*>(frame.get());
    Ref code(reinterpret_cast<PyObject*>(PyFrame_GetCode(at)));
    PyObject* file = reinterpret_cast<PyCodeObject*>(code.get())->co_filename;
    if (PyUnicode_Tailmatch(file, hidden, 0, PY_SSIZE_T_MAX, -1) != 1) {
      line = PyFrame_GetLineNumber(at);
      return code;
    }
    frame = Ref(reinterpret_cast<PyObject*>(PyFrame_GetBack(at)));
  }
  return Ref();
}

// begin_spans(prefix): notes what runs from now on; returns the time.
PyObject* begin_spans(PyObject*, PyObject* prefix) {
  if (!PyUnicode_Check(prefix)) {
    PyErr_SetString(PyExc_TypeError, "begin_spans: the prefix is a text");
    return nullptr;
  }
  Py_XSETREF(hidden, Py_NewRef(prefix));
  noted.clear();
  take_steps();
  tape::step_watcher = note_step;
  ++session;
  takes_spans = true;
  return PyLong_FromLongLong(now());
}

// end_spans(): ends that; returns tuples (owner, code or None, line, thread, begin, end).
PyObject* end_spans(PyObject*, PyObject*) {
  takes_spans = false;
  tape::step_watcher = nullptr;
  ++session;
  std::vector<Noted> found;
  found.swap(noted);
  Ref list(PyList_New(0));
  if (!list) return nullptr;
  for (const Noted& x : found) {
    if (x.end == 0) continue;
    const Ref item(Py_BuildValue("OOikLL", x.owner.get(), x.code ? x.code.get() : Py_None, x.line,
                                 x.thread, static_cast<long long>(x.begin),
                                 static_cast<long long>(x.end)));
    if (!item || PyList_Append(list.get(), item.get()) != 0) return nullptr;
  }
  for (const NotedStep& x : take_steps()) {
    const Ref item(Py_BuildValue("s#OikLL", x.label.data(), static_cast<Py_ssize_t>(x.label.size()),
                                 Py_None, 0, x.thread, static_cast<long long>(x.begin),
                                 static_cast<long long>(x.end)));
    if (!item || PyList_Append(list.get(), item.get()) != 0) return nullptr;
  }
  return list.release();
}

PyMethodDef functions[] = {
    {"begin_spans", as_method<begin_spans>(), METH_O, "begin_spans(prefix)\n--\n\nNote what runs; the time."},
    {"end_spans", as_method<end_spans>(), METH_NOARGS, "end_spans()\n--\n\nWhat has been noted."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void Span::begin(PyObject* owner) {
  if (noted.size() >= kMost) return;
  int line = 0;
  Ref code = caller(line);
  const unsigned long thread = PyThread_get_thread_ident();
  try {
    noted.push_back({Ref::borrow(owner), std::move(code), line, thread, now(), 0});
  } catch (const std::bad_alloc&) {
    return;  // what is watched goes on
  }
  index_ = static_cast<Py_ssize_t>(noted.size()) - 1;
  session_ = session;
}

void Span::end() const {
  if (session_ == session) noted[static_cast<size_t>(index_)].end = now();
}

int add_spans(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace evertrace
