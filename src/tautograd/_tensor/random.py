"""Random tensors: PyTorch's numbers for the same seed, from the array-level `_random`."""

from __future__ import annotations

from typing import Any

from .. import _random
from .._arrays.dtypes import get_default_dtype
from .arguments import checked_size, finish, place, size_argument, wanted_dtype
from .filled import function, into
from .tensor import Tensor

Generator = _random.Generator
default_generator = _random.default_generator


@function
def manual_seed(seed: Any) -> Any:
    """Seed the default generator; the same seed gives PyTorch's numbers."""
    return default_generator.manual_seed(int(seed))


def _variadic(name: str, sampler: Any, doc: str) -> Any:
    def create(
        *size: Any,
        generator: Any = None,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        **options: Any,
    ) -> Tensor:
        options.pop("names", None)
        size = size_argument(name, size, options)
        if options:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(options))}'")
        kind = wanted_dtype(name, dtype) or get_default_dtype()
        place(device)
        values = sampler(generator or default_generator, checked_size(name, size), dtype=kind.numpy)
        if out is not None:
            into(out, values.shape, name)[...] = values
            return out
        return finish(values, requires_grad)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = doc
    return function(create)


rand = _variadic("rand", _random.uniform, "Uniform numbers in [0, 1).")
randn = _variadic("randn", _random.normal, "Normal numbers of mean 0 and variance 1.")
