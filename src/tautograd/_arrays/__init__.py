"""The lowest layer: dtypes, devices and the arrays that hold a tensor's numbers."""

import os

# Threads of NumPy's BLAS wait for their next product by spinning, some twenty milliseconds by default, on
# cores that everything between two products could use. They are told to sleep almost at once (2**12 cycles),
# unless somebody has decided otherwise; it is read when NumPy is imported first.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "12")
