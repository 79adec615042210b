// Hints that each compiler has under a name of its own.

#pragma once

#if defined(__GNUC__)
#define EVERTRACE_INLINE inline __attribute__((always_inline))
#define EVERTRACE_NOINLINE __attribute__((noinline))
#else
#define EVERTRACE_INLINE inline
#define EVERTRACE_NOINLINE
#endif

// Put before a loop of which no iteration reads what another one writes: memory that it reads is
// where it writes, or elsewhere.
#if defined(__clang__)
#define EVERTRACE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define EVERTRACE_INDEPENDENT _Pragma("GCC ivdep")
#else
#define EVERTRACE_INDEPENDENT
#endif
