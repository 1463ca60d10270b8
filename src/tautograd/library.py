"""`torch.library`: operations of a program's own, with names, gradients and shapes.

A custom operation is a function of tensors; with `register_autograd` it has the gradient it is given,
by way of `autograd.Function`. It is found again as `torch.ops.<namespace>.<name>`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ._autograd.function.function import Function
from ._autograd.modes import modes
from ._ops.declare.python_surface import speak
from ._tensor.tensor import Tensor
from .utils._pytree import tree_leaves as leaves

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "impl",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]

OPERATIONS: dict[str, CustomOpDef] = {}
"""Custom operations by their full names: `namespace::name`."""


def _checked(name: str) -> str:
    if not isinstance(name, str):
        raise ValueError(f"expected qualname to be instance of str, got {type(name)}")
    namespace, _, last = name.partition("::")
    if not namespace or not last:
        raise ValueError(f"expected a name of the form 'namespace::name', but got '{name}'")
    return f"{namespace}::{last.partition('(')[0].partition('.')[0]}"


class CustomOpDef:
    """A custom operation: calling it runs what is registered for it."""

    def __init__(self, name: str, function: Callable[..., Any] | None, schema: str | None) -> None:
        self._name, self._function, self._schema = name, function, schema
        self._backward: Callable[..., Any] | None = None
        self._setup: Callable[..., Any] | None = None
        self._fake: Callable[..., Any] | None = None
        self.default = self._opoverload = self
        self.__name__ = name.rpartition("::")[2]
        if function is not None:
            functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function is None:
            raise NotImplementedError(
                f"Could not run '{self._name}': no kernel is registered for it"
            )
        wanted = modes.grad and any(
            isinstance(x, Tensor) and x.requires_grad for x in leaves((args, kwargs))
        )
        if not wanted:
            return self._function(*args, **kwargs)
        if self._backward is None:
            return _NoGradient.apply(self, kwargs, *args)
        return _WithGradient.apply(self, kwargs, *args)

    def register_fake(self, fn: Callable[..., Any] | None = None, /) -> Any:
        """Say what the result's shape is; kept for those who ask, operations run here."""
        if fn is None:
            return self.register_fake
        self._fake = fn
        return fn

    register_abstract = register_fake

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """What runs on some devices; the CPU's is what runs here."""
        if fn is None:
            return functools.partial(self.register_kernel, device_types)
        types = (device_types,) if isinstance(device_types, str) else device_types
        if types is None or "cpu" in types:
            self._function = fn
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """The gradient: `backward(ctx, *grads)`, after `setup_context(ctx, inputs, output)`."""
        self._backward, self._setup = backward, setup_context

    def register_vmap(self, fn: Callable[..., Any] | None = None, /) -> Any:
        """What to do for whole batches; `vmap` runs the operation on them as it is."""
        return fn if fn is not None else (lambda function: function)

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Any = None, /) -> Any:
        """What a dispatch class does in its place; there are none."""
        return fn if fn is not None else (lambda function: function)

    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> None:
        """Kernels other than the CPU's do not run here."""

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._name})>"


class _WithGradient(Function):
    """A custom operation and its registered gradient."""

    runs_registered = True

    @staticmethod
    def forward(ctx: Any, definition: Any, kwargs: Any, *args: Any) -> Any:
        function: Any = definition._function
        output = function(*args, **kwargs)
        if definition._setup is not None:
            if kwargs:
                definition._setup(ctx, args, kwargs, output)
            else:
                definition._setup(ctx, args, output)
        ctx._definition = definition
        return output

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        found = ctx._definition._backward(ctx, *grads)
        return (None, None, *(found if isinstance(found, tuple) else (found,)))


class _NoGradient(Function):
    """A custom operation of which no gradient is known: to ask for it is an error, not a zero."""

    @staticmethod
    def forward(ctx: Any, definition: Any, kwargs: Any, *args: Any) -> Any:
        ctx._definition = definition
        return definition._function(*args, **kwargs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(
            f"Trying to backward through {ctx._definition._name} but no autograd formula was "
            "registered. Please use register_autograd to add one."
        )


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """A function as an operation with a name of its own."""

    def define_it(function: Callable[..., Any]) -> CustomOpDef:
        full = _checked(name)
        OPERATIONS[full] = CustomOpDef(full, function, schema)
        return OPERATIONS[full]

    return define_it if fn is None else define_it(fn)


def _find(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    full = _checked(str(op))
    if full not in OPERATIONS:
        raise RuntimeError(f"operator {full} does not exist")
    return OPERATIONS[full]


def define(qualname: str, schema: Any = None, *, lib: Any = None, tags: Any = ()) -> Any:
    """A new operation, of which `impl` says what it does."""
    full = _checked(qualname)
    OPERATIONS[full] = CustomOpDef(full, None, schema if isinstance(schema, str) else None)
    return None


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """What an operation does."""
    if func is None:
        return lambda fn: impl(qualname, types, fn, lib=lib)
    kinds = (types,) if isinstance(types, str) else tuple(types)
    if any(
        k.lower() in ("cpu", "default", "compositeimplicitautograd", "compositeexplicitautograd")
        for k in kinds
    ):
        _find(qualname)._function = func
    return None


def register_fake(op: Any, func: Any = None, /, *, lib: Any = None, **options: Any) -> Any:
    """Say what the shape of an operation's result is."""
    if func is None:
        return lambda fn: register_fake(op, fn)
    return _find(op).register_fake(func)


impl_abstract = register_fake


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """What an operation does on some devices."""
    if func is None:
        return lambda fn: register_kernel(op, device_types, fn)
    return _find(op).register_kernel(device_types, func)


def register_autograd(
    op: Any, backward: Any, /, *, setup_context: Any = None, lib: Any = None
) -> None:
    """The gradient of an operation."""
    _find(op).register_autograd(backward, setup_context=setup_context)


def register_vmap(op: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """What an operation does for whole batches."""
    return _find(op).register_vmap(func)


class Library:
    """The operations of one namespace."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """A new operation; gives its name."""
        define(f"{self.ns}::{schema}", schema)
        return schema.partition("(")[0].strip()

    def impl(
        self, op_name: Any, fn: Any, dispatch_key: str = "", *, with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:  # fmt: skip
        """What an operation does."""
        name = op_name if isinstance(op_name, str) else op_name._name.rpartition("::")[2]
        impl(
            f"{self.ns}::{name.rpartition('::')[2]}", dispatch_key or self.dispatch_key or "CPU", fn
        )

    def _register_fake(self, op_name: str, fn: Any, **options: Any) -> None:
        register_fake(f"{self.ns}::{op_name}", fn)


speak(globals(), __all__, ("__init__", "define", "impl"))
