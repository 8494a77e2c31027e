"""What native loops stand on: arrays with a length, memory that is given back at once, and interrupts.

Loops are Cython, compiled when the package is built; `native.h` is the only C++ that is written by hand.
"""
