"""A graph of calls: its nodes in execution order, methods to change it, and its source."""

from __future__ import annotations

import builtins
import contextlib
import copy
import keyword
import re
import warnings
from collections.abc import Iterator
from typing import Any

from ..nn.modules.module import Module
from .codegen import CodeGen, _PyTreeCodeGen, _PyTreeInfo
from .node import Node, map_arg, spoken

__all__ = ["CodeGen", "Graph", "PythonCode", "_PyTreeCodeGen", "_PyTreeInfo"]


_TAKEN = frozenset(
    ("self", "torch", "inf", "nan", "device", "NoneType")
)  # names in a graph's source


class PythonCode:
    """A graph as Python source, and the names that the source uses."""

    def __init__(
        self, src: str, globals_: dict[str, Any], lineno_map: dict[int, int | None] | None = None,
        prologue_start: int = 0,
    ) -> None:  # fmt: skip
        self.src, self.globals = src, globals_
        self._lineno_map = lineno_map or {}
        self._prologue_start = prologue_start


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
        self._codegen = CodeGen()
        self._traced_place = ""  # of what it was traced from

    @property
    def nodes(self) -> Any:
        return _Nodes(self._nodes)

    def output_node(self) -> Node:
        """The node of the result."""
        return next(n for n in reversed(self._nodes) if n.op == "output")

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        if op == "call_function" and target is None:
            raise AssertionError("target must not be None for call_function op")
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
        if not isinstance(args, (tuple, type(None))):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if not isinstance(kwargs, (dict, type(None))):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
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
        if self._lacks(qualified_name):
            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning "
                "GraphModule! Call GraphModule.add_submodule to add the necessary submodule, "
                "GraphModule.add_parameter to add the necessary Parameter, or "
                "nn.Module.register_buffer to add the necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        if self.owning_module is not None and self.owning_module.get_submodule(module_name) is None:
            warnings.warn(
                "Attempted to insert a call_module Node with no underlying reference in the owning "
                "GraphModule! Call GraphModule.add_submodule to add the necessary submodule",
                stacklevel=2,
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def _lacks(self, path: str) -> bool:
        """Whether the owning module, if there is one, has nothing at this place."""
        found = self.owning_module
        if found is None:
            return False
        for step in path.split("."):
            found = getattr(found, step, None)
        return found is None

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
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
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
        for node in self._nodes if self.owning_module is not None else ():
            if node.op in ("get_attr", "call_module"):
                self._exists(node)

    def _exists(self, node: Node) -> None:
        """Check that what a node names is in the owning module."""
        found = self.owning_module
        for step in str(node.target).split("."):
            below = getattr(found, step, None)
            if below is None:
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {step} of "
                    f"{getattr(found, '_get_name', type(found).__name__.__str__)()}"
                )
            found = below
        if node.op == "call_module" and not isinstance(found, Module):
            raise RuntimeError(
                f"Node {node} target {node.target} {type(found)} of does not reference an nn.Module"
            )

    # ---- source ------------------------------------------------------------------------------------

    def python_code(
        self, root_module: str = "self", *, verbose: bool = False, **shown: Any
    ) -> PythonCode:
        """The graph as a function `forward`; `verbose` adds where its nodes were made."""
        from .source import python_code

        return python_code(self, root_module, verbose)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Have the source written by this."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Any) -> Any:
        """Change the lines of the source; a context that ends it, for those who want an end."""
        codegen = self._codegen
        before = codegen._body_transformer
        codegen._body_transformer = make_transformer(before)
        return _Until(codegen, before)

    def process_inputs(self, *args: Any) -> Any:
        """What the placeholders get of a caller's arguments."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """What a caller gets of the output node's value."""
        return self._codegen.process_outputs(out)

    def __deepcopy__(self, memo: Any = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls)
        memo = {} if memo is None else memo
        memo[id(self)] = made
        nodes: dict[Node, Node] = {}
        found = made.graph_copy(self, nodes, return_output_node=True)
        made._codegen = copy.deepcopy(self._codegen, memo)
        if found is not None:
            result, node = found
            made.output(result, node.type).meta = dict(node.meta)
        for old, new in nodes.items():
            memo[id(old)] = new
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "owning_module"} | {
            "owning_module": None
        }

    def print_tabular(self) -> None:
        """The nodes as a table."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [(n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in self._nodes]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        rows.insert(1, tuple("-" * w for w in widths))  # type: ignore[arg-type]
        for row in rows:
            print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())  # noqa: T201 (what it is for)

    def __str__(self) -> str:
        return "graph():" + "".join(f"\n    {n.format_node()}" for n in self._nodes)


class _Until:
    """A context at whose end a code generator has its old transformer again."""

    def __init__(self, codegen: CodeGen, before: Any) -> None:
        self._codegen, self._before = codegen, before

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        self._codegen._body_transformer = self._before


class _Nodes(list):  # type: ignore[type-arg]
    """A snapshot of a graph's nodes: the graph may change during iteration."""


def _name_of(target: Any) -> str:
    """A node's default name, from what it calls: `getitem` for `__getitem__`, `max_pool` for `maxPool`."""
    name = target if isinstance(target, str) else spoken(target).rpartition(".")[2]
    if name.startswith("__") and name.endswith("__"):
        name = name[2:-2]
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name.replace(".", "_")).lower()
