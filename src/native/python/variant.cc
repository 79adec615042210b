// Variants: matching a call and running it; see variant.h.

#include "python/variant.h"

#include <structmember.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "python/array.h"
#include "python/spans.h"

namespace evertrace {

// How results are laid out over a mesh for inputs that are laid out so, as Python has said.
struct Layout {
  std::vector<Ref> inputs;   // their shardings; null of those that have none
  Ref device;                // that computes with the results
  std::vector<Ref> outputs;  // the shardings of what is computed, None of what has none
  std::unique_ptr<Engine> engine;  // of such calls alone; null where it is that of all
  bool in_python = false;    // whether Python has to run such calls
};

// What runs a variant: inputs of the program, the engine, outputs, the kitchen.
struct Run {
  struct Input {
    enum Kind { kNode, kSlot, kConstant } kind;
    static constexpr const char* kNames[] = {"node", "slot", "constant"};
    int index;
    PyObject* object;  // owned
  };
  struct Output {
    enum Kind { kComputed, kInput, kLiteral } kind;
    static constexpr const char* kNames[] = {"computed", "input", "literal"};
    int index;
    PyObject* object;  // owned: what makes an array of an input, or (type, host) of a literal
  };
  std::vector<Input> inputs;
  std::vector<int> kept;  // which inputs the program takes
  std::vector<Output> outputs;
  bool plain = true;  // whether the outputs are the program's
  std::vector<int> donated;  // inputs that are deleted after the run
  Ref run_late;      // the function that fills slots after the match, or None
  Ref device;        // where arrays may be, or None before there are others than on the host
  Ref first_device;  // the function that tells
  Ref laid_out;      // the function that says how results are laid out over a mesh
  bool names_mesh = false;  // whether the program itself lays arrays out
  std::vector<std::shared_ptr<const Layout>> layouts;  // those that calls had, the last one first
  std::unique_ptr<Engine> engine;  // null where there is nothing to compute
  Kitchen kitchen;

  size_t num_computed() const { return engine == nullptr ? 0 : engine->num_outputs(); }

  ~Run() {
    for (const Input& input : inputs) Py_XDECREF(input.object);
    for (const Output& output : outputs) Py_XDECREF(output.object);
  }
  int traverse(visitproc visit, void* arg) {
    for (const Input& input : inputs) Py_VISIT(input.object);
    for (const Output& output : outputs) Py_VISIT(output.object);
    Py_VISIT(device.get());
    Py_VISIT(first_device.get());
    Py_VISIT(run_late.get());
    Py_VISIT(laid_out.get());
    for (const auto& layout : layouts) {
      if (layout.use_count() != 1) continue;  // a call holds it, too
      for (const Ref& sharding : layout->inputs) Py_VISIT(sharding.get());
      for (const Ref& sharding : layout->outputs) Py_VISIT(sharding.get());
      Py_VISIT(layout->device.get());
      if (layout->engine == nullptr) continue;
      if (const int stopped = layout->engine->traverse(visit, arg)) return stopped;
    }
    if (engine != nullptr) {
      if (const int stopped = engine->traverse(visit, arg)) return stopped;
    }
    return kitchen.traverse(visit, arg);
  }
};

namespace {

PyTypeObject *the_variant_type, *the_counts_type;

VariantObject* as_variant(PyObject* x) { return reinterpret_cast<VariantObject*>(x); }
Guards& guards_of(const VariantObject* v) {
  return reinterpret_cast<GuardsObject*>(v->guards)->guards;
}
const HostProgram& host_of(const VariantObject* v) {
  return reinterpret_cast<HostProgramObject*>(v->host)->program;
}

bool refuse(const char* what) {
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, what);
  return false;
}

// ------------------------------------------------------------------------ compiling

bool take_inputs(const VariantObject* self, PyObject* list, Run& run) {
  const Ref items(PySequence_Tuple(list));
  for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(items.get()); ++i) {
    int kind, index, kept;
    PyObject* object;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(items.get(), i), "iiOp", &kind, &index, &object,
                          &kept)) {
      return false;
    }
    if (kind == Run::Input::kNode) {
      const Guards& guards = guards_of(self);
      index = 0 <= index && index < guards.node_count() ? guards.position(index) : -1;
    } else if (kind == Run::Input::kSlot) {
      index = index < static_cast<int>(host_of(self).size()) ? index : -1;
    }
    if (index < 0) return refuse("an input comes from nowhere");
    run.inputs.push_back({static_cast<Run::Input::Kind>(kind), index, Py_NewRef(object)});
    if (kept) run.kept.push_back(static_cast<int>(i));
  }
  return static_cast<bool>(items);
}

