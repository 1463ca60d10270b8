"""Tensors as flat arrays that a transport can carry, and the checks made before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .._arrays.formats import strided
from .._autograd.effects import value_asked
from .._autograd.graph import increment_version
from .._autograd.modes import modes
from .._autograd.refusals import LEAF
from .._tensor.tensor import Tensor
from ._groups import member, warn_not_member
from ._process_group import ProcessGroup
from ._work import Work


class Buffer:
    """A tensor's elements as a flat array that a transport can carry."""

    __slots__ = ("array", "home", "shared", "tensor")

    def __init__(self, tensor: Any, group: ProcessGroup) -> None:
        value_asked("a collective of `torch.distributed`", "numpy")
        self.tensor = tensor
        self.home = data = tensor._data
        if type(data) is not np.ndarray:  # a GPU's: CuPy's array, or a copy on the CPU
            data = data.raw if group.carries(tensor.device.type) else data.host()
        self.shared = bool(data.flags.c_contiguous) and getattr(data.flags, "writeable", True)
        self.shared &= type(data) is np.ndarray or group.carries(tensor.device.type)
        self.array = data.reshape(-1) if self.shared else data.ravel().copy()

    def put_back(self, array: Any = None) -> None:
        """Copy the elements back to the tensor, unless the buffer is its own memory."""
        if array is not None or not self.shared:
            fresh = (self.array if array is None else array).reshape(self.home.shape)
            if type(self.home) is np.ndarray:
                np.copyto(self.home, fresh)
            else:
                raw = self.home.raw
                with raw.device:
                    raw[...] = _cupy().asarray(fresh)
        increment_version(self.tensor)


def check_tensor(value: Any, name: str) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )
    if value.layout is not strided:
        raise RuntimeError(
            f"`{name}` must be dense: sparse tensors are not carried between processes"
        )


def check_tensors(values: Any, name: str) -> None:
    wrong = f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"{wrong}             but got {type(values)} instead.")
    if not all(isinstance(value, Tensor) for value in values):
        kinds = [type(value) for value in values]
        raise TypeError(
            f"{wrong}             but got {type(values)} with elements of type {kinds}."
        )


def same_dtype(*tensors: Any) -> None:
    for one, other in pairwise(tensors):
        if one.dtype != other.dtype:
            raise ValueError(
                f"Invalid usage of tensors with different dtypesFound {one.dtype} and  {other.dtype}"
            )


def check_same_type(name: str, expected: Any, got: Any) -> None:
    """Raise PyTorch's error for tensors of different dtypes if there are any."""
    if expected.dtype != got.dtype:
        raise RuntimeError(
            f"ProcessGroupGloo::{name}: invalid tensor type at index 0 (expected {expected.dtype}, "
            f"got {got.dtype})"
        )


def copying_into(
    tensors: Sequence[Any], finish: Callable[[Work], None]
) -> Callable[[Work], Exception | None]:
    """The end of an exchange whose results are copied into tensors, which a leaf that requires grad refuses.

    The exchange takes place all the same, since the other ranks do not know of that.
    """
    leaf = modes.now.grad and any(tensor.requires_grad and tensor.is_leaf for tensor in tensors)

    def end(work: Work) -> Exception | None:
        if leaf:
            return RuntimeError(LEAF)
        finish(work)
        return None

    return end


def described(*tensors: Any) -> str:
    """What has to be the same on every rank."""
    count = sum(tensor.numel() for tensor in tensors)
    return f"{str(tensors[0].dtype).removeprefix('torch.')}[{count}]"


def transport_of(group: ProcessGroup, tensor: Any) -> Any:
    kind = tensor.device.type
    return group.transport_for(kind if group.carries(kind) else "cpu")


def group_of(given: Any, name: str) -> ProcessGroup | None:
    found = member(given)
    if found is None:
        warn_not_member(name)
    return found


def room_for(like: Any, count: int) -> Any:
    """An uninitialised array for elements like these, in the same memory."""
    module = np if type(like) is np.ndarray else _cupy()
    return module.empty(count, like.dtype)


def arithmetic_on(array: Any) -> Any:
    """The array as NumPy's functions can compute with it: a GPU's as the engine's own array type, in every dtype."""
    if type(array) is np.ndarray:
        return array
    from .._arrays.cuda.cuda_array import wrap

    return wrap(array)


def _cupy() -> Any:
    import cupy

    return cupy


def shares(array: Any, count: int) -> list[Any]:
    each = array.size // count
    return [array[i * each : (i + 1) * each] for i in range(count)]


def parts_of(array: Any, tensors: Sequence[Any]) -> Iterator[Any]:
    """A flat array cut into pieces, one per tensor, each of that tensor's size."""
    at = 0
    for tensor in tensors:
        yield array[at : at + tensor.numel()]
        at += tensor.numel()


def check_alike(name: str, what: str, tensors: Sequence[Any], like: Any, size: int) -> None:
    if len(tensors) != size:
        raise RuntimeError(
            f"ProcessGroupGloo::{name}: invalid {what} tensor list at index 0 (expected length {size}, "
            f"got {len(tensors)})"
        )
    for i, tensor in enumerate(tensors):
        if tensor.shape != like.shape:
            wanted, got = (", ".join(map(str, t.shape)) for t in (like, tensor))
            raise RuntimeError(
                f"ProcessGroupGloo::{name}: invalid tensor size at index {i} (expected ({wanted}), got ({got}))"
            )


def check_whole(name: str, whole: Any, part: Any, size: int) -> None:
    if whole.numel() != part.numel() * size:
        raise RuntimeError(
            f"ProcessGroupGloo::{name}: invalid tensor size: the whole has {whole.numel()} elements, "
            f"{size} times {part.numel()} are expected"
        )


def joined(arrays: list[Any]) -> Any:
    return (np if type(arrays[0]) is np.ndarray else _cupy()).concatenate(arrays)
