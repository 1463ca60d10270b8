"""Tracing: calling a module or function with proxies, and recording the graph of what it does."""

from __future__ import annotations

import collections
import copy
import inspect
import math
import os
import warnings
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from .._ops.assertions import _assert
from .._tensor.tensor import Tensor
from ..nn.modules.container import ModuleList, Sequential
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..utils import _pytree as pytree
from .codegen import _PyTreeCodeGen, _PyTreeInfo
from .graph import Graph
from .graph_module import GraphModule
from .placeholders import PHBase
from .proxy import ParameterProxy, Proxy
from .shown import Shown, wrap
from .tracer_base import Scope, ScopeContextManager, TracerBase

__all__ = ["GraphAppendingTracer", "ProxyableClassMeta", "Tracer", "symbolic_trace", "wrap"]

_SEVERAL = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _with_plain_parameters(function: Any, count: int) -> Any:
    """The same function with `*args` and `**kwargs` as ordinary parameters, each passed one proxy."""
    code = function.__code__
    plain = code.replace(
        co_argcount=count,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=code.co_flags & ~_SEVERAL,
    )
    return FunctionType(plain, function.__globals__, function.__name__, None, function.__closure__)


def _assert_is_none(value: Any, msg: str) -> None:
    """What holds an argument that was None in a trace to it."""
    if value is not None:
        raise AssertionError(msg)


_assert_is_none.__module__ = "torch.fx._symbolic_trace"  # as which a graph's source calls it


class ProxyableClassMeta(type):
    """A metaclass whose classes can be made of proxies: the call becomes a node, and so is seen by methods."""

    def __init__(cls, name: str, bases: Any, attrs: Any) -> None:
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        instance: Any = cls.__new__(cls)  # type: ignore[call-overload]
        if not Shown.active:
            instance.__init__(*args, **kwargs)
            return instance
        found: list[Proxy] = []

        def note(value: Any) -> Any:
            if isinstance(value, Proxy):
                found.append(value)
            return value

        pytree.tree_map_(note, (args, kwargs))
        if not found:
            instance.__init__(*args, **kwargs)
            return instance
        return found[0].tracer.create_proxy("call_function", cls, args, kwargs)


