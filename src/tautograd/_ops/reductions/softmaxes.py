"""Softmax and its relatives: exponentials shared out along one dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.kernels import FEWEST, kernel
from ..._arrays.result_layout import in_c_order
from ..._arrays.sums import exact_sum
from ..._autograd.apply import apply
from ..._autograd.modes import modes
from ..._tensor.tensor import Tensor
from ..._user_code.sites import warning_level
from ..declare.dims import wrap_dim
from ..declare.elementwise_calls import refuse, require_tensor
from ..declare.public import NN_FUNCTIONAL, SPECIAL, public
from ..declare.record import Op
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import no_kernel

_largest: Any = np.maximum.reduce


def _shifted(x: Any, dim: int) -> Any:
    """x minus its largest element, so that no exponential overflows."""
    return x - _largest(x, axis=dim, keepdims=True) if 0 not in x.shape else x


def _by_kernel(name: str, dim: int, *arrays: Any) -> Any:
    """Rows by a kernel; None where they do not lie together, or there is none."""
    x = arrays[0]
    if type(x) is not np.ndarray or x.size < FEWEST or dim not in (-1, x.ndim - 1):
        return None
    run = kernel(name, *arrays)
    if run is None:
        return None
    out, width = np.empty(x.shape, x.dtype), x.shape[-1]
    run(x.size // width, x.size, *arrays, out, width)
    return out


def _softmax(x: Any, dim: int) -> Any:
    found = _by_kernel("softmax", dim, x)
    if found is not None:
        return found
    if x.ndim == 0:
        return np.exp(x - x)
    e = np.exp(_shifted(x, dim))
    return e / exact_sum(e, (dim,), True)


def _log_softmax(x: Any, dim: int) -> Any:
    found = _by_kernel("log_softmax", dim, x)
    if found is not None:
        return found
    if x.ndim == 0:
        return x - x
    x = _shifted(x, dim)
    return x - np.log(exact_sum(np.exp(x), (dim,), True))


def _total(x: Any, dim: int) -> Any:
    return x if x.ndim == 0 else np.sum(x, axis=dim, keepdims=True)


def _softmax_vjp(g: Any, out: Any, dim: int) -> Any:
    found = _by_kernel("softmax_gradient", dim, g, out)
    return out * (g - _total(g * out, dim)) if found is None else found


def _log_softmax_vjp(g: Any, out: Any, dim: int) -> Any:
    found = _by_kernel("log_softmax_gradient", dim, g, out)
    return g - np.exp(out) * _total(g, dim) if found is None else found


def _along() -> list[Sample]:
    return [
        Sample(T(2, 3), dim=0),
        Sample(T(2, 3), dim=-1),
        Sample(T(2, 3, 2), dim=1),
        Sample(T(), dim=0),
        Sample(T(1), dim=0),
        Sample(T(0, 2), dim=1),
        Sample(T(2, 0), dim=1),
        Sample(T(3, 2, layout="transposed"), dim=1),
        Sample(T(2, 3, low=-100, high=100), dim=1),
    ]


softmax_op = Op(
    "softmax",
    _softmax,
    ("x",),
    layout=in_c_order,
    vjp={"x": _softmax_vjp},
    jvp={"x": lambda t, out, dim: out * (t - _total(t * out, dim))},
    refuses=no_kernel("softmax_lastdim_kernel_impl", "bic"),
    samples=_along,
)
log_softmax_op = Op(
    "log_softmax",
    _log_softmax,
    ("x",),
    layout=in_c_order,
    vjp={"x": _log_softmax_vjp},
    jvp={"x": lambda t, out, dim: t - _total(np.exp(out) * t, dim)},
    refuses=no_kernel("log_softmax_lastdim_kernel_impl", "bic"),
    samples=_along,
)


def _apply_along(op: Op, name: str, input: Any, dim: Any, dtype: Any) -> Tensor:
    require_tensor(name, input)
    dim = wrap_dim(dim, input._data.ndim, name)
    if dtype is not None and dtype is not input.dtype:
        input = input.to(dtype)
    if input._data.size:
        refuse(op, input._data.dtype)
    elif op.refuses is not None and input._data.dtype in op.refuses:
        if input.requires_grad and modes.grad:
            raise RuntimeError(
                f"_{name} does not support automatic differentiation for outputs with complex "
                "dtype."
            )
        return input.detach().clone()  # type: ignore[no-any-return]
    return apply(op, (input,), {"dim": dim})  # type: ignore[no-any-return]


@public()
def softmax(input: Any, dim: Any, dtype: Any = None) -> Tensor:
    """`exp(x) / sum(exp(x))` along a dimension."""
    return _apply_along(softmax_op, "softmax", input, dim, dtype)


@public()
def log_softmax(input: Any, dim: Any, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, without its rounding."""
    return _apply_along(log_softmax_op, "log_softmax", input, dim, dtype)


for _name, _function in (("softmax", softmax), ("log_softmax", log_softmax)):
    SPECIAL[_name] = _function


# --- torch.nn.functional: the dimension may be left out ------------------------------------------


def _default_dim(name: str, ndim: int, stacklevel: int) -> int:
    import sys
    import warnings

    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel=min(stacklevel + 1, sys.maxsize),
    )
    return 0 if ndim in (0, 1, 3) else 1


@public("softmax", namespace=NN_FUNCTIONAL, method=False, out=False)
def _nn_softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`exp(x) / sum(exp(x))` along a dimension."""
    if dim is None:
        dim = _default_dim("softmax", input.ndim, _stacklevel)
    return softmax(input, dim, dtype)


@public("log_softmax", namespace=NN_FUNCTIONAL, method=False, out=False)
def _nn_log_softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, without its rounding."""
    if dim is None:
        dim = _default_dim("log_softmax", input.ndim, _stacklevel)
    return log_softmax(input, dim, dtype)


@public("softmin", namespace=NN_FUNCTIONAL, method=False, out=False)
def softmin(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`softmax` of the negated input."""
    if dim is None:
        dim = _default_dim("softmin", input.ndim, _stacklevel)
    return softmax(-input, dim, dtype)


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def gumbel_softmax(
    logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A random choice that can be differentiated: softmax of logits with Gumbel noise added.

    `hard`: one-hot, with the gradient of the soft choice.
    """
    if eps != 1e-10:
        import warnings

        warnings.warn(
            "`eps` parameter is deprecated and has no effect.", stacklevel=warning_level()
        )
    noise = -logits.detach().clone().exponential_().log()
    soft: Tensor = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = (soft.detach() * 0).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft
