"""Support for native loops: arrays with a length, memory that is freed at once, and interrupts.

Loops are Cython, compiled when the package is built; `native.h` is the only hand-written C++.
"""
