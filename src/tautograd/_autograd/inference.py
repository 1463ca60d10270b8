"""Inference tensors: results of inference mode, which autograd never accepts.

They have no version counter. In its place stands a box that cannot be read: whoever wants to save
such a tensor for backward must note its version, and gets the error there. No operation needs to
ask.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .._tensor.tensor import Tensor


class _NoVersion(list[Any]):
    def __getitem__(self, index: Any) -> NoReturn:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
            "inference mode in computation tracked by autograd. To work around this, you can make "
            "a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` "
            "instead of `torch.inference_mode()`."
        )


_NO_VERSION = _NoVersion()


def as_inference(tensor: Tensor) -> None:
    """Mark a result of inference mode; a view of a normal tensor stays a normal tensor."""
    base = tensor._base
    if base is not None and not base._is_inference:
        tensor._requires_grad = base.requires_grad
        tensor._view_creation = "inference"
        return
    tensor._is_inference = True
    tensor._version_box = _NO_VERSION
