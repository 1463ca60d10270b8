"""The parameters of one `FullyShardedDataParallel` unit, concatenated into one flat line and cut into equal shards.

A shard is a piece of that line, regardless of where tensors begin and end in it. The optimizer has either the shard as
a whole (`use_orig_params=False`), or the user's own parameters, each holding the part of it that lies in the shard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tautograd as torch

from ..._tensor.tensor import make
from ...nn.parameter import Parameter
from .._exchanges import all_gather_into_tensor
from .._groups import get_rank
from .._reduce_op import ReduceOp
from .._reductions import all_reduce, reduce_scatter_tensor
from ._param_group import Pages
from ._stepped import watch
from .api import MixedPrecision, ShardingStrategy

FLAT = "_flat_param"
FlatParameter = Parameter  # a unit's parameter in the optimizer is a parameter like any other


@dataclass
class Piece:
    """One of the parameters in the line."""

    parameter: Any
    name: str
    """Its name within the wrapped module."""
    owners: list[tuple[Any, str]]
    """Every module and name under which it is found."""
    start: int
    shape: tuple[int, ...]
    requires_grad: bool
    gathered: Any = None

    @property
    def stop(self) -> int:
        """Where the next one begins."""
        return self.start + int(np.prod(self.shape))


@dataclass
class Visible:
    """A parameter that the optimizer has: its part of this rank's shard, as [start, stop) of the shard."""

    parameter: Any
    start: int
    stop: int
    shape: tuple[int, ...]


def _divisors(ranks: int) -> tuple[float, float]:
    """Divisors of gradients before and after they are summed: about equal, so that neither overflows."""
    before = 1
    while ranks % before == 0 and ranks / before > before:
        before *= 2
    return float(before), ranks / before


