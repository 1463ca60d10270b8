"""How tensors go to other processes: their memory is shared, and its description is sent.

As in PyTorch, sending a tensor moves it to shared memory. The file behind that memory has no name: its
descriptor goes with the message, so nothing is left over when the last process that has it ends. A view
that was taken before stays where it was (PyTorch's moves with it): share a tensor before taking views.
"""

from __future__ import annotations

from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

import numpy as np

from .._ops.declare.python_surface import speak
from .._tensor.attributes import state_of
from .._tensor.shared_memory import Region, region_at, region_of
from .._tensor.tensor import Tensor, make
from ..nn.parameter import Buffer, Parameter

__all__ = ["init_reductions", "rebuild_tensor", "reduce_tensor"]


def reduce_tensor(tensor: Tensor) -> tuple[Any, ...]:
    """What is sent in a tensor's place."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does "
            "not support crossing process boundaries.  If you just want to transfer the data, call "
            "detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    data = tensor._data
    if type(data) is not np.ndarray or not data.size:
        return tensor.__reduce_ex__(2)  # a GPU's tensors, and empty ones, are sent by value
    region = region_of(data)
    if region is None:
        tensor.share_memory_()
        data = tensor._data
        region = region_of(data)
        assert region is not None
    offset = data.__array_interface__["data"][0] - region.start()
    place = (data.dtype, data.shape, data.strides, offset)
    return rebuild_tensor, (DupFd(region.fd), len(region), place, _kept(tensor))


def _kept(tensor: Tensor) -> dict[str, Any]:
    return {
        "parameter": isinstance(tensor, Parameter),
        "buffer": isinstance(tensor, Buffer),
        "requires_grad": tensor.requires_grad,
        "persistent": getattr(tensor, "persistent", None),
    }


_known: dict[tuple[int, int], Any] = {}


def _region(handle: Any, size: int) -> Region:
    """The memory behind a descriptor that came with a message; one mapping for each file."""
    import os
    import weakref

    fd = handle.detach()
    about = os.fstat(fd)
    key = (about.st_dev, about.st_ino)
    found = _known.get(key, lambda: None)()
    if found is not None:
        os.close(fd)
        return found  # type: ignore[no-any-return]
    region = region_at(fd, size)
    _known[key] = weakref.ref(region, lambda _: _known.pop(key, None))
    return region


def rebuild_tensor(handle: Any, size: int, place: Any, kept: dict[str, Any]) -> Any:
    """The tensor that `reduce_tensor` described, on the same memory."""
    data = _region(handle, size).array(*place)
    tensor: Any = make(data)
    state_of(tensor)["_is_shared"] = True
    if kept["parameter"]:
        tensor = Parameter(tensor, requires_grad=kept["requires_grad"])
        state_of(tensor)["_is_shared"] = True
        return tensor
    if kept["buffer"]:
        return Buffer(tensor, persistent=kept["persistent"])
    return tensor.requires_grad_(kept["requires_grad"])


def init_reductions() -> None:
    """Have tensors sent this way by everything that `multiprocessing` sends."""
    for kind in (Tensor, Parameter):
        ForkingPickler.register(kind, reduce_tensor)


speak(globals(), __all__)
