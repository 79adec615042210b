// Plans that are one long tape: it runs without the GIL, or on the queue.

#include <algorithm>

#include "python/pending.h"
#include "python/plan.h"

namespace evertrace {
namespace {

constexpr int64_t kNumberBytes = 16;

}  // namespace

// Puts a tape on the queue; null with an error.
PyObject* Plan::start(PyObject* const* args, PyObject* const* operands) const {
  const Step& step = steps_[0];
  const auto run = begin_run(step.tape, operands);
  if (!run) return nullptr;
  void* at[kMostSlots];
  References made;
  for (const Result& result : results_) {
    PyObject* array = make_result(result, args, at);
    if (array == nullptr) return nullptr;
    made.push(array);
  }
  for (size_t i = 0; i < run->in.size(); ++i) {
    if (is_array(operands[i])) {
      Ref held;
      run->in[i] = tape_input(operands[i], run->tape->input_bytes(i), true, true, held);
      if (run->in[i] == nullptr) return nullptr;
      run->held.push_back(std::move(held));
    } else {
      run->in[i] = &run->numbers[i];
      const Slot& slot = slots_[static_cast<size_t>(step.operands[i])];
      if (!write_number(operands[i], slot.dtype, &run->numbers[i])) return nullptr;
    }
  }
  PyObject* outs[kMostOuts];
  for (int i = 0; i < step.num_outs; ++i) {
    run->out[static_cast<size_t>(i)] = at[step.outs[i]];
    const auto is_its = [&](const Result& result) { return result.slot == step.outs[i]; };
    outs[i] = made[static_cast<size_t>(std::find_if(results_.begin(), results_.end(), is_its) -
                                       results_.begin())];
  }
  return put_on_queue(run, outs) ? finish(made) : nullptr;
}

// Runs a tape without the GIL: its operands are held meanwhile.
PyObject* Plan::run_long(PyObject* const* args) const {
  const Step& step = steps_[0];
  PyObject* operands[kMostOperands] = {};
  bool has_operands = results_.size() == static_cast<size_t>(step.num_outs);
  for (int i = 0; i < step.count; ++i) {  // constants are the plan's, which may be dropped
    const Slot& slot = slots_[static_cast<size_t>(step.operands[i])];
    const bool is_small = slot.kind == Slot::Kind::kNumber && item_size(slot.dtype) <= sizeof(Scalar);
    has_operands = has_operands && (slot.kind == Slot::Kind::kArray || is_small);
    if (has_operands) operands[i] = args[slot.arg];
  }
  if (has_operands && is_for_queue(step.tape, operands)) return start(args, operands);
  const tape::Tape& tape = **step.tape->tape;
  void* at[kMostSlots];
  References made;
  for (const Result& result : results_) {  // which may run Python
    PyObject* array = make_result(result, args, at);
    if (array == nullptr) return nullptr;
    made.push(array);
  }
  const void* in[kMostOperands];
  void* outs[kMostOuts];
  Ref held[kMostOperands];
  alignas(kNumberBytes) char numbers[kMostOperands * kNumberBytes];
  for (int i = 0; i < step.count; ++i) {
    const Slot& slot = slots_[static_cast<size_t>(step.operands[i])];
    if (slot.kind == Slot::Kind::kArray) {
      in[i] = tape_input(args[slot.arg], tape.input_bytes(static_cast<size_t>(i)), true, false,
                         held[i]);
      if (in[i] == nullptr) return nullptr;
    } else if (slot.kind == Slot::Kind::kNumber) {
      in[i] = numbers + kNumberBytes * i;
      if (!write_number(args[slot.arg], slot.dtype, numbers + kNumberBytes * i)) return nullptr;
    } else {
      in[i] = slot.constant;
    }
  }
  for (int i = 0; i < step.num_outs; ++i) outs[i] = at[step.outs[i]];
  return execute_tape(step.tape, in, outs) ? finish(made) : nullptr;
}

}  // namespace evertrace
