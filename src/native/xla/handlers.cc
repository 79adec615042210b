// XLA's custom calls: buffers in, kernels called, failures as errors.

#include "xla/handlers.h"

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kernels/kernels.h"
#include "xla/interface.h"

namespace evertrace {
namespace {

// By XLA's numbers.
constexpr DType kDTypes[] = {
    DType::kUnknown, DType::kBool,    DType::kInt8,    DType::kInt16,     DType::kInt32,
    DType::kInt64,   DType::kUInt8,   DType::kUInt16,  DType::kUInt32,    DType::kUInt64,
    DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kUnknown,   DType::kUnknown,
    DType::kComplex64, DType::kBFloat16, DType::kUnknown, DType::kComplex128,
};
constexpr int kNumDTypes = sizeof kDTypes / sizeof *kDTypes;

// A call of a handler whose program is not to be trusted: it may be from a file.
class Call {
 public:
  Call(const xla::CallFrame& frame, int64_t arguments, int64_t results) : frame_(frame) {
    check(frame.stage == xla::kExecute, "a kernel is only executed");
    check(frame.arguments.size == arguments || arguments < 0, "the number of arguments is wrong");
    check(frame.results.size == results || results < 0, "the number of results is wrong");
  }

  Array argument(int64_t i) const { return array(frame_.arguments, i); }
  Array result(int64_t i) const { return array(frame_.results, i); }
  Arrays arguments() const { return arrays(frame_.arguments); }
  Arrays results() const { return arrays(frame_.results); }

  int64_t integer(std::string_view name) const {
    return *static_cast<const int64_t*>(scalar(name, xla::kInt64));
  }
  bool boolean(std::string_view name) const {
    return *static_cast<const bool*>(scalar(name, xla::kPred));
  }
  std::string_view text(std::string_view name) const {
    const auto* text = static_cast<const xla::Text*>(attribute(name, xla::kText));
    return {text->data, text->size};
  }

 private:
  static void check(bool is_right, const char* what) {
    if (!is_right) throw std::invalid_argument(what);
  }
  static void check(bool is_right, const char* what, std::string_view attribute) {
    if (!is_right) {
      throw std::invalid_argument("the attribute " + std::string(attribute) + " " + what);
    }
  }

  static Array array(const xla::Operands& from, int64_t i) {
    check(from.kinds[i] == xla::kBuffer, "an operand is no array");
    const auto* buffer = static_cast<const xla::Buffer*>(from.values[i]);
    const bool is_known = buffer->type >= 0 && buffer->type < kNumDTypes;
    return {is_known ? kDTypes[buffer->type] : DType::kUnknown,
            {buffer->dims, buffer->dims + buffer->rank},
            buffer->data};
  }

  static Arrays arrays(const xla::Operands& from) {
    Arrays all;
    for (int64_t i = 0; i < from.size; ++i) all.push_back(array(from, i));
    return all;
  }

  const void* attribute(std::string_view name, int kind) const {
    const xla::Attributes& from = frame_.attributes;
    for (int64_t i = 0; i < from.size; ++i) {
      if (name != std::string_view(from.names[i]->data, from.names[i]->size)) continue;
      check(from.kinds[i] == kind, "is of another kind", name);
      return from.values[i];
    }
    throw std::invalid_argument("there is no attribute " + std::string(name));
  }

  const void* scalar(std::string_view name, int type) const {
    const auto* scalar = static_cast<const xla::Scalar*>(attribute(name, xla::kScalar));
    check(scalar->type == type, "is of another type", name);
    return scalar->value;
  }

  const xla::CallFrame& frame_;
};

Failure run_sort(const xla::CallFrame& frame) {
  const Call call(frame, -1, -1);
  return sort(call.arguments(), call.results(), call.integer("num_keys"));
}

Failure run_top_k(const xla::CallFrame& frame) {
  const Call call(frame, 1, 2);
  return top_k(call.argument(0), call.result(0), call.result(1));
}

Failure run_scan(const xla::CallFrame& frame) {
  const Call call(frame, 1, 1);
  return scan(call.argument(0), call.result(0), call.integer("axis"), call.boolean("reverse"),
              call.text("operation"));
}

Failure run_search(const xla::CallFrame& frame) {
  const Call call(frame, 2, 1);
  return search(call.argument(0), call.argument(1), call.result(0), call.boolean("right"));
}

xla::Error* error(const xla::CallFrame& frame, int code, const char* message) {
  xla::ErrorArgs args{sizeof args, nullptr, message, code};
  return frame.api->create_error(&args);
}

void tell(xla::Metadata& asked) {
  asked.version = {sizeof asked.version, nullptr, xla::kMajor, xla::kMinor};
  asked.traits = 0;
  asked.state_type = 0;
}

// A handler. No exception (of memory that cannot be had) may reach XLA.
template <Failure (*kRun)(const xla::CallFrame&)>
xla::Error* handle(xla::CallFrame* frame) {
  if (frame->extensions != nullptr && frame->extensions->kind == xla::kMetadata) {
    tell(*reinterpret_cast<xla::MetadataExtension*>(frame->extensions)->metadata);
    return nullptr;
  }
  try {
    const Failure failure = kRun(*frame);
    return failure == nullptr ? nullptr : error(*frame, xla::kInvalidArgument, failure);
  } catch (const std::invalid_argument& wrong) {
    return error(*frame, xla::kInvalidArgument, wrong.what());
  } catch (const std::exception& failed) {
    return error(*frame, xla::kOutOfResources, failed.what());
  }
}

}  // namespace

const Handler kHandlers[] = {
    {"evertrace_sort_1", reinterpret_cast<void*>(handle<run_sort>)},
    {"evertrace_top_k_1", reinterpret_cast<void*>(handle<run_top_k>)},
    {"evertrace_scan_1", reinterpret_cast<void*>(handle<run_scan>)},
    {"evertrace_search_1", reinterpret_cast<void*>(handle<run_search>)},
    {nullptr, nullptr},
};

}  // namespace evertrace
