"""Values that are divided by their norm, and products that take such values for vectors of length one.

A product of two matrices sums over one axis of each. If both were divided by norms over the other axis, what
comes out is no cosine: rows are compared whose length depends on all the others."""

from __future__ import annotations

from typing import Any

from ...watch.graph_walk import is_leaf_node, node_name

NORMS = frozenset(("LinalgVectorNorm", "Norm"))
# From zero and to a shape, between a norm and what it divides.
_BOUNDED = frozenset(("Clamp", "ClampMin", "Add", "Expand"))
_TURNS = frozenset(("T", "Transpose"))

ACROSS = {
    "message": "Both factors of a product of rows are divided by norms over axis 0, the batch: no row has length "
    "one, and each is scaled by what the others are.",
    "why": "A similarity is the product of vectors of length one. normalize(z, dim=0) gives length one to the "
    "columns, each of which holds one feature of all samples.",
    "fix": "features = torch.nn.functional.normalize(features, dim=1)",
}


def norm_of_the_divided(node: Any) -> Any:
    """The norm of `x / x.norm(...)`, where x is no weight."""
    above, (norm, _) = (*node.next_functions, (None, 0))[:2]
    while norm is not None and node_name(norm) in _BOUNDED:
        norm = norm.next_functions[0][0]
    if above[0] is None or norm is None or node_name(norm) not in NORMS:
        return None
    same = norm.next_functions[0] == above and not is_leaf_node(above[0])
    return norm if same else None


def norm_across(found: list[Any]) -> Any:
    """The norm over axis 0 that divides both factors of a product over axis 1, where neither is a weight."""
    for node in found:
        if node_name(node) != "Mm" or len(node.next_functions) != 2:
            continue
        norms = [_norm_over_the_kept(n, 1 - i) for i, (n, _) in enumerate(node.next_functions)]
        if all(norm is not None for norm in norms):
            return norms[0]
    return None


def _norm_over_the_kept(node: Any, summed: int) -> Any:
    """The norm that divides a factor, if it goes over axis 0 and the product sums over axis 1."""
    for _ in range(12):
        if node is None:
            return None
        name = node_name(node)
        if name in _TURNS:
            summed = 1 - summed
        elif name == "Div":
            norm = norm_of_the_divided(node)
            is_euclidean = norm is not None and getattr(norm, "_saved_ord", None) == 2
            return norm if is_euclidean and summed == 1 and _axes(norm) == (0,) else None
        elif name in ("Mul", "Cat"):
            pass  # by a temperature; of two views, whose rows are put below each other
        else:
            return None
        given = [n for n, _ in node.next_functions if n is not None]
        if not given or (name == "Cat" and getattr(node, "_saved_dim", 0) != 0):
            return None
        node = given[0]
    return None


def _axes(norm: Any) -> tuple[int, ...]:
    """The axes of a matrix that a norm goes over; a negative one is kept as an unsigned number."""
    return tuple(int(n) % 2**64 % 2 for n in getattr(norm, "_saved_dim", None) or ())
