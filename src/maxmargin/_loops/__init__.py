"""Compiled loops: arrays, numbers and NamedTuples in, numbers out, nothing allocated.

Every loop is decorated with `loop` of `_loops.compiling`, releases the GIL, and those that may run long read a
stop flag (a one-element uint8 array) so that Ctrl-C ends them. There is no `prange`: `backends.threads` runs loops
on ranges of rows in a pool of its own.
"""
