"""What a loss is at its root: a mean or a sum, divided by what; and the lines that led to a step."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any, NamedTuple

from ...._user_code.sites import Site
from ...watch.graph_walk import node_name
from ...watch.syntax import nodes_in, tree_of

SAME = {  # these give the numbers they get, in another form
    "Alias", "AsStrided", "Clone", "Expand", "Flatten", "Narrow", "Permute", "Reshape",
    "ReshapeAlias", "Select", "Slice", "Split", "Squeeze", "T", "ToCopy", "Transpose", "Unbind",
    "Unsqueeze", "UnsafeView", "View",
}  # fmt: skip
MEANS = {
    "MseLoss", "NllLoss", "NllLoss2D", "SmoothL1Loss", "HuberLoss", "BinaryCrossEntropy",
    "BinaryCrossEntropyWithLogits", "SoftMarginLoss",
}  # fmt: skip


def before_views(tensor: Any, also: Iterable[str] = ()) -> Any:
    """The node that made a tensor's numbers, behind views, copies and casts; None for a leaf."""
    node, through = tensor.grad_fn, SAME.union(also)
    while node is not None and node_name(node) in through:
        followers = [following for following, _ in node.next_functions if following is not None]
        if len(followers) != 1:
            return None
        node = followers[0]
    return node


class Root(NamedTuple):
    """A loss is a mean (or not: None is not known) over `divisor`."""

    divisor: float
    is_mean: bool | None


def root_of(tensor: Any, scaled: Iterable[int] = ()) -> Root | None:
    """How a loss ends; `scaled` are the sequence numbers of losses that a scaler has multiplied."""
    return _root(tensor.grad_fn, scaled)


def _root(node: Any, scaled: Iterable[int]) -> Root | None:
    divisor = 1.0
    for _ in range(8):
        if node is None:
            return None
        name = node_name(node)
        if name in ("Add", "Sub"):
            terms = _terms(node, scaled)
            return terms and Root(divisor * terms.divisor, terms.is_mean)
        if name not in SAME and name not in ("Div", "Mul"):
            return Root(divisor, _is_mean(node, name))
        followers = [following for following, _ in node.next_functions if following is not None]
        if len(followers) != 1:
            return None
        if name == "Div" or (name == "Mul" and followers[0]._sequence_nr() not in scaled):
            first = node.next_functions[0][0] is not None
            if name == "Div" and not first:
                return None
            number = as_number(getattr(node, "_saved_other" if first else "_saved_self", None))
            if not number:
                return None
            divisor = divisor * number if name == "Div" else divisor / number
        node = followers[0]
    return None


def _terms(node: Any, scaled: Iterable[int]) -> Root | None:
    """A sum of means is a mean, divided as its heaviest term is; only a whole weight of 1, or one that
    all terms share, tells a division from a weight."""
    found = [
        _root(following, scaled) for following, _ in node.next_functions if following is not None
    ]
    if not found or any(root is None or root.is_mean is not True for root in found):
        return Root(1.0, None)
    divisors = {abs(root.divisor) for root in found if root is not None}
    least = min(divisors)
    return Root(least, True) if least == 1.0 or len(divisors) == 1 else None


def _is_mean(node: Any, name: str) -> bool | None:
    if name in ("Mean", "Sum"):
        return name == "Mean"
    if name in MEANS:
        reduction = getattr(node, "_saved_reduction", None)
        return {1: True, "mean": True, 2: False, "sum": False}.get(reduction)
    return None


def as_number(value: Any) -> float | None:
    """A plain number, or a tensor of one that lies on the host."""
    if isinstance(value, (int, float)):
        return float(value)
    try:
        if value.numel() == 1 and value.device.type == "cpu" and not value.requires_grad:
            return float(value)
    except (AttributeError, TypeError, RuntimeError):
        pass
    return None


# --- loops in the source ------------------------------------------------------------------------


def innermost_loop(site: Site) -> tuple[int, int] | None:
    """The first and last line of the innermost loop around a line."""
    tree = tree_of(site.file)
    if tree is None:
        return None
    found = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in nodes_in(tree)
        if isinstance(node, (ast.For, ast.While, ast.AsyncFor))
        and node.lineno < site.line <= (node.end_lineno or node.lineno)
    ]
    return max(found) if found else None


def common(first: list[Site], second: list[Site]) -> tuple[Site, Site] | None:
    """The lines of the innermost function that two stacks go through."""
    for one in first:
        for other in second:
            if (one.file, one.function) == (other.file, other.function):
                return one, other
    return None
