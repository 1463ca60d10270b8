"""Gradients averaged over all ranks at first, and from some step on over some of them, or not at all."""

from __future__ import annotations

from typing import Any

from ....futures import Future
from ..._groups import _get_default_group
from ..._reducer import GradBucket
from .default_hooks import summed

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """Which group averages when; `iter` counts the steps."""

    def __init__(
        self,
        process_group: Any,
        subgroup: Any,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future:
    """Average over all ranks before step `start_localSGD_iter`, over the subgroup from then on."""
    if state.iter < state.start_localSGD_iter:
        group = state.process_group or _get_default_group()
        if bucket.is_last():
            state.iter += 1
    elif not state.post_local_gradient_allreduce:
        future = Future()
        future.set_result(bucket.buffer())
        return future
    else:
        if state.subgroup is None:
            from ..._groups import new_subgroups

            state.subgroup = new_subgroups()[0]
        group = state.subgroup
    return summed(group, bucket.buffer().div_(group.size()))
