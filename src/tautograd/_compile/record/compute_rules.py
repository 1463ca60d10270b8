"""Rules for functions that compute: elementwise functions, reductions, matrix products."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._arrays.cuda.products import affine
from ..._ops.elementwise.special_functions import erf_of
from ..program.ir import Instruction, Map, Number, Product, Reduce, View, overlap
from .array_calls import UFUNCS, Noted, Rule, copy, is_operand, mapped, operand_of
from .arrays import ARRAYS
from .symbols import Symbol


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
        return None
    loop = loop_of(ufunc, call.args[: ufunc.nin], call.kwargs.get("dtype"))
    if loop is None:
        return None
    if UFUNCS.setdefault(ufunc.__name__, ufunc) is not ufunc:
        return None  # two of one name
    return mapped(tape, ufunc.__name__, call.args[: ufunc.nin], call.result, loop)


def loop_of(ufunc: Any, args: Any, dtype: Any = None) -> tuple[Any, ...] | None:
    """The dtypes in which a ufunc computes: its inputs', then its result's."""
    kinds: list[Any] = []
    for arg in args:
        arg = arg.value if type(arg) is Symbol else arg
        if isinstance(arg, (*ARRAYS, np.generic)):
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


def _erf(tape: Any, call: Noted) -> list[Instruction] | None:
    dtype = call.args[0].dtype
    return (
        mapped(tape, "erf", call.args, call.result, (dtype, dtype)) if dtype.char in "fd" else None
    )


def _clip(tape: Any, call: Noted) -> list[Instruction] | None:
    """The larger of a number and the lower bound, then the smaller of that and the upper one."""
    if len(call.args) != 3 or call.kwargs:
        return None
    array, low, high = call.args
    target, dtype = call.result, call.result.dtype
    arrays = [x for x in call.args if isinstance(x, ARRAYS)]
    if dtype.kind not in "fiu" or any(x.dtype != dtype for x in arrays):
        return None
    if not isinstance(array, ARRAYS) or not (is_operand(low) and is_operand(high)):
        return None
    raised = tape.scratch(target.shape, dtype, array)
    first = mapped(tape, "maximum", (array, low), raised, (dtype,) * 3)
    upper = operand_of(tape, high, dtype, target.shape)
    return [*(first or ()), Map("minimum", (raised, upper), target, (dtype,) * 3)]


# --- reductions -------------------------------------------------------------------------------------

_REDUCIBLE = {"add", "multiply", "maximum", "minimum", "logical_and", "logical_or"}


def _reduction(tape: Any, call: Noted) -> list[Instruction] | None:
    options = call.named("array", "axis", "dtype", "out", "keepdims", "initial", "where")
    return _reduce(tape, call, call.ufunc.__name__, options, 0)


_ORDERS = {"add": ("a", "axis", "dtype", "out"), "multiply": ("a", "axis", "dtype", "out")}


def _reduce_function(name: str) -> Rule:
    """The rule of np.sum and its kin, which reduce all axes unless told otherwise."""
    order = _ORDERS.get(name, ("a", "axis", "out"))

    def rule(tape: Any, call: Noted) -> list[Instruction] | None:
        options = call.named(*order)
        return _reduce(tape, call, name, {**options, "array": options["a"]}, None)

    return rule


def _reduce(
    tape: Any, call: Noted, name: str, options: dict[str, Any], default: Any
) -> list[Instruction] | None:
    array = options["array"]
    for extra in ("initial", "where"):
        value = options.get(extra)
        if value is not None and value is not True and value is not np._NoValue:
            return None
    if name not in _REDUCIBLE or not isinstance(array, ARRAYS) or not array.size:
        return None
    dtype = call.result.dtype
    if dtype.kind not in "fiub" or (dtype.kind == "f" and dtype.itemsize < 4):
        return None
    axis = options.get("axis", default)
    axes = tuple(range(array.ndim)) if axis is None else axis
    axes = axes if isinstance(axes, tuple) else (axes,)
    axes = tuple(sorted(a % array.ndim for a in axes)) if array.ndim else ()
    source = tape.view(array)
    target = kept_dims(call.result, array.ndim, axes)
    if not axes:
        return [copy(source, target)]
    if overlap(source, target):
        return None
    return [Reduce(name, source, axes, target, np.dtype(options.get("dtype") or dtype))]


def kept_dims(view: View, ndim: int, axes: tuple[int, ...]) -> View:
    """A result with size 1 where its input was reduced."""
    if view.ndim == ndim:
        return view
    shape, strides = iter(view.shape), iter(view.strides)
    pairs = [(1, 0) if i in axes else (next(shape), next(strides)) for i in range(ndim)]
    sizes, steps = tuple(n for n, _ in pairs), tuple(s for _, s in pairs)
    return View(view.buffer, view.offset, sizes, steps, view.dtype)


def _mean(tape: Any, call: Noted) -> list[Instruction] | None:
    options = call.named("array", "axis", "dtype", "out", "keepdims")
    array = options["array"]
    if not isinstance(array, ARRAYS) or array.dtype.char not in "fd":
        return None
    if options.get("dtype") not in (None, array.dtype):
        return None
    total = _reduce(tape, call, "add", options, None)
    if total is None:
        return None
    target = call.result
    count = Number(target.dtype.type(array.size // max(target.size, 1)))
    return [*total, Map("divide", (target, count), target, (target.dtype,) * 3)]


# --- products ---------------------------------------------------------------------------------------


def _matmul(tape: Any, call: Noted) -> list[Instruction] | None:
    if len(call.args) < 2 or call.kwargs.keys() - {"out"}:
        return None
    a, b = call.args[:2]
    return product(tape, a, b, call.result)


def product(tape: Any, a: Any, b: Any, target: View) -> list[Instruction] | None:
    """Stacks of matrices times stacks of matrices, as np.matmul has them."""
    if not (isinstance(a, ARRAYS) and isinstance(b, ARRAYS) and a.size and b.size):
        return None
    if (
        not a.dtype == b.dtype == target.dtype
        or a.dtype.char not in ("fdeE" if hasattr(a, "gpu_index") else "fd")
        or not (a.ndim and b.ndim)
    ):
        return None
    left, right, out = tape.view(a), tape.view(b), target
    if a.ndim == 1:  # a row, which the result does not show
        left = _with_dims(left, (1, *left.shape), (0, *left.strides))
        rows = -1 if b.ndim > 1 else len(out.shape)
        shape = (*out.shape[:rows], 1, *out.shape[rows:])
        out = _with_dims(out, shape, (*out.strides[:rows], 0, *out.strides[rows:]))
    if b.ndim == 1:  # a column, which the result does not show
        right = _with_dims(right, (*right.shape, 1), (*right.strides, 0))
        out = _with_dims(out, (*out.shape, 1), (*out.strides, 0))
    if overlap(left, out) or overlap(right, out):
        return None
    stack = out.shape[:-2]
    left = left.broadcast((*stack, *left.shape[-2:]))
    right = right.broadcast((*stack, *right.shape[-2:]))
    return [Product(left, right, out)]


def _affine(tape: Any, call: Noted) -> list[Instruction] | None:
    """A product on a GPU, and a row that is added to each of its rows."""
    x, y, bias = call.args
    found = product(tape, x, y, call.result)
    if found is None:
        return None
    (made,) = found
    assert isinstance(made, Product)
    return [replace(made, bias=tape.view(bias))]


def _with_dims(view: View, shape: tuple[int, ...], strides: tuple[int, ...]) -> View:
    return View(view.buffer, view.offset, shape, strides, view.dtype)


def _dot(tape: Any, call: Noted) -> list[Instruction] | None:
    a, b = call.args[:2]
    if np.ndim(a) > 2 or np.ndim(b) > 2 or np.ndim(a) == 0 or np.ndim(b) == 0:
        return None
    return product(tape, a, b, call.result)


def _vecdot(tape: Any, call: Noted) -> list[Instruction] | None:
    """Sums of products along the last axis: the products, then their sums."""
    a, b = call.args[:2]
    if call.kwargs or not (isinstance(a, ARRAYS) and isinstance(b, ARRAYS)):
        return None
    dtype = call.result.dtype
    if a.dtype != dtype or b.dtype != dtype or dtype.char not in "fd" or not a.size or not b.size:
        return None
    products = tape.scratch(np.broadcast_shapes(a.shape, b.shape), dtype, a)
    first = mapped(tape, "multiply", (a, b), products, (dtype,) * 3)
    axis = products.ndim - 1
    target = kept_dims(call.result, products.ndim, (axis,))
    return [*(first or ()), Reduce("add", products, (axis,), target, dtype)]


METHODS: dict[str, Rule] = {"__call__": _elementwise, "reduce": _reduction}
RULES: dict[Any, Rule] = {
    erf_of: _erf,
    np.clip: _clip,
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
    affine: _affine,
}
