// XLA's foreign function interface: buffers in, kernels called, failures as errors.

#include "xla/handlers.h"

#include <exception>
#include <string>
#include <string_view>

#include "kernels/kernels.h"
#include "xla/ffi/api/ffi.h"

namespace evertrace {
namespace {

namespace ffi = xla::ffi;

DType dtype_of(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::PRED: return DType::kBool;
    case ffi::DataType::S8: return DType::kInt8;
    case ffi::DataType::S16: return DType::kInt16;
    case ffi::DataType::S32: return DType::kInt32;
    case ffi::DataType::S64: return DType::kInt64;
    case ffi::DataType::U8: return DType::kUInt8;
    case ffi::DataType::U16: return DType::kUInt16;
    case ffi::DataType::U32: return DType::kUInt32;
    case ffi::DataType::U64: return DType::kUInt64;
    case ffi::DataType::F16: return DType::kFloat16;
    case ffi::DataType::BF16: return DType::kBFloat16;
    case ffi::DataType::F32: return DType::kFloat32;
    case ffi::DataType::F64: return DType::kFloat64;
    case ffi::DataType::C64: return DType::kComplex64;
    case ffi::DataType::C128: return DType::kComplex128;
    default: return DType::kUnknown;
  }
}

Array to_array(const ffi::AnyBuffer& buffer) {
  const auto dims = buffer.dimensions();
  return {dtype_of(buffer.element_type()), {dims.begin(), dims.end()}, buffer.untyped_data()};
}

Array to_array(ffi::Result<ffi::AnyBuffer> buffer) { return to_array(*buffer); }

// Runs a kernel; no exception (of memory that cannot be had) may reach XLA.
template <class Kernel>
ffi::Error guarded(const Kernel& kernel) {
  try {
    const Failure failure = kernel();
    return failure ? ffi::Error::InvalidArgument(failure) : ffi::Error::Success();
  } catch (const std::exception& error) {
    return ffi::Error(ffi::ErrorCode::kResourceExhausted, error.what());
  }
}

ffi::Error sort_handler(ffi::RemainingArgs args, ffi::RemainingRets rets, int64_t num_keys) {
  return guarded([&]() -> Failure {
    Arrays in, out;
    for (size_t i = 0; i < args.size(); ++i) {
      in.push_back(to_array(args.get<ffi::AnyBuffer>(i).value()));
    }
    for (size_t i = 0; i < rets.size(); ++i) {
      out.push_back(to_array(rets.get<ffi::AnyBuffer>(i).value()));
    }
    return sort(in, out, num_keys);
  });
}

ffi::Error top_k_handler(ffi::AnyBuffer in, ffi::Result<ffi::AnyBuffer> values,
                         ffi::Result<ffi::AnyBuffer> positions) {
  return guarded([&] { return top_k(to_array(in), to_array(values), to_array(positions)); });
}

ffi::Error scan_handler(ffi::AnyBuffer in, ffi::Result<ffi::AnyBuffer> out, int64_t axis,
                        bool reverse, std::string_view operation) {
  return guarded([&] { return scan(to_array(in), to_array(out), axis, reverse, operation); });
}

ffi::Error search_handler(ffi::AnyBuffer sorted, ffi::AnyBuffer values,
                          ffi::Result<ffi::AnyBuffer> out, bool right) {
  return guarded([&] { return search(to_array(sorted), to_array(values), to_array(out), right); });
}

XLA_FFI_DEFINE_HANDLER(kSort, sort_handler,
                       ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attr<int64_t>("num_keys"));
XLA_FFI_DEFINE_HANDLER(
    kTopK, top_k_handler,
    ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());
XLA_FFI_DEFINE_HANDLER(kScan, scan_handler,
                       ffi::Ffi::Bind()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<int64_t>("axis")
                           .Attr<bool>("reverse")
                           .Attr<std::string_view>("operation"));
XLA_FFI_DEFINE_HANDLER(kSearch, search_handler,
                       ffi::Ffi::Bind()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<bool>("right"));

}  // namespace

const Handler kHandlers[] = {
    {"evertrace_sort_1", reinterpret_cast<void*>(kSort)},
    {"evertrace_top_k_1", reinterpret_cast<void*>(kTopK)},
    {"evertrace_scan_1", reinterpret_cast<void*>(kScan)},
    {"evertrace_search_1", reinterpret_cast<void*>(kSearch)},
    {nullptr, nullptr},
};

}  // namespace evertrace
