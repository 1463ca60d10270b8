"""Printing tensors: nested brackets around aligned numbers, then what the numbers do not show.

Only what will be shown is ever read: a large tensor is first reduced to its corners, the corners
are written as texts, and the texts are joined into brackets from the innermost axis outwards.
The suffixes (``dtype=``, ``grad_fn=``, ...) follow, wrapped at the line width.

The tensor layer plugs in what only it knows: ``default_dtype`` and ``plain_tensor_types``.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tautograd._arrays.batching.batched import BatchedArray
from tautograd._arrays.batching.levels import levels_of
from tautograd._tensor.number_format import number_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class PrintableTensor(Protocol):
    """What printing needs from a tensor."""

    @property
    def dtype(self) -> Any: ...
    @property
    def shape(self) -> Sequence[int]: ...
    @property
    def device(self) -> Any: ...
    @property
    def requires_grad(self) -> bool: ...
    @property
    def grad_fn(self) -> Any: ...
    @property
    def _data(self) -> np.ndarray: ...
    @property
    def ndim(self) -> int: ...
    def numel(self) -> int: ...


def _float32_name() -> object:
    return "torch.float32"


# The current default dtype (anything whose str() is its name); set by the tensor layer.
default_dtype: Callable[[], object] = _float32_name

# The classes printed as "tensor(...)"; any other class prints under its own name. The tensor
# layer adds Tensor and Parameter, which this module cannot import.
plain_tensor_types: set[type] = set()


# ---------------------------------------------------------------------------------- options


@dataclass(slots=True)
class _PrintOptions:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_options = _PrintOptions()

_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors print; what is left out keeps its value, except ``sci_mode``.

    ``precision``: digits after the point. ``threshold``: above this many elements only the edges
    are shown, ``edgeitems`` at either end of each axis. ``linewidth``: where lines break.
    ``profile``: ``"default"``, ``"short"`` or ``"full"``, which the other arguments override.
    ``sci_mode``: force scientific notation on or off; ``None``, also when left out, decides by
    the values.
    """
    chosen = dict(_PROFILES.get(profile, {})) if profile is not None else {}
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    chosen.update((name, value) for name, value in given.items() if value is not None)
    for name, value in chosen.items():
        setattr(_options, name, value)
    # PyTorch gives None a meaning here ("decide by the values"), so it cannot mean "keep".
    _options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The current options, as keyword arguments for :func:`set_printoptions`."""
    return asdict(_options)


@contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Change the print options within a ``with`` block."""
    before = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**before)


# ----------------------------------------------------------------------------------- values


def format_values(array: np.ndarray, indent: int) -> str:
    """The nested brackets of ``array``; lines after the first start below column ``indent``."""
    if array.size == 0:
        return "[]"
    edge = _options.edgeitems
    summarised = array.size > _options.threshold
    if summarised and not edge and array.ndim:
        return "[...]"
    is_cut = [summarised and length > 2 * edge for length in array.shape]
    if any(is_cut):
        array = _corners(array, is_cut, edge)
    texts, width = number_texts(array, _options.precision, _options.sci_mode)
    if array.ndim == 0:
        return texts[0]
    return _nest(texts, width, array.shape, is_cut, indent)


def _here(array: Any) -> Any:
    """An array's values in main memory."""
    host = getattr(array, "host", None)
    return array if host is None else host()


def _corners(array: np.ndarray, is_cut: Sequence[bool], edge: int) -> np.ndarray:
    """A copy of the elements that will be shown, without reading any of the others."""
    kept = [
        [*range(edge), *range(length - edge, length)] if cut else range(length)
        for length, cut in zip(array.shape, is_cut, strict=True)
    ]
    return array[np.ix_(*kept)]


def _nest(
    texts: list[str], width: int, shape: Sequence[int], is_cut: Sequence[bool], indent: int
) -> str:
    """Join the texts of an array of ``shape`` into brackets, innermost axis first."""
    last = len(shape) - 1
    row_indent = indent + last
    per_line = max(1, math.floor((_options.linewidth - row_indent) / (width + len(", "))))
    line_break = ",\n" + " " * (row_indent + 1)
    blocks = []
    for items in _grouped(texts, shape[last], " ..." if is_cut[last] else None):
        lines = [
            ", ".join(items[start : start + per_line]) for start in range(0, len(items), per_line)
        ]
        blocks.append("[" + line_break.join(lines) + "]")
    for axis in range(last - 1, -1, -1):
        # Higher-dimensional blocks stand further apart.
        separator = "," + "\n" * (last - axis) + " " * (indent + axis + 1)
        groups = _grouped(blocks, shape[axis], "..." if is_cut[axis] else None)
        blocks = ["[" + separator.join(items) + "]" for items in groups]
    return blocks[0]


