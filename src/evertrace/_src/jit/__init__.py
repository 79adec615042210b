"""`jit`: from a call of a Python function to a run of a compiled program.

`signature` turns a call into a key and flat arguments, `capture` traces, `program` compiles what
was traced and runs it, `dispatch` is the jitted function, `stages` the same in steps.
"""
