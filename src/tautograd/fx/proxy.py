"""The proxies that a traced function is called with, which record what is done with them."""

from __future__ import annotations

import copy
import dis
import itertools
import operator
import sys
from typing import Any

from .node import Node, map_aggregate
from .tracer_base import Scope, ScopeContextManager, TraceError, TracerBase

__all__ = [
    "Attribute", "ParameterProxy", "Proxy", "Scope", "ScopeContextManager", "TraceError", "TracerBase",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "GraphAppendingTracer":  # which needs this module
        from .tracing import GraphAppendingTracer

        return GraphAppendingTracer
    from .._nearest import no_attribute

    raise no_attribute(__name__, name, globals())


class Proxy:
    """The result of a node that has not run."""

    def __init__(self, node: Node, tracer: Any = None) -> None:
        if tracer is None:
            from .tracing import GraphAppendingTracer

            tracer = GraphAppendingTracer(node.graph)
        self.tracer = tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Attribute:
        return Attribute(self, name)

    def __deepcopy__(self, memo: Any) -> Proxy:
        # Without this, `__getattr__` would show a method of this name, to be called in the graph.
        made: Proxy = type(self).__new__(type(self))
        memo[id(self)] = made
        for name, value in self.__dict__.items():
            made.__dict__[name] = copy.deepcopy(value, memo)
        return made

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Any:
        count = _unpacked(sys._getframe(1))
        if count is not None:
            this: Any = self
            return iter([this[i] for i in range(count)])
        return self.tracer.iter(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and _is_asserted(sys._getframe(1)):
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)  # type: ignore[no-any-return]

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, "
            "please call torch.fx.wrap('len') at module scope"
        )

    def keys(self) -> Any:
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tracers: dict[Any, None] = {}

        def note(value: Any) -> None:
            if isinstance(value, Proxy):
                tracers[value.tracer] = None

        map_aggregate((args, kwargs), note)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations {func}"
            )
        (tracer,) = tracers
        return tracer.create_proxy("call_function", func, args, kwargs)


def assert_fn(x: Any) -> None:
    """What a traced `assert` becomes."""
    assert x


def _unpacked(frame: Any) -> int | None:
    """Into how many names the caller unpacks, if that is what it iterates for."""
    code = frame.f_code.co_code
    if dis.opname[code[frame.f_lasti]] in ("UNPACK_SEQUENCE", *_UNPACKING):
        return int(code[frame.f_lasti + 1])
    return None


_UNPACKING = tuple(name for name in dis.opname if name.startswith("UNPACK_SEQUENCE_"))


def _is_asserted(frame: Any) -> bool:
    """Whether the caller's next step is the jump over an `AssertionError`."""
    steps = list(dis.get_instructions(frame.f_code))
    here = next(i for i, step in enumerate(steps) if step.offset >= frame.f_lasti)
    following = [
        s
        for s in steps[here : here + 6]
        if s.opname not in ("CACHE", "TO_BOOL", "PRECALL", "COMPARE_OP")
    ]
    return any(
        a.opname.startswith("POP_JUMP") and "IF_TRUE" in a.opname and b.opname in _ASSERTING
        for a, b in itertools.pairwise(following)
    )


_ASSERTING = ("LOAD_ASSERTION_ERROR", "LOAD_COMMON_CONSTANT")


class ParameterProxy(Proxy):
    """A parameter whose shape is known while it is traced."""

    def __init__(self, tracer: Any, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        return self.param.shape

    def size(self, *args: Any) -> Any:
        return self.param.size(*args)

    def dim(self) -> int:
        return int(self.param.dim())

    @property
    def ndim(self) -> int:
        return int(self.param.ndim)

    def numel(self) -> int:
        return int(self.param.numel())

    def nelement(self) -> int:
        return int(self.param.nelement())


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


class MetaProxy(Proxy):
    """A proxy of a node with a fake value, which a mode of fake tensors computes with."""

    def __init__(self, node: Node, tracer: Any = None, fake_mode: Any = None) -> None:
        super().__init__(node, tracer)
        self.fake_mode = fake_mode

    def __repr__(self) -> str:
        return f"MetaProxy({self.node.name})"


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
for _name in ("neg", "pos", "invert", "lt", "le", "gt", "ge", "eq", "ne", "getitem"):
    setattr(Proxy, f"__{_name}__", _operator(getattr(operator, _name), False))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]
