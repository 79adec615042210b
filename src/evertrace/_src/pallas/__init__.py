"""Kernels: functions of blocks of arrays, run for each step of a grid, by Pallas' names.

`specs` says how arrays are cut into blocks, `blocks` what becomes of that for given arrays,
`kernel` traces the function, `program` is what it means, `call` the primitive, `functions` and
`triton` what kernels use, `gpu` how they are written for GPUs.
"""
