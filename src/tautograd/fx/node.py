"""One step of a graph: an input, an attribute, a call or the output, with its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Argument = Any
Target = Any
base_types = (str, int, float, bool, complex, type(None))
KINDS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
_effects: set[Any] = set()


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function whose calls stay in a graph even if their results are unused."""
    _effects.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """The same nested tuples, lists, dictionaries and slices, with `fn` applied to their leaves."""
    if isinstance(a, tuple):
        items = [map_aggregate(x, fn) for x in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return [map_aggregate(x, fn) for x in a]
    if isinstance(a, dict):
        return {k: map_aggregate(v, fn) for k, v in a.items()}
    if isinstance(a, slice):
        return slice(*(map_aggregate(x, fn) for x in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """The same nested containers with `fn` applied to the nodes in them."""
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


class Node:
    """A step of a graph; `users` are the nodes that use its result."""

    def __init__(
        self,
        graph: Any,
        name: str,
        op: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        return_type: Any = None,
    ) -> None:
        if op not in KINDS:
            raise AssertionError(f"unknown kind of node: {op}")
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._erased = False
        self._set(args, kwargs)

    def _set(self, args: Any, kwargs: Any) -> None:
        for node in self.all_input_nodes:
            node.users.pop(self, None)
        self._args, self._kwargs = tuple(args), dict(kwargs)
        for node in self.all_input_nodes:
            node.users[self] = None

    @property
    def args(self) -> tuple[Any, ...]:
        return self._args

    @args.setter
    def args(self, value: tuple[Any, ...]) -> None:
        self._set(value, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        return self._kwargs

    @kwargs.setter
    def kwargs(self, value: dict[str, Any]) -> None:
        self._set(self._args, value)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes whose results this one uses, each once."""
        found: dict[Node, None] = {}
        map_arg((self._args, self._kwargs), found.setdefault)
        return list(found)

    @property
    def next(self) -> Node:
        nodes = self.graph._nodes
        following = nodes.index(self) + 1
        return nodes[following] if following < len(nodes) else self.graph._root  # type: ignore[no-any-return]

    @property
    def prev(self) -> Node:
        nodes = self.graph._nodes
        place = nodes.index(self)
        return nodes[place - 1] if place else self.graph._root  # type: ignore[no-any-return]

    @property
    def stack_trace(self) -> str | None:
        """Where the node was created, if its tracer recorded that."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def prepend(self, x: Node) -> None:
        """Move a node to just before this one."""
        self.graph._move(x, self, 0)

    def append(self, x: Node) -> None:
        """Move a node to just after this one."""
        self.graph._move(x, self, 1)

    def update_arg(self, idx: int, arg: Any) -> None:
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def update_kwarg(self, key: str, arg: Any) -> None:
        self.kwargs = {**self._kwargs, key: arg}

    def insert_arg(self, idx: int, arg: Any) -> None:
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Replace one input node by another."""

        def change(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set(map_arg(self._args, change), map_arg(self._kwargs, change))

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Any = None, *, propagate_meta: bool = False
    ) -> list[Node]:
        """Make all users of this node use another's result instead."""
        users = [u for u in self.users if delete_user_cb is None or delete_user_cb(u)]
        for user in users:
            user.replace_input_with(self, replace_with)
        if propagate_meta:
            replace_with.meta.update(self.meta)
        return users

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node must stay even if its result is unused."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_method":
            return str(self.target).endswith("_") and not str(self.target).startswith("__")
        return self.op == "call_function" and self.target in _effects

    def format_node(self) -> str:
        """The node as one line of text."""
        if self.op == "placeholder":
            return (
                f"%{self.name} : [num_users={len(self.users)}] = placeholder[target={self.target}]"
            )
        if self.op == "output":
            return f"return {_shown(self._args[0])}"
        target = self.target if isinstance(self.target, str) else spoken(self.target)
        if getattr(self.target, "__module__", "") == "builtins":
            target = f"builtins.{target}"
        if self.op == "get_attr":
            return f"%{self.name} : [num_users={len(self.users)}] = get_attr[target={target}]"
        kwargs = ", ".join(f"{k}: {_shown(v)}" for k, v in self._kwargs.items())
        return (
            f"%{self.name} : [num_users={len(self.users)}] = {self.op}[target={target}](args = "
            f"{_shown(self._args)}, kwargs = {{{kwargs}}})"
        )

    def __repr__(self) -> str:
        return self.name


def _shown(value: Any) -> str:
    return repr(map_arg(value, lambda n: _Shown(f"%{n.name}")))


class _Shown(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def spoken(target: Any) -> str:
    """A function's name as source code has it: `torch.relu`, `operator.add`, …"""
    name = str(getattr(target, "__qualname__", None) or getattr(target, "__name__", repr(target)))
    module = getattr(target, "__module__", "") or ""
    if module.startswith("tautograd"):
        return f"torch.nn.functional.{name}" if ".nn" in module else f"torch.{name}"
    return f"{module.lstrip('_')}.{name}" if module not in ("builtins", "") else name
