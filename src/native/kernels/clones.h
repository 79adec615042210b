// Functions compiled for several generations of a processor, of which the first call finds the best.

#pragma once

#include "kernels/hints.h"

// Put before a function whose loops the compiler vectorises. What it calls must be inlined. Clones
// round alike, for the compiler does not contract multiplications and additions. This is for a few
// functions of a file that else uses the standard library, of which no copy may be compiled for one
// processor and linked for all. Families of loops are compiled file by file (loops/find.h).
//
// The generations are those of the x86-64 ABI: v4 has AVX-512, v3 has AVX2 and FMA.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    __GNUC__ >= 12 && !defined(__SANITIZE_ADDRESS__)
#define EVERTRACE_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EVERTRACE_CLONES
#endif

// Whether single functions can be compiled for them by `__attribute__((target("arch=x86-64-v4")))`.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define EVERTRACE_HAS_GENERATIONS 1
#endif
