"""What traced code sees in place of modules' calls, their parameters, and functions that were wrapped."""

from __future__ import annotations

import builtins
import sys
import threading
from collections.abc import Callable
from typing import Any

from .._stand_ins.slots import replace
from ..nn.modules.module import Module
from .node import map_aggregate
from .proxy import Proxy

__all__ = ["Shown", "wrap"]


class _Namespace:
    """A module's globals as attributes, so that they can be patched like a class's members."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self.__dict__ = variables


_namespaces: dict[int, _Namespace] = {}  # by the identity of the globals, which these keep alive
_wrapped: dict[tuple[_Namespace, str], None] = {}  # in the order in which they were wrapped


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Keep a function's calls as calls in traces; to be called at the top of the function's module."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else getattr(fn_or_name, "__name__", None)
    if name is None:
        raise AssertionError("fn_or_name must be a global function or string name")
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped[_namespace(frame.f_globals), name] = None
    return fn_or_name


wrap.__module__ = "torch.fx._symbolic_trace"  # as which a graph's source calls it


def _namespace(variables: dict[str, Any]) -> _Namespace:
    return _namespaces.setdefault(id(variables), _Namespace(variables))


class Shown:
    """A context in which this thread's calls of modules, and of wrapped functions, go to a tracer first.

    Other functions need no patch: they call a proxy's `__torch_function__`.
    """

    active = 0

    def __init__(self, tracer: Any, variables: dict[str, Any]) -> None:
        self._tracer, self._thread = tracer, threading.get_ident()
        self._variables = variables
        self._ends: list[Callable[[], None]] = []
        self._parameters: dict[str, Any] = {}
        self._searched: set[int] = set()

    def __enter__(self) -> None:
        Shown.active += 1
        try:
            self._ends.append(replace(Module, "__getattr__", self._attribute))
            self._ends.append(replace(Module, "__call__", self._module_call))
            for namespace, name in list(_wrapped):
                self._wrap(namespace, name)
            self._search(self._variables)
            for module in self._tracer._autowrap_search:
                self._search(vars(module))
        except BaseException:  # Ctrl-C
            self.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        Shown.active -= 1
        while self._ends:
            self._ends.pop()()

    def _wrap(self, namespace: _Namespace, name: str) -> None:
        variables = vars(namespace)
        if name not in variables:
            if not hasattr(builtins, name):
                return
            original = variables[name] = getattr(builtins, name)

            def forget() -> None:
                if variables.get(name) is original:
                    del variables[name]

            self._ends.append(forget)
        self._ends.append(replace(namespace, name, self._function))

    def _search(self, variables: dict[str, Any]) -> None:
        """Wrap what a namespace has of the tracer's own list."""
        if id(variables) in self._searched:
            return
        self._searched.add(id(variables))
        known = self._tracer._autowrap_function_ids
        for name, value in list(variables.items()):
            if not name.startswith("_") and callable(value) and id(value) in known:
                self._ends.append(replace(_namespace(variables), name, self._function))

    def _is_here(self) -> bool:
        return threading.get_ident() == self._thread

    def _is_traced(self, arguments: Any) -> bool:
        found: list[Any] = []
        map_aggregate(arguments, lambda x: found.append(x) if isinstance(x, Proxy) else None)
        return bool(found) and self._is_here()

    def _attribute(self, below: Any) -> Any:
        def __getattr__(module: Module, name: str) -> Any:
            value = below(module, name)
            if not self._is_here():
                return value
            return self._tracer.getattr(name, value, self._parameters)

        return __getattr__

    def _module_call(self, below: Any) -> Any:
        def __call__(module: Module, *args: Any, **kwargs: Any) -> Any:
            if not self._is_here():
                return below(module, *args, **kwargs)

            def forward(*a: Any, **k: Any) -> Any:
                return below(module, *a, **k)

            of = getattr(type(module), "forward", None)
            self._search(getattr(of, "__globals__", {}))
            return self._tracer.call_module(module, forward, args, kwargs)

        return __call__

    def _function(self, below: Any) -> Any:
        original = getattr(below, "_fx_original", below)  # patched by a trace around this one

        def call(*args: Any, **kwargs: Any) -> Any:
            if not self._is_traced((args, kwargs)):
                return below(*args, **kwargs)
            made = self._tracer.create_proxy("call_function", original, args, kwargs)
            made.node.meta["is_wrapped"] = True
            return made

        shown: Any = call
        shown._fx_original = original
        return shown
