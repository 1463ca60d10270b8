"""The proxies that a traced function is called with, which record what is done with them."""

from __future__ import annotations

import operator
from typing import Any

from .node import Node, map_aggregate

__all__ = ["Attribute", "Proxy", "TraceError", "TracerBase"]


def __getattr__(name: str) -> Any:
    if name == "GraphAppendingTracer":  # which needs this module
        from .tracing import GraphAppendingTracer

        return GraphAppendingTracer
    from .._nearest import no_attribute

    raise no_attribute(__name__, name, globals())


class TracerBase:
    """The base of all tracers, with PyTorch's switches."""

    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"


class TraceError(ValueError):
    """Something a trace cannot follow: a decision that depends on a value."""


class Proxy:
    """The result of a node that has not run."""

    def __init__(self, node: Node, tracer: Any = None) -> None:
        from .tracing import Tracer

        self.node = node
        if tracer is None:
            tracer = Tracer()
            tracer.graph = node.graph
        self.tracer = tracer

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Attribute:
        return Attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Any:
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop "
            "or as a *args or **kwargs function argument."
        )

    def __bool__(self) -> bool:
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def __len__(self) -> int:
        raise RuntimeError("'len' is not supported in symbolic tracing by default.")

    def keys(self) -> Any:
        return self.tracer.create_proxy("call_method", "keys", (self,), {})

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        found: list[Any] = []
        map_aggregate((args, kwargs), lambda x: found.append(x) if isinstance(x, Proxy) else None)
        return found[0].tracer.create_proxy("call_function", func, args, kwargs)


class Attribute(Proxy):
    """An attribute of a traced value: a method about to be called, or a value."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr = root, attr
        self.tracer = root.tracer
        self._made: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        if self._made is None:
            proxy = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {})
            self._made = proxy.node
        return self._made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def _operator(function: Any, reflected: bool) -> Any:
    def method(self: Proxy, *others: Any) -> Any:
        args = (*others, self) if reflected else (self, *others)
        return self.tracer.create_proxy("call_function", function, args, {})

    return method


for _name in (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift",
    "rshift",
):  # fmt: skip
    _function = getattr(operator, f"{_name}_" if _name in ("and", "or") else _name)
    setattr(Proxy, f"__{_name}__", _operator(_function, False))
    setattr(Proxy, f"__r{_name}__", _operator(_function, True))
for _name in ("neg", "pos", "invert", "abs", "lt", "le", "gt", "ge", "eq", "ne", "getitem"):
    setattr(Proxy, f"__{_name}__", _operator(getattr(operator, _name), False))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]
