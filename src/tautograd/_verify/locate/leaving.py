"""How a value leaves the graph: which calls do it, what they are called, and the edge behind a tensor.

`verify`, the doctor and the view all look for it, each in its own way, and share these names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

LEAVING = {
    "item": "item()",
    "tolist": "tolist()",
    "numpy": "numpy()",
    "__array__": "numpy()",
    "__float__": "float()",
    "__int__": "int()",
    "__complex__": "complex()",
    "__index__": "int()",
}
"""Calls whose result is no longer a tensor, and how to name them."""

ABOUT_GRAPH = frozenset(
    ("backward", "grad", "register_hook", "retain_grad", "requires_grad_", "detach_")
)
"""Calls that query the graph, and cannot be run again without it."""

CUTTING = {
    "detach": "detach()",
    "detach_": "detach_()",
    "data": ".data",
    "tensor": "torch.tensor()",
}
"""Calls whose result is a tensor without history, and how to name them."""

WITHOUT_SLOPE = frozenset(
    ("round", "floor", "ceil", "trunc", "fix", "sign", "sgn", "heaviside", "floor_divide")
)
"""Operations whose derivative is zero wherever it exists."""


def name_of_call(engine: Any, function: Any) -> str:
    """PyTorch's name of a function passed to a mode; for a property, the property's own name."""
    name = str(getattr(function, "__name__", type(function).__name__))
    if name in ("__get__", "__set__"):
        owner = getattr(function, "__self__", None)
        known = "data" if owner is engine.Tensor.data else getattr(owner, "__name__", "property")
        return known if name == "__get__" else f"{known}="
    return name


def edge_of(tensor: Any) -> Any:
    """The node behind a tensor and its output number; a leaf stands for itself."""
    try:
        if not tensor.requires_grad:
            return None
        node = tensor.grad_fn
    except RuntimeError:  # a view whose history is no longer available
        return None
    return (tensor, 0) if node is None else (node, tensor.output_nr)


def same_edge(one: Any, other: Any) -> bool:
    """Whether two tensors have the same history."""
    if one is None or other is None:
        return one is other
    return one[0] is other[0] and bool(one[1] == other[1])


def nodes_behind(tensors: Iterable[Any]) -> Iterator[Any]:
    """The nodes that recorded these, each once."""
    found = [t.grad_fn for t in tensors if t.requires_grad]
    known = set()
    while found:
        node = found.pop()
        if node is None or node in known:
            continue
        known.add(node)
        yield node
        found += [following for following, _ in node.next_functions]
