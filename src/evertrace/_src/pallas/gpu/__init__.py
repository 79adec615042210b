"""Kernels as Triton's intermediate language, in text, which XLA compiles for GPUs.

`values` says what a value of a kernel is while it is written, `builder` writes operations,
`lowering` walks the kernel's jaxpr, `elementwise`, `structure`, `memory`, `reductions` and `loops`
hold the rules, one for each primitive, `kernel` lays the grid out, `call` writes the custom call.
"""
