"""How a trace sees, and gives back, everything that a function reads and changes.

recorder            one trace: its graph, identity, inputs and effects, and what they do together
graph, identity     what was read, by which path, as nodes; which objects those are, aliases too
inputs, effects     what feeds the program at each call; what is repeated, or may be written to
lift, leaves, containers   what a value that is read becomes, by its type
parts               kinds of the library that are made of others: taken apart, made again
hooks, objects      attributes: placeholders, and hooks on classes for the time of a trace
functions, reached, code   functions, which are entered when they are called
classes, namespaces, spaces   classes, globals, modules: what code mentions of them by name
protocols           what these ask of each other
asking, rewriting   code that asks the trace what Python would decide, and how it is written
host, prologue, hostprogram   Python numbers: host scalars, and what computes them anew
hostnumpy, hosttext   NumPy scalars and texts that are made of them
hostarray, numpykind   NumPy arrays, and what NumPy makes of them
impure, impure_calls, impure_guards   clocks, draws, files, prints, settings: done again,
                    guarded, or refused
entered, state      things whose contents a trace takes over: snapshots, comparison, rewinding
callbacks, pending  what a program calls back, and what of the call's changes that sees
raised, exceptions  exceptions that leave a trace, and what they carry
guards              what a variant depends on, as data, and the match
recipes, cook, writes   what it returns and what it leaves behind, as data
setorder            in which order a set is left
"""
