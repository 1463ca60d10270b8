"""What a bug report should say about the machine: `python -m tautograd.utils.collect_env`."""

from __future__ import annotations

import os
import platform
import sys
from collections import namedtuple
from typing import Any

from .._ops.declare.python_surface import speak

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main", "pretty_str"]

SystemEnv = namedtuple(
    "SystemEnv",
    (
        "torch_version",
        "is_debug_build",
        "cuda_compiled_version",
        "os",
        "libc_version",
        "python_version",
        "python_platform",
        "is_cuda_available",
        "nvidia_gpu_models",
        "cpu_info",
        "numpy_version",
        "scipy_version",
        "pip_packages",
    ),
)
_PACKAGES = ("cupy", "llvmlite", "ml-dtypes", "numpy", "safetensors", "scipy", "tautograd", "torch")


def _installed() -> list[str]:
    from importlib.metadata import distributions

    found = {(d.metadata["Name"] or "").lower(): d.version for d in distributions()}
    return [
        f"{n}=={v}" for n, v in sorted(found.items()) if n.replace("_", "-").startswith(_PACKAGES)
    ]


def get_env_info() -> Any:
    """What is known about this machine and its installed packages."""
    import numpy as np
    import scipy

    import tautograd as torch

    gpu = torch.cuda.is_available()
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if gpu else []
    return SystemEnv(
        torch_version=f"2.13.0+tautograd (tautograd {torch.__version__})",
        is_debug_build=str(hasattr(sys, "gettotalrefcount")),
        cuda_compiled_version=str(torch.version.cuda),
        os=f"{platform.system()} {platform.release()} ({platform.machine()})",
        libc_version="-".join(platform.libc_ver()) or "N/A",
        python_version=f"{sys.version} ({sys.maxsize.bit_length() + 1}-bit runtime)",
        python_platform=platform.platform(),
        is_cuda_available=str(gpu),
        nvidia_gpu_models="\n".join(names) or "No CUDA",
        cpu_info=(
            f"{os.cpu_count()} cores, {torch.backends.cpu.get_cpu_capability()}, "
            f"{platform.processor() or platform.machine()}"
        ),
        numpy_version=np.__version__,
        scipy_version=scipy.__version__,
        pip_packages=_installed(),
    )


def pretty_str(envinfo: Any) -> str:
    """The same as text."""
    packages = "\n".join(f"[pip3] {line}" for line in envinfo.pip_packages)
    return (
        f"PyTorch version: {envinfo.torch_version}\n"
        f"Is debug build: {envinfo.is_debug_build}\n"
        f"CUDA used to build PyTorch: {envinfo.cuda_compiled_version}\n\n"
        f"OS: {envinfo.os}\n"
        f"Libc version: {envinfo.libc_version}\n\n"
        f"Python version: {envinfo.python_version}\n"
        f"Python platform: {envinfo.python_platform}\n"
        f"Is CUDA available: {envinfo.is_cuda_available}\n"
        f"GPU models and configuration: {envinfo.nvidia_gpu_models}\n\n"
        f"CPU:\n{envinfo.cpu_info}\n\n"
        f"Versions of relevant libraries:\n{packages}"
    )


def get_pretty_env_info() -> str:
    """What is known about this machine, as text."""
    return pretty_str(get_env_info())


def main() -> None:
    """Print it."""
    print("Collecting environment information...")  # noqa: T201
    print(get_pretty_env_info())  # noqa: T201


if __name__ == "__main__":
    main()


speak(globals(), __all__)
