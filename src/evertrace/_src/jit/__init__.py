"""`jit`: from a call of a Python function to a run of a compiled program.

calls, signature    a call as roots, and the roles of arguments
capture             the trace of one call, by the contract or by JAX's rules
lifting             the contract's machinery: reads as inputs, changes as results
variant, program    what was traced: guards, prologue, gathers, write-backs; the compiled part
dispatch            the jitted function: by which rules a call is made
contract, strict    calls by the contract, and by JAX's rules: find the variant, or trace one
stores              where variants are kept, and who shares them
entries, compiled   what C++ is given: how it recognises calls, and runs programs
differences, explain   why a call fits no variant, and what a variant depends on
observe             state under transformations and outside of jit
stages              ahead of time: traced, lowered, compiled
"""
