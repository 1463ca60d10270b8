"""The environment in which engines are measured: their own defaults, or those of a CPU without AVX-512.

Variables that choose a library's kernels or threads are removed, whatever the shell has set: a user's machine
has none of them.
"""

from __future__ import annotations

import os
import tempfile

_CHOOSING = (
    *("ATEN_CPU_CAPABILITY", "NPY_DISABLE_CPU_FEATURES", "TAUT_CPU", "TAUT_KERNELS"),
    *("MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"),
    *("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENBLAS_THREAD_TIMEOUT"),
)
CPUS = {
    "this": {},
    "avx2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
        "OPENBLAS_CORETYPE": "Haswell",
        "TAUT_CPU": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
    },
}
"""CPUs to measure as, each with the variables that make libraries treat the machine as that one."""


def set_up(cpu: str) -> None:
    """Set up this process's environment, which all workers inherit, for a CPU."""
    for variable in _CHOOSING:
        os.environ.pop(variable, None)
    os.environ.update(CPUS[cpu])
    if cpu != "this":  # what torch.compile generated for this CPU is wrong for another
        written = os.path.join(tempfile.gettempdir(), f"torchinductor_{cpu}_{os.getuid()}")
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = written
    # Byte code is cached, as on any machine where a package has been imported before.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
