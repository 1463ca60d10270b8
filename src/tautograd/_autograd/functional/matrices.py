"""Whole Jacobians and Hessians."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, make
from ..grad_mode import enable_grad
from ..transforms.jacobians import jacfwd, rows_by_reverse
from .arguments import (
    NOT_STRICT,
    OUTPUTS,
    Tensors,
    as_tuple,
    check_gradients,
    check_outputs,
    check_scalar,
    fresh,
    gradients,
    pick,
    settle,
    zeros,
)


def _check_strategy(strategy: str, create_graph: bool, strict: bool, vectorize: bool) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "reverse-mode":
        return
    if create_graph:
        raise NotImplementedError(
            "torch.autograd.functional.jacobian: `create_graph=True` and "
            '`strategy="forward-mode"` are not supported together (yet). Please either set '
            '`create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are '
            "not supported together (yet). Please either set `strict=False` or "
            '`strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
            "only implemented for `vectorize=True`."
        )


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func`, nested by outputs and then by inputs where these are tuples.

    `vectorize=True` sends all rows through the graph as one batch.
    """
    _check_strategy(strategy, create_graph, strict, vectorize)
    in_tuple, inputs = as_tuple(inputs, "inputs", "jacobian")
    if strategy == "forward-mode":
        return _by_columns(func, in_tuple, inputs)
    with enable_grad():
        inputs = fresh(inputs, create_graph)
        out_tuple, outputs = as_tuple(func(*inputs), OUTPUTS, "jacobian")
        check_outputs(outputs, strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
                "supported together. Please either set `strict=False` or `vectorize=False`."
            )
        if vectorize:
            blocks = _batched_blocks(outputs, inputs, create_graph)
        else:
            blocks = tuple(
                _rows(i, output, inputs, create_graph, strict) for i, output in enumerate(outputs)
            )
    blocks = settle(blocks, create_graph)
    return pick(tuple(pick(row, in_tuple) for row in blocks), out_tuple)


def _rows(nr: int, output: Tensor, inputs: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """The Jacobian of one output, one backward per entry."""
    from ..._ops.declare.public import FUNCTIONS

    columns: list[list[Tensor]] = [[] for _ in inputs]
    flat = output.reshape(-1)
    for j in range(output.numel()):
        found = gradients((flat[j],), inputs, None, create_graph, retain_graph=True)
        for i, (gradient, x) in enumerate(zip(found, inputs, strict=True)):
            if gradient is None:
                if strict:
                    raise RuntimeError(
                        f"Output {nr} of the user-provided function is independent of input {i}."
                        f"{NOT_STRICT}."
                    )
                gradient = zeros(x)
            elif strict and create_graph and not gradient.requires_grad:
                raise RuntimeError(
                    "The jacobian of the user-provided function is independent of input "
                    f"{nr}.{NOT_STRICT} when create_graph=True."
                )
            columns[i].append(gradient)
    return tuple(
        FUNCTIONS["stack"](column).reshape((*output.shape, *x.shape))
        if column
        else make(np.zeros_like(x._data, shape=(*output.shape, *x.shape)))
        for column, x in zip(columns, inputs, strict=True)
    )


def _batched_blocks(outputs: Tensors, inputs: Tensors, create_graph: bool) -> tuple[Tensors, ...]:
    rows = rows_by_reverse(list(outputs), list(inputs), create_graph)
    blocks = []
    offset = 0
    for output in outputs:
        size = output.numel()
        blocks.append(
            tuple(
                r.narrow(0, offset, size).reshape((*output.shape, *x.shape))
                for r, x in zip(rows, inputs, strict=True)
            )
        )
        offset += size
    return tuple(blocks)


def _by_columns(func: Callable[..., Any], in_tuple: bool, inputs: Tensors) -> Any:
    jacobians = jacfwd(func, tuple(range(len(inputs))))(*inputs)
    jacobians = settle(jacobians, False)
    if in_tuple:
        return jacobians
    # jacfwd nests by outputs, then by the (one-element) tuple of argument numbers.
    if jacobians and isinstance(jacobians[0], tuple):
        return tuple(row[0] for row in jacobians)
    return jacobians[0]


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a scalar function: the Jacobian of its gradient."""
    in_tuple, inputs = as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    forward = outer_jacobian_strategy == "forward-mode"

    def scalar(*values: Tensor) -> Any:
        several, outputs = as_tuple(func(*values), OUTPUTS, "hessian")
        check_outputs(outputs, strict)
        check_scalar("hessian", several, outputs)
        return outputs[0].reshape(())

    def gradient(*values: Any) -> Any:
        if forward:  # keeps the tangents: the inner aliases are part of this graph
            values = tuple(v.requires_grad_(True) for v in values)
        found = jacobian(scalar, values, create_graph=True)
        check_gradients(found, strict, of_hessian=True)
        return found

    result = jacobian(
        gradient,
        inputs,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )
    return result if in_tuple else result[0][0]
