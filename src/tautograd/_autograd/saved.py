"""What a node saved: unpacked for its rules, checked against in-place changes, shown to users."""

from __future__ import annotations

from typing import Any

from .._arrays.dtypes import LEGACY_NAMES, from_numpy_dtype
from .._tensor.tensor import Tensor, make
from .._user_code.sites import resolve
from .modes import modes
from .node import FREED, Node, recorded_at

_USED_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad()."
)


def unpack(node: Node) -> Any:
    """The arrays a node saved (or packed objects, unpacked to tensors), after the checks."""
    if node.saved is FREED:
        raise RuntimeError(second_time(node))
    for box, version, slot in node.versions:
        if box[0] != version:
            if isinstance(box[0], Detached) and int(box[0]) == version:
                _check_detached(node, slot)
                continue
            raise RuntimeError(_modified(node, box, version, slot))
    return node.saved


class Detached(int):
    """The version of memory whose tensor was detached in place: the values are what they were, but
    an input that was saved before has lost its history. Equal only to itself."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = int.__hash__


def _check_detached(node: Node, slot: int) -> None:
    """Refuse an input that lost its history; an output saved without it lost nothing."""
    if slot < 0 or slot >= len(node.edges) or node.edges[slot] is None:
        return
    raise RuntimeError(
        "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is "
        "not supported, please use out-of-place `.detach()` instead" + recorded_at(node)
    )


def second_time(node: Node) -> str:
    """Which graph was used twice, and where."""
    recorded, used = node.created_at, resolve(node.versions or None)
    message = _USED_TWICE
    if recorded:
        message += f"\nThe graph through {node.name()}, recorded at\n  {recorded}\n"
    message += "was used and freed" if recorded else " It was used and freed"
    message += f" by the backward pass at\n  {used}\n" if used else " by an earlier backward pass. "
    return message + (
        "Compute the loss again for another backward(). Specify retain_graph=True for the first only "
        "if both passes really belong to one graph."
    )


def _modified(node: Node, box: list[Any], version: int, slot: int) -> str:
    array = node.saved[slot] if not node.op.variadic or slot < 0 else node.saved[0][slot]
    if isinstance(array, tuple):
        array = next(a for a in array if a is not None)
    array = getattr(array, "example", array)  # several index arrays saved as one
    origin = ""
    if slot < 0:
        origin = f", which is output 0 of {_short(node)},"
    elif (
        slot < len(node.edges)
        and node.edges[slot] is not None
        and not node.edges[slot].is_leaf_edge
    ):
        nr = node.edge_nrs[slot] if node.edge_nrs else 0
        origin = f", which is output {nr} of {_short(node.edges[slot])},"
    return modified_message(node, array, origin, box, version)


def modified_message(node: Node, array: Any, origin: str, box: list[Any], version: int) -> str:
    """What changed, and both lines: the one that saved it and the one that changed it."""
    kind = LEGACY_NAMES.get(from_numpy_dtype(array.dtype), "Float")
    message = (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{kind}Tensor {list(array.shape)}]{origin} is at version {box[0]}; "
        f"expected version {version} instead."
    )
    recorded = node.created_at
    if recorded:
        message += f"\n{node.name()} saved it at\n  {recorded}"
    changed = resolve(box[1]) if len(box) > 1 else None
    if changed:
        message += f"\nand it was changed in place at\n  {changed}"
    if not origin:  # nothing computed it: a parameter, as a rule
        return message + "\nHint: call backward() before the update, or change a clone()."
    return message + "\nHint: use the out-of-place form there, or change a clone()."


def _short(node: Node) -> str:
    """`Mul` for `MulBackward0`, as PyTorch's message has it."""
    return node.name().partition("Backward")[0]


def as_tensor(node: Node, slot: int, array: Any) -> Any:
    """A saved array as a tensor that has the history it had when it was saved."""
    if array is None or not hasattr(array, "dtype") or isinstance(array, Tensor):
        return array
    if slot < 0:
        tensor = make(array)
        tensor._node = node
        return tensor
    edge = node.edges[slot] if slot < len(node.edges) else None
    if edge is None:
        return make(array)
    if edge.is_leaf_edge:
        return edge if edge._data is array else on_behalf_of(edge, array)
    tensor = make(array)
    tensor._node = edge
    tensor._output_nr = node.edge_nrs[slot] if node.edge_nrs else 0
    return tensor


def on_behalf_of(leaf: Tensor, array: Any) -> Tensor:
    """Other values (an unpack hook's, or those a leaf had before) whose gradient is the leaf's."""
    from .apply import apply
    from .forward_ad import alias_op

    tensor = make(array)
    if modes.grad:
        tensor._node = apply(alias_op, (leaf,))._node
    return tensor
