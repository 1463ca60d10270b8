"""Tracing: calling a module or function with proxies, and recording the graph of what it does."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

from .._stand_ins.slots import replace
from .._tensor.tensor import Tensor
from ..nn.modules.container import ModuleList, Sequential
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from .graph import Graph
from .graph_module import GraphModule
from .node import map_aggregate
from .proxy import Proxy, TracerBase

__all__ = ["Tracer", "symbolic_trace", "wrap"]


class _Namespace:
    """A module's globals as attributes, so that they can be patched like a class's members."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self.__dict__ = variables


_namespaces: dict[int, _Namespace] = {}  # by the identity of the globals, which these keep alive
_wrapped: dict[tuple[_Namespace, str], None] = {}  # in the order in which they were wrapped


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Keep a function's calls as calls in traces; to be called at the top of the function's module."""
    frame = sys._getframe(1)
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    variables = frame.f_globals
    namespace = _namespaces.setdefault(id(variables), _Namespace(variables))
    _wrapped[namespace, name] = None
    return fn_or_name


_SEVERAL = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _with_plain_parameters(function: Any) -> Any:
    """The same function with `*args` and `**kwargs` as ordinary parameters, each passed one proxy."""
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
    """Traces a module's `forward`; `is_leaf_module` decides which submodules are leaves."""

    def __init__(
        self, autowrap_modules: Any = (), autowrap_functions: Any = (),
        param_shapes_constant: bool = False,
    ) -> None:  # fmt: skip
        self.graph: Graph
        self.root: Module
        self.module_stack: dict[str, tuple[str, type]] = {}  # the modules being traced into
        self._functions = tuple(autowrap_functions)

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module's call is one node: true for all of `torch.nn`, except containers."""
        own = type(m).__module__.startswith(("tautograd.nn", "torch.nn"))
        return own and not isinstance(m, (Sequential, ModuleList))

    def path_of_module(self, mod: Module) -> str:
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def create_arg(self, a: Any) -> Any:
        """A node argument: nodes for proxies, attributes for parameters, values unchanged."""
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
        """A proxy of a new node."""
        taken = self.create_arg(args), self.create_arg(kwargs)
        return self.proxy(self.create_node(kind, target, *taken, name, type_expr))

    def proxy(self, node: Any) -> Any:
        return Proxy(node, self)

    def call_module(self, m: Module, forward: Any, args: Any, kwargs: Any) -> Any:
        """A submodule's call: one node, or its own calls in turn."""
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
        with _Shown(self):
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
    """A tracer for proxies created by hand: what is done with them is appended to a graph."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph, self.root = graph, Module()


class _Shown:
    """A context in which this thread's calls of modules, and of wrapped functions, go to a tracer first.

    Other functions need no patch: they call a proxy's `__torch_function__`.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer, self._thread = tracer, threading.get_ident()
        self._ends: list[Callable[[], None]] = []

    def __enter__(self) -> None:
        try:
            self._ends.append(replace(Module, "__call__", self._module_call))
            for namespace, name in list(_wrapped):
                if name in vars(namespace):
                    self._ends.append(replace(namespace, name, self._function))
        except BaseException:  # Ctrl-C
            self.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        while self._ends:
            self._ends.pop()()

    def _is_traced(self, arguments: Any) -> bool:
        found: list[Any] = []
        map_aggregate(arguments, lambda x: found.append(x) if isinstance(x, Proxy) else None)
        return bool(found) and threading.get_ident() == self._thread

    def _module_call(self, below: Any) -> Any:
        def call(module: Module, *args: Any, **kwargs: Any) -> Any:
            if not self._is_traced((args, kwargs)):
                return below(module, *args, **kwargs)

            def forward(*a: Any, **k: Any) -> Any:
                return module.forward(*a, **k)

            return self._tracer.call_module(module, forward, args, kwargs)

        return call

    def _function(self, below: Any) -> Any:
        original = getattr(below, "_fx_original", below)  # patched by a trace around this one

        def call(*args: Any, **kwargs: Any) -> Any:
            if not self._is_traced((args, kwargs)):
                return below(*args, **kwargs)
            return self._tracer.create_proxy("call_function", original, args, kwargs)

        shown: Any = call
        shown._fx_original = original
        return shown


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Trace a module or function into a `GraphModule` that does the same."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
