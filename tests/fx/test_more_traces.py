"""What PyTorch's own tests of `torch.fx` have shown, held on both engines."""

from __future__ import annotations

import collections
import operator
from typing import Any

import pytest

from tests.both import same

Pair = collections.namedtuple("Pair", "first second")


@same
def test_several_arguments_are_one_proxy(torch: Any) -> Any:
    def function(x, *args, scale=3, **others):  # annotations would be in the source
        return x * scale + args[0] + others["more"]

    traced = torch.fx.symbolic_trace(function)
    # As in PyTorch, what could only be given by name comes before the rest.
    return traced.code, traced(torch.ones(1), 2, torch.ones(1), more=4)


@same
def test_named_tuples_come_out_as_such(torch: Any) -> Any:
    traced = torch.fx.symbolic_trace(lambda x: Pair(x, x + 1))
    found = traced(torch.ones(1))
    assert type(found) is Pair
    return tuple(found)


@same
def test_an_update_changes_the_name_it_is_of(torch: Any) -> Any:
    graph = torch.fx.Graph()
    a, b = graph.placeholder("a"), graph.placeholder("b")
    graph.call_function(operator.imul, (a, b), {})
    graph.output(a)
    module = torch.fx.GraphModule({}, graph)
    assert "a *= b" in module.code
    return module(2, 3)


@same
def test_infinity_is_no_name_of_a_node(torch: Any) -> Any:
    def function(x: Any) -> Any:
        return torch.clamp(x, max=float("inf")), x * float("inf")

    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(torch.full, ((2,), float("inf")), name="inf"))
    return torch.fx.GraphModule({}, graph)(x), torch.fx.symbolic_trace(function)(torch.ones(1))


@same
def test_a_tracer_without_leaves_sees_functions(torch: Any) -> Any:
    class Through(torch.fx.Tracer):
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return False

    module = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh())
    graph = Through().trace(module)
    calls = [node for node in graph.nodes if node.op == "call_function"]
    assert calls[0].meta["nn_module_stack"]
    return [getattr(node.target, "__name__", "") for node in calls][:1]


@same
def test_nodes_of_another_graph_are_refused(torch: Any) -> None:
    traced = torch.fx.symbolic_trace(lambda x: x + 1)
    other = torch.fx.Graph()
    for node in traced.graph.nodes:
        other.node_copy(node)
    with pytest.raises(RuntimeError, match="does not belong to this Graph"):
        other.lint()


@same
def test_modules_from_a_dictionary_by_path(torch: Any) -> Any:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_module("blocks.first", (x,)))
    module = torch.fx.GraphModule({"blocks.first": torch.nn.ReLU()}, graph)
    assert issubclass(torch.fx.Tracer, torch.fx.proxy.TracerBase)
    return module(torch.tensor([-1.0, 2.0]))


@same
def test_an_einsum_of_a_list_shows_its_operands(torch: Any) -> Any:
    """Whoever reads the graph finds the operands after the equation, however they were given."""
    graph = torch.fx.Graph()
    tracer = torch.fx.proxy.GraphAppendingTracer(graph)
    a, b = (torch.fx.Proxy(graph.placeholder(name), tracer) for name in "ab")
    for operands in ((a, b), [a, b], [a]):
        torch.einsum("i,i->" if len(operands) == 2 else "i->", operands)
    torch.einsum("i,i->", a, b)
    return [str(node.args) for node in graph.nodes]
