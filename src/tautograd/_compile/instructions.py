"""From an array function that was called to instructions: what is known by name, and a plain call else.

What becomes a typed instruction can be fused, planned and compiled; all other functions stay calls from
Python, with the same arguments, and so mean what they meant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .ir import (
    Call,
    Gather,
    GatherAlong,
    Instruction,
    Map,
    Number,
    Operand,
    Product,
    PutAlong,
    Reduce,
    ScatterAdd,
    View,
    overlap,
)
from .recorded import _astype, _getitem, _setitem


@dataclass(slots=True)
class Noted:
    """A call as it was made, on plain arrays; `outputs` are new memory, `targets` was written into."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: list[View]
    targets: list[View]
    ufunc: Any
    method: str

    @property
    def result(self) -> View:
        """The one place where the result is."""
        return self.outputs[0] if self.outputs else self.targets[0]


Rule = Callable[[Any, Noted], "list[Instruction] | None"]


def instructions_for(tape: Any, call: Noted) -> list[Instruction]:
    """The instructions that do what the call did."""
    rule: Rule | None
    if call.ufunc is not None:
        rule = _METHODS.get(call.method)
    else:
        rule = _RULES.get(call.function)
    found = rule(tape, call) if rule is not None else None
    return [_as_call(tape, call)] if found is None else found


def _as_call(tape: Any, call: Noted) -> Call:
    name = getattr(call.function, "__name__", str(call.function)).lstrip("_")
    if call.ufunc is not None and call.method != "__call__":
        name = f"{call.ufunc.__name__}.{call.method}"
    takes_out = call.method in ("__call__", "reduce", "accumulate") and len(call.outputs) == 1
    return Call(
        call.function,
        tape.views(call.args),
        tape.views(call.kwargs),
        tuple(call.outputs),
        tuple(call.targets),
        name=name,
        takes_out=takes_out and "out" not in call.kwargs,
    )


def copy(source: Operand, target: View) -> Map:
    """Elements from one place to another, converted if the dtypes differ."""
    of = source.value.dtype if isinstance(source, Number) else source.dtype
    if isinstance(source, View):
        source = source.broadcast(target.shape)
    return Map("cast", (source,), target, (of, target.dtype))


UFUNCS: dict[str, Any] = {}  # by name, as instructions call them

# --- elementwise ------------------------------------------------------------------------------------


def _elementwise(tape: Any, call: Noted) -> list[Instruction] | None:
    ufunc = call.ufunc
    if ufunc is np.matmul:
        return _matmul(tape, call)
    if ufunc is np.vecdot:
        return _vecdot(tape, call)
    if (
        ufunc.nout != 1
        or ufunc.signature is not None
        or call.kwargs.keys() - {"out", "dtype", "casting"}
    ):
        return None  # fmt: skip
    loop = loop_of(ufunc, call.args[: ufunc.nin], call.kwargs.get("dtype"))
    if loop is None:
        return None
    if UFUNCS.setdefault(ufunc.__name__, ufunc) is not ufunc:
        return None  # two of one name
    return _map(tape, ufunc.__name__, call.args[: ufunc.nin], call.result, loop)


def _map(tape: Any, name: str, args: Any, target: View, loop: Any) -> list[Instruction] | None:
    inputs = []
    for arg, dtype in zip(args, loop, strict=False):
        operand = operand_of(tape, arg, dtype, target.shape)
        if isinstance(operand, View) and operand != target and overlap(operand, target):
            return None  # NumPy works on a copy of what it would overwrite
        inputs.append(operand)
    return [Map(name, tuple(inputs), target, tuple(loop))]


def operand_of(tape: Any, value: Any, dtype: Any, shape: tuple[int, ...]) -> Operand:
    """An operand broadcast to a shape; a number as one of the dtype it takes part in."""
    if isinstance(value, np.ndarray):
        return tape.view(value).broadcast(shape)  # type: ignore[no-any-return]
    return Number(np.asarray(value).astype(dtype)[()])


