"""The lowest layer: dtypes, devices and the arrays that hold a tensor's numbers."""

import os
import sys

from .allocation import keep_freed_memory

# Threads of NumPy's BLAS wait for their next product by spinning, some twenty milliseconds by default, on
# cores that everything between two products could use. They are told to sleep almost at once (2**12 cycles),
# unless somebody has decided otherwise; it is read when NumPy is imported first.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "12")

# Graphs, modes and compiled programs go by what CPython's lock makes one step; machine code calls CPython's functions.
# Without it numbers would be wrong now and then, and nothing would say so.
if not getattr(sys, "_is_gil_enabled", lambda: True)():
    raise ImportError(
        "tautograd needs Python's global lock (GIL), and this interpreter runs without it; "
        "start it with `python -X gil=1`, or with PYTHON_GIL=1 in the environment"
    )

keep_freed_memory()
