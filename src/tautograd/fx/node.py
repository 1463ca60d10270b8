"""One step of a graph: an input, an attribute, a call or the output, with its arguments."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable
from typing import Any

from .._ops.assertions import _assert, _assert_async
from .immutable_collections import immutable_dict, immutable_list, kept

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Argument = Any
ArgumentT = typing.TypeVar("ArgumentT")
Target = Any
base_types = (str, int, float, bool, complex, type(None))
KINDS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
_effects: set[Any] = {_assert, _assert_async}


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
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict({k: map_aggregate(v, fn) for k, v in a.items()})
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
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        wanted = "Callable" if op == "call_function" else "str"
        if not (callable(target) if op == "call_function" else isinstance(target, str)):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {typename(target)} but a "
                f"{wanted} is expected"
            )
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
        self._args, self._kwargs = kept(tuple(args)), kept(dict(kwargs))
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
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        self.graph._move(x, self, 0)

    def append(self, x: Node) -> None:
        """Move a node to just after this one."""
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
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
        if propagate_meta and replace_with.meta:
            raise AssertionError(
                "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already "
                "has .meta keys"
            )
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
        if self.op == "call_module":
            owner = self.graph.owning_module
            found = owner.get_submodule(self.target) if owner is not None else None
            return bool(getattr(found, "_is_impure", False))
        if self.op != "call_function":
            return False
        if impure_random and _draws(self.target):
            return True
        return self.target in _effects

    def normalized_arguments(
        self, root: Any, arg_types: Any = None, kwarg_types: Any = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:  # fmt: skip
        """The arguments of a call as its signature has them, or None where it is not known."""
        from .operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(
                self.target, self.args, self.kwargs, arg_types, kwarg_types,
                normalize_to_only_use_kwargs,
            )  # fmt: skip
        if self.op == "call_module":
            return normalize_module(
                root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs
            )
        return None

    def _rename(self, candidate: str) -> None:
        """Take a name, or one like it if it is taken."""
        if candidate != self.name:
            self.name = self.graph._free_name(candidate)

    def _pretty_print_target(self, target: Any) -> str:
        if isinstance(target, str):
            return target
        name = spoken(target)
        return f"builtins.{name}" if getattr(target, "__module__", "") == "builtins" else name

    def format_node(
        self, placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None, *, include_tensor_metadata: bool = False,
    ) -> str:  # fmt: skip
        """The node as one line of text."""
        hint = f"{type_name(self.type)} " if self.type else ""
        start = f"%{self.name} : {hint}[num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(f"%{self.name}")
            default = f"(default={self._args[0]})" if self._args else ""
            return f"{start}[target={self.target}]{default}"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {type_name(self.type)}"
            return f"return {self._args[0]}"
        target = self._pretty_print_target(self.target)
        if self.op == "get_attr":
            return f"{start}[target={target}]"
        kwargs = ", ".join(f"{k}: {_format_arg(v)}" for k, v in self._kwargs.items())
        args = _format_arg(self._args)
        return f"{start}[target={target}](args = {args}, kwargs = {{{kwargs}}})"

    def __repr__(self) -> str:
        return self.name

    def __lt__(self, other: Node) -> bool:
        return self._place() < other._place()

    def __gt__(self, other: Node) -> bool:
        return self._place() > other._place()

    def __le__(self, other: Node) -> bool:
        return self._place() <= other._place()

    def __ge__(self, other: Node) -> bool:
        return self._place() >= other._place()

    def _place(self) -> int:
        found: int = self.graph._nodes.index(self)
        return found


def _draws(target: Any) -> bool:
    """Whether a function's results are random: it takes a generator, or drops elements out."""
    name = getattr(target, "__name__", "")
    return str(getattr(target, "__module__", "")).partition(".")[0] in ("torch", "tautograd") and (
        name in _RANDOM or name.rstrip("_").endswith("dropout")
    )


_RANDOM = frozenset(
    (
        "bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like",
        "randn", "randn_like", "randperm",
    )
)  # fmt: skip


def type_name(value: Any) -> str:
    """A type as an annotation has it: `torch.Tensor`, `list[int]`, `typing.Optional[...]`."""
    if not isinstance(value, type) or hasattr(value, "__args__"):
        return str(value).replace("tautograd.", "torch.")
    return typename(value) if value.__module__ != "builtins" else value.__qualname__


def typename(value: Any) -> str:
    from .._tensor.settings import typename as named

    return str(named(value))


def _format_arg(arg: Any, max_list_len: float = float("inf")) -> str:
    """An argument as text: nodes with a percent sign, strings without quotes."""
    if isinstance(arg, list):
        items = [
            _format_arg(a)
            for a in arg[: len(arg) if max_list_len == float("inf") else int(max_list_len)]
        ]
        more = f", ...[total_len={len(arg)}]" if len(arg) > max_list_len else ""
        return f"[{', '.join(items)}{more}]"
    if isinstance(arg, tuple):
        items = [_format_arg(a) for a in arg]
        if hasattr(arg, "_fields"):
            named = ", ".join(f"{f}={v}" for f, v in zip(arg._fields, items, strict=True))
            return f"{type(arg).__name__}({named})"
        return f"({', '.join(items)}{',' * (len(items) == 1)})"
    if isinstance(arg, dict):
        return f"{{{', '.join(f'{k}: {_format_arg(v)}' for k, v in arg.items())}}}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


def spoken(target: Any) -> str:
    """A function's name as source code has it: `torch.relu`, `operator.add`, …"""
    name = str(getattr(target, "__qualname__", None) or getattr(target, "__name__", repr(target)))
    module = getattr(target, "__module__", "") or ""
    if module.startswith("tautograd"):
        return f"{_public_place(module, name, target)}.{name}"
    module = "operator" if module == "_operator" else module
    return f"{module}.{name}" if module not in ("builtins", "") else name


def _public_place(module: str, name: str, target: Any) -> str:
    """The public module that shows one of our functions."""
    here = sys.modules[__name__.partition(".")[0]]
    last = name.rpartition(".")[2]
    for place in ("", ".nn.functional", f".{module.partition('.')[2]}", ".linalg", ".special"):
        found: Any = here
        for step in filter(None, place.split(".")):
            found = getattr(found, step, None)
        if getattr(found, last, None) is target:
            return f"torch{place}"
    return "torch.nn.functional" if ".nn" in module else "torch"