def loop_of(ufunc: Any, args: Any, dtype: Any = None) -> tuple[Any, ...] | None:
    """The dtypes in which a ufunc computes: its inputs', then its result's."""
    kinds: list[Any] = []
    for arg in args:
        if isinstance(arg, (np.ndarray, np.generic)):
            kinds.append(arg.dtype)
        elif type(arg) in (int, float, complex):
            kinds.append(type(arg))
        elif isinstance(arg, (bool, np.bool_)):
            kinds.append(np.dtype(np.bool_))
        else:
            return None
    try:
        options = {} if dtype is None else {"signature": (*(None for _ in kinds), np.dtype(dtype))}
        loop = ufunc.resolve_dtypes((*kinds, None), **options)
    except (TypeError, ValueError):
        return None
    return tuple(loop)


# --- reductions -------------------------------------------------------------------------------------

_REDUCIBLE = {"add", "multiply", "maximum", "minimum", "logical_and", "logical_or"}


def _reduction(tape: Any, call: Noted) -> list[Instruction] | None:
    options = dict(zip(("axis", "dtype", "out", "keepdims", "initial", "where"), call.args[1:], strict=False))  # fmt: skip
    options.update(call.kwargs)
    return _reduce(tape, call, call.ufunc.__name__, call.args[0], options, 0)


def _reduce_function(name: str) -> Rule:
    def rule(tape: Any, call: Noted) -> list[Instruction] | None:
        places = ("axis", "out") if name in ("maximum", "minimum", "logical_and", "logical_or") else ("axis", "dtype", "out")  # fmt: skip
        options = dict(zip(places, call.args[1:], strict=False))
        options.update(call.kwargs)
        array = call.args[0] if call.args else options.pop("a")
        return _reduce(tape, call, name, array, options, None)

    return rule


