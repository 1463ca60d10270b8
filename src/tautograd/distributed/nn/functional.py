"""Differentiable collectives: what came from every rank gets its gradient from every rank."""

from __future__ import annotations

from typing import Any

import tautograd as torch

from ...autograd import Function
from .._all_to_all import all_to_all as _all_to_all
from .._exchanges import all_gather as _all_gather
from .._exchanges import broadcast as _broadcast
from .._exchanges import gather as _gather
from .._exchanges import scatter as _scatter
from .._groups import _get_default_group, get_rank, get_world_size
from .._reduce_op import ReduceOp
from .._reductions import all_reduce as _all_reduce
from .._reductions import reduce as _reduce
from .._reductions import reduce_scatter as _reduce_scatter

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]


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


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Any) -> Any:
        ctx.dst, ctx.group = dst, group
        out = tensor.clone().contiguous()
        _reduce(out, dst, op, group)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grads[0])


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Any) -> Any:
        ctx.group = group
        out = [torch.empty_like(tensor) for _ in range(get_world_size(group))]
        _all_gather(out, tensor.contiguous(), group)
        return tuple(out)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, _ReduceScatter.apply(ReduceOp.SUM, ctx.group, *grads)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, *tensors: Any) -> Any:
        ctx.group = group
        out = torch.empty_like(tensors[get_rank(group)])
        _reduce_scatter(out, [tensor.contiguous() for tensor in tensors], op, group)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, *_AllGather.apply(ctx.group, grads[0])


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, shapes: Any, *tensors: Any) -> Any:
        ctx.group, ctx.shapes = group, [tuple(tensor.shape) for tensor in tensors]
        out = [torch.empty(shape, dtype=tensors[0].dtype) for shape in shapes]
        _all_to_all(out, [tensor.contiguous() for tensor in tensors], group)
        return tuple(out)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *grads)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Any) -> Any:
        ctx.dst, ctx.group = dst, group
        out = [torch.zeros_like(tensor) for _ in range(get_world_size(group))]
        here = _get_default_group().rank() == dst
        _gather(tensor.contiguous(), out if here else None, dst, group)
        return tuple(out)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Any) -> Any:
        ctx.src, ctx.group = src, group
        out = torch.empty_like(tensors[0])
        here = _get_default_group().rank() == src
        _scatter(out, [tensor.contiguous() for tensor in tensors] if here else None, src, group)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, grads[0])


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The sum over all ranks; the gradient is the sum of all ranks' gradients."""
    return _AllReduce.apply(op, group, tensor)


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """One rank's tensor on all; the gradients are summed on that rank."""
    return _Broadcast.apply(src, group, tensor)


def reduce(tensor: Any, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The sum over all ranks on one of them; every rank gets that one's gradient."""
    return _Reduce.apply(dst, op, group, tensor)


def all_gather(tensor: Any, group: Any = None) -> tuple[Any, ...]:
    """Every rank's tensor; a rank's gradient is the sum of all ranks' gradients for its tensor."""
    return _AllGather.apply(group, tensor)  # type: ignore[no-any-return]


def reduce_scatter(output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The sum over all ranks of what each has for this one."""
    return _ReduceScatter.apply(op, group, *input_list)


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: Any = None) -> Any:
    """What each rank has for this one; gradients go back to the senders."""
    shapes = [tuple(tensor.shape) for tensor in output_tensor_list]
    return _AllToAll.apply(group, shapes, *input_tensor_list)


def gather(tensor: Any, dst: int = 0, group: Any = None) -> tuple[Any, ...]:
    """Every rank's tensor on one of them (zeros on the others); gradients go back to the senders."""
    return _Gather.apply(dst, group, tensor)  # type: ignore[no-any-return]


def scatter(tensors: Any, src: int = 0, group: Any = None) -> Any:
    """One rank's tensors, one for each rank; their gradients are collected there."""
    return _Scatter.apply(src, group, *tensors)
