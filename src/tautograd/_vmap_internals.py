"""`torch._vmap_internals`: the first `vmap`, by the name that libraries have kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .func import vmap

__all__ = ["vmap"]


def _vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    allow_none_pass_through: bool = False,
) -> Callable[..., Any]:
    """`func.vmap`; results that are None are given back as they are if that is allowed."""
    if not allow_none_pass_through:
        return vmap(func, in_dims, out_dims)

    def mapped(*args: Any) -> Any:
        places: list[bool] = []

        def tensors(*inner: Any) -> Any:
            found = func(*inner)
            results = found if isinstance(found, tuple) else (found,)
            places[:] = [r is not None for r in results]
            return tuple(r for r in results if r is not None)

        some = iter(vmap(tensors, in_dims, out_dims)(*args))
        results = tuple(next(some) if present else None for present in places)
        return results if len(results) > 1 else results[0]

    return mapped