def _reduce(
    tape: Any, call: Noted, name: str, array: Any, options: dict[str, Any], default: Any
) -> list[Instruction] | None:
    for extra in ("initial", "where"):
        value = options.get(extra)
        if value is not None and value is not True and value is not np._NoValue:
            return None
    if name not in _REDUCIBLE or not isinstance(array, np.ndarray) or not array.size:
        return None
    dtype = call.result.dtype
    if dtype.kind not in "fiub" or dtype.itemsize < (4 if dtype.kind == "f" else 1):
        return None
    axis = options.get("axis", default)
    axes = (
        tuple(range(array.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    )
    axes = tuple(sorted(a % array.ndim for a in axes)) if array.ndim else ()
    source = tape.view(array)
    target = kept_dims(call.result, array.ndim, axes)
    if not axes:
        return [copy(source, target)]
    if overlap(source, target):
        return None
    within = options.get("dtype") or dtype
    return [Reduce(name, source, axes, target, np.dtype(within))]


def kept_dims(view: View, ndim: int, axes: tuple[int, ...]) -> View:
    """A result with size 1 where its input was reduced."""
    if view.ndim == ndim:
        return view
    shape, strides = iter(view.shape), iter(view.strides)
    pairs = [(1, 0) if i in axes else (next(shape), next(strides)) for i in range(ndim)]
    return View(view.buffer, view.offset, tuple(n for n, _ in pairs), tuple(s for _, s in pairs), view.dtype)  # fmt: skip


def _mean(tape: Any, call: Noted) -> list[Instruction] | None:
    options = dict(zip(("axis", "dtype", "out", "keepdims"), call.args[1:], strict=False))
    options.update(call.kwargs)
    array = call.args[0]
    if not isinstance(array, np.ndarray) or array.dtype.char not in "fd" or options.get("dtype") not in (None, array.dtype):  # fmt: skip
        return None
    total = _reduce(tape, call, "add", array, options, None)
    if total is None:
        return None
    target = call.result
    count = array.size // max(target.size, 1)
    divide = Map("divide", (target, Number(target.dtype.type(count))), target, (target.dtype,) * 3)
    return [*total, divide]


# --- products ---------------------------------------------------------------------------------------


def _matmul(tape: Any, call: Noted) -> list[Instruction] | None:
    if len(call.args) < 2 or call.kwargs.keys() - {"out"}:
        return None
    a, b = call.args[:2]
    return product(tape, a, b, call.result)


def product(tape: Any, a: Any, b: Any, target: View) -> list[Instruction] | None:
    """Stacks of matrices times stacks of matrices, as np.matmul has them."""
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return None
    if a.dtype != b.dtype or a.dtype != target.dtype or a.dtype.char not in "fd" or not a.ndim or not b.ndim:  # fmt: skip
        return None
    if not a.size or not b.size:
        return None
    left, right, out = tape.view(a), tape.view(b), target
    if a.ndim == 1:
        left = _with_dims(left, (1, *left.shape), (0, *left.strides))
        out = _with_dims(out, (*out.shape[:-1], 1, *out.shape[-1:]), (*out.strides[:-1], 0, *out.strides[-1:])) if b.ndim > 1 else out  # fmt: skip
    if b.ndim == 1:
        right = _with_dims(right, (*right.shape, 1), (*right.strides, 0))
        out = _with_dims(out, (*out.shape, 1), (*out.strides, 0))
        if a.ndim == 1:
            out = _with_dims(out, (1, 1), (0, 0))
    if overlap(left, out) or overlap(right, out):
        return None
    stack = out.shape[:-2]
    left = left.broadcast((*stack, *left.shape[-2:]))
    right = right.broadcast((*stack, *right.shape[-2:]))
    return [Product(left, right, out)]


def _with_dims(view: View, shape: tuple[int, ...], strides: tuple[int, ...]) -> View:
    return View(view.buffer, view.offset, shape, strides, view.dtype)


def _dot(tape: Any, call: Noted) -> list[Instruction] | None:
    a, b = call.args[:2]
    if np.ndim(a) > 2 or np.ndim(b) > 2 or np.ndim(a) == 0 or np.ndim(b) == 0:
        return None
    return product(tape, a, b, call.result)


# --- moving data --------------------------------------------------------------------------------------


def _vecdot(tape: Any, call: Noted) -> list[Instruction] | None:
    """Sums of products along the last axis: the products, then their sums."""
    a, b = call.args[:2]
    if call.kwargs or not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return None
    dtype = call.result.dtype
    if a.dtype != dtype or b.dtype != dtype or dtype.char not in "fd" or not a.size or not b.size:
        return None
    products = tape.scratch(np.broadcast_shapes(a.shape, b.shape), dtype)
    first = _map(tape, "multiply", (a, b), products, (dtype,) * 3)
    axis = products.ndim - 1
    target = kept_dims(call.result, products.ndim, (axis,))
    return [*(first or ()), Reduce("add", products, (axis,), target, dtype)]


def _triangle(tape: Any, call: Noted) -> list[Instruction] | None:
    """np.triu and np.tril: zeros by a mask that never changes."""
    array = call.args[0]
    k = call.args[1] if len(call.args) > 1 else call.kwargs.get("k", 0)
    if not isinstance(array, np.ndarray) or array.ndim < 2:
        return None
    mask = call.function(np.ones(array.shape[-2:], np.bool_), k)
    target = call.result
    zero = target.dtype.type(0)
    loop = (np.dtype(np.bool_), target.dtype, target.dtype, target.dtype)
    return _map(tape, "where", (tape.constant(mask), array, zero), target, loop)


def _copied(tape: Any, call: Noted) -> list[Instruction] | None:
    source = call.args[0]
    if not isinstance(source, np.ndarray) or not call.outputs:
        return None
    return [copy(tape.view(source), call.result)]


def _reshaped(tape: Any, call: Noted) -> list[Instruction] | None:
    """A reshape that needed a copy: the elements in C order, one after the other."""
    source = call.args[0] if call.args else call.kwargs["a"]
    order = call.kwargs.get("order", "C")
    target = call.result
    if order != "C" or not target.is_contiguous():
        return None
    strides, step = [], target.dtype.itemsize
    for n in reversed(source.shape):
        strides.append(step)
        step *= n
    rows = View(target.buffer, target.offset, source.shape, tuple(reversed(strides)), target.dtype)
    return [copy(tape.view(source), rows)]


def _copyto(tape: Any, call: Noted) -> list[Instruction] | None:
    options = dict(zip(("dst", "src", "casting", "where"), call.args, strict=False))
    options.update(call.kwargs)
    where = options.get("where", True)
    target, source = call.targets[0], options["src"]
    if not isinstance(source, (np.ndarray, np.generic, int, float, bool)):
        return None
    if where is not True:
        if not isinstance(where, np.ndarray):
            return None
        loop = (np.dtype(np.bool_), target.dtype, target.dtype, target.dtype)
        return _map(tape, "where", (where, source, options["dst"]), target, loop)
    operand = operand_of(tape, source, target.dtype, target.shape)
    if isinstance(operand, View) and overlap(operand, target):
        return None if operand != target else []
    return [copy(operand, target)]


def _assigned(tape: Any, call: Noted) -> list[Instruction] | None:
    array, index, value = call.args
    parts = index if isinstance(index, tuple) else (index,)
    if any(not (isinstance(i, (int, slice, np.integer)) or i is None or i is Ellipsis) or isinstance(i, bool) for i in parts):  # fmt: skip
        return None
    if not isinstance(value, (np.ndarray, np.generic, int, float, bool)):
        return None
    part = array[(*parts, ...)] if Ellipsis not in parts else array[parts]
    target = tape.view(part)
    operand: Operand
    if isinstance(value, np.ndarray):
        while value.ndim > part.ndim:  # NumPy drops leading dimensions of size one
            value = value[0]
    operand = operand_of(tape, value, target.dtype, target.shape)
    if operand == target:  # x[i] += y ends so: what was added to in place is assigned to itself
        return []
    if isinstance(operand, View) and overlap(operand, target):
        return None
    return [copy(operand, target)]


def _filled(tape: Any, call: Noted) -> list[Instruction] | None:
    value = {np.zeros_like: 0, np.ones_like: 1}.get(call.function)
    if value is None:
        value = call.args[1] if len(call.args) > 1 else call.kwargs["fill_value"]
    target = call.result
    if isinstance(value, np.ndarray):
        return [copy(tape.view(value), target)]
    return [copy(Number(np.asarray(value).astype(target.dtype)[()]), target)]


def _where(tape: Any, call: Noted) -> list[Instruction] | None:
    if len(call.args) != 3:
        return None
    target = call.result
    loop = (np.dtype(np.bool_), target.dtype, target.dtype, target.dtype)
    if not all(isinstance(x, (np.ndarray, np.generic, int, float, bool)) for x in call.args):
        return None
    if isinstance(call.args[0], np.ndarray) and call.args[0].dtype != np.bool_:
        return None
    return _map(tape, "where", call.args, target, loop)


def _joined(tape: Any, call: Noted) -> list[Instruction] | None:
    """np.concatenate: each part is copied to its place."""
    parts = call.args[0]
    axis = call.args[1] if len(call.args) > 1 else call.kwargs.get("axis", 0)
    if axis is None or not all(isinstance(p, np.ndarray) for p in parts):
        return None
    target = call.result
    axis %= target.ndim
    found: list[Instruction] = []
    offset = target.offset
    for part in parts:
        room = View(target.buffer, offset, part.shape, target.strides, target.dtype)
        if part.size:
            found.append(copy(tape.view(part), room))
        offset += part.shape[axis] * target.strides[axis]
    return found


def _stacked(tape: Any, call: Noted) -> list[Instruction] | None:
    parts = call.args[0]
    axis = call.args[1] if len(call.args) > 1 else call.kwargs.get("axis", 0)
    if not all(isinstance(p, np.ndarray) for p in parts):
        return None
    target = call.result
    axis %= target.ndim
    found: list[Instruction] = []
    rest = (*target.shape[:axis], *target.shape[axis + 1 :])
    strides = (*target.strides[:axis], *target.strides[axis + 1 :])
    for i, part in enumerate(parts):
        room = View(
            target.buffer, target.offset + i * target.strides[axis], rest, strides, target.dtype
        )
        found.append(copy(tape.view(part), room))
    return found


# --- by index -------------------------------------------------------------------------------------------


def _is_index(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype in (np.int64, np.int32)


def _taken(tape: Any, call: Noted) -> list[Instruction] | None:
    options = dict(zip(("a", "indices", "axis", "out", "mode"), call.args, strict=False))
    options.update(call.kwargs)
    array, index, axis = options["a"], options["indices"], options.get("axis")
    if not isinstance(array, np.ndarray) or not _is_index(index) or options.get("mode", "raise") != "raise":  # fmt: skip
        return None
    if axis is None:
        if array.ndim != 1:
            return None
        axis = 0
    return [Gather(tape.view(array), tape.view(index), axis % array.ndim, call.result)]


def _indexed(tape: Any, call: Noted) -> list[Instruction] | None:
    array, index = call.args
    parts = index if isinstance(index, tuple) else (index,)
    arrays = [i for i, part in enumerate(parts) if isinstance(part, np.ndarray)]
    if len(arrays) != 1 or not _is_index(parts[arrays[0]]):
        return None
    if any(i != arrays[0] and part != slice(None) for i, part in enumerate(parts)):
        return None
    return [Gather(tape.view(array), tape.view(parts[arrays[0]]), arrays[0], call.result)]


def _taken_along(tape: Any, call: Noted) -> list[Instruction] | None:
    options = dict(zip(("arr", "indices", "axis"), call.args, strict=False))
    options.update(call.kwargs)
    array, index, axis = options["arr"], options["indices"], options.get("axis", -1)
    if axis is None or not _is_index(index) or not isinstance(array, np.ndarray):
        return None
    axis %= array.ndim
    shape = call.result.shape
    source = tape.view(array).broadcast((*shape[:axis], array.shape[axis], *shape[axis + 1 :]))
    return [GatherAlong(source, tape.view(index).broadcast(shape), axis, call.result)]


def _put_along(tape: Any, call: Noted) -> list[Instruction] | None:
    options = dict(zip(("arr", "indices", "values", "axis"), call.args, strict=False))
    options.update(call.kwargs)
    array, index, axis = options["arr"], options["indices"], options.get("axis")
    if axis is None or not _is_index(index):
        return None
    axis %= array.ndim
    shape = tuple(index.shape[d] if d == axis else array.shape[d] for d in range(array.ndim))
    if not isinstance(options["values"], (np.ndarray, np.generic, int, float, bool)):
        return None
    values = operand_of(tape, options["values"], array.dtype, shape)
    return [PutAlong(call.targets[0], tape.view(index).broadcast(shape), values, axis)]


def _at(tape: Any, call: Noted) -> list[Instruction] | None:
    """np.add.at(target, index, values)"""
    if call.ufunc is not np.add or len(call.args) != 3:
        return None
    array, index, values = call.args
    if isinstance(index, tuple):
        index = index[0] if len(index) == 1 else None
    if not _is_index(index) or index.ndim != 1 or not isinstance(values, np.ndarray):
        return None
    if values.dtype != array.dtype or array.dtype.char not in "fd":
        return None
    shape = (index.size, *array.shape[1:])
    return [ScatterAdd(call.targets[0], tape.view(index), tape.view(values).broadcast(shape))]


_METHODS: dict[str, Rule] = {"__call__": _elementwise, "reduce": _reduction, "at": _at}
_RULES: dict[Any, Rule] = {
    np.sum: _reduce_function("add"),
    np.prod: _reduce_function("multiply"),
    np.max: _reduce_function("maximum"),
    np.min: _reduce_function("minimum"),
    np.amax: _reduce_function("maximum"),
    np.amin: _reduce_function("minimum"),
    np.any: _reduce_function("logical_or"),
    np.all: _reduce_function("logical_and"),
    np.mean: _mean,
    np.dot: _dot,
    np.copy: _copied,
    np.astype: _copied,
    np.ascontiguousarray: _copied,
    _astype: _copied,
    np.reshape: _reshaped,
    np.ravel: _reshaped,
    np.copyto: _copyto,
    _setitem: _assigned,
    np.zeros_like: _filled,
    np.ones_like: _filled,
    np.full_like: _filled,
    np.where: _where,
    np.triu: _triangle,
    np.tril: _triangle,
    np.concatenate: _joined,
    np.stack: _stacked,
    np.take: _taken,
    _getitem: _indexed,
    np.take_along_axis: _taken_along,
    np.put_along_axis: _put_along,
}
