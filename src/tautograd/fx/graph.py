"""A graph of calls: its nodes in execution order, methods to change it, and its source."""

from __future__ import annotations

import builtins
import contextlib
import keyword
import re
from collections.abc import Iterator
from typing import Any

from .node import Node, map_arg, spoken

__all__ = ["Graph", "PythonCode"]


_TAKEN = frozenset(
    ("self", "torch", "inf", "nan", "device", "NoneType")
)  # names in a graph's source


class PythonCode:
    """A graph as Python source, and the names that the source uses."""

    def __init__(self, src: str, globals_: dict[str, Any]) -> None:
        self.src, self.globals = src, globals_


class Graph:
    """Nodes in order; new ones are appended, or inserted where `inserting_before` says."""

    def __init__(
        self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None
    ) -> None:
        self._nodes: list[Node] = []
        self._names: set[str] = set()
        self._root = Node(self, "", "root", "", (), {})
        self._at: int | None = None
        self.owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras

    @property
    def nodes(self) -> Any:
        return _Nodes(self._nodes)

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        return [n for n in self._nodes if n.op == op and (target is None or n.target == target)]

    # ---- making nodes ------------------------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Any,
        args: Any = None,
        kwargs: Any = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Create a node at the insertion point."""
        label = self._free_name(name or _name_of(target))
        node = Node(self, label, op, target, tuple(args or ()), dict(kwargs or {}), type_expr)
        if self._at is None:
            self._nodes.append(node)
        else:
            self._nodes.insert(self._at, node)
            self._at += 1
        return node

    def _free_name(self, wanted: str) -> str:
        label = re.sub(r"[^0-9a-zA-Z_]+", "_", wanted) or "_"
        if label[0].isdigit():
            label = f"_{label}"
        base, number = re.sub(r"_\d+$", "", label) or label, 1
        reserved = keyword.iskeyword(label) or hasattr(builtins, label) or label in _TAKEN
        while label in self._names or reserved:
            label, number, reserved = f"{base}_{number}", number + 1, False
        self._names.add(label)
        return label

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self, the_function: Any, args: Any = None, kwargs: Any = None, type_expr: Any = None,
        name: str | None = None,
    ) -> Node:  # fmt: skip
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Any = lambda x: x) -> Node:
        """Copy a node of another graph to this one."""
        args, kwargs = (map_arg(v, arg_transform) for v in (node.args, node.kwargs))
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = dict(node.meta)
        return made

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Copy all nodes of another graph; returns what its output is here."""
        for node in g._nodes:
            if node in val_map:
                continue
            if node.op == "output":
                found = map_arg(node.args[0], lambda n: val_map[n])
                return (found, node) if return_output_node else found
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    # ---- changing ----------------------------------------------------------------------------------

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node whose result is unused."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the "
                f"graph: {to_erase.users}!"
            )
        place = self._nodes.index(to_erase)
        del self._nodes[place]
        if self._at is not None and place < self._at:
            self._at -= 1
        to_erase._set((), {})
        to_erase._erased = True

    def _move(self, node: Node, mark: Node, after: int) -> None:
        self._nodes.remove(node)
        self._nodes.insert(self._nodes.index(mark) + after, node)

    @contextlib.contextmanager
    def _inserting(self, place: int | None) -> Iterator[None]:
        before, self._at = self._at, place
        try:
            yield
        finally:
            self._at = before

    def inserting_before(self, n: Node | None = None) -> Any:
        """A context in which new nodes go before a node (by default the first)."""
        return self._inserting(0 if n is None else self._nodes.index(n))

    def inserting_after(self, n: Node | None = None) -> Any:
        """A context in which new nodes go after a node (by default the last)."""
        return self._inserting(None if n is None else self._nodes.index(n) + 1)

    def eliminate_dead_code(self, is_impure_node: Any = None) -> bool:
        """Remove nodes whose results are unused; returns whether there were any."""
        changed = False
        for node in reversed(list(self._nodes)):
            impure = node.is_impure() if is_impure_node is None else is_impure_node(node)
            if not node.users and not impure:
                self.erase_node(node)
                changed = True
        return changed

    def lint(self) -> None:
        """Check that each node only uses results of earlier nodes, and that names are unique."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self._nodes:
            for given in node.all_input_nodes:
                if given.graph is not self:
                    raise RuntimeError(
                        f"Argument '{given}' of Node '{node}' does not belong to this Graph, but was "
                        "used as an argument! If you are copying nodes from another graph, make sure "
                        f"to use ``arg_transform`` on node_copy() to remap values\n{self}"
                    )
                if given not in seen:
                    raise RuntimeError(
                        f"Argument '{given}' of Node '{node}' was used before it has been defined! "
                        f"Please check that Nodes in the graph are topologically ordered\n{self}"
                    )
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)

    # ---- source ------------------------------------------------------------------------------------

    def python_code(self, root_module: str = "self", **options: Any) -> PythonCode:
        """The graph as a function `forward`."""
        from .source import python_code

        return python_code(self, root_module)

    def print_tabular(self) -> None:
        """The nodes as a table."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [(n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in self._nodes]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        rows.insert(1, tuple("-" * w for w in widths))  # type: ignore[arg-type]
        for row in rows:
            print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())  # noqa: T201 (what it is for)

    def __str__(self) -> str:
        inputs = [n.name for n in self._nodes if n.op == "placeholder"]
        body = "".join(f"\n    {n.format_node()}" for n in self._nodes)
        return (
            f"graph({', '.join(f'%{name}' for name in inputs)}):{body}"
            if inputs
            else f"graph():{body}"
        )


class _Nodes(list):  # type: ignore[type-arg]
    """A snapshot of a graph's nodes: the graph may change during iteration."""


def _name_of(target: Any) -> str:
    """A node's default name, from what it calls: `getitem` for `__getitem__`, `max_pool` for `maxPool`."""
    name = target if isinstance(target, str) else spoken(target).rpartition(".")[2]
    if name.startswith("__") and name.endswith("__"):
        name = name[2:-2]
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name.replace(".", "_")).lower()
