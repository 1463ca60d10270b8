"""The graph of a model as TensorBoard reads it: one node per recorded operation, parameter and input."""

from __future__ import annotations

from typing import Any

from ..._autograd.grad_mode import enable_grad
from ..._tensor.tensor import Tensor
from ..._trees.nests import TUPLES_LISTS_DICTS as NESTS


def recorded_graph(model: Any, given: Any, verbose: bool = False) -> Any:
    """TensorBoard's description of one call."""
    from tensorboardX.proto.graph_pb2 import GraphDef
    from tensorboardX.proto.versions_pb2 import VersionDef

    args = given if isinstance(given, (tuple, list)) else () if given is None else (given,)
    names = {id(param): f"{type(model).__name__}/{n}" for n, param in _parameters(model)}
    watched = []
    for number, value in enumerate(args):
        if isinstance(value, Tensor) and value.dtype.is_floating_point:
            value = value.detach().requires_grad_()
            names[id(value)] = f"input/{number}"
        watched.append(value)
    with enable_grad():
        results = [out for out in NESTS.leaves(model(*watched)) if isinstance(out, Tensor)]
    nodes = _nodes(results, names)
    if verbose:
        print("\n".join(f"{node.name} ({node.op}) <- {list(node.input)}" for node in nodes))  # noqa: T201
    return GraphDef(node=nodes, versions=VersionDef(producer=22))


def _parameters(model: Any) -> Any:
    return model.named_parameters() if hasattr(model, "named_parameters") else ()


def _nodes(results: list[Tensor], names: dict[int, str]) -> list[Any]:
    from tensorboardX.proto.node_def_pb2 import NodeDef

    made: dict[Any, Any] = {}  # owned by the nodes themselves, so that none is made twice

    def name_of(node: Any) -> str:
        leaf = getattr(node, "variable", None)
        if leaf is not None and id(leaf) in names:
            return names[id(leaf)]
        return f"{node.name()}_{len(made)}"

    found = []
    waiting = [out.grad_fn for out in results if out.grad_fn is not None]
    order = []
    while waiting:
        node = waiting.pop()
        if node in made:
            continue
        made[node] = name_of(node)
        order.append(node)
        waiting.extend(edge for edge, _ in node.next_functions if edge is not None)
    for node in order:
        inputs = [made[edge] for edge, _ in node.next_functions if edge is not None]
        leaf = getattr(node, "variable", None) is not None
        kind = "Parameter" if leaf else node.name().removesuffix("0").removesuffix("Backward")
        found.append(NodeDef(name=made[node], op=kind, input=inputs))
    for number, out in enumerate(results):
        inputs = [made[out.grad_fn]] if out.grad_fn is not None else []
        found.append(NodeDef(name=f"output/{number}", op="Output", input=inputs))
    return found
