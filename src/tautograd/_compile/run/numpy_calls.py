"""Instructions as calls of NumPy on memory that is there: what runs where no native code can.

Each instruction becomes a function of no arguments, with its arrays in place. It means what the typed
instruction says, so native code is checked against it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.checks import UNKNOWN
from ..._ops.elementwise.special_functions import erf_of
from ..program.ir import (
    Call,
    Check,
    Gather,
    GatherAlong,
    Instruction,
    Late,
    Map,
    Number,
    Operand,
    Product,
    PutAlong,
    Reduce,
    ScatterAdd,
    View,
)
from ..record.array_calls import UFUNCS
from ..record.arrays import arrays_of
from ..record.trees import NESTS

Array = Callable[[View], Any]


def as_call(instruction: Instruction, array: Array) -> Callable[[], Any]:
    """A function that does what the instruction says, on arrays that `array` gives for views."""
    return _BUILDERS[type(instruction)](instruction, array)  # type: ignore[no-any-return]


def _value(operand: Operand, array: Array) -> Any:
    return operand.value if isinstance(operand, Number) else array(operand)


def _map(i: Map, array: Array) -> Callable[[], Any]:
    out = array(i.output)
    inputs = [_value(x, array) for x in i.inputs]
    if i.function == "cast":
        return lambda: np.copyto(out, inputs[0], casting="unsafe")
    if i.function == "where":
        condition, x, y = inputs

        def choose() -> None:
            out[...] = np.where(condition, x, y)

        return choose
    if i.function == "erf":  # no ufunc of NumPy's
        return lambda: np.copyto(out, erf_of(np.asarray(inputs[0], i.loop[0])), casting="unsafe")
    function = ufunc_named(i.function)
    return lambda: function(*inputs, out=out, signature=i.loop, casting="unsafe")


def _check(i: Check, array: Array) -> Callable[[], Any]:
    good = _value(i.inputs[0], array)

    def look() -> None:
        if not np.all(good):
            raise i.error(UNKNOWN)

    return look


def ufunc_named(name: str) -> Any:
    """A ufunc that was recorded, of NumPy or of scipy.special; else NumPy's."""
    found = UFUNCS.get(name) or getattr(np, name, None)
    if found is None:
        import scipy.special

        found = getattr(scipy.special, name)
    return found


def _reduce(i: Reduce, array: Array) -> Callable[[], Any]:
    source, out = array(i.input), array(i.output)
    reduce = getattr(np, i.function).reduce
    return lambda: reduce(source, axis=i.axes, dtype=i.dtype, out=out, keepdims=True)


def _product(i: Product, array: Array) -> Callable[[], Any]:
    left, right, out = array(i.left), array(i.right), array(i.output)
    if i.adds:
        return lambda: np.add(out, left @ right, out=out)
    return lambda: np.matmul(left, right, out=out)


def _gather(i: Gather, array: Array) -> Callable[[], Any]:
    source, index, out = array(i.source), array(i.index), array(i.output)

    def take() -> None:
        out[...] = np.take(source, index, i.axis)

    return take


def _gather_along(i: GatherAlong, array: Array) -> Callable[[], Any]:
    source, index, out = array(i.source), array(i.index), array(i.output)

    def take() -> None:
        out[...] = np.take_along_axis(source, index, i.axis)

    return take


def _scatter(i: ScatterAdd, array: Array) -> Callable[[], Any]:
    target, index, source = array(i.target), array(i.index), array(i.source)
    return lambda: np.add.at(target, index, source)


def _put(i: PutAlong, array: Array) -> Callable[[], Any]:
    target, index, source = array(i.target), array(i.index), _value(i.source, array)
    return lambda: np.put_along_axis(target, index, source, i.axis)


def _call(i: Call, array: Array) -> Callable[[], Any]:
    if not has_late((i.args, i.kwargs)):
        return _bound_call(i, array)

    def call() -> None:
        _bound_call(i, array)()

    return call


def _bound_call(i: Call, array: Array) -> Callable[[], Any]:
    args, kwargs = filled_in(i.args, array), filled_in(i.kwargs, array)
    function = i.function
    outs = [array(view) for view in i.outputs]
    if not outs:
        return lambda: function(*args, **kwargs)
    if i.takes_out:
        place = outs[0] if len(outs) == 1 else tuple(outs)
        return lambda: function(*args, out=place, **kwargs)

    def call() -> None:
        found = function(*args, **kwargs)
        results = arrays_of(found)
        for out, result in zip(outs, results, strict=True):
            np.copyto(out, result, casting="unsafe")

    return call


def filled_in(value: Any, array: Array) -> Any:
    """Arguments with arrays in place of views."""

    def fill(leaf: Any) -> Any:
        if isinstance(leaf, View):
            return array(leaf)
        return leaf.value if isinstance(leaf, Late) else leaf

    return NESTS.mapped(value, fill)


def has_late(value: Any) -> bool:
    """Whether a number that each run has anew is among arguments."""
    return any(isinstance(leaf, Late) for leaf in NESTS.leaves(value))


_BUILDERS: dict[Any, Any] = {
    Map: _map,
    Check: _check,
    Reduce: _reduce,
    Product: _product,
    Gather: _gather,
    GatherAlong: _gather_along,
    ScatterAdd: _scatter,
    PutAlong: _put,
    Call: _call,
}
