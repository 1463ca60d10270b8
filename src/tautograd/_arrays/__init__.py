"""The lowest layer: dtypes, devices and the arrays that hold a tensor's numbers."""

import os
import sys

from .allocation import keep_freed_memory

# NumPy's BLAS threads spin while they wait for their next product, for some twenty milliseconds by default, on
# cores that the code between two products could use. This puts them to sleep almost at once (2**12 cycles),
# unless the variable is already set; it is read when NumPy is first imported.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "12")

# Graphs, modes and compiled programs rely on operations that are atomic under the GIL; machine code calls the C API.
# Without the GIL, numbers would occasionally be wrong, with no error.
if not getattr(sys, "_is_gil_enabled", lambda: True)():
    raise ImportError(
        "tautograd needs Python's global lock (GIL), and this interpreter runs without it; "
        "start it with `python -X gil=1`, or with PYTHON_GIL=1 in the environment"
    )

keep_freed_memory()
