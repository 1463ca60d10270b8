"""Making sparse tensors: from places and elements (`sparse_coo_tensor`), or from compressed rows or columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.checks import (
    Refusal,
    Wrong,
    require_all,
    require_nonnegative,
    require_range,
)
from ..._arrays.devices import as_device, is_meta, moved
from ..._arrays.devices import device as device_
from ..._arrays.dtypes import as_dtype, get_default_dtype
from ..._arrays.formats import sparse_csc, sparse_csr
from ..._arrays.meta.meta_array import NO_DATA
from ..._arrays.sparse.coo import CooArray, empty
from ..._autograd.apply import apply
from ..._tensor.creation import tensor
from ..._tensor.tensor import Tensor, make
from ..declare.guarding import by_signature
from . import kinds  # noqa: F401  (what a sparse tensor says of itself)
from .records import from_compressed_op, from_values_op


def _as_tensor(value: Any, dtype: Any = None) -> Tensor:
    return value if isinstance(value, Tensor) else tensor(value, dtype=dtype)


def _as_size(size: Any) -> tuple[int, ...]:
    """A size that is given as numbers, or as one."""
    if isinstance(size, (int, np.integer)):
        return (int(size),)
    return tuple(int(n) for n in size)


def _places(indices: Any) -> Any:
    found = indices._data if isinstance(indices, Tensor) else np.asarray(indices)
    if is_meta(found):
        found = found.astype(np.int64)
    if found.ndim != 2 and not (found.ndim == 1 and not found.size):
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(found.shape)}")
    if found.ndim == 1:
        found = found.reshape(0, 0)
    return found if is_meta(found) else np.asarray(found, np.int64)


def _where(device: Any, values: Any) -> device_:
    """Where a tensor is made: on the device that is named, else where its elements are."""
    if device is None and isinstance(values, Tensor):
        return values.device
    return as_device(device)


def _require_one_backend(device: Any, values: Tensor, **places: Any) -> None:
    """Refuse parts on several devices, unless the device that all of them go to is named."""
    if device is not None:
        return
    own = values.device.type
    for name, part in places.items():
        if isinstance(part, Tensor) and part.device.type != own:
            raise RuntimeError(
                f"backend of {name} ({_backend(part.device.type)}) must match backend of values "
                f"({_backend(own)})"
            )


def _backend(kind: str) -> str:
    return "Meta" if kind == "meta" else kind.upper()


@by_signature
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A tensor of the elements `values` at the places `indices`, and of zeros elsewhere.

    A place that is listed twice has the sum. What lies outside of `size` is an error here, also where
    PyTorch leaves it unchecked.
    """
    kind = None if dtype is None else as_dtype(dtype)
    if values is None:
        shape = _as_size(indices if size is None else size)
        out = make(moved(empty(shape, (kind or get_default_dtype()).numpy), as_device(device)))
        out.requires_grad = requires_grad
        return out
    where = _where(device, values)
    given = _as_tensor(values, dtype)
    _require_one_backend(device, given, indices=indices)
    if kind is not None and given.dtype is not kind:
        given = given.to(kind)
    places = _places(indices)
    if not given._data.ndim:  # one element, as a number
        given = given.reshape(1)
    shape = _checked(places, given, size)
    coalesced = bool(is_coalesced)
    if coalesced and not is_meta(places):
        keys = CooArray(places, np.empty(places.shape[1]), shape).keys()
        require_all(keys[1:] > keys[:-1], lambda rising: rising, _uncoalesced)
    given = given.to(where)
    options = {"indices": moved(places, where), "size": shape, "coalesced": coalesced}
    if requires_grad:
        given = given.detach()
    made: Tensor = apply(from_values_op, (given,), options)
    if requires_grad:
        made.requires_grad = True
    return made


def _checked(places: Any, values: Tensor, size: Any) -> tuple[int, ...]:
    """The shape of the tensor, if the parts fit together."""
    sparse_dim, nnz = places.shape
    held = values._data.shape
    if held[0] != nnz:
        raise RuntimeError(
            "indices and values must have same nnz, but got nnz from indices: "
            f"{nnz}, nnz from values: {held[0]}"
        )
    looked_at = () if is_meta(places) else tuple(places)
    for dim, row in enumerate(looked_at):
        require_nonnegative(row, _negative(dim))
    if size is None and is_meta(places):
        raise NotImplementedError(f"{NO_DATA} Say the size of a tensor that is made of them.")
    if size is None:
        extents = [int(row.max()) + 1 if nnz else 0 for row in places]
        return (*extents, *held[1:])
    shape = _as_size(size)
    if len(shape) != sparse_dim + len(held) - 1:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, "
            f"sparse_dim = {sparse_dim}, dense_dim = {len(held) - 1}"
        )
    for dim, row in enumerate(looked_at):
        require_range(row, 0, shape[dim], _beyond(dim, shape[dim]))
    if shape[sparse_dim:] != held[1:]:
        raise RuntimeError(
            f"values has incorrect size, expected {[nnz, *shape[sparse_dim:]]}, got {list(held)}"
        )
    return shape