bool take_outputs(PyObject* list, Run& run) {
  if (list == Py_None) return true;
  run.plain = false;
  const Ref items(PySequence_Tuple(list));
  for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(items.get()); ++i) {
    int kind, index;
    PyObject* object;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(items.get(), i), "iiO", &kind, &index, &object)) {
      return false;
    }
    const size_t limit = kind == Run::Output::kInput      ? run.inputs.size()
                         : kind == Run::Output::kComputed ? run.num_computed()
                                                          : 1;
    if (index < 0 || static_cast<size_t>(index) >= limit) {
      return refuse("an output comes from nowhere");
    }
    run.outputs.push_back({static_cast<Run::Output::Kind>(kind), index, Py_NewRef(object)});
  }
  return static_cast<bool>(items);
}

bool take_donated(PyObject* indices, Run& run) {
  const Ref items(PySequence_Tuple(indices));
  for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(items.get()); ++i) {
    const Py_ssize_t index = PyLong_AsSsize_t(PyTuple_GET_ITEM(items.get(), i));
    if (index < 0 || static_cast<size_t>(index) >= run.inputs.size()) {
      return refuse("what is donated is no input");
    }
    run.donated.push_back(static_cast<int>(index));
  }
  return static_cast<bool>(items);
}

// (inputs, outputs or None, donated inputs, function of late calls or None, engine's name or "", its
// parts, device or None, function that gives it, function that says how results are laid out, whether
// the program names a mesh, recipes, result, writes, effects)
std::unique_ptr<Run> make_run(const VariantObject* self, PyObject* parts) {
  PyObject *inputs, *outputs, *donated, *late, *engine_parts, *device, *first, *laid_out, *recipes,
      *writes, *effects;
  int names_mesh;
  const char* engine;
  Py_ssize_t result;
  if (!PyArg_ParseTuple(parts, "OOOOsOOOOpOnOO", &inputs, &outputs, &donated, &late, &engine,
                        &engine_parts, &device, &first, &laid_out, &names_mesh, &recipes, &result,
                        &writes, &effects)) {
    return nullptr;
  }
  auto run = std::make_unique<Run>();
  run->run_late = Ref::borrow(late);
  run->device = Ref::borrow(device);
  run->first_device = Ref::borrow(first);
  run->laid_out = Ref::borrow(laid_out);
  run->names_mesh = names_mesh != 0;
  if (std::strcmp(engine, "xla") == 0) run->engine = make_xla(engine_parts);
  if (std::strcmp(engine, "native") == 0) run->engine = make_tape(engine_parts);
  if (std::strcmp(engine, "python") == 0) run->engine = make_in_python(engine_parts);
  if (PyErr_Occurred()) return nullptr;
  if (!take_inputs(self, inputs, *run) || !take_outputs(outputs, *run) ||
      !take_donated(donated, *run)) {
    return nullptr;
  }
  if (!run->kitchen.compile(guards_of(self), recipes, result, writes, effects)) return nullptr;
  return run;
}

// Asks the Python side what the variant's run is; it answers None if that has to stay in Python,
// NotImplemented if it is too early to say. False with an error set.
bool ask(PyObject* self) {
  constexpr int kTrials = 4;
  VariantObject* variant = as_variant(self);
  if (variant->run != nullptr || variant->asked >= kTrials) return true;
  ++variant->asked;
  const Ref parts(PyObject_CallMethod(self, "compiled_run", nullptr));
  if (!parts) return false;
  if (parts.get() == Py_NotImplemented) return true;
  variant->asked = kTrials;
  if (parts.get() == Py_None) return true;
  variant->run = make_run(variant, parts.get()).release();
  return variant->run != nullptr;
}

// ------------------------------------------------------------------------ running

PyObject* run_in_python(PyObject* self, const Values& values, const Values& slots) {
  const Ref nodes(listed(guards_of(as_variant(self)), values)), numbers(listed(slots));
  if (!nodes || !numbers) return nullptr;
  static PyObject* const name = PyUnicode_InternFromString("run");
  const Ref found(PyTuple_Pack(2, nodes.get(), numbers.get()));
  PyObject* args[] = {self, found.get()};
  return found ? PyObject_VectorcallMethod(name, args, 2, nullptr) : nullptr;
}