class Tracer(TracerBase):
    """Traces a module's `forward`; `is_leaf_module` decides which submodules are leaves."""

    def __init__(
        self, autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (), param_shapes_constant: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.param_shapes_constant = param_shapes_constant
        self._autowrap_search = list(autowrap_modules)
        self._autowrap_function_ids = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        } | {id(function) for function in autowrap_functions}
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()  # the modules being traced into
        self.node_name_to_scope = {}
        self.tensor_attrs: dict[int, str] = {}

    def __deepcopy__(self, memo: Any) -> Tracer:
        # Modules that are wrapped cannot be copied.
        made: Tracer = type(self).__new__(type(self))
        memo[id(self)] = made
        for name, value in self.__dict__.items():
            made.__dict__[name] = (
                copy.copy(value) if name == "_autowrap_search" else copy.deepcopy(value, memo)
            )
        return made

    # ---- what subclasses decide ----------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module's call is one node: true for all of `torch.nn`, except containers."""
        own = type(m).__module__.startswith(("tautograd.nn", "torch.nn", "tautograd.ao.nn"))
        return own and not isinstance(m, (Sequential, ModuleList))

    def path_of_module(self, mod: Module) -> str:
        """The path of a submodule of the root."""
        paths = self.submodule_paths
        if paths:
            path = paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, module in self.root.named_modules():
            if module is mod:
                return str(name)
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A submodule's call: one node, or its own calls in turn."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            count = len(self.module_stack)
            key = path if path not in self.module_stack else f"{path}@{count}"
            self.module_stack[key] = (path, type(m))
            try:
                if not self.is_leaf_module(m, path):
                    return forward(*args, **kwargs)
                return self.create_proxy("call_module", path, args, kwargs)
            finally:
                self.module_stack.pop(key)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """A module's attribute as traced code sees it: for a parameter, the proxy of its node."""

        def of(held: Any, *, shown: bool) -> Any:
            for name, value in held:
                if value is attr_val:
                    if name not in parameter_proxy_cache:
                        factory = None
                        if shown and self.param_shapes_constant:
                            factory = lambda node: ParameterProxy(self, node, name, attr_val)  # noqa: E731, B023
                        options: dict[str, Any] = {"proxy_factory_fn": factory} if factory else {}
                        made = self.create_proxy("get_attr", name, (), {}, **options)
                        parameter_proxy_cache[name] = made
                    return parameter_proxy_cache[name]
            return None

        found = None
        if isinstance(attr_val, Parameter):
            found = of(self.root.named_parameters(), shown=True)
        elif self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            found = of(self.root.named_buffers(), shown=False)
        return attr_val if found is None else found

    # ---- arguments -----------------------------------------------------------------------------

    def create_arg(self, a: Any) -> Any:
        """A node argument: nodes for proxies, attributes for parameters and constants."""
        if isinstance(a, Parameter):
            for name, held in self.root.named_parameters():
                if a is held:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for name, held in self.root.named_buffers():
                if a is held:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            # Built by a node of its own, so that it is one again when the graph runs.
            return self.create_node(
                "call_function", type(a), tuple(self.create_arg(v) for v in a), {}
            )
        if isinstance(a, Tensor) or isinstance(type(a), ProxyableClassMeta):
            return self.create_node("get_attr", self._constant(a), (), {})
        return super().create_arg(a)

    def _constant(self, value: Any) -> str:
        """The attribute of the root that holds a value: its own, or a new one."""
        known = self.tensor_attrs.get(id(value))
        if known is not None:
            return known
        kind = "tensor" if isinstance(value, Tensor) else type(value).__name__
        number = 0
        while hasattr(self.root, f"_{kind}_constant{number}"):
            number += 1
        name = f"_{kind}_constant{number}"
        self.tensor_attrs[id(value)] = name
        self.root.__dict__[name] = value
        return name

    # ---- the trace -----------------------------------------------------------------------------

    def trace(self, root: Any, concrete_args: Any = None) -> Graph:
        """The graph of a module's or function's calls."""
        is_module = isinstance(root, Module)
        if is_module:
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(
                    f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}"
                )
            function = getattr(type(root), self.traced_func_name)
            self.root_module_name = type(root).__name__
            self.root = root
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            if not callable(root):
                raise AssertionError(f"Expected FunctionType, got {type(root)}")
            function, self.root = root, Module()
            self.submodule_paths = None
        tracer_cls = getattr(self, "__class__", None)
        self.graph: Any = Graph(tracer_cls=tracer_cls)
        self.graph._traced_place = _place_of(inspect.unwrap(function))
        self.tensor_attrs = dict(self._tensors_of(self.root, ""))
        variables = getattr(inspect.unwrap(function), "__globals__", {})
        function, args = self.create_args_for_root(function, is_module, concrete_args)
        annotated = _hints(function)
        with Shown(self, variables):
            result = function(*args)
        self.create_node(
            "output", "output", (self.create_arg(result),), {}, type_expr=annotated.get("return")
        )
        self.submodule_paths = None
        graph: Graph = self.graph
        return graph

    def _tensors_of(self, module: Module, prefix: str) -> Any:
        """The plain tensors that modules hold as attributes, with their paths."""
        for name, value in vars(module).items():
            if isinstance(value, Tensor) or isinstance(type(value), ProxyableClassMeta):
                yield id(value), f"{prefix}{name}"
        for name, below in module.named_children():
            yield from self._tensors_of(below, f"{prefix}{name}.")

    def create_args_for_root(
        self, root_fn: Any, is_module: bool, concrete_args: Any = None
    ) -> tuple[Any, list[Any]]:
        """The function to call, and its arguments: a proxy for each, or for each leaf of a nested one."""
        shown = inspect.unwrap(root_fn)
        if not hasattr(shown, "__code__"):
            shown = type(shown).__call__ if not isinstance(shown, type) else vars(shown)["__init__"]
        code = shown.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = iter(code.co_varnames)
        own = list(code.co_varnames)
        args: list[Any] = []
        if is_module:
            if total == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            next(names)
            args.append(self.root)
        signature = inspect.signature(shown)
        several = code.co_flags & _SEVERAL
        if isinstance(concrete_args, tuple) and concrete_args and several and total == 1:
            for number, given in enumerate(concrete_args):
                proxy = self.create_proxy("placeholder", f"input_{number}", (), {})
                if isinstance(given, PHBase):
                    _transfer(given, proxy.node)
                args.append(proxy)
            return root_fn, args
        wanted = [next(names) for _ in range(total - is_module)]
        if isinstance(concrete_args, tuple):
            if len(wanted) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(wanted)} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(wanted, concrete_args, strict=True))
        if concrete_args is not None and not isinstance(concrete_args, dict):
            raise TypeError(f"concrete_args must be a dict, not {type(concrete_args).__name__}")
        args.extend(self._proxy_placeholder(n, concrete_args, signature, shown) for n in wanted)
        if code.co_kwonlyargcount or several:
            if code.co_flags & inspect.CO_VARARGS:
                name = f"*{next(names)}"
                args.append(self._proxy_placeholder(name, concrete_args, signature, shown))
            if code.co_flags & inspect.CO_VARKEYWORDS:
                name = f"**{next(names)}"
                args.append(self._proxy_placeholder(name, concrete_args, signature, shown))
            root_fn = _with_plain_parameters(root_fn, len(args))
        leaves, spec = pytree.tree_flatten(tuple(args))
        if all(child.is_leaf() for child in spec.children()):
            return root_fn, args
        codegen = _PyTreeCodeGen(_PyTreeInfo(own[:total], spec, None))
        self.graph._codegen = codegen

        def flat(*given: Any) -> Any:
            result = root_fn(*pytree.tree_unflatten(list(given), spec))
            out, out_spec = pytree.tree_flatten(result)
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return out

        flat.__annotations__ = {}  # they would be the graph's
        return flat, leaves

    def _proxy_placeholder(self, name: str, fixed: Any, signature: Any, function: Any) -> Any:
        """A proxy for a parameter, or the value that the trace is specialized to, with a check of it."""
        default: tuple[Any, ...] = ()
        if not name.startswith("*"):
            parameter = signature.parameters[name]
            default = () if parameter.default is parameter.empty else (parameter.default,)
        if fixed is None or name not in fixed:
            hint = _hints(function).get(name)
            return self.create_proxy("placeholder", name, default, {}, type_expr=hint)
        count = 0

        def leaf(value: Any) -> Any:
            nonlocal count
            count += 1
            proxy = self.create_proxy("placeholder", f"{name}_{count}", default, {})
            if isinstance(value, PHBase):
                _transfer(value, proxy.node)
                return proxy
            told = f"{name} has been specialized to have value {value} but got another value"
            if isinstance(value, (bool, str, int, float, complex)):
                self.create_proxy("call_function", _assert, (proxy == value, told), {})
            elif value is None:
                self.create_proxy("call_function", _assert_is_none, (proxy, told), {})
            else:
                warnings.warn(
                    f"Was not able to add assertion to guarantee correct input {name} to specialized "
                    "function. It is up to the user to make sure that your inputs match the inputs you "
                    "specialized the function with.",
                    stacklevel=2,
                )
            return value

        return pytree.tree_map(leaf, fixed[name])


def _transfer(given: PHBase, node: Any) -> None:
    """What a placeholder of the user's carries becomes a node's, unless the node has it already."""
    for name, value in vars(given).items():
        if not hasattr(node, name):
            setattr(node, name, value)


def _hints(function: Any) -> dict[str, Any]:
    """A function's annotations; ours are not part of what is traced."""
    if str(getattr(function, "__module__", "")).startswith(__name__.partition(".")[0] + "."):
        return {}
    found: dict[str, Any] = getattr(function, "__annotations__", {})
    return found


def _place_of(function: Any) -> str:
    """Where a function is written, for the file name of what is generated from it."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    return f"{os.path.abspath(code.co_filename)}:{code.co_firstlineno} in {code.co_name}"


class GraphAppendingTracer(Tracer):
    """A tracer for proxies created by hand: what is done with them is appended to a graph."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph, self.root = graph, Module()


def symbolic_trace(root: Any, concrete_args: Any = None) -> GraphModule:
    """Trace a module or function into a `GraphModule` that does the same."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
