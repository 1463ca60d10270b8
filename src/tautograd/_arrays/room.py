"""PyTorch's errors for what does not fit in memory."""

from __future__ import annotations

MOST_PARTS = 1 << 24
"""Most tensors that one call may return: at 500 bytes each, more would take all memory there is, and hours."""


def out_of_memory(size: int | None, *, empty: bool = False) -> RuntimeError:
    """The error for a tensor of so many bytes; None if their number overflows.

    `empty`: it has no element, and it is its strides that overflow.
    """
    if empty:
        return RuntimeError(
            "Stride calculation overflowed: a stride of this size cannot be counted"
        )
    if size is None or size >= 1 << 63:
        return RuntimeError(
            "Storage size calculation overflowed: can't allocate memory for more bytes than can be counted"
        )
    much = f"{size} bytes"
    return RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you "
        f"tried to allocate {much}. Error code 12 (Cannot allocate memory)"
    )


def room_for_parts(count: int) -> None:
    """Refuse a number of results that no list can hold."""
    if count > MOST_PARTS:
        raise out_of_memory(count * 8)
