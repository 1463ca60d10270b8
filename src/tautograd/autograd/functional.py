"""Jacobians, Hessians and products with them, of functions of tensors."""

from collections.abc import Sequence
from typing import Any

from .._autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp
from .._autograd.functional.arguments import as_tuple, fresh, settle
from .._ops.declare.python_surface import speak

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


speak(globals(), __all__)


def _construct_standard_basis_for(tensors: Sequence[Any], tensor_numels: Sequence[int]) -> Any:
    """The unit vectors of all elements of several tensors, as rows, split by tensor: libraries use it."""
    if not tensors or len(tensors) != len(tensor_numels):
        raise AssertionError("expected as many numbers of elements as tensors, and at least one")
    total, chunks, start = sum(tensor_numels), [], 0
    for tensor, count in zip(tensors, tensor_numels, strict=True):
        chunk = tensor.new_zeros(total, count)
        chunk.diagonal(-start).fill_(1)
        chunks.append(chunk)
        start += count
    return tuple(chunks)


# The parts of `jacobian` that libraries import to write one of their own.


def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> Any:
    """The tensors as a tuple; where a function is named, they are checked, and it is said whether it was one."""
    if arg_name is None and fn_name is None:
        return tuple(inp) if isinstance(inp, (tuple, list)) else (inp,)
    return as_tuple(inp, str(arg_name), str(fn_name))


def _tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, bool]) -> Any:
    """Results as they were asked for: single ones where no tuple was given, on one level or on two."""
    if isinstance(to_unpack, tuple):
        outer, inner = to_unpack
        res = res if inner else tuple(row[0] for row in res)
        return res if outer else res[0]
    return res if to_unpack else res[0]


def _grad_preprocess(inputs: Any, create_graph: bool, need_graph: bool) -> Any:
    """Aliases of the inputs to differentiate by."""
    return fresh(tuple(inputs), create_graph, need_graph)


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Results without history, unless it was asked for."""
    return settle(inputs, create_graph)
