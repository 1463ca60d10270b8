"""Changes of a traced model that is only used, no longer trained: batch norm folded into what comes before it."""

from __future__ import annotations

import copy
from typing import Any

from ...nn.modules import batchnorm, conv, dropout, linear
from ...nn.modules.linear import Identity
from ...nn.modules.module import Module
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from ..graph_module import GraphModule
from ..tracing import symbolic_trace

__all__ = [
    "extract_subgraph",
    "fuse",
    "matches_module_pattern",
    "remove_dropout",
    "replace_node_module",
]

_PATTERNS = (
    (conv.Conv1d, batchnorm.BatchNorm1d),
    (conv.Conv2d, batchnorm.BatchNorm2d),
    (conv.Conv3d, batchnorm.BatchNorm3d),
    (linear.Linear, batchnorm.BatchNorm1d),
)


def matches_module_pattern(pattern: Any, node: Any, modules: dict[str, Module]) -> bool:
    """Whether a node calls a module of the second class on the result of one of the first."""
    if not node.args or not hasattr(node.args[0], "op"):
        return False
    return all(
        found.op == "call_module" and type(modules.get(found.target)) is wanted
        for wanted, found in zip(pattern, (node.args[0], node), strict=True)
    )


def replace_node_module(node: Any, modules: dict[str, Any], new_module: Module) -> None:
    """Put another module where a node calls one."""
    parent, _, name = str(node.target).rpartition(".")
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: Module, inplace: bool = False, no_trace: bool = False) -> Module:
    """Fold each batch norm in evaluation mode into the convolution or linear layer before it."""
    if not inplace:
        model = copy.deepcopy(model)
    traced: Any = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules: dict[str, Any] = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for pattern in _PATTERNS:
        for node in graph.nodes:
            if not matches_module_pattern(pattern, node, modules) or len(node.args[0].users) > 1:
                continue
            layer, norm = modules[node.args[0].target], modules[node.target]
            if not norm.track_running_stats:
                continue
            folded = fuse_linear_bn_eval if isinstance(layer, linear.Linear) else fuse_conv_bn_eval
            replace_node_module(node.args[0], modules, folded(layer, norm))
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    return GraphModule(traced, graph)


def remove_dropout(model: Module) -> Module:
    """The same model without its dropout."""
    traced = symbolic_trace(model)
    modules: dict[str, Any] = dict(traced.named_modules())
    kinds = tuple(
        getattr(dropout, name)
        for name in (
            "AlphaDropout",
            "Dropout",
            "Dropout1d",
            "Dropout2d",
            "Dropout3d",
            "FeatureAlphaDropout",
        )
    )
    for node in traced.graph.nodes:
        if node.op == "call_module" and isinstance(modules.get(node.target), (*kinds, Identity)):
            node.replace_all_uses_with(node.args[0])
            traced.graph.erase_node(node)
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced


def extract_subgraph(
    orig_module: Module, nodes: list[Any], inputs: list[Any], outputs: list[Any]
) -> GraphModule:
    """A module of some of a graph's nodes, with these inputs and outputs."""
    from ..graph import Graph

    graph = Graph()
    values: dict[Any, Any] = {node: graph.placeholder(node.name) for node in inputs}
    for node in nodes:
        values[node] = graph.node_copy(node, lambda n: values[n])
    graph.output([values[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)