// Fills the outputs of a program that are not all computed; false with an error set.
bool forward(const Run& run, PyObject* const* inputs, const Values& computed, Values& outs) {
  for (size_t i = 0; i < run.outputs.size(); ++i) {
    const Run::Output& output = run.outputs[i];
    if (output.kind == Run::Output::kComputed) {
      outs[i] = Py_NewRef(computed[static_cast<size_t>(output.index)]);
    } else if (output.kind == Run::Output::kLiteral) {
      outs[i] = PyObject_CallObject(reinterpret_cast<PyObject*>(array_type()), output.object);
    } else {
      PyObject* x = inputs[output.index];
      outs[i] = is_array(x) ? Py_NewRef(x) : PyObject_CallOneArg(output.object, x);
    }
    if (outs[i] == nullptr) return false;
  }
  return true;
}

// Runs the engine on those of the inputs that it takes; `kept` is room for them.
bool compute(const Run& run, const Layout* layout, PyObject* const* inputs, PyObject** kept,
             Values& computed) {
  if (run.engine == nullptr) return true;
  const bool is_own = layout != nullptr && layout->engine != nullptr;
  Engine& engine = is_own ? *layout->engine : *run.engine;
  if (run.kept.size() == run.inputs.size()) return engine.run(inputs, computed.data());
  for (size_t i = 0; i < run.kept.size(); ++i) kept[i] = inputs[run.kept[i]];
  return engine.run(kept, computed.data());
}

// Whether nothing places an input elsewhere than on the first device; -1 with an error set.
int is_here(Run& run, PyObject* input) {
  if (is_on(input, run.device.get())) return 1;
  if (run.device.get() != Py_None) return 0;
  Ref device(PyObject_CallNoArgs(run.first_device.get()));
  if (!device) return -1;
  run.device = std::move(device);
  return is_on(input, run.device.get());
}

// Gathers the inputs of a program, which are borrowed. Returns 1, 0 where one of them is placed
// elsewhere, or -1 with an error set.
int gather(Run& run, const Values& values, const Values& slots, PyObject** inputs) {
  for (size_t i = 0; i < run.inputs.size(); ++i) {
    const Run::Input& input = run.inputs[i];
    const size_t index = static_cast<size_t>(input.index);
    inputs[i] = input.kind == Run::Input::kNode   ? values[index]
                : input.kind == Run::Input::kSlot ? slots[index]
                                                  : input.object;
    const int here = is_here(run, inputs[i]);
    if (here != 1) return here;
  }
  return 1;
}

// Whether a layout is that of a call with such inputs.
bool is_of(const Layout& layout, PyObject* const* inputs) {
  for (size_t i = 0; i < layout.inputs.size(); ++i) {
    if (layout.inputs[i].get() != array_sharding(inputs[i])) return false;
  }
  return true;
}

// Has Python say how the results of a call are laid out. What goes wrong in it Python's run raises.
std::shared_ptr<const Layout> learn_layout(Run& run, PyObject* const* inputs) {
  auto layout = std::make_shared<Layout>();
  const auto count = static_cast<Py_ssize_t>(run.inputs.size());
  const Ref shardings(PyList_New(count));
  for (Py_ssize_t i = 0; shardings && i < count; ++i) {
    PyObject* sharding = array_sharding(inputs[i]);
    layout->inputs.push_back(sharding == nullptr ? Ref() : Ref::borrow(sharding));
    PyList_SET_ITEM(shardings.get(), i, Py_NewRef(sharding == nullptr ? Py_None : sharding));
  }
  const Ref said(shardings ? PyObject_CallOneArg(run.laid_out.get(), shardings.get()) : nullptr);
  PyObject *device, *outputs, *parts;
  layout->in_python = !said || said.get() == Py_None;
  if (!layout->in_python &&
      PyArg_ParseTuple(said.get(), "OO!O", &device, &PyTuple_Type, &outputs, &parts) &&
      static_cast<size_t>(PyTuple_GET_SIZE(outputs)) == run.num_computed()) {
    layout->device = Ref::borrow(device);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i) {
      layout->outputs.push_back(Ref::borrow(PyTuple_GET_ITEM(outputs, i)));
    }
    if (parts != Py_None) layout->engine = make_divided(parts);
    layout->in_python = PyErr_Occurred() != nullptr;
  } else {
    layout->in_python = true;
  }
  forget_error();
  return layout;
}

