"""Inputs to try, derived from the given ones: boundary, odd and invalid.

Values change in all floating-point inputs at once; shapes and dtypes in one input at a time.
A layout (strided, expanded) is applied inside the recorded run, so that gradients still reach the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..subject.calls import Call
from ..subject.engines import as_numpy

Change = Callable[[str, Any], Any]
_MOST = 3  # inputs whose shapes and dtypes are tried


@dataclass(frozen=True)
class Variant:
    """Inputs to try."""

    name: str
    call: Call
    finite: bool = True  # no NaN and no infinity among them
    layout: Change | None = None  # the memory layout of the values when passed
    numerical: bool = True  # whether differences can be taken there


def variants_of(engine: Any, call: Call) -> Iterator[Variant]:
    """Every kind of input that can be derived from these."""
    yield Variant("normal", call)
    yield from _values(engine, call)
    yield from _sizes(call)
    yield from _layouts(engine, call)
    yield from _not_finite(engine, call)
    yield from _invalid(engine, call)


def _is_number(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())


def _values(engine: Any, call: Call) -> Iterator[Variant]:
    if not any(map(_is_number, call.tensors().values())):
        return

    def scaled(size: Callable[[Any], float]) -> Call:
        def change(_: str, tensor: Any) -> Any:
            if not _is_number(tensor):
                return tensor
            values = as_numpy(tensor)
            largest = float(np.abs(values).max(initial=0.0, where=np.isfinite(values)))
            if largest == 0.0:
                values, largest = np.ones_like(values), 1.0
            return _as(engine, values / largest * size(engine.finfo(tensor.dtype)), tensor)

        return call.with_tensors(change)

    def tied(_: str, tensor: Any) -> Any:
        if not _is_number(tensor) or not tensor.numel():
            return tensor
        return _as(engine, np.full_like(as_numpy(tensor), as_numpy(tensor).flat[0]), tensor)

    yield Variant("zeros", scaled(lambda _: 0.0))
    yield Variant("tiny", scaled(lambda info: 64.0 * float(info.smallest_normal)))
    yield Variant(
        "subnormal", scaled(lambda info: 0.25 * float(info.smallest_normal)), numerical=False
    )
    yield Variant("huge", scaled(lambda info: float(info.max) / 1024.0))
    yield Variant("ties (all equal)", call.with_tensors(tied))


def _sizes(call: Call) -> Iterator[Variant]:
    with_rows = [t for t in call.tensors().values() if t.dim() and t.numel()]
    if not with_rows:
        return
    rows = with_rows[0].shape[0]

    def first(count: int) -> Call:
        def change(_: str, tensor: Any) -> Any:
            return tensor[:count] if tensor.dim() and tensor.shape[0] == rows else tensor

        return call.with_tensors(change)

    def single(_: str, tensor: Any) -> Any:
        return tensor.reshape(-1)[:1].reshape((1,) * tensor.dim()) if tensor.numel() else tensor

    if rows > 1:
        yield Variant("one row", first(1))
    yield Variant("one element", call.with_tensors(single))
    yield Variant("empty", first(0), numerical=False)


def _layouts(engine: Any, call: Call) -> Iterator[Variant]:
    if not any(t.dim() and t.numel() for t in call.tensors().values()):
        return

    def strided(_: str, tensor: Any) -> Any:
        return engine.stack([tensor, tensor], -1)[..., 0] if tensor.dim() else tensor

    def expanded(_: str, tensor: Any) -> Any:
        return tensor[:1].expand(tensor.shape) if tensor.dim() and tensor.numel() else tensor

    yield Variant("non-contiguous", call, layout=strided, numerical=False)
    yield Variant("broadcast (expanded)", call, layout=expanded, numerical=False)


def _not_finite(engine: Any, call: Call) -> Iterator[Variant]:
    names = [name for name, t in call.tensors().items() if _is_number(t) and t.numel()]
    for name in names[:_MOST]:
        for word, value in (("NaN", np.nan), ("infinity", np.inf)):

            def change(own: str, tensor: Any, name: str = name, value: float = value) -> Any:
                if own != name:
                    return tensor
                values = np.array(as_numpy(tensor))
                values.flat[values.size // 2] = value
                return _as(engine, values, tensor)

            yield Variant(f"one {word} in {name}", call.with_tensors(change), finite=False)


def _invalid(engine: Any, call: Call) -> Iterator[Variant]:
    for name, tensor in list(call.tensors().items())[:_MOST]:
        for what, other in _instead(engine, tensor):

            def change(own: str, given: Any, name: str = name, other: Any = other) -> Any:
                return other if own == name else given

            yield Variant(f"{name}: {what}", call.with_tensors(change), numerical=False)


def _instead(engine: Any, tensor: Any) -> Iterator[tuple[str, Any]]:
    """Values to pass in place of one tensor that the function was not made for."""
    if tensor.dim() and tensor.numel():
        yield "last dimension one more", engine.cat([tensor, tensor[..., :1]], -1)
        yield "a dimension missing", tensor[0]
        yield "a dimension too many", tensor[None]
        if tensor.dim() > 1:  # a one-dimensional tensor has no dimension to drop
            yield "0-dimensional", tensor.reshape(-1)[0]
    kind = str(tensor.dtype).rpartition(".")[2]
    if tensor.is_complex():
        yield f"float64 for {kind}", engine.view_as_real(tensor)[..., 0].to(engine.float64)
    elif tensor.is_floating_point():
        yield f"int64 for {kind}", tensor.to(engine.int64)
        other = engine.float32 if kind == "float64" else engine.float64
        yield f"{str(other).rpartition('.')[2]} for {kind}", tensor.to(other)
    elif kind != "bool":
        yield f"float32 for {kind}", tensor.to(engine.float32)
        if tensor.numel():
            yield "past its largest number", tensor + (tensor.max() - tensor.min() + 1)
            if kind != "uint8":
                yield "negative numbers", -tensor - 1


def _as(engine: Any, values: Any, like: Any) -> Any:
    """Values as a tensor with another's dtype and device."""
    made = engine.from_numpy(np.array(values)).to(dtype=like.dtype, device=like.device)
    return made.requires_grad_(like.requires_grad)
