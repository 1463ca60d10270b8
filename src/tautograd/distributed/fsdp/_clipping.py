"""The norm of sharded gradients, and clipping it."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import tautograd as torch

from .._reduce_op import ReduceOp
from .._reductions import all_reduce


def clipped(
    shards: list[Any], others: list[Any], group: Any, max_norm: float, norm_type: float
) -> Any:
    """Clip the gradients of shards, and of parameters replicated on every rank; returns the norm of all of them."""
    own, rest = (_norm(parameters, norm_type) for parameters in (shards, others))
    if norm_type == math.inf:
        total = torch.maximum(own, rest)
        all_reduce(total, ReduceOp.MAX, group)
    else:
        total = own**norm_type
        all_reduce(total, group=group)
        # What is replicated on every rank would be counted once per rank.
        total = (total + rest**norm_type) ** (1.0 / norm_type)
    gradients = [p.grad for p in (*shards, *others) if p.grad is not None]
    factor = torch.clamp(max_norm / (total + 1e-6), max=1.0)
    for gradient in gradients:
        gradient.mul_(factor.to(gradient.dtype))
    if not gradients:
        warnings.warn(
            f"Called FSDP.clip_grad_norm_() on rank {group.rank()} with no gradients -- returning the total norm "
            f"in the default dtype {total.dtype}",
            stacklevel=3,
        )
        return total
    return total.to(functools.reduce(torch.promote_types, [g.dtype for g in gradients]))


def _norm(parameters: list[Any], norm_type: float) -> Any:
    """The norm of gradients, in at least float32."""
    gradients = [p.grad.detach().float() if p.grad.element_size() < 4 else p.grad.detach()
                 for p in parameters if p.grad is not None]  # fmt: skip
    if not gradients:
        return torch.tensor(0.0)
    norms = [torch.linalg.vector_norm(g, norm_type, dtype=torch.float32) for g in gradients]
    return torch.linalg.vector_norm(torch.stack(norms), norm_type, dtype=torch.float32)
