"""What users read of a node: `grad_fn._saved_self`, `_saved_dim`, … under the names PyTorch has."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..._tensor.tensor import make
from ..node import PARAMETERS, SLOTS, Node
from ..packing import Packed, checked
from ..saved import as_tensor, unpack


def saved_names(node: Node) -> list[str]:
    """What `dir()` shows of a node."""
    names = [f"_saved_{n}" for n in getattr(node, "parameters", ())]
    if getattr(node, "saved", None):
        names += [
            f"_saved_{name}"
            for name, value in zip((*node.op.inputs, "result"), node.saved, strict=False)
            if value is not None
        ]
    return names


def saved_attribute(node: Node, attribute: str) -> Any:
    """`_saved_self`, `_saved_result`, `_saved_dim`, … as PyTorch's nodes show them."""
    raw = attribute.startswith("_raw_saved_")
    name = attribute[len("_raw_saved_" if raw else "_saved_") :]
    for parameter in (name, PARAMETERS.get(name)):
        if parameter in node.parameters:
            value = node.parameters[parameter]
            return value.item() if isinstance(value, np.generic) else value
    slot = _slot(node, name)
    if slot is None:
        found = _of_shape(node, name)
        if found is not None:
            return found
    if slot is None or node.saved == ():
        raise AttributeError(f"'{node.name()}' object has no attribute '{attribute}'")
    saved = unpack(node)
    if raw:
        return SavedTensor(node, slot)
    if node.packed and slot in node.packed:
        from ..packing import unpack_tensors

        return unpack_tensors(node)[slot]
    if node.op.variadic and slot == 0:
        return tuple(as_tensor(node, i, a) for i, a in enumerate(saved[0]))
    value = saved[slot]
    if slot == -1 and isinstance(value, tuple):
        value = value[1 if name == "indices" else 0]
        return make(value) if name == "indices" else as_tensor(node, slot, value)
    if name == "indices" and hasattr(value, "arrays"):
        arrays = value.arrays
        while arrays and arrays[-1] is None:
            arrays = arrays[:-1]
        return tuple(None if a is None else make(a) for a in arrays)
    return as_tensor(node, slot, value)


def _slot(node: Node, name: str) -> int | None:
    op = node.op
    slot = op.position.get(name)
    if slot is not None:
        return slot
    if name == "indices" and node.saved and isinstance(node.saved[-1], tuple):
        return -1
    slot = SLOTS.get(name)
    return slot if slot is None or slot < len(op.inputs) else None


def _of_shape(node: Node, name: str) -> Any:
    """`_saved_self_sym_sizes` and `_saved_self_sym_numel`, from what is known of the input."""
    which, _, what = name.rpartition("_sym_")
    slot = _slot(node, which) if what in ("sizes", "numel") else None
    if slot is None or slot < 0:
        return None
    edge = node.edges[slot] if slot < len(node.edges) else None
    if edge is None:
        if not node.op.shape_inputs:
            return None
        shape = node.shapes[slot]
    elif edge.is_leaf_edge:
        shape = edge._data.shape
    else:
        shape = edge._input_metadata_of(node.edge_nrs[slot] if node.edge_nrs else 0)[0]
    return prod(shape) if what == "numel" else tuple(shape)


class SavedTensor:
    """A node's hold on one saved tensor: the place where pack and unpack hooks are registered."""

    def __init__(self, node: Node, slot: int) -> None:
        self._node, self._slot = node, slot

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        node, slot = self._node, self._slot
        packed = dict(node.packed or {})
        if slot in packed:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: "
                "only one pair of hooks is allowed at a time."
            )
        tensor = as_tensor(node, slot, node.saved[slot])
        packed[slot] = Packed(pack_hook(tensor), tensor._data.shape), checked(unpack_hook)
        node.packed = packed
        node.unusual = True
        node.saved = [None if i == slot % len(node.saved) else a for i, a in enumerate(node.saved)]
