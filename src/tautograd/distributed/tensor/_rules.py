"""How the results of NumPy functions are placed on the ranks, given the placements of their arguments.

Elementwise functions keep a cut, reductions turn a cut that they sum over into partial sums, matrix products have
three cases, and shape functions move the cut. A function without a rule, or arguments that fit none, are
first gathered on every rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._array import DistributedArray, local_part
from ._redistribute import redistributed, whole
from ._shape_rules import SHAPE_RULES, item_locally
from .placement_types import PARTIAL, REPLICATE, Partial, Placement, Shard

_SUMS = (np.add, np.subtract)
_LINEAR = (np.negative, np.positive)
_REDUCTIONS = {
    np.add: "sum", np.multiply: "product", np.maximum: "max", np.minimum: "min",
    np.logical_or: "max", np.logical_and: "min",
}  # fmt: skip


def mesh_of(values: Any) -> Any:
    """The mesh of the distributed arrays among these, which must be the same."""
    found = None
    for value in values:
        inner = mesh_of(value) if isinstance(value, (list, tuple)) else None
        if isinstance(value, DistributedArray):
            inner = value.mesh
        if inner is not None and found is not None and inner != found:
            raise RuntimeError(f"DTensors of different meshes meet: {found} and {inner}")
        found = inner if inner is not None else found
    return found


# --- ufuncs -----------------------------------------------------------------------------------------------


def of_ufunc(ufunc: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc, or one of its methods."""
    if method == "__call__" and ufunc is np.matmul and len(args) == 2 and not kwargs:
        return matmul(*args)
    if method == "__call__" and ufunc.signature is None and not _is_array(kwargs.get("where")):
        return elementwise(ufunc, args, kwargs)
    if method == "reduce" and len(args) == 1 and ufunc in _REDUCTIONS:
        kwargs = {"axis": 0, **kwargs}
        if not kwargs.keys() - {"axis", "keepdims", "dtype"}:
            return reduction(ufunc.reduce, _REDUCTIONS[ufunc], args[0], **kwargs)
    call = ufunc if method == "__call__" else getattr(ufunc, method)
    if method == "at":
        return _on_whole_target(call, args, kwargs)
    return on_whole(call, args, kwargs)


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")


