"""Random numbers for a GPU: drawn there where it matters, else in main memory and brought over.

A GPU's generator has a stream of its own, which a seed starts; its numbers are not those of the CPU
for the same seed (nor are PyTorch's).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._arrays.cuda_array import CudaArray, wrap
from .._arrays.devices import cuda_backend

# Samplers with a kernel: filled by `cuda_random`.
KERNELS: dict[Any, Callable[..., Any]] = {}


def sampler_on_gpu(sampler: Callable[..., Any]) -> Callable[..., Any]:
    """A sampler of `_random` whose result lies on the GPU of its generator."""

    def drawn(generator: Any, *values: Any, **options: Any) -> Any:
        kernel = KERNELS.get(sampler)
        if kernel is not None:
            found = kernel(generator, *values, **options)
            if found is not None:
                return found
        here = [v.host() if isinstance(v, CudaArray) else v for v in values]
        return wrap(cuda_backend().to_device(sampler(generator, *here, **options)))

    return drawn
