"""The gradients of convolutions as functions of their own: by the input, and by the weight.

Both are operations of the engine (the rules of `conv1d` to `conv3d`), so these gradients can be
differentiated like anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._autograd.apply import apply
from .._ops.declare.python_surface import speak
from .._ops.declare.signature_line import declared
from .._ops.nn.convolution.conv_checks import check_dtypes, checked
from .._ops.nn.convolution.trilinear import transposed_convolution_op, weight_correlation_op
from .._tensor.tensor import Tensor, make
from .modules.utils import _pair, _single, _triple

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]

Spread = Callable[[Any], tuple[Any, ...]]


def _parameters(
    rank: Spread, sizes: tuple[Sequence[int], Sequence[int]], grad_output: Tensor, given: Any
) -> dict[str, Any]:
    """Stride, padding, dilation and groups of the convolution to differentiate."""
    stride, padding, dilation, groups = given
    # Sizes are parsed like a tensor's shape, and before the numbers.
    input_size, weight_size = (tuple(grad_output.new_empty(1).expand(s).shape) for s in sizes)
    dims = len(rank(0)) + 2
    spread = rank(stride), rank(padding), rank(dilation)
    _check_numbers({"stride": spread[0], "padding": spread[1], "dilation": spread[2]}, groups)
    if len(weight_size) < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if len(weight_size) != dims or len(input_size) != len(weight_size):
        raise RuntimeError(
            f"Expected {len(weight_size)}-dimensional input for {len(weight_size)}-dimensional "
            f"weight {list(weight_size)}, but got {len(input_size)}-dimensional input of size "
            f"{list(input_size)} instead"
        )
    found, count = checked(input_size, weight_size, None, *spread, False, (0,) * (dims - 2), groups)
    expected = (input_size[0], weight_size[0], *count)
    for place, size in enumerate(expected):
        if grad_output.dim() != dims or grad_output.shape[place] != size:
            seen = grad_output.shape[place] if place < grad_output.dim() else "none"
            raise RuntimeError(
                f"Expected a tensor of dimension {dims} and tensor.size[{place}] == {size} but got: "
                f"dimension {grad_output.dim()} and tensor.size[{place}] = {seen}"
            )
    return found


def _check_numbers(lists: dict[str, tuple[Any, ...]], groups: Any) -> None:
    """Reject non-numbers with the message of the operator that PyTorch calls here."""
    head = "convolution_backward() Expected a value of type"
    for name, numbers in lists.items():
        if not all(isinstance(n, (int, np.integer)) for n in numbers):
            raise RuntimeError(
                f"{head} 'List[int]' for argument '{name}' but instead found type "
                f"'{type(numbers).__name__}'. Value: {numbers}"
            )
    if not isinstance(groups, (int, np.integer)):
        raise RuntimeError(
            f"{head} 'int' for argument 'groups' but instead found type '{type(groups).__name__}'."
        )


def _input(rank: Spread, size: Any, weight: Tensor, grad_output: Tensor, *given: Any) -> Tensor:
    if weight.dtype != grad_output.dtype:
        check_dtypes(grad_output, weight, None)
    found = _parameters(rank, (size, weight.shape), grad_output, given)
    if not weight.shape[0] or not size[1]:
        return make(np.zeros_like(weight._data, shape=tuple(size)))
    result: Tensor = apply(
        transposed_convolution_op, (grad_output, weight, None), {"size": tuple(size)[2:], **found}
    )
    return result


def _weight(rank: Spread, input: Tensor, size: Any, grad_output: Tensor, *given: Any) -> Tensor:
    if input.dtype != grad_output.dtype:
        check_dtypes(grad_output, input, None)
    found = _parameters(rank, (input.shape, size), grad_output, given)
    result: Tensor = apply(
        weight_correlation_op, (input, grad_output), {"kernel": tuple(size)[2:], **found}
    )
    return result


def _gradients(rank: int, spread: Spread) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    rest = f"int[{rank}] stride=1, int[{rank}] padding=0, int[{rank}] dilation=1, int groups=1"
    about = f"The gradient of `conv{rank}d` with respect to its"
    with_input = declared(
        f"conv{rank}d_input(int[] input_size, Tensor weight, Tensor grad_output, {rest}) -> Tensor",
        _input,
        spread,
        doc=f"{about} input, of which the size is given.",
    )
    with_weight = declared(
        f"conv{rank}d_weight(Tensor input, int[] weight_size, Tensor grad_output, {rest}) -> Tensor",
        _weight,
        spread,
        doc=f"{about} weight, of which the size is given.",
    )
    return with_input, with_weight


conv1d_input, conv1d_weight = _gradients(1, _single)
conv2d_input, conv2d_weight = _gradients(2, _pair)
conv3d_input, conv3d_weight = _gradients(3, _triple)

speak(globals(), __all__)
