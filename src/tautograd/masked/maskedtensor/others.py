"""The remaining functions of masked tensors: copies, casts, layouts, `where`, `softmax`."""

from __future__ import annotations

from typing import Any

import tautograd as torch

from .core import ANSWERS, is_masked_tensor, mask_of, plain, wrapped


def _same_mask(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return wrapped(function(*map(plain, args), **kwargs), mask_of(args[0]))


def _copy_into(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not all(map(is_masked_tensor, args[:2])):
        raise TypeError("copy_ takes masked tensors only")
    function(args[0], plain(args[1]), *args[2:], **kwargs)
    args[0]._masked_mask.copy_(mask_of(args[1]))
    return args[0]


def _to(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    moved = function(*map(plain, args), **kwargs)
    return wrapped(moved, mask_of(args[0]).to(moved.device))


def _contiguous(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    data = plain(args[0])
    if data.layout != torch.strided:
        raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
    if name == "is_contiguous":
        return data.is_contiguous(*args[1:], **kwargs)
    return wrapped(function(data, *args[1:], **kwargs), mask_of(args[0]).contiguous())


def _to_sparse(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    data, mask = plain(args[0]), mask_of(args[0])
    compressed = name == "to_sparse_csr"
    sparse = mask.to_sparse_csr() if compressed else mask.to_sparse_coo().coalesce()
    return wrapped(data.sparse_mask(sparse), sparse)


def _to_dense(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    data, mask = plain(args[0]), mask_of(args[0])
    if data.layout == torch.strided:
        return args[0]
    return wrapped(function(data, *args[1:], **kwargs), mask.to_dense())


def _where(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    condition, first, second = args
    masks = [
        mask_of(x) if is_masked_tensor(x) else torch.ones_like(x, dtype=torch.bool)
        for x in (first, second)
    ]
    return wrapped(function(condition, plain(first), plain(second)), function(condition, *masks))


def _softmax(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    def called(input: Any, dim: Any, dtype: Any = None, _stacklevel: int = 3) -> Any:
        data, mask = plain(input), mask_of(input)
        return wrapped(torch.masked.softmax(data, dim, dtype=dtype, mask=mask), mask)

    return called(*args, **kwargs)


def _gradients(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`autograd.grad`: gradients get the mask of their input."""
    inputs = args[1] if len(args) > 1 else kwargs["inputs"]
    asked = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    found = function(*args, **kwargs)
    return tuple(
        wrapped(g, mask_of(x)) if g is not None and is_masked_tensor(x) else g
        for g, x in zip(found, asked, strict=True)
    )


def _refused(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    got = f", got {type(args[0]).__name__}" if name == "tolist" else "."
    raise RuntimeError(f".{name}() is not supported for tensor subclasses{got}")


_CASTS = (
    *("bool", "byte", "char", "short", "int", "long", "half", "float", "double", "type", "cpu"),
    *("to", "cuda", "type_as"),
)
ANSWERS.update(dict.fromkeys(("clone", "detach", "detach_", "ones_like", "alias"), _same_mask))
ANSWERS.update(dict.fromkeys(_CASTS, _to))
ANSWERS.update(dict.fromkeys(("contiguous", "is_contiguous"), _contiguous))
ANSWERS.update(dict.fromkeys(("to_sparse", "to_sparse_coo", "to_sparse_csr"), _to_sparse))
ANSWERS.update(dict.fromkeys(("numpy", "tolist"), _refused))
ANSWERS.update(
    {
        "copy_": _copy_into,
        "grad": _gradients,
        "softmax": _softmax,
        "to_dense": _to_dense,
        "where": _where,
    }
)
