"""Adaptive softmax: frequent classes at full width, rarer ones in ever narrower clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import tautograd as torch

from ..._tensor.tensor import Tensor
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


_ASMoutput.__qualname__ = _ASMoutput.__name__ = "_ASMoutput"


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log-probability of each target, and the mean loss, for very many classes."""

    in_features: int
    n_classes: int
    cutoffs: list[int]
    div_value: float
    head_bias: bool
    head: Linear
    tail: ModuleList

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        ends = list(cutoffs)
        if len(ends) == 0:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            ends != sorted(ends)
            or min(ends) <= 0
            or max(ends) > n_classes - 1
            or len(set(ends)) != len(ends)
            or any(int(c) != c for c in ends)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                "order, where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*ends, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, width, bias=False, **options),
                    Linear(width, size, bias=False, **options),
                )
            )

    def reset_parameters(self) -> None:
        """Reinitialise all weights."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        rank = target_.dim()
        if rank == 1:
            if input_.size(0) != target_.size(0):
                raise RuntimeError(
                    "Input and target should have the same size in the batch dimension."
                )
            if input_.dim() != 2:
                raise RuntimeError(
                    "1D target tensor expects 2D input tensors, but found inputs with size",
                    input_.size(),
                )
        elif rank == 0:
            if input_.dim() != 1:
                raise RuntimeError(
                    "0D target tensor expects 1D input tensors, but found inputs with size",
                    input_.size(),
                )
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        input: Any = input_ if rank else input_.unsqueeze(0)
        target: Any = target_ if rank else target_.unsqueeze(0)
        output, used = self._likelihoods(input, target)
        if used != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        loss = (-output).mean()
        return _ASMoutput(output if rank else output.squeeze(0), loss)

    def _likelihoods(self, input: Any, target: Any) -> tuple[Any, int]:
        """The log-probability of each target, and how many targets were in range."""
        count = target.size(0)
        output: Any = input.new_zeros(count)
        in_head = target.new_empty(count)
        used = 0
        ends = [0, *self.cutoffs]
        for i in range(len(ends) - 1):
            mask = (target >= ends[i]) & (target < ends[i + 1])
            rows = mask.nonzero().squeeze(dim=1)
            if rows.numel() == 0:
                continue
            if i == 0:
                in_head.index_copy_(0, rows, target[mask])
            else:
                own = target[mask] - ends[i]
                part = F.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
                output.index_copy_(0, rows, part.gather(1, own.unsqueeze(1)).squeeze(1))
                in_head.index_fill_(0, rows, self.shortlist_size + i - 1)
            used += rows.numel()
        if used == count:
            head: Any = F.log_softmax(self.head(input), dim=1)
            output = output + head.gather(1, in_head.unsqueeze(1)).squeeze()
        return output, used

    def _get_full_log_prob(self, input: Any, head_output: Any) -> Tensor:
        """The log-probabilities of all classes, given the output of the head."""
        out: Any = input.new_empty((head_output.size(0), self.n_classes))
        head: Any = F.log_softmax(head_output, dim=1)
        out[:, : self.shortlist_size] = head[:, : self.shortlist_size]
        for i in range(self.n_clusters):
            part: Any = F.log_softmax(self.tail[i](input), dim=1)
            cluster = head[:, self.shortlist_size + i].unsqueeze(1)
            out[:, self.cutoffs[i] : self.cutoffs[i + 1]] = part + cluster
        return out  # type: ignore[no-any-return]

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most likely class of each example; rare clusters are evaluated only where needed."""
        head: Any = self.head(input)
        best: Any = torch.argmax(head, dim=1)
        rare = best >= self.shortlist_size
        if not rare.any():
            return best  # type: ignore[no-any-return]
        if rare.all():
            return torch.argmax(self._get_full_log_prob(input, head), dim=1)
        full: Any = self._get_full_log_prob(input[rare], head[rare])
        best[rare] = torch.argmax(full, dim=1)
        return best  # type: ignore[no-any-return]
