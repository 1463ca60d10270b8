"""Reductions of masked tensors: by `torch.masked`, with a mask that is true if any element was valid."""

from __future__ import annotations

from typing import Any

import tautograd as torch

from .core import ANSWERS, dense, mask_of, plain, wrapped

REDUCE_NAMES = [
    "sum",
    "mean",
    "amin",
    "amax",
    "argmin",
    "argmax",
    "prod",
    "all",
    "norm",
    "var",
    "std",
]


def answer(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply a reduction to a masked tensor."""
    masked, *rest = args
    data, mask = dense(plain(masked)), dense(mask_of(masked))
    dim, keepdim, dtype = _arguments(*rest, **kwargs)
    if name == "all":
        found = (data.bool() | ~mask).all() if dim is None else _all(data, mask, dim, keepdim)
        return wrapped(found, _any(mask, dim, keepdim))
    dims = () if dim is None else (dim,)
    if name in ("argmin", "argmax"):
        found = getattr(torch.masked, name)(data, *dims, keepdim=keepdim, mask=mask).to(data.dtype)
    else:
        extra = {"unbiased": True} if name in ("var", "std") else {}
        reduce = getattr(torch.masked, name)
        found = reduce(data, *(dims or (None,)), **extra, keepdim=keepdim, dtype=dtype, mask=mask)
    return wrapped(found, _any(mask, dim, keepdim))


def _arguments(dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> tuple[Any, ...]:
    return (None if dim == () else dim), keepdim, dtype


def _any(mask: Any, dim: Any, keepdim: bool) -> Any:
    if dim is None and not keepdim:
        return mask.any()
    dims = range(mask.dim()) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    return mask.any(dim=tuple(dims), keepdim=keepdim)


def _all(data: Any, mask: Any, dim: Any, keepdim: bool) -> Any:
    return (data.bool() | ~mask).all(dim=dim, keepdim=keepdim)


ANSWERS.update(dict.fromkeys(REDUCE_NAMES, answer))
