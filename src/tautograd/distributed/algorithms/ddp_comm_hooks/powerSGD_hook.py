"""PowerSGD (Vogels et al., 2019): a gradient is sent as two thin matrices whose product approximates it.

Each matrix M of n × m is approximated by P Qᵀ of low rank: P = M Q over all ranks, orthogonalised, then
Q = Mᵀ P. The error is kept (error feedback) and added to the next gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tautograd as torch

from ....futures import Future
from ..._groups import _get_default_group
from ..._reducer import GradBucket
from ..._reductions import all_reduce
from .default_hooks import allreduce_hook

__all__ = ["PowerSGDState", "powerSGD_hook"]


class PowerSGDState:
    """The settings of the compression, and what it keeps from one step to the next."""

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
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.rng = np.random.RandomState(random_seed)
        self.error_dict: dict[int, Any] = {}
        self.p_memory_dict: dict[int, Any] = {}
        self.q_memory_dict: dict[int, Any] = {}
        self.iter = 0
        self.total_numel_before_compression = self.total_numel_after_compression = 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, process_group=_get_default_group())

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a step when its last bucket has arrived."""
        self.iter += bucket.is_last()

    def compression_stats(self) -> tuple[float, int, int]:
        """The compression ratio, and how many numbers are sent without and with compression."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0.0), before, after


def _orthogonalize(matrix: Any, epsilon: float) -> Any:
    """Orthonormalise the columns: one after the other, or by Householder reflections if there are many."""
    if matrix.shape[1] > 2 and matrix.dtype not in (torch.float16, torch.bfloat16):
        return torch.linalg.qr(matrix).Q
    columns: list[Any] = []
    for i in range(matrix.shape[1]):
        column = matrix[:, i]
        for done in columns:
            column = column - (done * column).sum() * done
        columns.append(column / (column.norm() + epsilon))
    return torch.stack(columns, 1)


def _reduced(parts: list[Any], group: Any) -> Any:
    """The sum of tensors over all ranks, in one exchange of one flat array."""
    flat = torch.cat([part.reshape(-1) for part in parts])
    all_reduce(flat, group=group)
    return flat


def _cut(flat: Any, shapes: list[tuple[int, int]]) -> list[Any]:
    ends = flat.split([rows * columns for rows, columns in shapes])
    return [end.view(*shape) for end, shape in zip(ends, shapes, strict=True)]


def _first_guess(state: PowerSGDState, alike: list[list[Any]], ranks: dict[Any, int]) -> list[Any]:
    """Random matrices, the same on all ranks, and with PyTorch's seeds the same as PyTorch's."""
    drawn: list[Any] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(state.rng.randint(1_000_000_000)))
        for same in alike:
            at_once = len(same) if state.batch_tensors_with_same_shape else 1
            shape = at_once, same[0].shape[1], ranks[same[0].shape]
            for _ in range(len(same) // at_once):
                drawn += torch.randn(*shape, dtype=same[0].dtype).unbind(0)
    return drawn


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """Average a bucket, with low-rank approximations of its matrices. A vector is a matrix of one column."""
    group = state.process_group or _get_default_group()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(group, bucket)
    buffer, index, size = bucket.buffer(), bucket.index(), group.size()
    if state.use_error_feedback:
        if index not in state.error_dict:
            state.error_dict[index] = torch.zeros_like(buffer)
        given = buffer.add_(state.error_dict[index]).clone()
    whole: list[Any] = []
    by_shape: dict[Any, list[Any]] = {}
    ranks: dict[Any, int] = {}
    for gradient in bucket.gradients():
        matrix = gradient.view(gradient.shape[0], -1)
        rank = ranks[matrix.shape] = min(state.matrix_approximation_rank, *matrix.shape)
        thin = sum(matrix.shape) * rank
        pays = thin * state.min_compression_rate < gradient.numel()
        (by_shape.setdefault(matrix.shape, []) if pays else whole).append(matrix)
        state.total_numel_before_compression += gradient.numel()
        state.total_numel_after_compression += thin if pays else gradient.numel()
    if whole:
        averaged = _reduced(whole, group).div_(size)
        for matrix, mean in zip(whole, _cut(averaged, [m.shape for m in whole]), strict=True):
            matrix.copy_(mean)
    if by_shape:
        _approximate(state, index, list(by_shape.values()), ranks, group)
    if state.use_error_feedback:
        state.error_dict[index] = given - buffer
    state.maybe_increase_iter(bucket)
    future = Future()
    future.set_result(buffer)
    return future


def _approximate(
    state: PowerSGDState, index: int, alike: list[list[Any]], ranks: dict[Any, int], group: Any
) -> None:
    """Replace each matrix by the low-rank approximation of its mean over all ranks."""
    matrices = [matrix for same in alike for matrix in same]
    outer = [(m.shape[0], ranks[m.shape]) for m in matrices]
    inner = [(m.shape[1], ranks[m.shape]) for m in matrices]
    epsilon = state.orthogonalization_epsilon
    if state.warm_start and index in state.q_memory_dict:
        guesses = _cut(state.q_memory_dict[index], inner)
    else:
        guesses = _first_guess(state, alike, ranks)
    thin = [m @ _orthogonalize(q, epsilon) for m, q in zip(matrices, guesses, strict=True)]
    summed = _reduced(thin, group)
    ps = [_orthogonalize(p, epsilon) for p in _cut(summed, outer)]
    mean = _reduced([m.t() @ p for m, p in zip(matrices, ps, strict=True)], group).div_(
        group.size()
    )
    for matrix, p, q in zip(matrices, ps, _cut(mean, inner), strict=True):
        matrix.copy_(p @ q.t())
    if state.warm_start:
        state.p_memory_dict[index], state.q_memory_dict[index] = summed, mean
