"""Tracing: a module or function called with proxies, and the graph of what it did."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from .._tensor.tensor import Tensor
from ..nn.modules.container import ModuleList, Sequential
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from .graph import Graph
from .graph_module import GraphModule
from .node import map_aggregate
from .proxy import Proxy, TracerBase

__all__ = ["Tracer", "symbolic_trace", "wrap"]

_wrapped: list[tuple[dict[str, Any], str]] = []


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Keep a function's calls in traces as calls; said at the top of the module that has it."""
    frame = sys._getframe(1)
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    _wrapped.append((frame.f_globals, name))
    return fn_or_name


_SEVERAL = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _with_plain_parameters(function: Any) -> Any:
    """The same function with `*args` and `**kwargs` as parameters like others: each is given one proxy."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    plain = code.replace(
        co_argcount=count,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=code.co_flags & ~_SEVERAL,
    )
    return FunctionType(plain, function.__globals__, function.__name__, None, function.__closure__)


class Tracer(TracerBase):
    """Follows a module's `forward`; what is a leaf of it is up to `is_leaf_module`."""

    def __init__(
        self, autowrap_modules: Any = (), autowrap_functions: Any = (),
        param_shapes_constant: bool = False,
    ) -> None:  # fmt: skip
        self.graph: Graph
        self.root: Module
        self.module_stack: dict[
            str, tuple[str, type]
        ] = {}  # the modules whose calls are being followed
        self._functions = tuple(autowrap_functions)

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module's call is one node: all of `torch.nn`'s are, but for containers."""
        own = type(m).__module__.startswith(("tautograd.nn", "torch.nn"))
        return own and not isinstance(m, (Sequential, ModuleList))

    def path_of_module(self, mod: Module) -> str:
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def create_arg(self, a: Any) -> Any:
        """What a node takes: nodes for proxies, attributes for parameters, values as they are."""
        return map_aggregate(a, self._argument)

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Proxy):
            return value.node
        if isinstance(value, Tensor):
            return self.graph.create_node("get_attr", self._attribute_of(value))
        return value

    def _attribute_of(self, tensor: Tensor) -> str:
        for name, held in (*self.root.named_parameters(), *self.root.named_buffers()):
            if held is tensor:
                return name
        for name, held in vars(self.root).items():
            if held is tensor:
                return name
        if isinstance(tensor, Parameter):
            raise NameError("parameter is not a member of this module")
        number = 0
        while hasattr(self.root, f"_tensor_constant{number}"):
            number += 1
        self.root.__dict__[f"_tensor_constant{number}"] = tensor
        return f"_tensor_constant{number}"

    def create_node(
        self,
        kind: str,
        target: Any,
        args: Any,
        kwargs: Any,
        name: Any = None,
        type_expr: Any = None,
    ) -> Any:
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if self.module_stack:
            node.meta["nn_module_stack"] = dict(self.module_stack)
        return node

    def create_proxy(
        self, kind: str, target: Any, args: Any, kwargs: Any, name: Any = None, type_expr: Any = None,
        proxy_factory_fn: Any = None,
    ) -> Any:  # fmt: skip
        """A new node, as something to compute with."""
        taken = self.create_arg(args), self.create_arg(kwargs)
        return self.proxy(self.create_node(kind, target, *taken, name, type_expr))

    def proxy(self, node: Any) -> Any:
        return Proxy(node, self)

    def call_module(self, m: Module, forward: Any, args: Any, kwargs: Any) -> Any:
        """A submodule's call: one node, or what it does in turn."""
        name = self.path_of_module(m)
        self.module_stack[name] = (name, type(m))
        try:
            if not self.is_leaf_module(m, name):
                return forward(*args, **kwargs)
            return self.create_proxy("call_module", name, args, kwargs)
        finally:
            self.module_stack.pop(name)

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module's or function's calls."""
        if concrete_args is not None and not isinstance(concrete_args, dict):
            raise TypeError(f"concrete_args must be a dict, not {type(concrete_args).__name__}")
        fixed = concrete_args or {}
        is_module = isinstance(root, Module)
        if not callable(root):
            raise AssertionError(f"Expected FunctionType, got {type(root)}")
        self.root = root if is_module else Module()
        function = type(root).forward if is_module else root
        self.graph = Graph(tracer_cls=type(self))
        args, kwargs = self._inputs(function, is_module, fixed)
        if inspect.isfunction(function) and function.__code__.co_flags & _SEVERAL:
            function = _with_plain_parameters(function)
        with _CallsShown(self), _FunctionsShown(self):
            result = function(*([root, *args] if is_module else args), **kwargs)
        self.graph.output(self.create_arg(result))
        return self.graph

    def _inputs(
        self, function: Any, is_module: bool, fixed: Any
    ) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        parameters = list(inspect.signature(function).parameters.values())[is_module:]
        several = any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)
        if several and not inspect.isfunction(function):
            parameters = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        order: dict[Any, int] = {
            inspect.Parameter.KEYWORD_ONLY: 1,
            inspect.Parameter.VAR_POSITIONAL: 2,
            inspect.Parameter.VAR_KEYWORD: 3,
        }
        for p in sorted(parameters, key=lambda p: order.get(p.kind, 0)) if several else parameters:
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                stars = "*" if p.kind == p.VAR_POSITIONAL else "**"
                value = self.create_proxy("placeholder", stars + p.name, (), {})
            elif p.name in fixed:
                value = fixed[p.name]
            else:
                default = () if p.default is p.empty else (p.default,)
                value = self.create_proxy("placeholder", p.name, default, {})
            if p.kind == p.KEYWORD_ONLY and not several:
                kwargs[p.name] = value
            else:
                args.append(value)
        return args, kwargs


class GraphAppendingTracer(Tracer):
    """A tracer for proxies that are made by hand: what is done with them goes to the end of a graph."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph, self.root = graph, Module()