// How the results of a call are laid out; null where no mesh is in it.
std::shared_ptr<const Layout> find_layout(Run& run, PyObject* const* inputs) {
  constexpr size_t kMostLayouts = 8;
  bool on_mesh = run.names_mesh, on_device = false;
  for (size_t i = 0; i < run.inputs.size(); ++i) {
    if (!is_array(inputs[i])) continue;
    const auto* array = reinterpret_cast<const ArrayObject*>(inputs[i]);
    if (array->sharding != nullptr) {
      on_mesh = true;
    } else if (array->committed) {
      on_device = true;
    }
  }
  if (!on_mesh) return nullptr;
  static const auto in_python = [] {
    auto made = std::make_shared<Layout>();
    made->in_python = true;
    return made;
  }();
  if (on_device) return in_python;  // what is committed to one device and to several
  auto& layouts = run.layouts;
  for (size_t i = 0; i < layouts.size(); ++i) {
    if (!is_of(*layouts[i], inputs)) continue;
    if (i != 0) std::rotate(layouts.begin(), layouts.begin() + static_cast<long>(i),
                            layouts.begin() + static_cast<long>(i) + 1);
    return layouts[0];
  }
  auto layout = learn_layout(run, inputs);
  const auto dropped = layouts.size() < kMostLayouts ? nullptr : layouts.back();
  if (dropped) layouts.pop_back();
  layouts.insert(layouts.begin(), layout);
  return layout;
}

// Fills the slots of late calls, which may be among the inputs; false with an error set.
bool fill_late(const Run& run, Values& slots, PyObject** inputs) {
  const Ref list(listed(slots));
  const Ref done(list ? PyObject_CallOneArg(run.run_late.get(), list.get()) : nullptr);
  if (!done) return false;
  if (static_cast<size_t>(PyList_GET_SIZE(list.get())) != slots.size()) return refuse("other slots");
  for (size_t i = 0; i < slots.size(); ++i) {
    PyObject* filled = Py_NewRef(PyList_GET_ITEM(list.get(), static_cast<Py_ssize_t>(i)));
    Py_DECREF(std::exchange(slots[i], filled));
  }
  for (size_t i = 0; i < run.inputs.size(); ++i) {
    const Run::Input& input = run.inputs[i];
    if (input.kind == Run::Input::kSlot) inputs[i] = slots[static_cast<size_t>(input.index)];
  }
  return true;
}

PyObject* run_variant(PyObject* self, Values& values, Values& slots) {
  if (!ask(self)) return nullptr;
  Run* run = as_variant(self)->run;
  if (run == nullptr) return run_in_python(self, values, slots);
  constexpr size_t kFew = 128;
  PyObject* few[2 * kFew];
  std::vector<PyObject*> many;
  const size_t count = run->inputs.size();
  if (count > kFew) many.resize(2 * count);
  PyObject** inputs = count > kFew ? many.data() : few;
  const int here = gather(*run, values, slots, inputs);
  if (here < 0) return nullptr;
  if (here == 0) return run_in_python(self, values, slots);
  const auto layout = find_layout(*run, inputs);
  if (layout && layout->in_python) return run_in_python(self, values, slots);
  if (run->run_late.get() != Py_None && !fill_late(*run, slots, inputs)) return nullptr;
  Values computed(run->num_computed());
  if (!compute(*run, layout.get(), inputs, inputs + count, computed)) return nullptr;
  for (size_t i = 0; layout && i < layout->outputs.size(); ++i) {
    PyObject* sharding = layout->outputs[i].get();
    if (sharding != Py_None) lay_out(computed[i], sharding, layout->device.get());
  }
  Call call{guards_of(as_variant(self)), values, slots, computed.data(), nullptr};
  Values outs(run->outputs.size());
  if (!run->plain) {
    if (!forward(*run, inputs, computed, outs)) return nullptr;
    call.outs = outs.data();
  }
  for (const int i : run->donated) {
    if (is_array(inputs[i])) delete_array(inputs[i]);
  }
  return run->kitchen.serve(call);
}

// ------------------------------------------------------------------------ the Python types

PyObject* variant_new(PyTypeObject* type, PyObject*, PyObject*) {
  return type->tp_alloc(type, 0);
}

