"""`DTensor`: a tensor distributed over the ranks of a mesh, and the functions that create one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tautograd as torch

from ..._tensor.tensor import Tensor, make
from ...autograd import Function
from .._exchanges import broadcast
from .._groups import _get_default_group
from ..device_mesh import DeviceMesh, init_device_mesh
from ._array import DistributedArray, local_part
from ._redistribute import redistributed
from .placement_types import PARTIAL, REPLICATE, Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor",
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "ones",
    "rand",
    "randn",
    "zeros",
]


class _DTensorType(type(Tensor)):  # type: ignore[misc]
    """Makes a tensor a `DTensor` by its storage: results and parameters are, without being converted."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor) and type(value._data) is DistributedArray


class DTensor(Tensor, metaclass=_DTensorType):
    """A tensor of which each rank of a mesh holds a part."""

    __slots__ = ()

    def __new__(cls, *_: Any, **__: Any) -> Any:
        raise RuntimeError(
            "a DTensor is made by DTensor.from_local(), distribute_tensor() or an operation on DTensors"
        )

    @staticmethod
    def from_local(
        local_tensor: Any,
        device_mesh: Any = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
    ) -> Any:
        """The tensor whose part on this rank is `local_tensor`; differentiable."""
        mesh = _default(device_mesh)
        found = _normal(placements, mesh, local_tensor.dim())
        if run_check:
            for i, placement in enumerate(found):
                if isinstance(placement, Replicate):
                    broadcast(local_tensor.detach(), group=mesh.get_group(i), group_src=0)
        return _FromLocal.apply(local_tensor, mesh, found, None if shape is None else tuple(shape))

    @property
    def placements(self) -> tuple[Placement, ...]:
        """Its placement along each dimension of the mesh."""
        return self._data.placements  # type: ignore[no-any-return]

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh of ranks that it is distributed over."""
        return self._data.mesh  # type: ignore[no-any-return]

    def redistribute(
        self,
        device_mesh: Any = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: Any = None,
        backward_dtype: Any = None,
    ) -> Any:
        """The same tensor with other placements."""
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        if device_mesh is not None and device_mesh != self.device_mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        wanted = _normal(placements, self.device_mesh, self.dim())
        for now, then in zip(self.placements, wanted, strict=True):
            if isinstance(then, Partial) and now != then:
                raise RuntimeError(
                    "Can not redistribute to Partial, redistributing to Partial is for internal use only!"
                )
        return _Redistribute.apply(self, wanted)

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Any:
        """This rank's part; it shares memory with the whole."""
        if grad_placements is not None:
            grad_placements = _normal(grad_placements, self.device_mesh, self.dim())
        if not torch.is_grad_enabled() or not self.requires_grad:
            return make(self._data.local)
        return _ToLocal.apply(self, grad_placements)

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Any:
        """The whole tensor, on every rank."""
        everywhere = self.redistribute(placements=(REPLICATE,) * self.device_mesh.ndim)
        return everywhere.to_local(grad_placements=grad_placements)


def _default(mesh: Any) -> DeviceMesh:
    if mesh is not None:
        return mesh  # type: ignore[no-any-return]
    return init_device_mesh("cpu", (_get_default_group().size(),))


def _normal(placements: Any, mesh: DeviceMesh, rank: int) -> tuple[Placement, ...]:
    """One placement per dimension of the mesh, with dimensions counted from the front."""
    if placements is None:
        return (REPLICATE,) * mesh.ndim
    found = tuple(placements)
    if len(found) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: "
            f"{len(found)}, and device_mesh.ndim: {mesh.ndim}."
        )
    normal: list[Placement] = []
    for placement in found:
        if not isinstance(placement, Placement):
            raise TypeError(f"placements: expected Shard, Replicate or Partial, got {placement!r}")
        if isinstance(placement, Shard):
            dim = placement.dim + rank if placement.dim < 0 else placement.dim
            if not 0 <= dim < rank:
                raise IndexError(
                    f"placements: {placement!r} does not fit a tensor with {rank} dimensions"
                )
            placement = Shard(dim)
        normal.append(placement)
    return tuple(normal)


def _global_shape(local: Any, mesh: DeviceMesh, placements: tuple[Placement, ...]) -> Any:
    shape = list(local.shape)
    for i, placement in enumerate(placements):
        if isinstance(placement, Shard):
            shape[placement.dim] *= mesh.size(i)
    return tuple(shape)


def _own(array: Any, of: Any) -> Any:
    """The array in its own memory."""
    return np.array(array, order="C", copy=True if np.may_share_memory(array, of) else None)


# --- differentiable redistribution ----------------------------------------------------------------------


class _FromLocal(Function):
    @staticmethod
    def forward(ctx: Any, local: Any, mesh: Any, placements: Any, shape: Any) -> Any:
        ctx.placements = placements
        shape = _global_shape(local, mesh, placements) if shape is None else shape
        return make(DistributedArray(local._data, mesh, placements, shape))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        # The gradient of a partial sum's term is that of the sum: the same on every rank.
        wanted = tuple(REPLICATE if isinstance(p, Partial) else p for p in ctx.placements)
        return make(redistributed(grads[0]._data, wanted).local), None, None, None


class _ToLocal(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, grad_placements: Any) -> Any:
        ctx.like, ctx.placements = x._data, grad_placements
        return make(x._data.local)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        like = ctx.like
        placements = ctx.placements or like.placements
        placements = tuple(REPLICATE if isinstance(p, Partial) else p for p in placements)
        return make(DistributedArray(grads[0]._data, like.mesh, placements, like.shape)), None


class _Redistribute(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, placements: Any) -> Any:
        ctx.placements = x._data.placements
        found = redistributed(x._data, placements)
        return make(found.like(_own(found.local, x._data.local)))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        wanted = tuple(REPLICATE if isinstance(p, Partial) else p for p in ctx.placements)
        return make(redistributed(grads[0]._data, wanted)), None


def _attach() -> None:
    """Give every distributed tensor the attributes that `DTensor` declares, and print it as one."""
    cls: Any = Tensor
    plain_repr: Any = Tensor.__repr__

    def missing(self: Any, name: str) -> Any:
        member = DTensor.__dict__.get(name) if type(self._data) is DistributedArray else None
        if member is None or name.startswith("_"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return member.__get__(self, DTensor)

    def shown(self: Any, *, tensor_contents: str | None = None) -> str:
        if type(getattr(self, "_data", None)) is not DistributedArray:
            return str(plain_repr(self, tensor_contents=tensor_contents))
        data = self._data
        return (
            f"DTensor(local_tensor={make(data.local)!r}, device_mesh={data.mesh}, "
            f"placements={data.placements})"
        )

    shown.__name__ = "__repr__"
    cls.__getattr__, cls.__repr__ = missing, shown


_attach()


# --- making one ------------------------------------------------------------------------------------------


def distribute_tensor(
    tensor: Any,
    device_mesh: Any = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Any:
    """Distribute a tensor that one rank has over the mesh; a leaf stays a leaf, and a parameter a parameter."""
    if not tensor.is_leaf:
        raise RuntimeError(
            "`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!"
        )
    mesh = _default(device_mesh)
    found = _normal(placements, mesh, tensor.dim())
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh or tensor.placements != found:
            raise ValueError(
                f"Cannot distribute a DTensor with placements {tensor.placements} to {found}"
            )
        return tensor
    array = np.array(tensor._data, copy=True, order="C")
    if src_data_rank is not None and mesh.get_coordinate() is not None:
        for i in range(mesh.ndim):
            broadcast(make(array), group=mesh.get_group(i), group_src=src_data_rank)
    local = _own(local_part(array, mesh, found), array)
    for i, placement in enumerate(found):
        if placement == PARTIAL:
            local = local / local.dtype.type(mesh.size(i))
    made = make(DistributedArray(local, mesh, found, tuple(tensor.shape)))
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(made, requires_grad=tensor.requires_grad)
    return made.requires_grad_(tensor.requires_grad)


def distribute_module(
    module: Any,
    device_mesh: Any = None,
    partition_fn: Callable[..., None] | None = None,
    input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
) -> Any:
    """Distribute a module's parameters and buffers by `partition_fn(name, module, mesh)`, or else replicate them."""
    mesh = _default(device_mesh)
    for name, below in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, below, mesh)
        for key, parameter in below._parameters.items():
            if parameter is not None and not isinstance(parameter, DTensor):
                below.register_parameter(key, distribute_tensor(parameter, mesh))
        for key, buffer in below._buffers.items():
            if buffer is not None and not isinstance(buffer, DTensor):
                below._buffers[key] = distribute_tensor(buffer, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda m, inputs: input_fn(m, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda m, inputs, outputs: output_fn(m, outputs, mesh))
    return module


def _made(function: Any) -> Any:
    """A tensor factory that makes distributed tensors: every rank makes the whole and keeps its part."""

    def create(
        *size: Any,
        dtype: Any = None,
        layout: Any = None,
        requires_grad: bool = False,
        device_mesh: Any = None,
        placements: Sequence[Placement] | None = None,
    ) -> Any:
        mesh = _default(device_mesh)
        tensor = function(*size, dtype=dtype)
        spread = distribute_tensor(tensor, mesh, placements, src_data_rank=None)
        return spread.requires_grad_(requires_grad)

    create.__name__ = create.__qualname__ = function.__name__
    create.__doc__ = f"`torch.{function.__name__}`, spread over a mesh."
    return create


zeros, ones, empty, full = (_made(f) for f in (torch.zeros, torch.ones, torch.empty, torch.full))
rand, randn = (_made(f) for f in (torch.rand, torch.randn))
