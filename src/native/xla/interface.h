// XLA's interface of custom calls: what its runtime hands to a handler, and what it takes back.
//
// It is one of C, whose layout XLA keeps for a year at least and widens at the ends only; here is what
// handlers of buffers and plain attributes need of it. jaxlib has all of it, `xla/ffi/api/c_api.h`,
// but an installation would have to unpack 350 MB for that file; `tests/native/test_interface.py`
// compares the two.

#pragma once

#include <cstddef>
#include <cstdint>

namespace evertrace::xla {

// The version that these declarations are of; XLA refuses handlers of one that it does not know.
constexpr int kMajor = 0, kMinor = 3;

constexpr int kMetadata = 1;                              // of extensions
constexpr int kExecute = 3;                               // of stages
constexpr int kBuffer = 1;                                // of arguments and results
constexpr int kScalar = 3, kText = 4;                     // of attributes
constexpr int kPred = 1, kInt64 = 5;                      // of elements, those of attributes
constexpr int kInvalidArgument = 3, kOutOfResources = 8;  // of errors

// Structures begin with their size, by which later versions tell what is there, and with a list of
// extensions.
struct Extension {
  size_t struct_size;
  int kind;
  Extension* next;
};

struct Version {
  size_t struct_size;
  Extension* extensions;
  int major, minor;
};

// Asked of a handler once, as it is registered.
struct Metadata {
  size_t struct_size;
  Version version;
  uint32_t traits;
  int64_t state_type;
};

struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

struct Text {
  const char* data;
  size_t size;
};

struct Scalar {
  int type;
  void* value;
};

struct Buffer {
  size_t struct_size;
  Extension* extensions;
  int type;
  void* data;
  int64_t rank;
  int64_t* dims;
};

// Arguments or results.
struct Operands {
  size_t struct_size;
  Extension* extensions;
  int64_t size;
  int* kinds;
  void** values;
};

// In the order of their names.
struct Attributes {
  size_t struct_size;
  Extension* extensions;
  int64_t size;
  int* kinds;
  Text** names;
  void** values;
};

struct Error;  // XLA's, which who takes it destroys

struct ErrorArgs {
  size_t struct_size;
  Extension* extensions;
  const char* message;
  int code;
};

struct Api {
  size_t struct_size;
  Extension* extensions;
  Version version;
  const void* internal;
  Error* (*create_error)(ErrorArgs* args);
};

struct CallFrame {
  size_t struct_size;
  Extension* extensions;
  const Api* api;
  void* context;
  int stage;
  Operands arguments, results;
  Attributes attributes;
};

}  // namespace evertrace::xla