def _aligned(at: int, parameter: Any, precision: MixedPrecision) -> int:
    """The next parameter's offset, a multiple of 16 bytes: vectorised kernels prefer aligned data."""
    dtype = precision.param_dtype or parameter.dtype
    each = max(1, 16 // dtype.itemsize)
    return int(-(-at // each) * each)


class FlatHandle:
    """Gathers the parameters of one unit, reduces their gradients, and releases both."""

    def __init__(
        self,
        module: Any,
        found: list[tuple[Any, list[tuple[Any, str]], str]],
        group: Any,
        replicas: Any,
        strategy: ShardingStrategy,
        precision: MixedPrecision,
        original: bool,
    ) -> None:
        self.module, self.group, self.replicas = module, group, replicas
        self.strategy, self.precision, self.original = strategy, precision, original
        self.ranks = group.size() if strategy.shards else 1
        self.rank = group.rank() if strategy.shards else 0
        self.divided = _divisors(group.size() * (replicas.size() if replicas is not None else 1))
        self.is_gathered, self.reduces = False, True
        self.is_outdated = False  # an optimizer has stepped since it was gathered
        self.hook: Callable[..., None] | None = None
        self.hook_state: Any = None
        self._pages: Pages | None = None
        self._arrived: set[int] = set()
        self._has_sums = False  # of passes whose gradients were not to be reduced yet
        self._summoned: tuple[Any, ...] | None = None
        self.pieces: list[Piece] = []
        at = 0
        for parameter, owners, name in found:
            piece = Piece(
                parameter, name, owners, at, tuple(parameter.shape), parameter.requires_grad
            )
            self.pieces.append(piece)
            at = _aligned(piece.stop, parameter, precision) if original else piece.stop
        _check_alike(self.pieces, original)
        self.size = self.pieces[-1].stop
        self.dtype: Any = self.pieces[0].parameter.dtype
        self.chunk = -(-self.size // self.ranks)
        line = self._laid([p.parameter.detach()._data for p in self.pieces])
        self.shard: Any = make(
            self._cut(line)
        )  # the shard's memory, which visible parameters share
        self.visible = self._make_visible()
        watch(self)
        self.show_shards()

    # --- shards ---------------------------------------------------------------------------------

    def _laid(self, arrays: list[Any]) -> Any:
        """The line made of these parameters or gradients; None is zero."""
        line = np.zeros(self.size, self.dtype.numpy)
        for piece, array in zip(self.pieces, arrays, strict=True):
            if array is not None:
                line[piece.start : piece.stop] = array.reshape(-1)
        return line

    def _cut(self, line: Any) -> Any:
        """This rank's shard of a line, padded with zeros past its end."""
        own = line[self.rank * self.chunk : (self.rank + 1) * self.chunk]
        out = np.zeros(self.chunk, line.dtype)
        out[: own.size] = own
        return out

    def _make_visible(self) -> list[Visible]:
        if not self.original:
            flat = Parameter(self.shard, any(p.requires_grad for p in self.pieces))
            self.flat: Any = flat
            self.shard = flat.detach()
            return [Visible(flat, 0, self.chunk, (self.chunk,))]
        seen = []
        for piece in self.pieces:
            first = self.rank * self.chunk
            start = min(max(piece.start - first, 0), self.chunk)
            stop = min(max(piece.stop - first, 0), self.chunk)
            shape = piece.shape if not self.strategy.shards else (stop - start,)
            piece.parameter.data = self.shard[start:stop].view(shape)
            piece.parameter.grad = None
            seen.append(Visible(piece.parameter, start, stop, shape))
        return seen

    def show_shards(self) -> None:
        """Make the optimizer's parameters the modules' parameters."""
        if self.original:
            for piece in self.pieces:
                self._register(piece, piece.parameter)
            return
        for piece in self.pieces:
            # Same shape but no values, so that nobody reads released memory as numbers.
            ghost = torch.empty(piece.shape, dtype=self.dtype, device="meta")
            for module, name in piece.owners:
                module._parameters.pop(name, None)
                module.__dict__[name] = ghost
        self.module._parameters[FLAT] = self.flat

    def _register(self, piece: Piece, tensor: Any) -> None:
        for module, name in piece.owners:
            module.__dict__.pop(name, None)
            module._parameters[name] = tensor

    def _show_gathered(self) -> None:
        for piece in self.pieces:
            if self.original:
                self._register(piece, piece.gathered)
                continue
            for module, name in piece.owners:
                module.__dict__[name] = piece.gathered

    # --- gathering ------------------------------------------------------------------------------

    @property
    def _computes_in(self) -> Any:
        wanted = self.precision.param_dtype
        return self.dtype.numpy if wanted is None else wanted.numpy

    def _all(self, shard: Any) -> Any:
        """The whole line, gathered from its shards."""
        if self.ranks == 1:
            return shard[: self.size]
        out = np.empty(shard.size * self.ranks, shard.dtype)
        all_gather_into_tensor(make(out), make(np.ascontiguousarray(shard)), self.group)
        return out[: self.size]

    def gather(self) -> None:
        """Give the modules whole parameters."""
        if self.is_gathered and not self.is_outdated:
            return
        if self.is_outdated and self._pages is not None:
            for p in self.pieces:  # a graph from before must not use them as if they were its own
                p.gathered._version_box[0] += 1
        self.is_outdated = False
        dtype = np.dtype(self._computes_in)
        if self._pages is None:
            self._pages = Pages(self.size * dtype.itemsize)
            line = self._pages.bytes[: self.size * dtype.itemsize].view(dtype)
            for p in self.pieces:
                whole = make(line[p.start : p.stop].reshape(p.shape))
                p.gathered = Parameter(whole, p.requires_grad)
                if p.requires_grad:
                    p.gathered.register_post_accumulate_grad_hook(self._has_gradient)
            self._line = line
        self._line[...] = self._all(self.shard._data.astype(dtype))
        for p in self.pieces:
            if self.original:
                p.requires_grad = p.parameter.requires_grad
            p.gathered.requires_grad_(p.requires_grad)
        self._show_gathered()
        self.is_gathered = True

    def release(self) -> None:
        """Give the modules their shards back, and return the memory to the system."""
        if not self.is_gathered:
            return
        assert self._pages is not None
        self.show_shards()
        self._pages.release()
        self.is_gathered = False

    # --- gradients ------------------------------------------------------------------------------

    def _has_gradient(self, gathered: Any) -> None:
        self._arrived.add(id(gathered))
        if len(self._arrived) == sum(p.gathered.requires_grad for p in self.pieces):
            self.finish()

    def finish(self) -> None:
        """Sum the gradients that have arrived; without `reduces` they accumulate on this rank."""
        self._arrived.clear()
        came = any(p.gathered is not None and p.gathered._grad is not None for p in self.pieces)
        self._has_sums = came and not self.reduces
        if came and self.reduces:
            self._reduce()
        self.release()

    def abandon(self) -> None:
        """Forget the gradients of a backward pass that failed, unless they were added to those of others."""
        self._arrived.clear()
        if not self._has_sums:
            for p in self.pieces:
                if p.gathered is not None:
                    p.gathered._grad = None

    def _reduced_in(self) -> Any:
        wanted = self.precision.reduce_dtype or self.precision.param_dtype
        return self.dtype.numpy if wanted is None else wanted.numpy

    def _reduce(self) -> None:
        given = np.zeros(self.chunk * self.ranks, self._reduced_in())
        for p in self.pieces:
            if p.gathered._grad is not None:
                given[p.start : p.stop] = p.gathered._grad._data.reshape(-1)
                p.gathered._grad = None
        out = given if self.ranks == 1 else np.empty(self.chunk, given.dtype)
        if self.hook is not None:
            tensors = [make(given)] if self.ranks == 1 else [make(given), make(out)]
            self.hook(self.hook_state, *tensors)
        else:
            before, after = self.divided
            given /= given.dtype.type(before)
            if self.strategy.shards:
                if self.ranks > 1:
                    reduce_scatter_tensor(make(out), make(given), ReduceOp.SUM, self.group)
                if self.replicas is not None:
                    all_reduce(make(out), group=self.replicas)
            else:
                all_reduce(make(out), group=self.group)
            out /= out.dtype.type(after)
        if not self.precision.keep_low_precision_grads:
            out = out.astype(self.dtype.numpy)
        for one in self.visible:
            self._keep(one, out[one.start : one.stop].reshape(one.shape))

    def _keep(self, one: Visible, gradient: Any) -> None:
        """Accumulate a gradient; a rank that holds nothing of a parameter has no gradient for it."""
        parameter = one.parameter
        if not gradient.size or not parameter.requires_grad:
            return
        if parameter._grad is None:
            parameter._grad = make(gradient)
        else:
            own = parameter._grad._data
            np.add(own, gradient, out=own)
            parameter._grad._version_box[0] += 1

    # --- whole values ---------------------------------------------------------------------------

    def whole(self) -> Any:
        """The whole line, in the parameters' own dtype."""
        return np.array(self._all(self.shard._data))

    def _whole_gradients(self) -> Any:
        """The line of gradients, with zeros where there is none."""
        own = np.zeros(self.chunk, self.dtype.numpy)
        for one in self.visible:
            if one.parameter._grad is not None:
                own[one.start : one.stop] = one.parameter._grad._data.reshape(-1)
        return np.array(self._all(own))

    @property
    def shows_whole(self) -> bool:
        """Whether the modules show whole parameters to everybody, not just for a forward pass."""
        return self._summoned is not None

    def summon(self, rank0_only: bool, with_gradients: bool) -> None:
        """Make the modules show whole parameters, in their own dtype and under their own names."""
        self.release()
        line = self.whole()
        gradients = self._whole_gradients() if with_gradients else None
        self._summoned = ()
        if rank0_only and get_rank() != 0:
            return
        made = []
        for p in self.pieces:
            tensor = Parameter(make(line[p.start : p.stop].reshape(p.shape)), p.requires_grad)
            if gradients is not None:
                tensor.grad = make(gradients[p.start : p.stop].reshape(p.shape))
            self._register(p, tensor)
            made.append(tensor)
        self._summoned = tuple(made)
        if not self.original:
            self.module._parameters.pop(FLAT, None)

    def dismiss(self, keep: bool) -> None:
        """Show shards again; with `keep`, cut from the whole parameters' current values."""
        shown, self._summoned = self._summoned, None
        if shown and (keep or not self.strategy.shards):
            now = [self._shown(p) for p in self.pieces]
            self.shard._data[...] = self._cut(self._laid([t.detach()._data for t in now]))
            for one in self.visible:
                one.parameter._version_box[0] += 1
            if shown[0]._grad is not None:
                self._take_gradients(now)
        self.show_shards()

    def _shown(self, piece: Piece) -> Any:
        module, name = piece.owners[0]
        tensor = module._parameters[name]
        if tuple(tensor.shape) != piece.shape:
            raise ValueError(
                f"{piece.name}: its shape was {piece.shape} and is {tuple(tensor.shape)}"
            )
        return tensor

    def _take_gradients(self, now: list[Any]) -> None:
        part = self._cut(self._laid([None if t._grad is None else t._grad._data for t in now]))
        for one in self.visible:
            if one.parameter._grad is not None:
                one.parameter._grad._data[...] = part[one.start : one.stop].reshape(one.shape)
                one.parameter._grad._version_box[0] += 1


def _check_alike(pieces: list[Piece], original: bool) -> None:
    first = pieces[0]
    for piece in pieces:
        dtype = piece.parameter.dtype
        if not piece.parameter.is_floating_point():
            raise ValueError("Cannot flatten integer dtype tensors")
        if dtype != first.parameter.dtype:
            raise ValueError(
                f"Must flatten tensors with uniform dtype but got {first.parameter.dtype} and {dtype}"
            )
        if not original and piece.requires_grad != first.requires_grad:
            raise ValueError(
                "Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`"
            )
