// Which instructions the processor has that runs this.

#pragma once

namespace evertrace {

// Of the x86-64 ABI: v3 has AVX2 and FMA, v4 has AVX-512.
enum class Generation { kBaseline, kV3, kV4 };

// The one place where the processor is asked. `EVERTRACE_CLONES` (clones.h) has the linker ask the same.
Generation processor_generation();

}  // namespace evertrace