def _negative(dim: int) -> Refusal:
    def error(wrong: Wrong) -> Exception:
        found = wrong.value if wrong.array is None else wrong.array.min()
        return RuntimeError(f"found negative index {found} for dim {dim}")

    return error


def _beyond(dim: int, extent: int) -> Refusal:
    def error(wrong: Wrong) -> Exception:
        found = wrong.value if wrong.array is None else wrong.array.max()
        return RuntimeError(
            f"size is inconsistent with indices: for dim {dim}, size is {extent} but found "
            f"index {found}"
        )

    return error


def _uncoalesced(_: Wrong) -> Exception:
    return RuntimeError(
        "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
    )


def _compressed(
    kind: str, starts: Any, others: Any, values: Any, size: Any, dtype: Any, device: Any,
    requires_grad: bool,
) -> Tensor:  # fmt: skip
    names = ("crow_indices", "col_indices") if kind == "csr" else ("ccol_indices", "row_indices")
    where = _where(device, values)
    held = _as_tensor(values, dtype)
    _require_one_backend(device, held, **dict(zip(names, (starts, others), strict=True)))
    parts = [_as_tensor(part)._data for part in (starts, others)]
    unseen = any(map(is_meta, parts))
    if dtype is not None:
        held = held.to(as_dtype(dtype))
    for name, part in zip(names, parts, strict=True):
        if part.ndim != 1:
            raise RuntimeError(f"{name} must have dimensionality 1 but got {part.ndim}")
    starts, others = (part.astype(np.int64) for part in parts)
    own = starts.shape[0] - 1
    if size is None and unseen:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors: say the size")
    if size is None:
        other = int(others.max()) + 1 if others.size else 0
        size = (own, other) if kind == "csr" else (other, own)
    shape = _as_size(size)
    if len(shape) != 2:
        raise RuntimeError(f"size must be that of a matrix, but got {list(shape)}")
    extents = shape if kind == "csr" else shape[::-1]
    if own != extents[0]:
        raise RuntimeError(
            f"`{names[0]}.shape[-1]` must be equal to the number of {_spoken(kind)} + 1 "
            f"({extents[0] + 1}), but got {own + 1}"
        )
    nnz = others.shape[0]
    if not unseen:
        require_all(starts[:1], lambda x: x == 0, _unsatisfied(f"{names[0]}[..., 0] == 0"))
        require_all(starts[-1:], lambda x: x == nnz, _unsatisfied(f"{names[0]}[..., -1] == nnz"))
        steps = f"0 <= {names[0]}[..., 1:] - {names[0]}[..., :-1]"
        require_nonnegative(np.diff(starts), _unsatisfied(steps))
    if nnz != held._data.shape[0]:
        raise RuntimeError(
            f"`{names[1]}` and `values` must have the same number of elements, but got "
            f"{nnz} and {held._data.shape[0]}"
        )
    count = "ncols" if kind == "csr" else "nrows"
    if not unseen:
        require_range(others, 0, extents[1], _unsatisfied(f"0 <= {names[1]} < {count}"))
    held, starts, others = held.to(where), moved(starts, where), moved(others, where)
    if requires_grad:
        held = held.detach()
    options = {"kind": kind, "starts": starts, "others": others, "size": shape}
    out: Tensor = apply(from_compressed_op, (held,), options)
    if requires_grad:
        out.requires_grad = True
    return out


def _unsatisfied(condition: str) -> Refusal:
    return lambda wrong: RuntimeError(f"`{condition}` is not satisfied: found {wrong}")


def _spoken(kind: str) -> str:
    return "rows" if kind == "csr" else "columns"


@by_signature
def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """A matrix compressed by rows: where each begins, its columns, and the elements there."""
    return _compressed("csr", crow_indices, col_indices, values, size, dtype, device, requires_grad)


@by_signature
def sparse_csc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """A matrix compressed by columns."""
    return _compressed("csc", ccol_indices, row_indices, values, size, dtype, device, requires_grad)


@by_signature
def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """A compressed matrix of the layout that is named."""
    kinds_of = {sparse_csr: "csr", sparse_csc: "csc"}
    if layout not in kinds_of:
        raise RuntimeError(
            f"sparse_compressed_tensor expected sparse compressed tensor layout but got {layout}: "
            "there are torch.sparse_csr and torch.sparse_csc"
        )
    kind = kinds_of[layout]
    parts = (compressed_indices, plain_indices, values)
    return _compressed(kind, *parts, size, dtype, device, requires_grad)
