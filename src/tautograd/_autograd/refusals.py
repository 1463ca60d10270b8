"""Why an in-place change is refused: PyTorch's words, and what to do instead."""

from __future__ import annotations

from .._tensor.tensor import Tensor
from .node import Node

INFERENCE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone "
    "to get a normal tensor before doing inplace update.See "
    "https://github.com/pytorch/rfcs/pull/17 for more details."
)
LEAF = (
    "a leaf Variable that requires grad is being used in an in-place operation. To change its "
    "values behind autograd's back, as an optimizer does, do it inside `with torch.no_grad():`; "
    "to have the change recorded, change a clone()."
)
VIEW_OF_LEAF = (
    "a view of a leaf Variable that requires grad is being used in an in-place operation. To "
    "change the leaf behind autograd's back, do it inside `with torch.no_grad():`; to have the "
    "change recorded, change a view of a clone()."
)
_BLOCK = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the {} block (if you don't "
    "want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
_SEVERAL = (
    " This view is the output of a function that returns multiple views. Such functions do not "
    "allow the output views to be modified inplace. You should replace the inplace operation by an "
    "out-of-place one."
)
_CUSTOM = (
    " This view was created inside a custom Function (or because an input was returned as-is) and "
    "the autograd logic to handle view+inplace would override the custom backward associated with "
    "the custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix "
    "this by cloning the output of the custom Function."
)


def spoken_name(node: Node) -> str:
    """A node's name as PyTorch's messages have it: `SelectBackward0` is `Select`."""
    return node.name().removesuffix("0").removesuffix("Backward")


def why_not_rebased(view: Tensor, changed: str) -> str:
    """Why a view's history cannot follow a change of its memory; `changed` says whose change."""
    reason, node = view._view_creation, view._node
    which = "" if node is None else f"Output {view._output_nr} of {spoken_name(node)} is a view"
    if reason == "multi_output" and which:
        return f"{which} and {changed} modified inplace.{_SEVERAL}"
    if reason == "custom" and which:
        return f"{which} and {changed} modified inplace.{_CUSTOM}"
    start = f"{which} of a view which was created in" if which else "A view was created in"
    if reason == "inference":
        return (
            f"{start} inference mode and {changed} modified inplace in normal mode."
            + _BLOCK.format("inference_mode")
        )
    said = f"{start} no_grad mode and {changed} modified inplace with grad mode enabled."
    if reason == "custom":
        return said + _CUSTOM
    return said + (_SEVERAL if reason == "multi_output" else _BLOCK.format("no_grad"))