class _CallsShown:
    """Inside, calls of modules go to a tracer first."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def __enter__(self) -> None:
        tracer, self._before = self._tracer, Module.__call__
        before: Any = self._before

        def call(module: Module, *args: Any, **kwargs: Any) -> Any:
            found: list[Any] = []
            map_aggregate(
                (args, kwargs), lambda x: found.append(x) if isinstance(x, Proxy) else None
            )
            if not found:
                return before(module, *args, **kwargs)

            def forward(*a: Any, **k: Any) -> Any:
                return module.forward(*a, **k)

            return tracer.call_module(module, forward, args, kwargs)

        Module.__call__ = call  # type: ignore[method-assign,assignment]

    def __exit__(self, *exc: object) -> None:
        Module.__call__ = self._before  # type: ignore[method-assign]


_NAMESPACES = ("", ".nn.functional", ".linalg", ".special", ".fft")


class _FunctionsShown:
    """Inside, tautograd's functions, and those that were wrapped, are nodes where a proxy is given.

    The functions are replaced where programs find them: in tautograd's own modules and in those in
    which the traced modules' classes are defined.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._before: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> None:
        shown: dict[int, Any] = {}
        for rest in _NAMESPACES:
            module = sys.modules.get(f"tautograd{rest}")
            for name, value in list(vars(module).items()) if module is not None else ():
                if isinstance(value, FunctionType) and not name.startswith("_"):
                    shown.setdefault(id(value), self._shown(value))
                    self._replace(module, name, value, shown[id(value)])
        homes = {type(m).__module__ for m in self._tracer.root.modules()}
        for home in (sys.modules.get(name) for name in homes if not name.startswith("tautograd")):
            for name, value in list(vars(home).items()) if home is not None else ():
                if id(value) in shown:
                    self._replace(home, name, value, shown[id(value)])
        for namespace, name in _wrapped:
            original = namespace.get(name)
            if original is not None:
                self._before.append((namespace, name, original))
                namespace[name] = self._shown(original)

    def _replace(self, holder: Any, name: str, value: Any, other: Any) -> None:
        self._before.append((holder, name, value))
        setattr(holder, name, other)

    def _shown(self, original: Any) -> Any:
        original = getattr(original, "_fx_original", original)  # of a trace around this one

        def call(*args: Any, **kwargs: Any) -> Any:
            found: list[Any] = []
            map_aggregate(
                (args, kwargs), lambda x: found.append(x) if isinstance(x, Proxy) else None
            )
            if not found:
                return original(*args, **kwargs)
            return self._tracer.create_proxy("call_function", original, args, kwargs)

        shown: Any = call
        shown._fx_original = original
        return shown

    def __exit__(self, *exc: object) -> None:
        for holder, name, original in reversed(self._before):
            if isinstance(holder, dict):
                holder[name] = original
            else:
                setattr(holder, name, original)


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A module or function as a `GraphModule` that does the same."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
