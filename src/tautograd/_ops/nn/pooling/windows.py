"""The windows of pools: PyTorch's sizes (rounded up or down), its checks, and where windows begin."""

from __future__ import annotations

from typing import Any

from ..convolution.windows import Ints, covered, int_of

_COUNTED = {2: "two", 3: "three"}


class Window:
    """How a pool's windows lie over an image of a given size; hashable, so that tables are kept."""

    __slots__ = ("ceil", "count", "dilation", "high", "kernel", "key", "low", "size", "stride")

    def __init__(
        self, size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool
    ) -> None:
        self.size, self.kernel, self.stride, self.low = size, kernel, stride, padding
        self.dilation, self.ceil = dilation, ceil
        self.count = tuple(
            [
                _count(n, k, s, p, d, ceil)
                for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True)
            ]
        )
        # What the last window needs after the end of the image.
        self.high = tuple(
            [
                max(0, (c - 1) * s + covered(k, d) - n - p)
                for c, n, k, s, p, d in zip(
                    self.count, size, kernel, stride, padding, dilation, strict=True
                )
            ]
        )
        self.key = (size, kernel, stride, padding, dilation, ceil)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Window) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Window{self.key}"

    @property
    def whole(self) -> bool:
        """Whether no window reaches outside of the image."""
        return not any(self.low) and not any(self.high)

    @property
    def padded_size(self) -> Ints:
        """The size with the padding round it, and no more than the windows need."""
        return tuple([n + a + b for n, a, b in zip(self.size, self.low, self.high, strict=True)])


def _count(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> int:
    room = n + 2 * padding - covered(kernel, dilation)
    count = -(-room // stride) + 1 if ceil else room // stride + 1
    if ceil and (count - 1) * stride >= n + padding:
        count -= 1  # a window that begins in the padding at the end sees nothing
    return count


def each(name: str, argument: str, value: Any, rank: int, optional: bool = False) -> Ints:
    """One number for each dimension, or PyTorch's words about what it takes."""
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(given) == 1:
        return (int_of(given[0]),) * rank
    if len(given) != rank:
        omitted = "be omitted, " if optional else "be "
        raise RuntimeError(
            f"{name}: {argument} must either {omitted}a single int, or a tuple of "
            f"{_COUNTED[rank]} ints"
        )
    return tuple([int_of(v) for v in given])


def make_window(
    name: str,
    shape: Ints,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    rank: int,
) -> Window:
    """The windows of a pool over an image of this shape, all arguments checked."""
    kernel = each(name, "kernel_size", kernel_size, rank)
    empty = stride is None or (isinstance(stride, (tuple, list)) and not stride)
    step = kernel if empty else each(name, "stride", stride, rank, True)
    sides = each(name, "padding", padding, rank)
    spacing = each(name, "dilation", dilation, rank)
    _check_numbers(name, kernel, step, sides, spacing)
    size = shape[len(shape) - rank :]
    window = Window(size, kernel, step, sides, spacing, ceil_mode)
    _check_shape(name, shape, window, rank)
    return window


def _check_numbers(name: str, kernel: Ints, step: Ints, sides: Ints, spacing: Ints) -> None:
    axes = "THW"[-len(kernel) :]
    if min(step) == 0:
        raise RuntimeError("stride should not be zero")
    if min(kernel) <= 0:
        raise RuntimeError(
            "kernel size should be greater than zero, but got "
            + " ".join(f"k{a}: {k}" for a, k in zip(axes, kernel, strict=True))
        )
    if min(step) < 0:
        raise RuntimeError(
            "stride should be greater than zero, but got "
            + " ".join(f"d{a}: {k}" for a, k in zip(axes, step, strict=True))
        )
    if min(spacing) <= 0:
        raise RuntimeError(
            "dilation should be greater than zero, but got "
            + " ".join(f"dilation{a}: {k}" for a, k in zip(axes, spacing, strict=True))
        )
    for k, p, d in zip(kernel, sides, spacing, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > covered(k, d) // 2:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got "
                f"pad={p}, kernel_size={k} and dilation={d}"
            )


def _check_shape(name: str, shape: Ints, window: Window, rank: int) -> None:
    ndim = len(shape)
    if 0 in shape[ndim - rank - 1 :] or ndim not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with optional 0 dim batch "
            f"size for input, but got:{list(shape)}"
        )
    if min(window.count) < 1:
        if name == "avg_pool3d":
            size = " ".join(f"{a}: {n}" for a, n in zip("THW", window.size, strict=True))
            kernel = " ".join(f"k{a}: {n}" for a, n in zip("THW", window.kernel, strict=True))
            raise RuntimeError(f"input image ({size}) smaller than kernel size ({kernel})")
        channels = shape[ndim - rank - 1]
        have = "x".join(map(str, (channels, *window.size)))
        want = "x".join(map(str, (channels, *window.count)))
        raise RuntimeError(
            f"Given input size: ({have}). Calculated output size: ({want}). Output size is too "
            "small"
        )
