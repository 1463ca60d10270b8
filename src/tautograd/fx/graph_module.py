"""A module whose `forward` is generated from a graph."""

from __future__ import annotations

import copy
import linecache
from typing import Any

from ..nn.modules.module import Module
from .graph import Graph

__all__ = ["GraphModule"]


class GraphModule(Module):
    """A graph with the submodules and parameters that it names; call `recompile` after a change."""

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        if not isinstance(root, (Module, dict)):
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        if not isinstance(graph, Graph):
            raise TypeError(f"argument 'graph' must be Graph, not {type(graph).__name__}")
        super().__init__()
        self.__class__ = type(class_name, (type(self),), {"__module__": __name__})
        if isinstance(root, Module):
            self.training = root.training
        for node in graph._nodes:
            if node.op in ("get_attr", "call_module"):
                _copy_attribute(root, self, str(node.target))
        self.graph = graph

    @property
    def graph(self) -> Graph:
        return self.__dict__["_graph"]  # type: ignore[no-any-return]

    @graph.setter
    def graph(self, graph: Graph) -> None:
        graph.owning_module = self
        self.__dict__["_graph"] = graph
        self.recompile()

    def recompile(self) -> Any:
        """Regenerate `forward` from the graph."""
        code = self.graph.python_code("self")
        self.__dict__["_code"] = code.src
        namespace = dict(code.globals)
        name = f"<fx graph {id(self):#x}>"
        linecache.cache[name] = (len(code.src), None, code.src.splitlines(True), name)
        exec(compile(code.src, name, "exec"), namespace)  # the graph's own source
        type(self).forward = namespace["forward"]
        return code

    @property
    def code(self) -> str:
        """The source of `forward`."""
        found: str = self.__dict__["_code"]
        return found

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path, creating empty modules on the way."""
        *path, last = target.split(".")
        holder: Any = self
        for step in path:
            if not hasattr(holder, step):
                setattr(holder, step, Module())
            holder = getattr(holder, step)
        holder.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove a module."""
        *path, last = target.split(".")
        holder: Any = self
        for step in path:
            holder = getattr(holder, step)
        return holder._modules.pop(last, None) is not None

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that no node calls."""
        used = {str(n.target) for n in self.graph._nodes if n.op in ("call_module", "get_attr")}
        for name, _ in list(self.named_modules()):
            inside = any(
                u == name or u.startswith(f"{name}.") or name.startswith(f"{u}.") for u in used
            )
            if name and not inside:
                self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """The module as source text."""
        text = f"class {type(self).__name__}(torch.nn.Module):{self.code.rstrip()}\n"
        text = text.replace("\n", "\n    ").replace("\n    \n", "\n\n").rstrip() + "\n"
        if print_output:
            print(text)  # noqa: T201 (what it is for)
        return text

    def __deepcopy__(self, memo: Any) -> GraphModule:
        graph = Graph()
        made = graph.graph_copy(self.graph, {}, True)
        if made is not None:
            graph.output(made[0])
        root = Module()
        state = {k: copy.deepcopy(v, memo) for k, v in self.__dict__.items() if k != "_graph"}
        root.__dict__.update(state)
        return GraphModule(root, graph, type(self).__name__)

    def __str__(self) -> str:
        return f"{super().__repr__()}\n\n{self.code}"


def _copy_attribute(source: Any, target: Module, path: str) -> None:
    *steps, last = path.split(".")
    holder: Any = target
    for step in steps:
        source = source if isinstance(source, dict) else getattr(source, step)
        if step not in holder._modules:
            holder.add_module(step, Module())
        holder = holder._modules[step]
    if isinstance(source, dict) and path not in source:
        raise RuntimeError(
            f"Node referenced target {path} but that target was not provided in `root`!"
        )
    value = source[path] if isinstance(source, dict) else getattr(source, last)
    if isinstance(value, Module):
        holder.add_module(last, value)
    elif last in getattr(source, "_buffers", {}):
        holder.register_buffer(last, value)
    else:
        setattr(holder, last, value)