def elementwise(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An elementwise function: the result is cut where an argument is."""
    kwargs = dict(kwargs)
    out = kwargs.pop("out", None)
    mesh = mesh_of((*args, out if isinstance(out, tuple) else (out,)))
    # The shape is known here: NumPy's function would gather the whole from all ranks.
    shape = np.broadcast_shapes(*(a.shape if _is_array(a) else np.shape(a) for a in args))
    target = tuple(_placement_of_result(function, args, shape, i) for i in range(mesh.ndim))
    locals_ = [_operand(a, mesh, target, shape) for a in args]
    result = function(*locals_, **kwargs)
    if out is not None:
        return _written(out, result, mesh, target, shape)
    if isinstance(result, tuple):
        return tuple(DistributedArray(np.asarray(r), mesh, target, shape) for r in result)
    return DistributedArray(np.asarray(result), mesh, target, shape)


def _placement_of_result(
    function: Any, args: tuple[Any, ...], shape: tuple[int, ...], i: int
) -> Placement:
    arrays = [a for a in args if isinstance(a, DistributedArray)]
    for a in arrays:
        placement = a.placements[i]
        if isinstance(placement, Shard):
            dim = placement.dim + len(shape) - a.ndim
            if a.shape[placement.dim] == shape[dim]:
                return Shard(dim)
    partial = [isinstance(a, DistributedArray) and a.placements[i] == PARTIAL for a in args]
    if not any(partial):
        return REPLICATE
    keeps = (
        (function in _SUMS and all(partial))
        or function in _LINEAR
        or (function is np.multiply and sum(partial) == 1)
        or (function is np.divide and partial == [True, False])
    )
    return PARTIAL if keeps else REPLICATE


def _operand(a: Any, mesh: Any, target: tuple[Placement, ...], shape: tuple[int, ...]) -> Any:
    """The part of an argument from which this rank computes its part of the result."""
    if not _is_array(a):
        return a
    missing = len(shape) - len(a.shape)

    def wanted(i: int, placement: Placement) -> Placement:
        if isinstance(placement, Shard):
            dim = placement.dim - missing
            same = dim >= 0 and a.shape[dim] == shape[placement.dim]
            return Shard(dim) if same else REPLICATE
        own = a.placements[i] if isinstance(a, DistributedArray) else REPLICATE
        return own if isinstance(placement, Partial) and own == PARTIAL else REPLICATE

    placements = tuple(wanted(i, placement) for i, placement in enumerate(target))
    if isinstance(a, DistributedArray):
        return redistributed(a, placements).local
    return local_part(np.asarray(a), mesh, placements)


def _written(
    out: Any, result: Any, mesh: Any, placements: tuple[Placement, ...], shape: tuple[int, ...]
) -> Any:
    targets = out if isinstance(out, tuple) else (out,)
    results = result if isinstance(result, tuple) else (result,)
    for into, value in zip(targets, results, strict=True):
        if into is not None:
            copy_into(into, DistributedArray(np.asarray(value), mesh, placements, shape))
    return targets[0] if len(targets) == 1 else targets


def copy_into(into: Any, value: Any) -> None:
    """Overwrite an array's elements, wherever either array is placed."""
    if not isinstance(into, DistributedArray):
        into[...] = whole(value) if isinstance(value, DistributedArray) else value
        return
    if isinstance(value, DistributedArray) and value.shape == into.shape:
        np.copyto(into.local, redistributed(value, into.placements).local, casting="unsafe")
        return
    if isinstance(value, DistributedArray):
        value = whole(value)
    spread = np.broadcast_to(np.asarray(value), into.shape)
    kept = tuple(p if isinstance(p, Shard) else REPLICATE for p in into.placements)
    given = DistributedArray(local_part(spread, into.mesh, kept), into.mesh, kept, into.shape)
    np.copyto(into.local, redistributed(given, into.placements).local, casting="unsafe")


# --- reductions -------------------------------------------------------------------------------------------


def reduction(
    function: Any,
    kind: str,
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = False,
) -> Any:
    """A sum, product, maximum or minimum: a cut along a reduced dimension becomes partial."""
    ndim = x.ndim
    axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = {a % ndim for a in axes} if ndim else set()
    if any(isinstance(p, Partial) for p in x.placements) and not (
        kind == "sum" and all(p == PARTIAL for p in x.placements if isinstance(p, Partial))
    ):
        x = redistributed(
            x, tuple(REPLICATE if isinstance(p, Partial) else p for p in x.placements)
        )
    options: dict[str, Any] = {"axis": tuple(sorted(gone)), "keepdims": bool(keepdims)}
    if dtype is not None:
        options["dtype"] = dtype
    if kind in ("max", "min") and _leaves_a_rank_empty(x, gone):
        return on_whole(function, (x,), options)  # an extreme of no elements does not exist
    local = np.asarray(function(x.local, **options))
    placements: list[Placement] = []
    for p in x.placements:
        if isinstance(p, Shard) and p.dim in gone:
            placements.append(Partial(kind))
        elif isinstance(p, Shard):
            placements.append(Shard(p.dim if keepdims else p.dim - sum(d < p.dim for d in gone)))
        else:
            placements.append(p)
    kept = [1 if d in gone else n for d, n in enumerate(x.shape) if keepdims or d not in gone]
    if local.dtype == bool:  # MPI has no maximum of bools
        local, back = local.astype(np.uint8), np.dtype(bool)
    else:
        back = local.dtype
    found = DistributedArray(local, x.mesh, tuple(placements), tuple(kept))
    if kind != "sum":
        found = redistributed(
            found, tuple(REPLICATE if isinstance(p, Partial) else p for p in found.placements)
        )
    return found if found.dtype == back else found.astype(back)


def _leaves_a_rank_empty(x: DistributedArray, dims: set[int]) -> bool:
    """Whether some rank may have nothing along one of these dimensions; every rank gets the same answer."""
    for i, p in enumerate(x.placements):
        if isinstance(p, Shard) and p.dim in dims:
            parts, length = x.mesh.size(i), x.shape[p.dim]
            if (parts - 1) * -(-length // parts) >= length or length % parts:
                return True
    return False


def _mean(x: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Any:
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    count = 1
    for a in axes:
        count *= x.shape[a]
    total = reduction(np.sum, "sum", x, axis, dtype, keepdims)
    return np.divide(total, total.dtype.type(count) if count else np.nan)


def _reducing(function: Any, kind: str) -> Any:
    def rule(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        if kind not in ("sum", "product"):  # np.max(x, axis, out)
            dtype, out = None, out if out is not None else dtype
        keepdims = options.pop("keepdims", False)
        if options or out is not None or not isinstance(x, DistributedArray):
            return NotImplemented
        return reduction(function, kind, x, axis, dtype, keepdims)

    return rule


# --- products ---------------------------------------------------------------------------------------------


def matmul(a: Any, b: Any) -> Any:
    """A matrix product: rows or columns stay cut; a cut along the contracted dimension gives partial sums."""
    if a.ndim < 2 or b.ndim < 2:
        return on_whole(np.matmul, (a, b), {})
    mesh = mesh_of((a, b))
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    a_target: list[Placement] = []
    b_target: list[Placement] = []
    placements: list[Placement] = []
    for i in range(mesh.ndim):
        for_a, for_b, result = _product_case(a, b, _at(a, i), _at(b, i), len(shape))
        a_target.append(for_a)
        b_target.append(for_b)
        placements.append(result)
    local = np.matmul(_lying(a, mesh, tuple(a_target)), _lying(b, mesh, tuple(b_target)))
    return DistributedArray(local, mesh, tuple(placements), shape)


def _at(x: Any, i: int) -> Placement:
    return x.placements[i] if isinstance(x, DistributedArray) else REPLICATE


def _product_case(
    a: Any, b: Any, of_a: Placement, of_b: Placement, rank: int
) -> tuple[Placement, Placement, Placement]:
    """The placements that both factors need, and the product's."""
    rows, columns = a.ndim - 2, b.ndim - 1
    if of_a.is_shard(a.ndim - 1) or (of_b.is_shard(b.ndim - 2) and not of_a.is_shard()):
        return Shard(a.ndim - 1), Shard(b.ndim - 2), PARTIAL
    if of_a.is_shard(rows):
        return of_a, REPLICATE, Shard(rank - 2)
    if of_b.is_shard(columns):
        return REPLICATE, of_b, Shard(rank - 1)
    if isinstance(of_a, Shard) and of_a.dim < rows:
        return _batch_case(a, b, of_a, rank)
    if isinstance(of_b, Shard) and of_b.dim < b.ndim - 2:
        for_b, for_a, result = _batch_case(b, a, of_b, rank)
        return for_a, for_b, result
    if of_a == PARTIAL and of_b != PARTIAL:
        return PARTIAL, REPLICATE, PARTIAL
    if of_b == PARTIAL and of_a != PARTIAL:
        return REPLICATE, PARTIAL, PARTIAL
    return REPLICATE, REPLICATE, REPLICATE


def _batch_case(
    cut: Any, other: Any, placement: Shard, rank: int
) -> tuple[Placement, Placement, Placement]:
    """One factor is cut along a batch dimension: so is the other, if it has that dimension."""
    dim = placement.dim + rank - cut.ndim
    there = dim - (rank - other.ndim)
    if cut.shape[placement.dim] == 1:
        return REPLICATE, REPLICATE, REPLICATE
    has = there >= 0 and other.shape[there] != 1
    return placement, Shard(there) if has else REPLICATE, Shard(dim)


def _lying(x: Any, mesh: Any, placements: tuple[Placement, ...]) -> Any:
    if isinstance(x, DistributedArray):
        return redistributed(x, placements).local
    return local_part(x, mesh, placements)


# --- all other functions ----------------------------------------------------------------------------------


def of_function(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], mesh: Any = None
) -> Any:
    """Any other function of NumPy's; `mesh` is that of an array whose kind alone matters (`np.arange(3, like=x)`)."""
    rule = RULES.get(function)
    if rule is not None:
        found = rule(*args, **kwargs)
        if found is not NotImplemented:
            return found
    if function in _VIEWS:
        return _read_only(on_whole(function, args, kwargs, mesh))
    if function in _WRITERS:
        return _on_whole_target(function, args, kwargs)
    return on_whole(function, args, kwargs, mesh)


def on_whole(function: Any, args: Any, kwargs: dict[str, Any], mesh: Any = None) -> Any:
    """Apply a function to all elements, computed by every rank."""
    kwargs = dict(kwargs)
    out = kwargs.pop("out", None)
    mesh = mesh_of((*args, *kwargs.values(), out if isinstance(out, tuple) else (out,))) or mesh
    result = function(*_whole_in(args), **{k: _whole_in(v) for k, v in kwargs.items()})
    placements = (REPLICATE,) * mesh.ndim

    def spread(value: Any) -> Any:
        if isinstance(value, tuple):
            made = [spread(v) for v in value]
            return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
        if isinstance(value, list):
            return [spread(v) for v in value]
        if isinstance(value, (np.ndarray, np.generic)):
            array = np.asarray(value)
            return DistributedArray(array, mesh, placements, array.shape)
        return value

    if out is not None:
        targets = out if isinstance(out, tuple) else (out,)
        for into, value in zip(
            targets, result if isinstance(result, tuple) else (result,), strict=True
        ):
            copy_into(into, spread(value))
        return targets[0] if len(targets) == 1 else targets
    return spread(result)


def _whole_in(value: Any) -> Any:
    if isinstance(value, DistributedArray):
        return whole(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_whole_in(v) for v in value)
    return value


# Functions that write into their first argument.
_WRITERS = frozenset((np.put, np.putmask, np.place, np.put_along_axis, np.fill_diagonal))


# Functions whose result is a view of their argument. Of an array put together from all ranks it is a copy: a write to
# it has to be an error, since it would be lost.
_VIEWS = frozenset((np.reshape, np.ravel, np.squeeze, np.broadcast_to))


def _read_only(found: DistributedArray) -> DistributedArray:
    found.local.flags.writeable = False
    return found


def _on_whole_target(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    target, *rest = args
    if not isinstance(target, DistributedArray):
        function(target, *_whole_in(rest), **kwargs)
        return
    full = np.array(whole(target), copy=True)
    function(full, *_whole_in(rest), **{k: _whole_in(v) for k, v in kwargs.items()})
    copy_into(target, full)


def item(x: DistributedArray, index: Any) -> Any:
    """Elements by index; a read-only copy if the index crosses a cut."""
    found = item_locally(x, index)
    if found is not None:
        return found
    part = np.array(whole(x)[_whole_in(index)], copy=True)
    part.flags.writeable = False
    return DistributedArray(part, x.mesh, (REPLICATE,) * x.mesh.ndim, part.shape)


def set_item(x: DistributedArray, index: Any, value: Any) -> None:
    """Write elements by index."""
    if index is Ellipsis:
        copy_into(x, value)
        return
    view = item_locally(x, index)
    if view is not None:
        copy_into(view, value)
        return
    full = np.array(whole(x), copy=True)
    full[_whole_in(index)] = whole(value) if isinstance(value, DistributedArray) else value
    copy_into(x, full)


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> Any:
    if where is not True:
        return copy_into(dst, np.where(where, src, dst))
    return copy_into(dst, src)


def _without_sums(x: DistributedArray) -> tuple[Placement, ...]:
    """Its placements, with partial sums replaced by replication."""
    return tuple(REPLICATE if isinstance(p, Partial) else p for p in x.placements)


def _like(function: Any) -> Any:
    """A constant fill: as terms of a sum, it would be multiplied by the number of ranks."""

    def rule(x: Any, *args: Any, shape: Any = None, **options: Any) -> Any:
        if not isinstance(x, DistributedArray):
            return NotImplemented
        options.pop("order", None)
        if shape is not None and tuple(np.atleast_1d(shape)) != x.shape:
            plain = function(np.empty(0, x.dtype), *args, shape=shape, **options)
            return DistributedArray(plain, x.mesh, (REPLICATE,) * x.mesh.ndim, plain.shape)
        local = function(x.local, *args, **options)
        return DistributedArray(local, x.mesh, _without_sums(x), x.shape)

    return rule


def _each(function: Any) -> Any:
    """A function of each element that commutes with sums: a copy, a part of a complex number."""

    def rule(x: Any, *args: Any, **options: Any) -> Any:
        if not isinstance(x, DistributedArray):
            return NotImplemented
        return x.like(function(x.local, *args, **options))

    return rule


def _of_elements(function: Any) -> Any:
    def rule(*args: Any, **options: Any) -> Any:
        if any(isinstance(v, DistributedArray) and k != "out" for k, v in options.items()):
            return NotImplemented
        return elementwise(function, args, options)

    return rule


def _where(*args: Any) -> Any:
    return elementwise(np.where, args, {}) if len(args) == 3 else NotImplemented


RULES: dict[Any, Any] = {
    np.sum: _reducing(np.sum, "sum"),
    np.prod: _reducing(np.prod, "product"),
    np.max: _reducing(np.max, "max"),
    np.amax: _reducing(np.max, "max"),
    np.min: _reducing(np.min, "min"),
    np.amin: _reducing(np.min, "min"),
    np.any: _reducing(np.any, "max"),
    np.all: _reducing(np.all, "min"),
    np.mean: _mean,
    np.where: _where,
    np.clip: _of_elements(np.clip),
    np.copyto: _copyto,
    np.zeros_like: _like(np.zeros_like),
    np.ones_like: _like(np.ones_like),
    np.empty_like: _like(np.empty_like),
    np.full_like: _like(np.full_like),
    np.copy: _each(np.copy),
    np.astype: lambda x, dtype, **options: x.astype(dtype, **options),
    np.real: _each(np.real),
    np.imag: _each(np.imag),
    **SHAPE_RULES,
}
