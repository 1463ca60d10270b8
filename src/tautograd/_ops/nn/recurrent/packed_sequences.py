"""Padded sequences to packed ones and back: rows taken by a plan that the lengths fix.

Packed, the rows of all sequences that are still running follow each other, step by step. Both ways
are a choice of rows, so each is the other's gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._autograd.apply import apply
from ...._autograd.modes import modes
from ...._tensor.tensor import Tensor, make
from ...declare.record import Op
from ...declare.samples import Sample, T
from ...shape.views import reshape_to
from ..losses.reduction import function


def _plan(sizes: tuple[int, ...], batch: int, length: int) -> tuple[Any, Any]:
    """Where each packed row lies among the padded ones, and the reverse (padding: after the last)."""
    running = np.arange(batch) < np.asarray(sizes)[:, None]
    rows = np.flatnonzero(running)
    places = np.full(length * batch, len(rows))
    places[rows] = np.arange(len(rows))
    return rows, places


def _pack(x: Any, rows: Any, places: Any) -> Any:
    return np.take(x, rows, axis=0)


def _unpack(x: Any, rows: Any, places: Any, value: float) -> Any:
    return np.take(np.concatenate((x, np.full_like(x[:1], value))), places, axis=0)


def _pad(x: Any, rows: Any, places: Any, value: float, lead: tuple[int, int]) -> Any:
    return np.reshape(_unpack(x, rows, places, value), (*lead, *x.shape[1:]))


def _flat(x: Any) -> Any:
    """The first two dimensions as one."""
    return np.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:]))


pack_op = Op(
    "pack_padded_sequence",
    _pack,
    ("x",),
    vjp={"x": lambda g, rows, places: _unpack(g, rows, places, 0.0)},
    jvp={"x": lambda t, rows, places: _pack(t, rows, places)},
    opmath=False,
    public="_pack_padded_sequence",
    samples=lambda: [
        Sample(T(3, 3, 2), T(3, dtype="int64", kind="falling"), False),
        Sample(T(3, 4, 2, 2), T(3, dtype="int64", kind="falling"), True),
        Sample(T(2, 2), T(2, dtype="int64", kind="falling"), False),
    ],
)
pad_op = Op(
    "pad_packed_sequence",
    _pad,
    ("x",),
    vjp={"x": lambda g, rows, places: _pack(_flat(g), rows, places)},
    jvp={"x": lambda t, rows, places, lead: _pad(t, rows, places, 0.0, lead)},
    node="torch::autograd::CopySlices",
    opmath=False,
    public="_pad_packed_sequence",
    samples=lambda: [
        Sample(T(6, 2), T(3, dtype="int64", kind="falling"), False, 0.5, 3),
        Sample(T(6, 2, 2), T(3, dtype="int64", kind="falling"), False, 1.0, 5),
        Sample(T(6), T(3, dtype="int64", kind="falling"), True, 0.0, 4),
    ],
)


@function
def _pack_padded_sequence(input: Any, lengths: Any, batch_first: bool) -> tuple[Tensor, Tensor]:
    """The rows of padded sequences step by step, and how many there are at each."""
    if batch_first:
        input = input.transpose(0, 1)
    if not lengths.numel() or not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.dim() != 1:
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, but got "
            f"{lengths.dim()}D cpu Long tensor"
        )
    batch = input.size(1)
    counts = lengths.tolist()
    if len(counts) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} "
            f"(batch_size={batch})"
        )
    if counts[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if sorted(counts, reverse=True) != counts:
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    if input.dtype.is_complex and input.requires_grad and modes.grad:
        raise RuntimeError(
            "_pack_padded_sequence does not support automatic differentiation for outputs with "
            "complex dtype."
        )
    steps = input.size(0)
    if counts[0] > steps:
        raise RuntimeError(
            f"Expected `lengths` to be at most {steps}, the number of steps, but got {counts[0]}"
        )
    sizes = tuple(sum(n > step for n in counts) for step in range(counts[0]))
    rows, places = _plan(sizes, batch, steps)
    tall = reshape_to(input, (steps * batch, *input._data.shape[2:]))
    packed = apply(pack_op, (tall,), {"rows": rows, "places": places})
    return packed, make(np.asarray(sizes, np.int64))


@function
def _pad_packed_sequence(
    data: Any, batch_sizes: Any, batch_first: bool, padding_value: float, total_length: int
) -> tuple[Tensor, Tensor]:
    """Padded sequences from their rows step by step, and the lengths of them."""
    sizes = tuple(batch_sizes.tolist())
    batch = sizes[0]
    length = max(total_length, len(sizes))
    rows, places = _plan(sizes, batch, length)
    lead = (length, batch)
    parameters = {"rows": rows, "places": places, "value": padding_value, "lead": lead}
    padded = apply(pad_op, (data,), parameters)
    lengths = (np.arange(batch) < np.asarray(sizes)[:, None]).sum(0, dtype=np.int64)
    return padded.transpose(0, 1) if batch_first else padded, make(lengths)
