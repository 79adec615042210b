// The kernels that take arrays, by name: as tapes and Python call them.

#pragma once

#include <string_view>

#include "kernels/kernels.h"

namespace evertrace {

constexpr size_t kAny = ~size_t{0};

struct NamedKernel {
  const char* name;
  Failure (*run)(const Arrays& in, const Arrays& out, const Options& options);
  size_t in, out, options;  // how many it takes; any number of arrays, as many results: a sort
  size_t least_out;         // some leave the last results out

  bool takes(size_t num_in, size_t num_out, const Options& numbers) const {
    if (numbers.size() != options) return false;
    if (in != kAny) return num_in == in && num_out >= least_out && num_out <= out;
    return num_in == num_out && numbers[0] >= 1 && static_cast<size_t>(numbers[0]) <= num_in;
  }
};

const NamedKernel* find_kernel(std::string_view name);  // null where there is none
const char* kernel_name(size_t n);                      // of the n-th; null after the last

}  // namespace evertrace
