"""Block masks for attention: which blocks of queries and keys interact.

A mask is a function of batch, head, query and key. PyTorch's compiled kernel skips the blocks in which
it is false; here the blocks are only counted and displayed, and the function itself decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tautograd as torch

from ..._tensor.tensor import Tensor

Mask = Callable[..., Any]


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """True everywhere."""
    return batch.new_ones(size=(), dtype=torch.bool, device=batch.device)


def and_masks(*mask_mods: Mask) -> Mask:
    """The intersection of the masks."""
    _require_callables("and_masks", mask_mods)

    def and_mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        found = b.new_ones((), dtype=torch.bool)
        for mask in mask_mods:
            found = found & mask(b, h, q_idx, kv_idx)
        return found

    return and_mask


def or_masks(*mask_mods: Mask) -> Mask:
    """The union of the masks."""
    _require_callables("or_masks", mask_mods)

    def or_mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        found = b.new_zeros((), dtype=torch.bool)
        for mask in mask_mods:
            found = found | mask(b, h, q_idx, kv_idx)
        return found

    return or_mask


def _require_callables(name: str, masks: Any) -> None:
    if not all(callable(mask) for mask in masks):
        raise RuntimeError(f"All inputs should be callable mask_mods: {masks}")


def everywhere(fn: Callable[..., Any], sizes: tuple[int, ...], *scores: Tensor) -> Tensor:
    """Evaluate a function of four indices (and optional scores) at all of them.

    The function is written for one position; `vmap` applies it to all.
    """
    ones = len(scores) * (0,)
    for place in range(3, -1, -1):
        dims: list[int | None] = [None] * 4
        dims[place] = 0
        fn = torch.func.vmap(fn, in_dims=(*ones, *dims))
    found: Tensor = fn(*scores, *(torch.arange(size) for size in sizes))
    return found


def create_mask(
    mod_fn: Callable[..., Any],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
) -> Tensor:
    """The mask at every position: `(B, H, Q_LEN, KV_LEN)`, from a mask or from a score of minus infinity."""
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    if _arguments(mod_fn) == 5:
        found = everywhere(mod_fn, sizes, torch.zeros(*sizes))
        return torch.logical_not(torch.isneginf(found))
    return everywhere(mod_fn, sizes).expand(sizes)


def _arguments(fn: Callable[..., Any]) -> int:
    import inspect

    if not callable(fn):
        raise TypeError(f"{fn!r} is not a callable object")
    needed = (p for p in inspect.signature(fn).parameters.values() if p.default is p.empty)
    return sum(1 for _ in needed)


class BlockMask:
    """A mask, and for each block of queries the blocks of keys that it does not exclude."""

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        q_num_blocks: Tensor | None = None,
        q_indices: Tensor | None = None,
        full_q_num_blocks: Tensor | None = None,
        full_q_indices: Tensor | None = None,
        BLOCK_SIZE: tuple[int, int] = (128, 128),
        mask_mod: Mask = noop_mask,
        *,
        dq_write_order: Tensor | None = None,
        dq_write_order_full: Tensor | None = None,
        dq_kv_order: Tensor | None = None,
        dq_kv_order_spt: bool | None = None,
    ) -> None:
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError(
                "full_kv_num_blocks and full_kv_indices must be both provided or omitted"
            )
        if (full_q_num_blocks is None) != (full_q_indices is None):
            raise AssertionError(
                "full_q_num_blocks and full_q_indices must be both provided or omitted"
            )
        if dq_write_order_full is not None and dq_write_order is None:
            raise ValueError("dq_write_order_full requires dq_write_order")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks = kv_num_blocks
        self.kv_indices = kv_indices
        self.full_kv_num_blocks = full_kv_num_blocks
        self.full_kv_indices = full_kv_indices
        # By blocks of keys, and the write order of a compiled kernel: kept for whoever reads them.
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.dq_write_order, self.dq_write_order_full = dq_write_order, dq_write_order_full
        self.dq_kv_order, self.dq_kv_order_spt = dq_kv_order, dq_kv_order_spt
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch, heads, queries, keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """The number of positions."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    def sparsity(self) -> float:
        """The percentage of positions in empty blocks."""
        blocks = self.kv_num_blocks.sum().item()
        if self.full_kv_num_blocks is not None:
            blocks += self.full_kv_num_blocks.sum().item()
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """1 for each non-empty block, else 0."""
        found = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            found = found | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return found

    def __repr__(self) -> str:
        name = getattr(self.mask_mod, "__name__", self.mask_mod)
        return (
            f"BlockMask(shape={self.shape}, BLOCK_SIZE={self.BLOCK_SIZE}, "
            f"sparsity={self.sparsity():.2f}%, mask_mod={name})"
        )


def _dense(counts: Tensor, indices: Tensor) -> Tensor:
    columns = indices.shape[-1]
    used = torch.arange(columns) < counts.unsqueeze(-1)
    found = torch.zeros(indices.shape, dtype=torch.int32)
    return found.scatter_reduce(-1, indices.long(), used.int(), "amax")


def _ordered(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """The number of blocks in each row, and their indices ahead of the others'."""
    counts = blocks.sum(-1).to(torch.int32)
    return counts, torch.argsort(blocks.int(), dim=-1, descending=True, stable=True).to(torch.int32)


def create_block_mask(
    mask_mod: Mask,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: Any = 128,
    _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:
    """The blocks that a mask keeps, partly or entirely."""
    if _arguments(mask_mod) != 4:
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    q_size, kv_size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN)
    rows, columns = -(-Q_LEN // q_size), -(-KV_LEN // kv_size)
    padded = torch.nn.functional.pad(
        mask.int(), (0, columns * kv_size - KV_LEN, 0, rows * q_size - Q_LEN)
    )
    shape = (*mask.shape[:2], rows, q_size, columns, kv_size)
    counts = padded.reshape(shape).transpose(3, 4).sum((-1, -2))
    full = counts == q_size * kv_size
    partial = (counts > 0) & ~full if separate_full_blocks else counts > 0
    count, indices = _ordered(partial)
    whole = _ordered(full) if separate_full_blocks else (None, None)
    blocks = count, indices, whole[0], whole[1]
    return BlockMask((Q_LEN, KV_LEN), *blocks, BLOCK_SIZE=(q_size, kv_size), mask_mod=mask_mod)
