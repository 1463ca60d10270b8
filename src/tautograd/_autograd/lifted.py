"""Rules on tensors: how one rule text serves `create_graph=True`.

Rules are written with `np.` functions. A `Lifted` holds a tensor and answers NumPy's dispatch
protocols, so `g * np.cos(x)` inside a rule becomes recorded tensor operations. Each ufunc or function
is looked up in a table filled by the operations' own records (`_ops`), so a function with no
counterpart is an error that names it, never a silent constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .._arrays.attributes import ArrayAttributes
from .._ops.declare.subclasses import looks_for_others
from .._tensor.tensor import Tensor, make
from .apply import apply
from .autocast_state import EVER_USED
from .modes import shared
from .node import Node
from .saved import as_tensor, unpack

# NumPy ufunc or function -> function on tensors that takes NumPy's arguments.
COUNTERPARTS: dict[Any, Callable[..., Any]] = {}
# The same for two operands, both tensors or the second one a number, where no mode and no class of the program's
# has a say: a shorter way to the same nodes. None from such a function: only the counterpart can do it.
DIRECT: dict[Any, Callable[[Any, Any], Any]] = {}


def counterpart(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare what a NumPy function means on tensors: `@counterpart(np.sum)`."""

    def declare(on_tensors: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            COUNTERPARTS[function] = on_tensors
        return on_tensors

    return declare


def lift(value: Any) -> Any:
    """Tensors (also inside lists and tuples) as lifted tensors; all else as it is."""
    if isinstance(value, Tensor):
        return Lifted(value)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(lift(v) for v in value)
    return value


def lower(value: Any) -> Any:
    """The tensors inside lifted values."""
    if isinstance(value, Lifted):
        return value.tensor
    if isinstance(value, (list, tuple)):
        return type(value)(lower(v) for v in value)
    return value


def is_raw(value: Any) -> bool:
    """Whether this is an array: NumPy's, a batch of arrays, one that records, one on a GPU."""
    if isinstance(value, (np.ndarray, np.generic)):
        return True
    return hasattr(type(value), "__array_function__") and not isinstance(value, Tensor)


def _constants(value: Any) -> Any:
    """Raw arrays that meet lifted tensors are constants."""
    if isinstance(value, Lifted):
        return value.tensor
    if is_raw(value):
        return make(value)
    if isinstance(value, (list, tuple)) and any(map(is_raw, value)):
        return type(value)(_constants(v) for v in value)
    return value


class Lifted(ArrayAttributes, NDArrayOperatorsMixin):
    """A tensor that stands where an array stands."""

    __slots__ = ("tensor",)
    takes_precedence = True  # over other array types, which are constants here

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(self.tensor._data.shape)

    @property
    def dtype(self) -> Any:
        return self.tensor._data.dtype

    def __repr__(self) -> str:
        return f"Lifted({self.tensor!r})"

    def __getitem__(self, index: Any) -> Lifted:
        return Lifted(self.tensor[lower(index)])

    def turned(self) -> Lifted | None:
        """The last two dimensions exchanged, by the shorter way; None where there is none."""
        if not shared.ordinary or EVER_USED or looks_for_others:
            return None
        found = DIRECT["turned"](self.tensor, len(self.tensor._data.shape))
        return None if found is None else Lifted(found)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if method != "__call__":
            return self._call(getattr(ufunc, method), args, kwargs, f"{ufunc.__name__}.{method}")
        if ufunc in DIRECT and not kwargs:
            x, y = args
            if type(x) is Lifted:
                found = _directly(ufunc, x, y)
                if found is not None:
                    return found
        return self._call(ufunc, args, kwargs, ufunc.__name__)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self._call(function, args, kwargs, function.__name__)

    def _call(self, function: Any, args: Any, kwargs: Any, name: str) -> Any:
        on_tensors = COUNTERPARTS.get(function)
        if on_tensors is None:
            raise TypeError(
                f"np.{name} has no counterpart on tensors, so a rule that uses it cannot be "
                "differentiated: declare one with @counterpart, or call an operation's record"
            )
        args = [a.tensor if type(a) is Lifted else _constants(a) for a in args]
        if kwargs:
            kwargs = {k: _constants(v) for k, v in kwargs.items()}
        found = on_tensors(*args, **kwargs)
        return Lifted(found) if isinstance(found, Tensor) else lift(found)

    def apply_lifted(self, op: Any, inputs: Any, parameters: Any) -> Any:
        """Called by a record that is used inside a rule."""
        return lift(apply(op, tuple(_constants(x) for x in inputs), parameters))


def _directly(ufunc: Any, x: Lifted, y: Any) -> Any:
    """A ufunc of a lifted tensor and another one, or a number, by the shorter way; None where there is none."""
    if type(y) is Lifted:
        y = y.tensor
    elif type(y) is not float and type(y) is not int:
        return None
    if not shared.ordinary or EVER_USED or looks_for_others:
        return None
    found = DIRECT[ufunc](x.tensor, y)
    return Lifted(found) if isinstance(found, Tensor) else None


def _short_operator(name: str, ufunc: Any) -> None:
    general = getattr(NDArrayOperatorsMixin, name)

    def operator(self: Lifted, other: Any) -> Any:
        found = _directly(ufunc, self, other)
        return general(self, other) if found is None else found

    setattr(Lifted, name, operator)


for _name, _ufunc in (
    *(("__add__", np.add), ("__sub__", np.subtract), ("__mul__", np.multiply)),
    *(("__truediv__", np.true_divide), ("__matmul__", np.matmul)),
):
    _short_operator(_name, _ufunc)


def run_lifted(node: Node, gradient: Any, lifted: bool) -> Any:
    """A node's rules on tensors; also for raw gradients when the saved values were packed."""
    op = node.op
    saved: Any = ()
    if not op.saves_nothing:
        saved = [
            Lifted(value) if isinstance(value, Tensor) else lift(value)
            for value in saved_tensors(node)
        ]
    if not lifted:
        gradient = (
            [None if g is None else make(g) for g in gradient] if node.outputs else make(gradient)
        )
    if node.outputs is not None:
        gradient = _several(node, gradient)
    g = Lifted(gradient) if isinstance(gradient, Tensor) else lift(gradient)
    grads = (op.rules or op.joined_rules())(node, node.edges, g, saved)
    tensors = [grad.tensor if type(grad) is Lifted else _constants(grad) for grad in grads]
    return tensors if lifted else [None if t is None else t._data for t in tensors]


def _several(node: Node, gradient: Any) -> Any:
    op = node.op
    if op.outputs and len(op.differentiable_outputs) == 1:
        return gradient[op.differentiable_outputs[0]]
    some = next(g for g in gradient if g is not None)
    return tuple(
        make(np.zeros_like(some._data, shape=shape, dtype=dtype)) if g is None else g
        for g, (shape, dtype) in zip(gradient, node.outputs, strict=True)
    )


def saved_tensors(node: Node) -> Any:
    """What a node saved, as tensors with their history."""
    if node.packed is not None:
        from .packing import unpack_tensors

        return unpack_tensors(node)
    saved = unpack(node)
    if not saved:
        return ()
    op = node.op
    if op.variadic:
        tensors = (
            None
            if saved[0] is None
            else tuple([as_tensor(node, i, a) for i, a in enumerate(saved[0])])
        )
        return [tensors, _outputs(node, saved[1])]
    values = [as_tensor(node, i, a) for i, a in enumerate(saved[:-1])]
    values.append(_outputs(node, saved[-1]))
    return values


def _outputs(node: Node, data: Any) -> Any:
    if isinstance(data, tuple):
        outs: list[Any] = []
        for i, array in enumerate(data):
            if array is None:  # no rule names it
                outs.append(None)
                continue
            out = as_tensor(node, -1, array)
            out._output_nr = i
            if array.dtype.kind not in "fcV" or i not in node.op.differentiable_outputs:
                out._node = None
            outs.append(out)
        return tuple(outs)
    return as_tensor(node, -1, data)
