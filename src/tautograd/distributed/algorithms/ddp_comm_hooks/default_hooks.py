"""Hooks that average a bucket as it is, or as 16-bit numbers, which halves the bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....futures import Future
from ..._groups import _get_default_group
from ..._reducer import GradBucket
from ..._reductions import all_reduce

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
    "fp16_compress_wrapper", "noop_hook",
]  # fmt: skip


def summed(group: Any, tensor: Any) -> Future:
    """A future of a tensor's sum over the ranks, computed in place."""
    work = all_reduce(tensor, group=group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda future: future.value()[0])


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The default without a hook: gradients divided by the number of ranks, then summed."""
    group = process_group or _get_default_group()
    return summed(group, bucket.buffer().div_(group.size()))


def _compressed(process_group: Any, bucket: GradBucket, dtype: Any) -> Future:
    group = process_group or _get_default_group()
    buffer = bucket.buffer()
    small = buffer.to(dtype).div_(group.size())
    return summed(group, small).then(lambda future: buffer.copy_(future.value()))


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Send gradients as float16."""
    import tautograd as torch

    return _compressed(process_group, bucket, torch.float16)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Send gradients as bfloat16."""
    import tautograd as torch

    return _compressed(process_group, bucket, torch.bfloat16)


def _wrapped(hook: Callable[..., Future], dtype: str) -> Callable[..., Future]:
    import tautograd as torch

    kind = getattr(torch, dtype)

    def call(state: Any, bucket: GradBucket) -> Future:
        buffer = bucket.buffer()
        kept = buffer.dtype
        bucket._bucket.buffer = buffer.to(kind)
        result = hook(state, bucket)

        def restored(future: Future) -> Any:
            bucket._bucket.buffer = buffer
            return buffer.copy_(future.value().to(kept))

        return result.then(restored)

    return call


def fp16_compress_wrapper(hook: Callable[..., Future]) -> Callable[..., Future]:
    """A hook that gets its bucket in float16."""
    return _wrapped(hook, "float16")


def bf16_compress_wrapper(hook: Callable[..., Future]) -> Callable[..., Future]:
    """A hook that gets its bucket in bfloat16."""
    return _wrapped(hook, "bfloat16")


def noop_hook(_: Any, bucket: GradBucket) -> Future:
    """Send nothing: each rank keeps its own gradients. For measuring the cost of communication."""
    future = Future()
    future.set_result(bucket.buffer())
    return future
