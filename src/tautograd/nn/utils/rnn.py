"""Sequences of different lengths in one tensor: padded to the longest, or packed step by step.

A `PackedSequence` holds the rows of all sequences still running at step 0, then those at
step 1, and so on; `batch_sizes` gives their numbers. It requires the longest sequence first, and
remembers the original order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import tautograd as torch

from ..._ops.declare.python_surface import speak
from ..._ops.declare.shapes import require_all_tensors
from ..._ops.nn.recurrent.packed_sequences import _pack_padded_sequence, _pad_packed_sequence
from ..._tensor.tensor import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence_(NamedTuple):  # noqa: N801
    """The fields of a packed sequence."""

    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(PackedSequence_):
    """Sequences of different lengths, step by step; made by the functions of this module."""

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError("batch_sizes should always be on CPU.")
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The sequence with its data on another device or of another dtype; itself, if nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        places = [
            None if indices is None else indices.to(data.device)
            for indices in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(data, self.batch_sizes, *places)

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        return self.to(*args, device="cpu", **kwargs)

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        return self.to(*args, device="cuda", **kwargs)

    def pin_memory(self) -> Self:
        places = [
            None if indices is None else indices.pin_memory()
            for indices in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(self.data.pin_memory(), self.batch_sizes, *places)

    def is_pinned(self) -> bool:
        return bool(self.data.is_pinned())

    @property
    def is_cuda(self) -> bool:
        return bool(self.data.is_cuda)

    def double(self) -> Self:
        return self.to(dtype=torch.float64)

    def float(self) -> Self:
        return self.to(dtype=torch.float32)

    def half(self) -> Self:
        return self.to(dtype=torch.float16)

    def long(self) -> Self:
        return self.to(dtype=torch.int64)

    def int(self) -> Self:
        return self.to(dtype=torch.int32)

    def short(self) -> Self:
        return self.to(dtype=torch.int16)

    def char(self) -> Self:
        return self.to(dtype=torch.int8)

    def byte(self) -> Self:
        return self.to(dtype=torch.uint8)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation."""
    if permutation is None:
        return None
    result: Any = torch.empty_like(permutation)
    result.scatter_(0, permutation, torch.arange(0, permutation.numel(), device=permutation.device))
    return result  # type: ignore[no-any-return]


# --- packed --------------------------------------------------------------------------------------


def pack_padded_sequence(
    input: Tensor,
    lengths: Any,
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack padded sequences, given their lengths: longest first, unless sorting is allowed."""
    if isinstance(lengths, Tensor):
        lengths = lengths.to(dtype=torch.int64)
    else:
        lengths = torch.as_tensor(lengths, dtype=torch.int64)
    places = None
    rows: Any = input
    if not enforce_sorted:
        lengths, places = torch.sort(lengths, descending=True)
        rows = rows.index_select(0 if batch_first else 1, places)
    data, batch_sizes = _pack_padded_sequence(rows, lengths, batch_first)
    return PackedSequence(data, batch_sizes, places, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: Any = None,
) -> tuple[Tensor, Tensor]:
    """Unpack into padded sequences, in their original order, and their lengths."""
    longest = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < longest:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, "
                f"but got total_length={total_length} and max sequence length being {longest}"
            )
        longest = total_length
    padded, lengths = _pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, longest
    )
    places = sequence.unsorted_indices
    if places is not None:
        return padded.index_select(0 if batch_first else 1, places), lengths[places]
    return padded, lengths


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences."""
    lengths = torch.as_tensor([sequence.size(0) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The list of sequences that was packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


# --- padded --------------------------------------------------------------------------------------


def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack sequences of different lengths, padding the shorter ones with a value."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    return _padded(tuple(sequences), batch_first, padding_value, padding_side)


def _padded(sequences: Any, batch_first: bool, value: float, side: str) -> Tensor:
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    require_all_tensors(sequences)
    if not isinstance(value, (int, float)):
        raise TypeError(
            f"pad_sequence(): argument 'padding_value' (position 3) must be float, not "
            f"{type(value).__name__}"
        )
    if not isinstance(side, str):
        raise TypeError(
            f"pad_sequence(): argument 'padding_side' (position 4) must be str, not "
            f"{type(side).__name__}"
        )
    if side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {side}.")
    first = sequences[0]
    if not first.ndim:
        raise RuntimeError("ArrayRef: invalid slice, N = 1; size = 0")
    length, count = max(sequence.size(0) for sequence in sequences), len(sequences)
    lead = (count, length) if batch_first else (length, count)
    out: Any = torch.full((*lead, *first.shape[1:]), float(value), dtype=first.dtype)
    for i, sequence in enumerate(sequences):
        own = sequence.size(0)
        start = length - own if side == "left" else 0
        out.select(0 if batch_first else 1, i).narrow(0, start, own).copy_(sequence)
    return out  # type: ignore[no-any-return]


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """Split into sequences, without their padding."""
    padded: Any = padded_sequences
    if not isinstance(padded, torch.Tensor):
        raise TypeError(
            f"unpad_sequence: expected a tensor of padded sequences, got {type(padded).__name__}"
        )
    if not batch_first:
        padded.transpose_(0, 1)
    if len(padded) != len(lengths):
        raise RuntimeError(
            f"expected a length for each of {len(padded)} sequences, got {len(lengths)}"
        )
    places = torch.arange(padded.shape[1], device=padded.device)
    return [sequence[places < length] for sequence, length in zip(padded, lengths, strict=True)]


speak(globals(), __all__)
