"""Gradients that an engine documents as different from the derivative: its documentation states the
intent.

An embedding's padding row gets no gradient, though the result depends on it; with `scale_grad_by_freq`
a row's gradient is divided by how often the row is used; fake quantisation lets the gradient through
where it does not clamp. Each has a stand-in, a function of the same arguments whose derivative is the
intended gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Agreed = tuple[str, Callable[..., Any]]
"""The name of the documented exception, and the function whose derivative is intended."""


def by_agreement(function: Any, args: Any, kwargs: Mapping[str, Any]) -> Agreed | None:
    """The intended gradient of an engine's call, where it is not the derivative."""
    find = _AGREED.get(str(getattr(function, "__name__", "")))
    if find is None:
        return None
    try:
        return find(args, kwargs)
    except (TypeError, ValueError, AttributeError, IndexError):  # another function of the same name
        return None


def _embedding(args: Any, kwargs: Mapping[str, Any]) -> Agreed | None:
    index, weight = _index_and_weight(args[0], args[1] if len(args) > 1 else kwargs["weight"])
    own = "scale" in kwargs  # tautograd's operation: no padding row is -1
    padding = kwargs.get("padding_idx", args[2] if len(args) > 2 and not own else None)
    if own and padding == -1:
        padding = None
    by_use = bool(kwargs.get("scale", kwargs.get("scale_grad_by_freq", False)))
    named = []
    if padding is not None:
        padding = int(padding) % int(weight.shape[0])
        if bool((index == padding).any()):
            named.append(f"padding_idx={padding}")
        else:
            padding = None
    if by_use:
        named.append("scale_grad_by_freq=True")
    if not named:
        return None

    def rows(first: Any, second: Any, *rest: Any, **others: Any) -> Any:
        index, weight = _index_and_weight(first, second)
        flat = index.reshape(-1)
        share = weight.detach()[flat][:, 0] * 0 + 1
        if padding is not None:
            share = share * (flat != padding)
        if by_use:
            share = share / (flat[:, None] == flat[None, :]).sum(1)
        found = weight[flat] * share[:, None]
        return found.reshape(*index.shape, weight.shape[1])

    return f"embedding({', '.join(named)})", rows


def _index_and_weight(first: Any, second: Any) -> tuple[Any, Any]:
    """PyTorch's function has the index first, an operation's record the weight."""
    return (second, first) if first.is_floating_point() else (first, second)


def _fake_quantize(args: Any, kwargs: Mapping[str, Any]) -> Agreed | None:
    def clamped(x: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any) -> Any:
        return x.clamp((quant_min - zero_point) * scale, (quant_max - zero_point) * scale)

    return "fake quantisation", clamped


_AGREED: dict[str, Callable[[Any, Mapping[str, Any]], Agreed | None]] = {
    "embedding": _embedding,
    "fake_quantize_per_tensor_affine": _fake_quantize,
}


__all__ = ["by_agreement"]
