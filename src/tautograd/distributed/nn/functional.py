"""Collectives that are differentiated: what came from every rank gets its gradient from every rank."""

from __future__ import annotations

from typing import Any

from ...autograd import Function
from .._exchanges import broadcast as _broadcast
from .._groups import _get_default_group
from .._reduce_op import ReduceOp
from .._reductions import all_reduce as _all_reduce
from .._reductions import reduce as _reduce

__all__ = ["all_reduce", "broadcast"]


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Any) -> Any:
        ctx.group, ctx.op = group, op
        out = tensor.clone().contiguous()
        _all_reduce(out, op, group)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grads[0])


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Any) -> Any:
        ctx.src, ctx.group = src, group
        out = tensor.clone().contiguous()
        _broadcast(out, src, group)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        grad = grads[0].clone().contiguous()
        _reduce(grad, ctx.src, ReduceOp.SUM, ctx.group)
        here = _get_default_group().rank() == ctx.src
        return None, None, grad if here else grad.zero_()


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The sum over all ranks; the gradient is the sum of all ranks' gradients."""
    return _AllReduce.apply(op, group, tensor)


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """One rank's tensor on all; the gradient comes to that rank, summed."""
    return _Broadcast.apply(src, group, tensor)
