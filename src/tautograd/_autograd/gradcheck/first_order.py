"""`gradcheck`: gradients compared with finite differences.

For each pair of an output and an input the Jacobian is computed twice: numerically, and by reverse
(or forward) mode. `fast_mode` compares one number per pair instead, `v · J · u` for random vectors.
Around that stand smaller checks: backward must give the same twice, must be linear in the gradient
it is given, and must accept that some outputs have none.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor
from ..._user_code.sites import warning_level
from .common import (
    Check,
    GradcheckError,
    as_tuple,
    recorded,
    require_callable,
    require_float,
)
from .parts import check_backward, check_forward
from .smaller import check_batched, check_batched_forward, check_linear, check_undefined
from .sparse_inputs import of_what_is_held, require_dense


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of `func` agree with finite differences; if not, an error that shows
    where.

    The inputs that require gradients should be float64 or complex128: differences of lower
    precision say little.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    for name, value in (("eps", eps), ("atol", atol), ("rtol", rtol), ("nondet_tol", nondet_tol)):
        require_float("gradcheck", name, value)
    func, given = of_what_is_held(func, as_tuple(inputs), masked=bool(masked))
    check = Check(func, given, eps, atol, rtol)
    check.nondet_tol, check.check_grad_dtypes, check.fast = nondet_tol, check_grad_dtypes, fast_mode
    try:
        _check_inputs(check.inputs)
        require_callable("gradcheck", func)
        outputs = as_tuple(func(*check.inputs))
        require_dense(outputs)
        for i, output in enumerate(outputs):
            if not isinstance(output, Tensor):
                raise TypeError(
                    f"gradcheck(): expected output {i} of 'func' to be a Tensor, not "
                    f"{type(output).__name__}"
                )
        if check_backward_ad:
            check_backward(check, outputs)
        if check_forward_ad:
            check_forward(check, outputs, check_undefined_grad)
        if check_batched_forward_grad:
            check_batched_forward(check)
        if check_backward_ad:
            if check_batched_grad:
                for i, output in enumerate(recorded(outputs)):
                    check_batched(check, output, i)
            check_linear(check, recorded(outputs))
            if check_undefined_grad:
                check_undefined(check)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    wanted = False
    for i, x in enumerate(inputs):
        if not isinstance(x, Tensor) or not x.requires_grad:
            continue
        wanted = True
        if x._data.dtype not in (np.float64, np.complex128):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. ",
                stacklevel=warning_level(),
            )
        if any(
            stride == 0 and n > 1 for stride, n in zip(x._data.strides, x._data.shape, strict=True)
        ):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs "
                "that are non-overlapping to be able to compute the numerical gradients correctly. "
                "You should call .contiguous on the input before passing it to gradcheck."
            )
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )
