"""The parameters of one sharded module: gathered for its forward and backward, shards otherwise.

All of them travel in one collective. The gathered parameters lie in memory whose pages are returned to the system
in between: the graph keeps its arrays, and backward finds them filled again at the same addresses.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from ..._tensor.tensor import make
from ...nn.parameter import Parameter
from .._exchanges import all_gather_into_tensor
from .._reduce_op import ReduceOp
from .._reductions import all_reduce, reduce_scatter_tensor
from ..tensor._api import distribute_tensor
from ..tensor._array import DistributedArray
from ..tensor.placement_types import REPLICATE, Shard
from .policies import MixedPrecisionPolicy


class Pages:
    """Memory whose content can be released while its address stays."""

    def __init__(self, size: int) -> None:
        self._map = mmap.mmap(-1, max(size, 1))
        self.bytes = np.frombuffer(self._map, np.uint8)

    def release(self) -> None:
        """Return the pages to the system; they read as zeros until they are written again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


class ShardedParameter:
    """One parameter: its shard, which the optimizer has, and the gathered one, which the module computes with."""

    def __init__(self, owners: list[tuple[Any, str]], parameter: Any, mesh: Any, dim: int) -> None:
        self.owners = owners  # every module and name under which it is found
        placements = (*(REPLICATE,) * (mesh.ndim - 1), Shard(dim))
        self.sharded: Any = distribute_tensor(parameter, mesh, placements, src_data_rank=None)
        # Marks the parameter before it was sharded: two modules that share it, sharded apart, would no longer share it.
        self.origin = parameter.__dict__.setdefault("_fsdp_origin", object())
        self.dim = dim
        self.shape = tuple(parameter.shape)
        # As a matrix whose rows are sharded: what lies before the cut dimension is moved behind it for sending.
        self.rows = self.shape[dim]
        self.row = int(np.prod([n for d, n in enumerate(self.shape) if d != dim]))
        self.each = -(-self.rows // mesh.size(mesh.ndim - 1))
        self.gathered: Any = None

    @property
    def chunk(self) -> int:
        """The number of its elements that a rank sends."""
        return int(self.each * self.row)

    def padded(self, dtype: Any) -> Any:
        """This rank's shard as a flat array, padded to the length that every rank sends."""
        local = np.moveaxis(self.sharded._data.local, self.dim, 0)
        out = np.zeros(self.chunk, dtype)
        out[: local.size] = local.reshape(-1)
        return out

    def show(self, tensor: Any) -> None:
        """Install this in the modules as the parameter."""
        for module, name in self.owners:
            module._parameters[name] = tensor


class ParamGroup:
    """Parameters that are gathered and reduced together."""

    def __init__(
        self, parameters: list[ShardedParameter], mesh: Any, policy: MixedPrecisionPolicy
    ) -> None:
        self.parameters, self.mesh, self.policy = parameters, mesh, policy
        self.group = mesh.get_group(mesh.ndim - 1)
        self.replicas = mesh.get_group(0) if mesh.ndim == 2 else None
        self.is_gathered = False
        self.reduces = True  # gradients are summed over the ranks
        self.divisor = mesh.size()
        self._pages: Pages | None = None
        self._arrived: set[int] = set()
        self._versions: list[int] = []  # of the shards, when they were gathered last
        self._has_sums = False  # of passes whose gradients were not to be reduced yet
        for p in parameters:
            p.show(p.sharded)

    # --- gathering ------------------------------------------------------------------------------

    def _dtype(self, p: ShardedParameter) -> Any:
        wanted = self.policy.param_dtype
        own = p.sharded.dtype
        return wanted.numpy if wanted is not None and own.is_floating_point else own.numpy

    def _make_room(self) -> None:
        """Allocate the gathered parameters, in their own pages."""
        sizes = [p.rows * p.row * self._dtype(p).itemsize for p in self.parameters]
        starts = np.cumsum([0, *(-(-size // 64) * 64 for size in sizes)])
        self._pages = Pages(int(starts[-1]))
        for p, start, size in zip(self.parameters, starts[:-1], sizes, strict=True):
            flat = self._pages.bytes[start : start + size].view(self._dtype(p))
            p.gathered = Parameter(make(flat.reshape(p.shape)), p.sharded.requires_grad)
            if p.sharded.requires_grad:
                p.gathered.register_post_accumulate_grad_hook(self._has_gradient)

    def gather(self) -> None:
        """Give the modules whole parameters as they are now: a step may have changed the shards since the last time."""
        versions = [p.sharded._version for p in self.parameters]
        if self.is_gathered and versions == self._versions:
            return
        if self._pages is None:
            self._make_room()
        elif (
            versions != self._versions
        ):  # a graph from before must not use them as if they were its own
            for p in self.parameters:
                p.gathered._version_box[0] += 1
        self._versions = versions
        count = self.group.size()
        for dtype in dict.fromkeys(self._dtype(p) for p in self.parameters):
            mine = [p for p in self.parameters if self._dtype(p) == dtype]
            given = np.concatenate([p.padded(dtype) for p in mine])
            out = np.empty(given.size * count, dtype)
            all_gather_into_tensor(make(out), make(given), self.group)
            by_rank = out.reshape(count, -1)
            start = 0
            for p in mine:
                rows = by_rank[:, start : start + p.chunk].reshape(count * p.each, p.row)[: p.rows]
                moved = np.moveaxis(p.gathered._data, p.dim, 0)
                moved[...] = rows.reshape(moved.shape)
                start += p.chunk
        for p in self.parameters:
            p.gathered.requires_grad_(p.sharded.requires_grad)
            p.show(p.gathered)
        self.is_gathered = True

    def release(self) -> None:
        """Give the modules their shards back, and return the memory to the system."""
        if not self.is_gathered:
            return
        assert self._pages is not None
        for p in self.parameters:
            p.show(p.sharded)
        self._pages.release()
        self.is_gathered = False

    # --- gradients ------------------------------------------------------------------------------

    def _has_gradient(self, gathered: Any) -> None:
        self._arrived.add(id(gathered))
        wanted = sum(p.sharded.requires_grad for p in self.parameters)
        if len(self._arrived) == wanted:
            self.finish()

    def finish(self) -> None:
        """Sum the gradients that have arrived over the ranks; each keeps those of its shards."""
        with_gradient = [
            p for p in self.parameters if p.gathered is not None and p.gathered._grad is not None
        ]
        self._arrived.clear()
        self._has_sums = bool(with_gradient) and not self.reduces
        if self.reduces and with_gradient:
            dtypes = [self._reduced_in(p) for p in with_gradient]
            for dtype in dict.fromkeys(dtypes):
                self._reduce([p for p, d in zip(with_gradient, dtypes, strict=True) if d == dtype], dtype)  # fmt: skip
        self.release()

    def abandon(self) -> None:
        """Forget the gradients of a backward pass that failed: the next one's are not to be added to them."""
        self._arrived.clear()
        if not self._has_sums:
            for p in self.parameters:
                if p.gathered is not None:
                    p.gathered._grad = None

    def _reduced_in(self, p: ShardedParameter) -> Any:
        wanted = self.policy.reduce_dtype
        return p.gathered._grad._data.dtype if wanted is None else wanted.numpy

    def _reduce(self, parameters: list[ShardedParameter], dtype: Any) -> None:
        count = self.group.size()
        total = sum(p.chunk for p in parameters)
        given = np.zeros((count, total), dtype)
        start = 0
        for p in parameters:
            rows = np.moveaxis(p.gathered._grad._data, p.dim, 0).reshape(p.rows, p.row)
            room = np.zeros((count * p.each, p.row), dtype)
            room[: p.rows] = rows
            given[:, start : start + p.chunk] = room.reshape(count, -1)
            p.gathered._grad = None
            start += p.chunk
        given /= dtype.type(self.divisor)
        out = np.empty(total, dtype)
        reduce_scatter_tensor(make(out), make(given.reshape(-1)), ReduceOp.SUM, self.group)
        if self.replicas is not None:
            all_reduce(make(out), group=self.replicas)
        start = 0
        for p in parameters:
            self._keep(p, out[start : start + p.chunk])
            start += p.chunk
        for p in parameters:
            for hook in list((p.sharded._post_hooks or {}).values()):
                hook(p.sharded)

    def _keep(self, p: ShardedParameter, flat: Any) -> None:
        """Accumulate a shard's gradient."""
        like: DistributedArray = p.sharded._data
        shape = np.moveaxis(like.local, p.dim, 0).shape
        rows = flat[: like.local.size].reshape(shape)
        local = np.ascontiguousarray(np.moveaxis(rows, 0, p.dim)).astype(like.dtype)
        if p.sharded._grad is None:
            p.sharded.grad = make(like.like(local))
        else:
            own = p.sharded._grad._data.local
            np.add(own, local, out=own)
            p.sharded._grad._version_box[0] += 1