int variant_traverse(PyObject* self, visitproc visit, void* arg) {
  VariantObject* variant = as_variant(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(variant->guards);
  Py_VISIT(variant->host);
  return variant->run == nullptr ? 0 : variant->run->traverse(visit, arg);
}

int variant_clear(PyObject* self) {
  VariantObject* variant = as_variant(self);
  delete std::exchange(variant->run, nullptr);
  delete std::exchange(variant->leaves, nullptr);
  Py_CLEAR(variant->guards);
  Py_CLEAR(variant->host);
  return 0;
}

void variant_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  variant_clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// compile_match(guards, host program, nodes of its leaves)
PyObject* compile_match(PyObject* self, PyObject* args) {
  PyObject *guards, *host, *nodes;
  if (!PyArg_ParseTuple(args, "O!O!O!", guards_type(), &guards, host_program_type(), &host,
                        &PyTuple_Type, &nodes)) {
    return nullptr;
  }
  VariantObject* variant = as_variant(self);
  const Guards& found = reinterpret_cast<GuardsObject*>(guards)->guards;
  auto leaves = std::make_unique<std::vector<int>>();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(nodes); ++i) {
    const Py_ssize_t node = PyLong_AsSsize_t(PyTuple_GET_ITEM(nodes, i));
    const int at = 0 <= node && node < found.node_count() ? found.position(node) : -1;
    if (at < 0) return refuse("a leaf comes from nowhere"), nullptr;
    leaves->push_back(at);
  }
  if (leaves->size() != reinterpret_cast<HostProgramObject*>(host)->program.leaf_count()) {
    return refuse("a node for each leaf"), nullptr;
  }
  Py_XSETREF(variant->guards, Py_NewRef(guards));
  Py_XSETREF(variant->host, Py_NewRef(host));
  delete std::exchange(variant->leaves, leaves.release());
  Py_RETURN_NONE;
}

PyMethodDef variant_methods[] = {
    {"compile_match", as_method<compile_match>(), METH_VARARGS, "Take the compiled guards and host program."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef variant_members[] = {
    {"hits", T_PYSSIZET, offsetof(VariantObject, hits), 0, "How many calls it served."},
    {"used", T_PYSSIZET, offsetof(VariantObject, used), 0, "When last, in the function's hits."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot variant_slots[] = {
    {Py_tp_new, as_slot<variant_new>()},
    {Py_tp_dealloc, reinterpret_cast<void*>(variant_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(variant_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(variant_clear)},
    {Py_tp_methods, variant_methods},
    {Py_tp_members, variant_members},
    {0, nullptr},
};

PyType_Spec variant_spec = {
    "evertrace._src._native.VariantBase", sizeof(VariantObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, variant_slots,
};

PyMemberDef counts_members[] = {
    {"hits", T_PYSSIZET, offsetof(CountsObject, hits), 0, "Calls that found a variant."},
    {"misses", T_PYSSIZET, offsetof(CountsObject, misses), 0, "Calls that traced one."},
    {nullptr, 0, 0, 0, nullptr},
};

void counts_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot counts_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(counts_dealloc)},
    {Py_tp_members, counts_members},
    {0, nullptr},
};

PyType_Spec counts_spec = {
    "evertrace._src._native.Counts", sizeof(CountsObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, counts_slots,
};

PyTypeObject* add_type(PyObject* module, PyType_Spec& spec) {
  Ref type(PyType_FromSpec(&spec));
  const char* name = std::strrchr(spec.name, '.') + 1;
  if (!type || PyModule_AddObjectRef(module, name, type.get()) != 0) return nullptr;
  return reinterpret_cast<PyTypeObject*>(type.release());
}

}  // namespace

PyTypeObject* variant_type() { return the_variant_type; }
PyTypeObject* counts_type() { return the_counts_type; }

int call_variant(PyObject* self, PyObject* const* roots, Py_ssize_t count, PyObject* counts,
                 PyObject** result) {
  VariantObject* variant = as_variant(self);
  if (variant->guards == nullptr) return 0;
  Guards& guards = guards_of(variant);
  const HostProgram& host = host_of(variant);
  Values values(guards.size());
  int matched = guards.match(roots, count, values);
  if (matched != 1) return matched;
  Values slots(host.size());
  if (host.size() != 0) {
    Values leaves(variant->leaves->size());
    for (size_t i = 0; i < leaves.size(); ++i) {
      leaves[i] = Py_NewRef(values[static_cast<size_t>((*variant->leaves)[i])]);
    }
    host.fill(leaves.data(), slots);
    matched = host.run(slots);
    if (matched != 1) return matched;
  }
  variant->used = ++reinterpret_cast<CountsObject*>(counts)->hits;
  ++variant->hits;
  const Span span(self);
  *result = run_variant(self, values, slots);
  return 1;
}

int add_variant(PyObject* module) {
  the_variant_type = add_type(module, variant_spec);
  the_counts_type = add_type(module, counts_spec);
  if (add_names(module, "VARIANT_INPUTS", Run::Input::kNames) != 0) return -1;
  if (add_names(module, "VARIANT_OUTPUTS", Run::Output::kNames) != 0) return -1;
  if (add_names(module, "WRITE_SHAPES", Write::kShapeNames) != 0) return -1;
  return the_variant_type == nullptr || the_counts_type == nullptr ? -1 : 0;
}

}  // namespace evertrace
