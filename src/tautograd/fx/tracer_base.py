"""What all tracers share: how values become arguments of nodes, and what a proxy asks when Python looks into it."""

from __future__ import annotations

import dataclasses
import enum
import traceback
from collections.abc import Iterator
from typing import Any

from .._arrays.devices import device
from .._arrays.dtypes import dtype
from .._arrays.formats import layout, memory_format
from .._random.engine import Generator
from .._tensor.tensor import Tensor
from .._user_code.stack import user_frames
from .node import Node, map_aggregate

__all__ = ["Scope", "ScopeContextManager", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """Something a trace cannot follow: a decision that depends on a value."""


class Scope:
    """The module that is being traced into: its path and its class."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """A context in which a scope is another one."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope, self._before = scope, Scope(scope.module_path, scope.module_type)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *error: object) -> None:
        before = self._before
        self._scope.module_path, self._scope.module_type = before.module_path, before.module_type


_CANNOT_ITERATE = (
    "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args "
    "or **kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of "
    "what types of control flow can be traced, and check out the Proxy docstring for help troubleshooting "
    "Proxy iteration errors"
)


class TracerBase:
    """The base of all tracers, with PyTorch's switches."""

    graph: Any
    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    module_stack: dict[str, Any]
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(
        self, kind: str, target: Any, args: Any, kwargs: Any, name: str | None = None,
        type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """A node, with the modules that were being traced into, and the user's lines if they are asked for."""
        if kind == "call_function" and self.check_mutable_operations:
            refuse_changes(target, args, kwargs)
        node: Node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        stack = getattr(self, "module_stack", None)
        if stack:
            node.meta["nn_module_stack"] = type(stack)(stack)
        scope = getattr(self, "scope", None)
        if scope is not None:
            self.__dict__.setdefault("node_name_to_scope", {})[node.name] = (
                scope.module_path, scope.module_type,
            )  # fmt: skip
        current = _preserved_meta()
        if current is not None:
            node.meta.update({k: v for k, v in current.items() if k not in node.meta})
        if self.record_stack_traces and node.stack_trace is None:
            node.stack_trace = _lines_of_user()
        return node

    def proxy(self, node: Node) -> Any:
        """What stands for a node's result while code is traced."""
        from .proxy import Proxy

        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Any, args: Any, kwargs: Any, name: str | None = None,
        type_expr: Any = None, proxy_factory_fn: Any = None,
    ) -> Any:  # fmt: skip
        """A proxy of a new node."""
        given, named = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, given, named, name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def create_arg(self, a: Any) -> Any:
        """A value as a node's argument: nodes for proxies, in containers of the same kinds."""
        from .proxy import Proxy

        if isinstance(a, Proxy):
            return a.node
        if hasattr(type(a), "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, (list, tuple)):
            items = [self.create_arg(v) for v in a]
            if isinstance(a, list):
                return items
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, dict):
            return self._of_dictionary(a)
        if isinstance(a, slice):
            return slice(*(self.create_arg(v) for v in (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(*(self.create_arg(v) for v in (a.start, a.stop, a.step)))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            named = {f.name: self.create_arg(getattr(a, f.name)) for f in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), named)
        if isinstance(a, _LEAVES) or a is None or a is Ellipsis or callable(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _of_dictionary(self, a: dict[Any, Any]) -> dict[Any, Any]:
        made = {}
        for key, value in a.items():
            taken = self.create_arg(key)

            def refuse(node: Any, taken: Any = taken) -> Any:
                if isinstance(node, Node):
                    raise RuntimeError(
                        "Keys for dictionaries used as an argument cannot contain a Node. "
                        f"Got key: {taken}"
                    )
                return node

            map_aggregate(taken, refuse)
            made[taken] = self.create_arg(value)
        return made

    def to_bool(self, obj: Any) -> bool:
        """What a proxy is in a decision: a trace has no answer."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Any) -> Iterator[Any]:
        """What a loop over a proxy goes through: a trace does not know how many there are."""
        raise TraceError(_CANNOT_ITERATE)

    def keys(self, obj: Any) -> Any:
        """The keys of a proxy, as `**proxy` asks for them."""
        from .proxy import Attribute

        return Attribute(obj, "keys")()


_LEAVES = (
    str, int, float, bool, complex, Tensor, dtype, device, layout, memory_format, Generator, enum.Enum,
)  # fmt: skip


def _preserved_meta() -> dict[str, Any] | None:
    """The metadata of the node that an interpreter runs, if its trace asked to keep it."""
    from . import traceback as of_nodes

    return of_nodes.get_current_meta() if of_nodes.has_preserved_node_meta() else None


def _lines_of_user() -> str | None:
    frames = [(f, f.f_lineno) for f in reversed(user_frames(limit=100))]
    return "".join(traceback.StackSummary.extract(frames).format()).strip() or None


def refuse_changes(target: Any, args: Any, kwargs: Any) -> None:
    """Refuse a function that changes one of its arguments: a graph of values cannot have that."""
    name = getattr(target, "__name__", "")
    changes = (name.endswith("_") and not name.endswith("__")) or (kwargs or {}).get(
        "out"
    ) is not None
    if changes and str(getattr(target, "__module__", "")).startswith(("torch", "tautograd")):
        raise RuntimeError(
            f"Tried to trace mutable operation aten::{name}{'' if name.endswith('_') else '.out'}. FX "
            "only supports functional code, so operations "
            "that mutate operands in-place (e.g. via `out` arguments) are not supported"
        )
