"""Memory layouts for the same numbers: transposed, with gaps, offset, expanded, overlapping.

Each function returns the tensor itself where it cannot have that layout. Expanded and overlapping
tensors hold fewer numbers than they show, so their values differ; the reference is a plain copy of
them.
"""

from __future__ import annotations

from typing import Any


def transposed(engine: Any, tensor: Any) -> Any:
    """Column-major order."""
    if tensor.dim() < 2 or min(tensor.shape[0], tensor.shape[-1]) < 2:
        return tensor
    return tensor.detach().transpose(0, -1).contiguous().transpose(0, -1)


def strided(engine: Any, tensor: Any) -> Any:
    """A view of every second number in memory."""
    if not tensor.dim() or not tensor.numel():
        return tensor
    return engine.stack([tensor.detach(), tensor.detach() * 0 + 7], -1)[..., 0]


def with_offset(engine: Any, tensor: Any) -> Any:
    """Not at the start of its memory."""
    if not tensor.numel():
        return tensor
    flat = tensor.detach().reshape(-1)
    return engine.cat([flat[:1] * 0 + 7, flat])[1:].view(tuple(tensor.shape))


def expanded(engine: Any, tensor: Any, dim: int | None) -> Any:
    """One row (or column, or number) repeated with a stride of zero."""
    if not tensor.dim() or not tensor.numel():
        return tensor
    shape = tuple(tensor.shape)
    if dim is None:
        if tensor.numel() == 1:
            return tensor
        return tensor.detach().reshape(-1)[:1].clone().reshape(()).expand(shape)
    if shape[dim] < 2:
        return tensor
    return tensor.detach().narrow(dim, 0, 1).clone().expand(shape)


def overlapping(engine: Any, tensor: Any) -> Any:
    """Rows that share numbers: windows that move by one."""
    if tensor.dim() < 2 or min(tensor.shape) < 2:
        return tensor
    shape = tuple(tensor.shape)
    needed = sum(shape) - len(shape) + 1
    return tensor.detach().reshape(-1)[:needed].clone().as_strided(shape, (1,) * len(shape))


def not_contiguous(engine: Any, tensor: Any) -> Any:
    """All layouts that keep the numbers, at once: transposed, with gaps, offset."""
    if not tensor.dim() or not tensor.numel():
        return tensor
    apart = tensor.detach().transpose(0, -1)
    apart = engine.stack([apart * 0 + 7, apart], -1)
    return apart[..., 1].transpose(0, -1)


SAME_NUMBERS = {
    "not contiguous (transposed)": transposed,
    "not contiguous (every second number)": strided,
    "offset in memory": with_offset,
}
"""Layouts of the same numbers; `not_contiguous` is all of these at once."""

FEWER_NUMBERS = {
    "expanded along the first dimension": lambda engine, t: expanded(engine, t, 0),
    "expanded along the last dimension": lambda engine, t: expanded(engine, t, -1),
    "overlapping in memory": overlapping,
}
