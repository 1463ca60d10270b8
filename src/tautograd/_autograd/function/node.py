"""The node of a custom Function, and the `ctx` through which its author sees it.

In PyTorch `ctx` and `grad_fn` are one object, on which a user may put attributes of any name. So
here `ctx` is a face of the node with a namespace of its own: it is made when someone looks, holds
the node, and shares one dictionary of the user's attributes with every other face. The node never
holds a face, so there is no cycle.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, make
from ..backward_pass.arrivals import as_grad_tensor
from ..node import FREED, Node, recorded_at
from ..saved import modified_message, on_behalf_of, second_time

_NO_ARRAY = np.zeros(())

# In place of what was saved, once a Function that clears it on access has read it.
READ: Any = ("read",)


def _array(grad: Any) -> Any:
    """The array of a gradient, which may be a tensor."""
    return grad._data if isinstance(grad, Tensor) else grad


class FunctionCtx:
    """What `forward` and `backward` of a custom Function receive, and `grad_fn` of its outputs."""

    __slots__ = ("__dict__", "__weakref__", "_node")

    _node: FunctionNode

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for `backward`, guarded against in-place changes."""
        self._node.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`."""
        self._node.to_save_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Say which inputs forward changed in place."""
        self._node.dirty = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say which outputs have no gradient."""
        self._node.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing output gradients reach `backward` as zeros (default) or as None."""
        self._node.materialize_grads = value

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """Which arguments of forward want a gradient."""
        return self._node.needs_input_grad

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept."""
        return self._node.saved_tensors()

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """An old name of `saved_tensors`."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'",
            DeprecationWarning,
            stacklevel=2,
        )
        return self._node.saved_tensors()

    # What every node of the graph shows.

    def name(self) -> str:
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return self._node.next_functions

    @property
    def metadata(self) -> dict[Any, Any]:
        return self._node.metadata

    def register_hook(self, fn: Callable[..., Any]) -> Any:
        return self._node.register_hook(fn)

    def register_prehook(self, fn: Callable[..., Any]) -> Any:
        return self._node.register_prehook(fn)

    def _sequence_nr(self) -> int:
        return self._node.sequence

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"


class BackwardCFunction(FunctionCtx):
    """The base class of the `ctx` of each Function: `MyFunctionBackward`."""

    __slots__ = ()

    def apply(self, *args: Any) -> Any:
        """Call the author's `backward` with these gradients, outside any backward pass."""
        return self._node.call_backward(list(args))


class FunctionNode(Node):
    """One call of a custom Function."""

    unusual = True
    function: Any = None  # the Function subclass
    materialize_grads = True
    to_save: tuple[Any, ...] = ()
    to_save_forward: tuple[Any, ...] = ()
    dirty: tuple[Any, ...] = ()
    non_differentiable: tuple[Any, ...] = ()
    without_gradient: frozenset[int] = frozenset()  # which outputs were marked so
    needs_input_grad: tuple[bool, ...] = ()
    argument_of_edge: tuple[int, ...] = ()  # which argument of forward each edge belongs to
    argument_count = 0
    in_jvp = False  # while the author's jvp runs, which sees what was saved for forward
    face: Any = None  # a weak reference to the ctx that someone holds
    attributes: dict[str, Any]  # what the user put on ctx

    def name(self) -> str:
        return f"{self.function.__name__}Backward"

    def shown(self) -> Any:
        """The `ctx` of this call: always the same one while someone holds it."""
        ctx = self.face and self.face()
        if ctx is None:
            ctx = self.function._backward_cls()
            ctx._node = self
            ctx.__dict__ = self.attributes
            self.face = weakref.ref(ctx)
        return ctx

    def saved_tensors(self) -> tuple[Any, ...]:
        if self.saved is FREED:
            raise RuntimeError(second_time(self))
        if self.in_jvp:
            return self.to_save_forward
        if self.saved == () and self.to_save:  # still inside forward, or in jvp
            return self.to_save
        if not self.saved and self.to_save_forward:
            return self.to_save_forward
        if self.saved == READ:
            raise RuntimeError(
                f"{self.name()}: saved_tensors can only be accessed once if "
                "clear_saved_tensors_on_access=True. Keep what it gives in a variable."
            )
        found = tuple([entry(self) for entry in self.saved])
        if self.saved and getattr(self.function, "clear_saved_tensors_on_access", False):
            self.saved = READ
        return found

    def run_custom(self, gradient: Any, lifted: bool) -> Any:
        """One step of backward: call the user's function and check what it returns."""
        slots = gradient if gradient is not None else [None] * len(self.outputs)
        grads = []
        some = next((_array(g) for g in slots if g is not None), _NO_ARRAY)
        for nr, (g, (shape, dtype)) in enumerate(zip(slots, self.outputs, strict=True)):
            tensor = as_grad_tensor(g)
            if tensor is None and self.materialize_grads and self.makes_zeros(nr, shape):
                tensor = make(np.zeros_like(some, shape=shape, dtype=dtype))
            grads.append(tensor)
        results = self.call_backward(grads)
        results = self._check_count(
            tuple(results) if isinstance(results, (tuple, list)) else (results,)
        )
        found: list[Any] = []
        for position in self.argument_of_edge:
            value = results[position]
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"expected Variable or None (got {type(value).__name__}) from {self.name()}"
                )
            found.append(value if value is None or lifted else value._data)
        return found

    def makes_zeros(self, nr: int, shape: Any) -> bool:
        """Whether an output without gradient has zeros for one; what is no tensor has None."""
        if shape is None:
            return False
        if self.attributes.get("_materialize_non_diff_grads", True):
            return True
        return nr not in self.without_gradient

    def call_backward(self, grads: list[Any]) -> Any:
        """Call the user's function, with all gradients in one list if it wants to free them."""
        function = self._backward_function()
        if getattr(self.function, "boxed_grads_call", False):
            return function(self.shown(), grads)
        return function(self.shown(), *grads)

    def _backward_function(self) -> Callable[..., Any]:
        from .function import Function

        function = self.function
        own_vjp = function.vjp is not Function.vjp
        if own_vjp and function.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                "should only implement one of them."
            )
        chosen: Callable[..., Any] = function.vjp if own_vjp else function.backward
        return chosen

    def _check_count(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        count = self.argument_count
        if len(results) > count and all(r is None for r in results[count:]):
            results = results[:count]
        if len(results) != count:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{count}, got {len(results)})" + recorded_at(self)
            )
        for i, value in enumerate(results):
            if value is not None and i not in self.argument_of_edge:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position "
                    f"{i + 1}, but the corresponding forward input was not a Variable"
                    + recorded_at(self)
                )
        return results


# --- what save_for_backward kept: each a function of the node ------------------------------------


def saved_nothing(node: FunctionNode) -> None:
    return None


class SavedInput:
    """A tensor that is no output: kept as it is, with the version it had."""

    __slots__ = ("box", "tensor", "version")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.box = tensor._version_box
        self.version = self.box[0]

    def __call__(self, node: FunctionNode) -> Tensor:
        if self.box[0] != self.version:
            raise RuntimeError(
                modified_message(node, self.tensor._data, "", self.box, self.version)
            )
        return self.tensor


class SavedOutput:
    """An output: its array is kept, since the tensor itself would lead back to the node."""

    __slots__ = ("array", "box", "nr", "version")

    def __init__(self, output: Tensor, nr: int) -> None:
        self.array, self.nr = output._data, nr
        self.box = output._version_box
        self.version = self.box[0]

    def __call__(self, node: FunctionNode) -> Tensor:
        if self.box[0] != self.version:
            raise RuntimeError(modified_message(node, self.array, "", self.box, self.version))
        out = make(self.array)
        out._node, out._output_nr = node, self.nr
        return out


# The edge of an output: the node itself, which its own saved values must not hold.
OWN: Any = object()


class SavedPacked:
    """A tensor that went through a pack hook; what unpacks has the history of the original."""

    __slots__ = ("edge", "nr", "packed", "unpack_hook")

    def __init__(self, packed: Any, unpack_hook: Any, edge: Any, nr: int) -> None:
        self.packed, self.unpack_hook = packed, unpack_hook
        self.edge, self.nr = edge, nr

    def __call__(self, node: FunctionNode) -> Tensor:
        tensor = self.unpack_hook(self.packed)
        if not isinstance(tensor, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(tensor).__name__}"
            )
        edge: Any = node if self.edge is OWN else self.edge
        if edge is not None and edge.is_leaf_edge:
            leaf: Tensor = edge
            return leaf if leaf._data is tensor._data else on_behalf_of(leaf, tensor._data)
        out = make(tensor._data)
        out._node, out._output_nr = edge, self.nr
        return out
