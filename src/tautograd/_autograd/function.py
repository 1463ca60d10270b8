"""Custom operations: `autograd.Function`, whose backward a user writes.

The `ctx` a forward receives *is* the node of the graph, as in PyTorch, so what was put on it can be
read from `grad_fn`. An output that is saved for backward is kept as an array, never as the tensor that
points back at this node.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor, make
from .apply import edge_of
from .arrivals import as_grad_tensor
from .modes import modes
from .node import FREED, Node, next_sequence
from .saved import second_time
from .sites import mark, resolve
from .views import adopt, bump, check_writable

_new = object.__new__


class FunctionNode(Node):
    """The node of a custom Function, and the `ctx` its forward and backward receive."""

    unusual = True
    function: Any = None  # the Function subclass
    materialize_grads = True
    to_save: tuple[Any, ...] = ()
    to_save_forward: tuple[Any, ...] = ()
    dirty: tuple[Any, ...] = ()
    non_differentiable: tuple[Any, ...] = ()
    needs_input_grad: tuple[bool, ...] = ()
    argument_of_edge: tuple[int, ...] = ()  # which argument of forward each edge belongs to
    argument_count = 0

    def name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    def __getattr__(self, attribute: str) -> Any:
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute}'")

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for `backward`, guarded against in-place changes."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`."""
        self.to_save_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Say which inputs forward changed in place."""
        self.dirty = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say which outputs have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing output gradients reach `backward` as zeros (default) or as None."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept."""
        if self.saved is FREED:
            raise RuntimeError(second_time(self))
        if self.saved == () and self.to_save:  # still inside forward, or in jvp
            return self.to_save
        if not self.saved and self.to_save_forward:
            return self.to_save_forward
        return tuple(self._unpack(entry) for entry in self.saved)

    saved_variables = saved_tensors

    def _unpack(self, entry: Any) -> Any:
        kind, value, box, version, nr = entry
        if kind == "packed":
            packed, unpack_hook = value
            tensor = unpack_hook(packed)
            if not isinstance(tensor, Tensor):
                raise TypeError(
                    "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                    f"{type(tensor).__name__}"
                )
            out = make(tensor._data)
            if nr is not None:
                edge, number = nr
                if edge is not None and edge.is_leaf_edge:
                    return edge if edge._data is tensor._data else tensor
                out._node, out._output_nr = edge, number
            return out
        if value is None:
            return None
        if box[0] != version:
            raise RuntimeError(self._modified(value, box, version))
        if kind == "output":
            out = make(value)
            out._node = self
            out._output_nr = nr
            return out
        return value

    def _modified(self, value: Any, box: Any, version: int) -> str:
        from .._arrays.dtypes import LEGACY_NAMES, from_numpy_dtype

        array = value._data if isinstance(value, Tensor) else value
        message = (
            "one of the variables needed for gradient computation has been modified by an inplace "
            f"operation: [torch.{LEGACY_NAMES[from_numpy_dtype(array.dtype)]}Tensor "
            f"{list(array.shape)}] is at version {box[0]}; expected version {version} instead."
        )
        recorded, changed = self.created_at, resolve(box[1]) if len(box) > 1 else None
        if recorded:
            message += f"\n{self.name()} saved it at\n  {recorded}"
        if changed:
            message += f"\nand it was changed in place at\n  {changed}"
        return message + "\nHint: use the out-of-place form there, or change a clone()."

    def run_custom(self, gradient: Any, lifted: bool) -> Any:
        """One step of backward: call the user's function and check what it returns."""
        assert self.outputs is not None
        slots = gradient if gradient is not None else [None] * len(self.outputs)
        grads = []
        for g, (shape, dtype) in zip(slots, self.outputs, strict=True):
            tensor = as_grad_tensor(g)
            if tensor is None and self.materialize_grads:
                tensor = make(np.zeros(shape, dtype))
            grads.append(tensor)
        results = self._backward_function()(self, *grads)
        if not isinstance(results, (tuple, list)):
            results = (results,)
        results = self._check_results(tuple(results))
        found = []
        for position in self.argument_of_edge:
            value = results[position]
            if value is None:
                found.append(None)
                continue
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"expected Variable or None (got {type(value).__name__}) from {self.name()}"
                )
            found.append(value if lifted else value._data)
        return found

    def _backward_function(self) -> Callable[..., Any]:
        function = self.function
        own_vjp = function.vjp is not Function.vjp
        if own_vjp and function.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should "
                "only implement one of them."
            )
        chosen: Callable[..., Any] = function.vjp if own_vjp else function.backward
        return chosen

    def _check_results(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        count = self.argument_count
        if len(results) > count and all(r is None for r in results[count:]):
            results = results[:count]
        if len(results) != count:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {count}, "
                f"got {len(results)})"
            )
        for i, value in enumerate(results):
            if value is not None and i not in self.argument_of_edge:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position {i + 1}, "
                    "but the corresponding forward input was not a Variable"
                )
        return results


