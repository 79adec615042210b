"""The fused engine: many equations of a tape become one function of machine code.

A *group* of equations is written down as nests of loops (`kernel.py`, `function.py`) in LLVM's text
(`writer.py`), whose machine code (`machine.py`) is one instruction of a tape. Which equations make
a group is found by `groups.py`; what is known of primitives is in `rules`.
"""
