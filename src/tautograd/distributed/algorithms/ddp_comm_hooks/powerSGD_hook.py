"""PowerSGD (Vogels et al., 2019): a gradient travels as two thin matrices, whose product is near to it.

Each matrix M of n × m is approximated by P Qᵀ of a low rank: P = M Q over all ranks, made orthogonal, then
Q = Mᵀ P. What is lost is kept (error feedback) and added to the next gradient.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import tautograd as torch

from ....futures import Future
from ..._groups import _get_default_group
from ..._reducer import GradBucket
from ..._reductions import all_reduce
from .default_hooks import allreduce_hook

__all__ = ["PowerSGDState", "powerSGD_hook"]


class PowerSGDState:
    """The settings of the compression, and what it remembers from one step to the next."""

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, "
                "because PowerSGD can only be applied after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.generator = torch.Generator().manual_seed(random_seed)
        self.error_dict: dict[int, Any] = {}
        self.q_memory: dict[tuple[int, int], Any] = {}
        self.iter = 0
        self.total_numel_before_compression = self.total_numel_after_compression = 0

    def compression_stats(self) -> tuple[float, int, int]:
        """How many times fewer numbers travelled, and how many with and without compression."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0.0), before, after


def _orthogonalize(matrix: Any, epsilon: float) -> Any:
    """Columns of length 1 at right angles (Gram-Schmidt, one column after the other)."""
    columns: list[Any] = []
    for i in range(matrix.shape[1]):
        column = matrix[:, i]
        for done in columns:
            column = column - (done * column).sum() * done
        columns.append(column / (column.norm() + epsilon))
    return torch.stack(columns, 1)


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """Average a bucket, its matrices by their low-rank approximation."""
    group = state.process_group or _get_default_group()
    if state.iter < state.start_powerSGD_iter:
        state.iter += bucket.is_last()
        return allreduce_hook(group, bucket)
    buffer, index, size = bucket.buffer(), bucket.index(), group.size()
    if state.use_error_feedback:
        if index in state.error_dict:
            buffer.add_(state.error_dict[index])
        given = buffer.clone()
    reduced = defaultdict(list)
    for place, gradient in enumerate(bucket.gradients()):
        matrix = gradient.reshape(gradient.shape[0], -1) if gradient.dim() > 1 else gradient
        rank = min(state.matrix_approximation_rank, *matrix.shape)
        thin = sum(matrix.shape) * rank
        pays = gradient.dim() > 1 and thin * state.min_compression_rate < gradient.numel()
        reduced["low" if pays else "whole"].append((place, gradient, matrix, rank))
        state.total_numel_before_compression += gradient.numel()
        state.total_numel_after_compression += thin if pays else gradient.numel()
    for _, gradient, _, _ in reduced["whole"]:
        all_reduce(gradient.div_(size), group=group)
    for place, gradient, matrix, rank in reduced["low"]:
        key = index, place
        if not state.warm_start or key not in state.q_memory:
            shape = matrix.shape[1], rank
            state.q_memory[key] = torch.randn(*shape, generator=state.generator, dtype=matrix.dtype)
        q = _orthogonalize(state.q_memory[key], state.orthogonalization_epsilon)
        p = matrix @ q
        all_reduce(p, group=group)
        p = _orthogonalize(p, state.orthogonalization_epsilon)
        q = matrix.t() @ p
        all_reduce(q.div_(size), group=group)
        state.q_memory[key] = q
        gradient.copy_((p @ q.t()).reshape(gradient.shape))
    if state.use_error_feedback:
        state.error_dict[index] = given - buffer
    state.iter += bucket.is_last()
    future = Future()
    future.set_result(buffer)
    return future