FunctionCtx = FunctionNode
BackwardCFunction = FunctionNode


class FunctionMeta(type):
    """Makes the node class `MyFunctionBackward` for each Function."""

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        super().__init__(name, bases, attributes)
        cls._backward_cls = type(name + "Backward", (FunctionNode,), {"function": cls})


class Function(metaclass=FunctionMeta):
    """A custom operation: static `forward` and `backward`, called through `apply`.

    `forward(ctx, *args)` saves on `ctx` what `backward(ctx, *grad_outputs)` needs; or `forward(*args)`
    stays plain and `setup_context(ctx, inputs, output)` does the saving. `jvp(ctx, *tangents)` makes
    it work in forward mode.
    """

    _backward_cls: Any
    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        import warnings

        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so "
            "you should invoke them on the class itself. Instantiating an autograd function will raise an "
            "error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style "
            "autograd function with static forward method."
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
            "You must implement either the backward or vjp method for your custom autograd.Function to "
            "use it with backward mode AD."
        )

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Another name for `backward`."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to "
            "use it with backward mode AD."
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Tangents of the outputs from those of the inputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode "
            "AD."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward and record a node whose backward is this Function's."""
        separate = cls.setup_context is not Function.setup_context
        if kwargs and not separate:
            raise TypeError("apply() takes no keyword arguments")
        if kwargs:
            import inspect

            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        node = _new(cls._backward_cls)
        _prepare(node, args)
        tangents = _hide_tangents(args)
        before = modes.grad
        modes.grad = False
        try:
            if separate:
                outputs = cls.forward(*args)
                cls.setup_context(node, args, outputs)
            else:
                outputs = cls.forward(node, *args)
        finally:
            modes.grad = before
            for x, held in tangents:
                x._tangents = held
        several = isinstance(outputs, (tuple, list))
        results = _finish(node, args, tuple(outputs) if several else (outputs,))
        if tangents:
            _run_jvp(cls, node, args, tangents, results)
        return results if several else results[0]


class InplaceFunction(Function):
    """An old base class for functions with an in-place form; use `Function`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def _prepare(node: FunctionNode, args: tuple[Any, ...]) -> None:
    """Edges and flags, before forward runs."""
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
    node.parameters = {}
    node.shapes = node.shape = node.dtype = None
    node.outputs = []
    node.sequence = next_sequence()
    node.code, node.instruction = mark(2)
    if modes.anomaly:
        from .anomaly import remember_stack

        remember_stack(node)


def _finish(node: FunctionNode, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Give the outputs their node, keep what was saved, honour what was marked."""
    records = any(edge is not None for edge in node.edges)
    dirty = {id(t) for t in node.dirty}
    flat = {id(t) for t in node.non_differentiable}
    inputs = {id(a): a for a in args if isinstance(a, Tensor)}
    for t in node.dirty:
        if id(t) not in inputs:
            raise RuntimeError(
                "mark_dirty only accepts input tensors, but argument is not an input"
            )
    if node.dirty and not dirty <= {id(o) for o in outputs} and records:
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The "
            "inputs that are modified inplace must all be outputs of the Function."
        )
    node.sequence = next_sequence()
    results = []
    for nr, output in enumerate(outputs):
        if not isinstance(output, Tensor):
            results.append(output)
            node.outputs.append(((), np.dtype(np.float32)))
            continue
        node.outputs.append((output._data.shape, output._data.dtype))
        differentiable = records and id(output) not in flat and output._data.dtype.kind in "fcV"
        if id(output) in dirty:
            check_writable(output)
            bump(output, 3)
            results.append(_rewrite(output, node, nr) if differentiable else output)
            continue
        if id(output) in inputs or output._node is not None or output._base is not None:  # an input handed back is an output of its own
            output = _alias(output)
        if differentiable:
            output._node = node
            output._output_nr = nr
            output._requires_grad = False
        results.append(output)
    if records:
        _keep_saved(node, args, outputs, results)
    return tuple(results)


