"""`torch.__config__`: what was built in, for those who print it or look for a library in it."""

from __future__ import annotations

__all__ = ["parallel_info", "show"]


def show() -> str:
    """What computes here, in lines like PyTorch's."""
    import numpy as np

    from ._version import __version__

    build = np.show_config(mode="dicts")
    assert isinstance(build, dict)
    blas = build.get("Build Dependencies", {}).get("blas", {})
    name, version = blas.get("name", "unknown"), blas.get("version", "")
    return (
        "PyTorch built with:\n"
        f"  - tautograd {__version__}\n"
        f"  - NumPy {np.__version__}\n"
        f"  - BLAS: {name} {version}\n"
        "  - Build settings: USE_CUDA=OFF, USE_MKL=OFF, USE_MKLDNN=OFF, USE_OPENMP=OFF\n"
    )


def parallel_info() -> str:
    """How many threads there are."""
    from ._tensor.settings import get_num_interop_threads, get_num_threads

    return (
        f"ATen/Parallel:\n\tat::get_num_threads() : {get_num_threads()}\n"
        f"\tat::get_num_interop_threads() : {get_num_interop_threads()}\n"
    )