def _grouped(items: list[str], length: int, ellipsis: str | None) -> Iterator[list[str]]:
    """``items`` in runs of ``length``, each with ``ellipsis`` where the middle was cut out."""
    for start in range(0, len(items), length):
        group = items[start : start + length]
        if ellipsis is not None:
            group.insert(_options.edgeitems, ellipsis)
        yield group


# ------------------------------------------------------------------------------ whole tensor


def tensor_repr(tensor: PrintableTensor, contents: str | None = None) -> str:
    """The text of ``repr(tensor)``; ``contents`` stands in for the bracketed values if given."""
    data: Any = getattr(tensor, "_data", None) if tensor.device.type != "meta" else None
    if type(data) is BatchedArray:
        return _batch_repr(data)
    is_plain = type(tensor) in plain_tensor_types
    prefix = "tensor(" if is_plain else f"{type(tensor).__name__}("
    indent = len(prefix)
    if contents is None:
        is_meta = tensor.device.type == "meta"
        contents = "..." if is_meta else format_values(_here(tensor._data), indent)
    text = _with_suffixes(prefix + contents, _suffixes(tensor), indent)
    # A subclass that is flagged as a parameter says so around its own name.
    if not is_plain and getattr(tensor, "_is_param", False):
        return f"Parameter({text})"
    return text


def _batch_repr(array: Any) -> str:
    """What `vmap` passes to a function: a whole batch that stands for one of its examples."""
    if not isinstance(array, BatchedArray):
        from .tensor import make

        return tensor_repr(make(array))
    inner = "    " + _batch_repr(array.data).replace("\n", "\n    ")
    return f"BatchedTensor(lvl={len(levels_of(array))}, bdim=0, value=\n{inner}\n)"


def _suffixes(tensor: PrintableTensor) -> list[str]:
    suffixes = []
    device = tensor.device
    if device.type != "cpu":
        suffixes.append(f"device='{device}'")
    suffixes += _shape_and_dtype(tensor)
    grad_fn_name = _grad_fn_name(tensor)
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    tangent = getattr(tensor, "_tangent_for_repr", None)
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    return suffixes


def _shape_and_dtype(tensor: PrintableTensor) -> list[str]:
    """``size=`` and ``dtype=``, each only where the shown values do not imply it."""
    dtype_name = str(tensor.dtype)
    default_name = str(default_dtype())
    if tensor.device.type == "meta":
        shows_size = True
        shows_dtype = dtype_name != default_name
    elif tensor.numel() == 0:
        # "[]" implies the shape (0,), and nothing about integers or booleans.
        shows_size = tensor.ndim != 1
        shows_dtype = dtype_name != default_name
    else:
        shows_size = not _options.edgeitems
        shows_dtype = dtype_name != default_name and dtype_name not in (
            "torch.int64",
            "torch.bool",
            "torch.complex128" if default_name == "torch.float64" else "torch.complex64",
        )
    suffixes = []
    if shows_size:
        suffixes.append(f"size={tuple(tensor.shape)}")
    if shows_dtype:
        suffixes.append(f"dtype={dtype_name}")
    return suffixes


def _grad_fn_name(tensor: PrintableTensor) -> str | None:
    try:
        grad_fn = tensor.grad_fn
    except RuntimeError:
        # A view that was made or changed behind autograd's back refuses to name its history;
        # printing it must still work.
        return "Invalid"
    if grad_fn is None:
        return None
    name: str = grad_fn.name()
    return name.rsplit("::", 1)[-1]


def _with_suffixes(text: str, suffixes: list[str], indent: int, on_new_line: bool = False) -> str:
    """Append the suffixes and the closing parenthesis, breaking lines that would be too long.

    `on_new_line`: they start on a new line.
    """
    parts = [text]
    # PyTorch counts the last line of the values two characters too long; so the lines break
    # where its do.
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if on_new_line or column + len(", ") + len(suffix) > _options.linewidth:
            on_new_line = False
            parts.append(",\n" + " " * indent + suffix)
            column = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            column += len(", ") + len(suffix)
    parts.append(")")
    return "".join(parts)