def _alias(tensor: Tensor) -> Tensor:
    out = make(tensor._data)
    out._version_box = tensor._version_box
    return out


def _rewrite(output: Tensor, node: FunctionNode, nr: int) -> Tensor:
    """An input changed in place takes this node as its history."""
    result = make(output._data)
    result._node = node
    result._output_nr = nr
    adopt(output, result)
    return output


def _keep_saved(node: FunctionNode, args: Any, outputs: Any, results: Any) -> None:
    position = {id(o): nr for nr, o in enumerate(outputs) if isinstance(o, Tensor)}
    position |= {id(o): nr for nr, o in enumerate(results) if isinstance(o, Tensor)}
    hooks = modes.saved_hooks[-1] if modes.saved_hooks else None
    inputs = {id(a) for a in args if isinstance(a, Tensor)}
    saved = []
    for tensor in node.to_save:
        if tensor is None:
            saved.append(("none", None, None, 0, None))
            continue
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"save_for_backward can only save variables, but argument is of type {type(tensor).__name__}"
            )
        nr = position.get(id(tensor))
        box = tensor._version_box
        if hooks is not None:
            pack, unpack_hook = hooks
            history = (node, nr) if nr is not None else (edge_of(tensor), tensor._output_nr)
            saved.append(("packed", (pack(_alias(tensor)), unpack_hook), None, 0, history))
        elif nr is not None and not (
            id(tensor) in inputs and id(tensor) not in map(id, node.dirty)
        ):
            saved.append(
                ("output", tensor._data, results[nr]._version_box, results[nr]._version_box[0], nr)
            )
        else:
            saved.append(("input", tensor, box, box[0], None))
    node.saved = tuple(saved)
    node.to_save = ()


def _hide_tangents(args: tuple[Any, ...]) -> list[Any]:
    if not modes.forward_level:
        return []
    held = [
        (a, a._tangents)
        for a in dict.fromkeys(x for x in args if isinstance(x, Tensor))
        if a._tangents
    ]
    for x, _ in held:
        x._tangents = None
    return held


def _run_jvp(cls: Any, node: FunctionNode, args: Any, tangents: Any, results: Any) -> None:
    from .special import set_tangent

    levels = sorted({level for _, held in tangents for level in held})
    of = {id(x): held for x, held in tangents}
    for level in levels:
        along = [of.get(id(a), {}).get(level) if isinstance(a, Tensor) else None for a in args]
        found = cls.jvp(node, *along)
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != len(results):
            raise RuntimeError(
                f"{cls.__name__}.jvp returned {len(found)} tangents for {len(results)} outputs"
            )
        for result, tangent in zip(results, found, strict=True):
            if tangent is not None and isinstance(result, Tensor):
                set_tangent(result, level, tangent)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a backward that cannot itself be differentiated: trying to is an error, not a zero."""

    @functools.wraps(backward)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        recording = modes.grad
        modes.grad = False
        try:
            outputs = backward(ctx, *grads)
        finally:
            modes.grad = recording
        if not recording or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return outputs
        several = isinstance(outputs, tuple)
        poisoned = tuple(_poison(o) for o in (outputs if several else (outputs,)))
        return poisoned if several else poisoned[0]

    return wrapper


class _Twice(Function):
    """An identity whose backward says that there is none."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        return make(tensor._data)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


def _poison(output: Any) -> Any:
    if not isinstance(output, Tensor):
        return output
    leaf = make(output._data)
    leaf._requires_grad = True
    return _Twice.apply(leaf)
