"""Which value a tensor stands for: views and in-place writes, resolved.

A graph's values never change, but a tensor's memory does. So every tensor is represented as a path (view operations)
from its memory, a `Storage`, of which we keep a functional version that is never written: its `shadow`. A write
makes a new shadow, with one part replaced, and tensors read after it follow their path from the new one.
Paths are followed and parts replaced by ordinary operations, which are watched like all others.
"""

from __future__ import annotations

from typing import Any

from ..._ops.declare.public import FUNCTIONS
from ..._tensor.tensor import Tensor
from .errors import refused

Step = tuple[Any, dict[str, Any], Any]  # a view operation, its parameters, and which of its results


class Storage:
    """Memory: its contents as a tensor that nobody writes to, and how often it was written."""

    __slots__ = ("box", "generation", "shadow", "version")

    def __init__(self, shadow: Tensor) -> None:
        self.shadow = shadow
        self.generation = 0
        # Tensors made in inference mode have no version counter.
        self.box: Any = None if shadow._is_inference else shadow._version_box
        self.version = 0 if self.box is None else self.box[0]

    def is_behind(self) -> bool:
        """Whether the memory was written without our seeing it."""
        return self.box is not None and bool(self.box[0] != self.version)

    def settle(self, more: int = 0) -> None:
        """Mark everything written as known; `more` writes of the same are still to come."""
        if self.box is not None:
            self.version = self.box[0] + more


class Entry:
    """A tensor: its memory, the path from it, and the value it has stood for since `generation`."""

    __slots__ = ("generation", "number", "storage", "tensor", "way")

    def __init__(
        self, tensor: Tensor, storage: Storage, way: tuple[Step, ...], number: int
    ) -> None:
        self.tensor = tensor  # kept alive, so that its id is not reused
        self.storage = storage
        self.way = way
        self.number = number
        self.generation = storage.generation


def gone(base: Tensor, way: tuple[Step, ...]) -> Tensor:
    """Follow a path from a base."""
    found = base
    for op, parameters, index in way:
        result = op.apply((found,), parameters, None)
        found = result if index is None else result[index]
    return found


def replaced(base: Tensor, way: tuple[Step, ...], part: Tensor, site: Any) -> Tensor:
    """`base` with the part at the end of a path replaced."""
    wholes = [base]
    for step in way[:-1]:
        wholes.append(gone(wholes[-1], (step,)))
    for step, whole in zip(reversed(way), reversed(wholes), strict=True):
        part = _put_back(step, whole, part, site)
    return part


def _put_back(step: Step, whole: Tensor, part: Tensor, site: Any) -> Tensor:
    op, given, index = step
    name = op.name
    if name == "slice":
        return FUNCTIONS["slice_scatter"](  # type: ignore[no-any-return]
            whole, part, given["dim"], given["start"], given["end"], given["step"]
        )
    if name == "select":
        return FUNCTIONS["select_scatter"](whole, part, given["dim"], given["index"])  # type: ignore[no-any-return]
    if name == "transpose":
        return part.transpose(given["dim0"], given["dim1"])
    if name == "t":
        return part.t()
    if name == "permute":
        dims = given["dims"]
        return part.permute(*[dims.index(d) for d in range(len(dims))])
    if name in ("view", "unsafe_view", "squeeze", "squeeze_dim", "squeeze_dims", "unsqueeze"):
        return part.reshape(whole.shape)
    if name == "alias":
        return part
    if name == "diagonal":
        return FUNCTIONS["diagonal_scatter"](  # type: ignore[no-any-return]
            whole, part, given["offset"], given["dim1"], given["dim2"]
        )
    if name == "unbind":
        return FUNCTIONS["select_scatter"](whole, part, given["dim"], index)  # type: ignore[no-any-return]
    if name in ("split", "split_with_sizes"):
        dim = given["dim"]
        sizes = given.get("split_sizes")
        start = sum(sizes[:index]) if sizes is not None else index * given["split_size"]
        return FUNCTIONS["slice_scatter"](whole, part, dim, start, start + part.shape[dim], 1)  # type: ignore[no-any-return]
    if name == "expand" and tuple(whole.shape) == tuple(part.shape):
        return part
    raise refused(f"a write in place through a view made by '{name}' cannot be exported", site)
