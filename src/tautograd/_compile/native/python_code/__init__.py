"""Python as machine code: what recorders and the walk backward say, run without the interpreter's loop.

The text is the one that Python runs (`_autograd/recorder_text.py` prints it, the walk is written by hand): there is no
second way to do anything, only a second way to run it. `translate` reads a function's syntax tree and writes what each
statement comes to in calls of CPython's C functions; objects are made, read and changed by those alone, but for
attributes that have a fixed place in their object (`layout` finds out where, and checks that it is so).

Whatever the translation does not know, it does not do: a function with such a statement stays Python's.
"""
