"""Running a graph node by node, with an overridable method for each kind of node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..nn.modules.module import Module
from . import traceback as of_nodes
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a module's graph; `env` holds the nodes' results."""

    def __init__(
        self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module: Any = module
        if graph is None and not hasattr(module, "graph"):
            raise AttributeError(f"'{type(module).__name__}' object has no attribute 'graph'")
        self.graph: Graph = self.module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """The graph's output for these inputs."""
        self.env = dict(initial_env or {})
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        left = {node: len(node.users) for node in self.graph._nodes}
        for node in self.graph._nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    _say_where(error, node)
                raise
            if node.op == "output":
                found = self.env[node]
                return self.graph.process_outputs(found) if enable_io_processing else found
            for given in node.all_input_nodes:
                left[given] -= 1
                if self.garbage_collect_values and not left[given]:
                    self.env.pop(given, None)
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """The same; the list is emptied, so that its values live no longer than they are needed."""
        wanted = sum(n.op == "placeholder" for n in self.graph._nodes)
        if len(args_list) != wanted:
            raise RuntimeError(
                f"Interpreter.boxed_run expected {wanted} arguments for placeholders but received "
                f"{len(args_list)} ({'extra' if len(args_list) > wanted else 'missing'} arguments)"
            )
        args = list(args_list)
        args_list.clear()
        return self.run(*args, enable_io_processing=False)

    def run_node(self, n: Node) -> Any:
        """A node's result; nodes that this makes get its metadata if a context asks for that."""
        with of_nodes.set_current_meta(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Any, Any]:
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        return map_arg(args, lambda node: self.env[node])

    def fetch_attr(self, target: str) -> Any:
        found = self.module
        for step in target.split("."):
            if not hasattr(found, step):
                raise RuntimeError(f"Node referenced nonexistent target {target}")
            found = getattr(found, step)
        return found

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        if str(target).startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: Any, kwargs: Any) -> Any:
        return args[0]


def _say_where(error: Exception, node: Node) -> None:
    """Add to an error's words which node it came from, once."""
    said = str(error.args[0]) if error.args else ""
    if "While executing" in said or isinstance(error, KeyError):
        return
    told = f"While executing {node.format_node()}\nOriginal traceback:\n{node.stack_trace}"
    error.args = (f"{said}\n\n{told}" if said else told, *error.args[1:])


class Transformer(Interpreter):
    """An interpreter that builds a new graph: override the method of a kind of node to change it."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _of_graph(self.new_graph, module)

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        default = next(iter(args), ...)
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        if not isinstance(target, str):
            raise AssertionError(f"Expected str target, got {type(target)}")
        return self.tracer.call_module(
            self.fetch_attr(target), lambda *a, **k: None, args, kwargs, target
        )

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module of the new graph."""
        with of_nodes.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            old = self.graph.output_node()
            made = self.new_graph.output(self.tracer.create_arg(result), old.type)
            made.meta = dict(old.meta)
        return GraphModule(self.module, self.new_graph)


def _of_graph(graph: Graph, module: GraphModule) -> Any:
    """A tracer that adds to a graph; a module's call is one node, whatever the module is."""
    from .tracing import GraphAppendingTracer

    class TransformerTracer(GraphAppendingTracer):
        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return True

        def call_module(  # type: ignore[override]
            self, m: Module, forward: Any, args: Any, kwargs: Any, target: str
        ) -> Any:
            return self.create_proxy("call_module", target, args, kwargs)

    tracer = TransformerTracer(graph)
    tracer.root = module
    return tracer
