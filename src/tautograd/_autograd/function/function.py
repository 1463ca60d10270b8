"""Custom operations: `autograd.Function`, whose backward a user writes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.batching.batched import innermost
from ..._tensor.tensor import Tensor, make
from ..._user_code.sites import mark
from ..apply import edge_of
from ..effects import put_off_no_longer
from ..modes import modes, set_grad
from ..special import hide_tangents, set_tangent, show_tangents
from .node import BackwardCFunction, FunctionCtx, FunctionNode
from .results import finish


class FunctionMeta(type):
    """Makes the class of `ctx`, `MyFunctionBackward`, for each Function."""

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        super().__init__(name, bases, attributes)
        members = {"__slots__": (), "_forward_cls": cls}
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), members)


class Function(metaclass=FunctionMeta):
    """A custom operation: static `forward` and `backward`, called through `apply`.

    `forward(ctx, *args)` saves on `ctx` what `backward(ctx, *grad_outputs)` needs; or
    `forward(*args)` stays plain and `setup_context(ctx, inputs, output)` does the saving.
    `jvp(ctx, *tangents)` makes it work in forward mode, `vmap(info, in_dims, *args)` replaces what
    `vmap` would do by itself.
    """

    _backward_cls: Any
    generate_vmap_rule = False
    boxed_grads_call = False  # whether `backward` takes all gradients in one list
    clear_saved_tensors_on_access = False  # whether `ctx.saved_tensors` may be read only once

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        import warnings

        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save on `ctx` what backward needs, when `forward` takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Gradients of the inputs from those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Another name for `backward`."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Tangents of the outputs from those of the inputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Outputs and their batch dimensions, from whole batches."""
        raise NotImplementedError("vmap is not implemented.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward and record a node whose backward is this Function's."""
        put_off_no_longer(f"`{cls.__name__}.apply`, a function of its own,")
        separate = cls.setup_context is not Function.setup_context
        if kwargs or separate:
            args = _bound(cls.forward, separate, args, kwargs)
        if modes.vmap_levels and cls.vmap is not Function.vmap:
            from .vmap import run_own_vmap

            level = innermost([a._data for a in args if isinstance(a, Tensor)], {})
            if level >= 0:
                return run_own_vmap(cls, level, args)
        node = _prepare(cls, args)
        ctx = node.shown()
        tangents = hide_tangents(args) if modes.forward_level else []
        before = set_grad(False)
        try:
            if separate:
                outputs = cls.forward(*args)
                cls.setup_context(ctx, args, outputs)
            else:
                outputs = cls.forward(ctx, *args)
        finally:
            set_grad(before)
            show_tangents(tangents)
        several = isinstance(outputs, (tuple, list))
        results = finish(node, args, tuple(outputs) if several else (outputs,))
        if tangents:
            _run_jvp(cls, node, args, tangents, results)
        return results if several else results[0]


class InplaceFunction(Function):
    """An old base class for functions with an in-place form; use `Function`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


@functools.lru_cache(maxsize=256)
def _signature(forward: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(forward)


def _bound(forward: Any, separate: bool, args: Any, kwargs: Any) -> tuple[Any, ...]:
    """The arguments by position; with a separate setup_context, defaults included."""
    given = args if separate else (None, *args)
    bound = _signature(forward).bind(*given, **kwargs)
    if separate:
        bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            f"forward() got an unexpected keyword argument '{next(iter(bound.kwargs))}'"
        )
    return bound.args if separate else bound.args[1:]


def _prepare(cls: Any, args: tuple[Any, ...]) -> FunctionNode:
    """The node with its edges, before forward runs."""
    node = FunctionNode()
    node.function = cls
    node.attributes = {}
    found = [(i, edge_of(a), a._output_nr) for i, a in enumerate(args) if isinstance(a, Tensor)]
    node.edges = tuple(edge for _, edge, _ in found) if modes.grad else (None,) * len(found)
    numbers = tuple(nr for _, _, nr in found)
    if any(numbers):
        node.edge_nrs = numbers
    node.argument_of_edge = tuple(i for i, _, _ in found)
    node.argument_count = len(args)
    wanted = {i for (i, _, _), edge in zip(found, node.edges, strict=True) if edge is not None}
    node.needs_input_grad = tuple(i in wanted for i in range(len(args)))
    node.saved = node.versions = ()
    node.shapes = node.shape = node.dtype = None
    node.outputs = []
    node.code, node.instruction = mark(2)
    if modes.anomaly:
        from ..backward_pass.anomaly import remember_stack

        remember_stack(node)
    return node


def _tangent(node: FunctionNode, argument: Any, tangent: Any) -> Any:
    """An argument's tangent; for a tensor without one zeros, unless the author wants None."""
    if tangent is not None or not isinstance(argument, Tensor) or not node.materialize_grads:
        return tangent
    if argument._data.dtype.kind not in "fcV":
        return None
    return make(np.zeros_like(argument._data))


def _run_jvp(cls: Any, node: FunctionNode, args: Any, tangents: Any, results: Any) -> None:
    of = {id(x): held for x, held in tangents}
    for level in sorted({level for _, held in tangents for level in held}):
        along = [_tangent(node, a, of.get(id(a), {}).get(level)) for a in args]
        versions = {id(t): t._version for t in along if isinstance(t, Tensor)}
        node.in_jvp = True
        try:
            found = cls.jvp(node.shown(), *along)
        finally:
            node.in_jvp = False
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != len(results):
            raise RuntimeError(
                f"{cls.__name__}.jvp returned {len(found)} tangents for {len(results)} outputs"
            )
        for nr, (result, tangent) in enumerate(zip(results, found, strict=True)):
            if not isinstance(result, Tensor):
                continue
            if tangent is not None and nr in node.without_gradient:
                raise RuntimeError(
                    f"{cls.__name__}.jvp returned a tangent for output {nr}, which forward marked as "
                    "non-differentiable. You should return None at that position instead."
                )
            if id(result) in of and any(result is t for t in node.dirty):
                _check_inplace_tangent(of[id(result)].get(level), tangent, versions)
            if tangent is not None:
                set_tangent(result, level, tangent)


def _check_inplace_tangent(before: Any, after: Any, versions: dict[int, int]) -> None:
    """An input changed in place keeps its tangent, which jvp must have changed in place as well."""
    unchanged = after is not None and versions.get(id(after)) == after._version
    if before is not after or unchanged:
        raise RuntimeError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If the "
            "forward is modifying an input inplace, then the jvp function must modify the "
            "corresponding gradient inplace."
        )


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a backward that cannot itself be differentiated: trying to is an error, not a zero."""

    @functools.wraps(backward)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        recording = set_grad(False)
        try:
            outputs = backward(ctx, *grads)
        finally:
            set_grad(recording)
        if not recording or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return outputs
        several = isinstance(outputs, tuple)
        given = outputs if several else (outputs,)
        found = _Twice.apply(*map(_as_wanting, given))
        poisoned = tuple(
            [f if isinstance(g, Tensor) else g for f, g in zip(found, given, strict=True)]
        )
        return poisoned if several else poisoned[0]

    return wrapper


class _Twice(Function):
    """An identity whose backward says that there is none; a graph shows it as PyTorch does, `Error`."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        return tuple([make(t._data) if isinstance(t, Tensor) else t for t in tensors])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


_Twice._backward_cls = type(
    "Error", (BackwardCFunction,), {"__slots__": (), "_forward_cls": _Twice}
)


def _as_wanting(output: Any) -> Any:
    """A result as a leaf that wants a gradient, so that whoever differentiates it comes by `_Twice`."""
    if not isinstance(output, Tensor):
        return make(np.empty(0))  # it has a place in the graph, and no edge
    leaf = make(output._data)
    leaf._requires_grad = output._data.dtype.kind in "fcV"
    return leaf


__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "once_differentiable",
]
