"""Normalisation over a batch: `batch_norm`, its running statistics, and `instance_norm`.

While training, each channel is normalised by the mean and deviation found in the batch, and the
running statistics move towards them; in evaluation by the running statistics. An instance norm is a
batch norm in which every example's channel is a channel of its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.dtypes import LEGACY_NAMES, promote_types
from ..._arrays.result_layout import as_channels, each
from ..._arrays.sums import exact_sum, row_dot
from ..._autograd.modes import modes
from ..._autograd.views import bump
from ..._tensor.tensor import Tensor
from ..declare.dims import wrap_dim
from ..declare.elementwise_calls import refuse, require_tensor
from ..declare.promotion import plain_number, real_number
from ..declare.public import FUNCTIONS, public
from ..declare.record import Op
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import no_kernel, refuse_gradients
from ..shape.views import view_to
from . import native_norms
from .layer_norms import apply_mixed, check_mixed, scaled
from .losses.reduction import functional

_ndarray = np.ndarray

# --- the records ---------------------------------------------------------------------------------


def _others(rank: int) -> tuple[int, ...]:
    """All dimensions but the channels'."""
    return (0, *range(2, rank))


def _wide(v: Any, rank: int) -> Any:
    """A value per channel, to be broadcast against the input."""
    return np.reshape(v, (math.prod(v.shape), *(1,) * (rank - 2)))


def _sums(x: Any) -> Any:
    """The sum of each channel; each example's first, which lies in one piece."""
    if type(x) is not _ndarray or x.ndim < 3:
        return exact_sum(x, (0,)) if x.ndim < 3 else np.sum(x, axis=_others(x.ndim))
    inner = exact_sum(np.reshape(x, (*x.shape[:2], math.prod(x.shape[2:]))), (2,))
    return exact_sum(inner, (0,))


def _products(x: Any, y: Any) -> Any:
    """The sum of the products of each channel."""
    if type(x) is not _ndarray or type(y) is not _ndarray:
        return np.sum(x * y, axis=_others(x.ndim))
    if x.ndim < 3:
        return exact_sum(x * y, (0,))
    rows = (np.reshape(v, (*v.shape[:2], math.prod(v.shape[2:]))) for v in (x, y))
    return exact_sum(row_dot(*rows), (0,))


def _count(shape: Any) -> int:
    return int(shape[0] * math.prod(shape[2:]))


def _affine(normal: Any, weight: Any, bias: Any) -> Any:
    rank = normal.ndim
    plain = type(normal) is _ndarray
    if weight is not None:
        w = _wide(weight, rank)
        normal = np.multiply(normal, w, out=normal) if plain and type(w) is _ndarray else normal * w
    if bias is not None:
        b = _wide(bias, rank)
        plain = type(normal) is _ndarray
        normal = np.add(normal, b, out=normal) if plain and type(b) is _ndarray else normal + b
    return normal


def _centred(x: Any) -> tuple[Any, Any]:
    mean = _sums(x) / _count(x.shape)
    return x - _wide(mean, x.ndim), mean


def _train(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    found = native_norms.channels(x, weight, bias, eps)
    if found is not None:
        return found
    centred, mean = _centred(x)
    variance = _products(centred, centred) / _count(x.shape)
    inverse = 1 / np.sqrt(variance + eps)
    if type(centred) is type(inverse) is _ndarray:
        centred *= _wide(inverse, x.ndim)
    else:
        centred = centred * _wide(inverse, x.ndim)
    return _affine(centred, weight, bias), mean, inverse, variance


def _found(x: Any, eps: float) -> tuple[Any, Any]:
    """Normalised channels, and one over their deviations, by functions that can be differentiated."""
    axes, rank = _others(x.ndim), x.ndim
    centred = x - _wide(np.sum(x, axis=axes) / _count(x.shape), rank)
    inverse = 1 / np.sqrt(np.sum(centred * centred, axis=axes) / _count(x.shape) + eps)
    return centred * _wide(inverse, rank), inverse


def _train_vjp(
    g: Any, x: Any, weight: Any, out1: Any, out2: Any, needs: tuple[bool, ...], eps: float
) -> Any:
    found = native_norms.channel_gradients(g, x, weight, out1, out2) if needs[0] else None
    if found is not None:
        return found[0], found[1] if needs[1] else None, found[2] if needs[2] else None
    rank, count = len(x.shape), _count(x.shape)
    lifted = hasattr(x, "apply_lifted")
    if lifted:
        normal, inverse = _found(x, eps)
    else:
        normal, inverse = (x - _wide(out1, rank)) * _wide(out2, rank), out2
    total = np.sum(g, axis=_others(rank)) if lifted else _sums(g)
    along = np.sum(g * normal, axis=_others(rank)) if lifted else _products(g, normal)
    if not needs[0]:
        return None, along if needs[1] else None, total if needs[2] else None
    # w/σ (g - mean(g) - n mean(g n)), n the normalised channels
    slope = inverse if weight is None else inverse * weight
    found = g - _wide(total / count, rank)
    pull = _wide(along / count, rank)
    if type(found) is type(normal) is type(pull) is type(slope) is _ndarray:
        normal *= pull
        found -= normal
        found *= _wide(slope, rank)
    else:
        found = (found - normal * pull) * _wide(slope, rank)
    return found, along if needs[1] else None, total if needs[2] else None


def _train_tangent(t: Any, x: Any, weight: Any, eps: float) -> Any:
    rank, axes, count = x.ndim, _others(x.ndim), _count(x.shape)
    normal, inverse = _found(x, eps)
    mean = _wide(np.sum(t, axis=axes) / count, rank)
    along = _wide(np.sum(t * normal, axis=axes) / count, rank)
    slope = _wide(scaled(inverse, weight), rank)
    return (t - mean - normal * along) * slope, None, None, None


def _samples(*extra: Any) -> Any:
    """Calls of `torch.batch_norm`: input, weight, bias, running statistics, then options."""

    def of(shape: tuple[int, ...], affine: bool, layout: str = "contiguous") -> Sample:
        c = shape[1]
        weights = (T(c), T(c, seed=1)) if affine else (None, None)
        return Sample(T(*shape, layout=layout), *weights, *(e(c) for e in extra[:2]), *extra[2:])

    return lambda: [
        of((4, 3), True),
        of((3, 2, 4), False),
        of((2, 3, 2, 2), True),
        of((2, 2, 3, 4), True, "transposed"),
        of((2, 2, 2, 1, 2), False),
    ]


batch_norm_op = Op(
    "batch_norm",
    _train,
    ("x", "weight", "bias"),
    layout=each(as_channels),
    vjp=_train_vjp,
    jvp={
        "x": _train_tangent,
        "weight": lambda t, x, eps: (_found(x, eps)[0] * _wide(t, x.ndim), None, None, None),
        "bias": lambda t, x_shape: (
            np.broadcast_to(_wide(t, len(x_shape)), x_shape),
            None,
            None,
            None,
        ),
    },
    outputs=4,
    differentiable_outputs=(0,),
    node="NativeBatchNormBackward0",
    refuses=no_kernel("batch_norm", "bic"),
    samples=_samples(lambda c: None, lambda c: None, True, 0.1, 1e-2, False),
)


def _eval(x: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float) -> Any:
    """One product and one sum: x w/σ + (b - mean w/σ)."""
    slope = scaled(1 / np.sqrt(variance + eps), weight)
    shift = -mean * slope if bias is None else bias - mean * slope
    out = x * _wide(slope, x.ndim)
    shift = _wide(shift, x.ndim)
    if type(out) is _ndarray and type(shift) is _ndarray:
        out += shift
        return out
    return out + shift


def _fixed(x: Any, mean: Any, variance: Any, eps: float) -> Any:
    return (x - _wide(mean, x.ndim)) * _wide(1 / np.sqrt(variance + eps), x.ndim)


batch_norm_eval_op = Op(
    "batch_norm_eval",
    _eval,
    ("x", "weight", "bias", "mean", "variance"),
    layout=as_channels,
    vjp={
        "x": lambda g, weight, variance, eps: (
            g * _wide(scaled(1 / np.sqrt(variance + eps), weight), g.ndim)
        ),
        "weight": lambda g, x, mean, variance, eps: np.sum(
            g * _fixed(x, mean, variance, eps), axis=_others(g.ndim)
        ),
        "bias": lambda g: np.sum(g, axis=_others(g.ndim)),
    },
    jvp={
        "x": lambda t, weight, variance, eps: (
            t * _wide(scaled(1 / np.sqrt(variance + eps), weight), t.ndim)
        ),
        "weight": lambda t, x, mean, variance, eps: (
            _fixed(x, mean, variance, eps) * _wide(t, x.ndim)
        ),
        "bias": lambda t, x_shape: np.broadcast_to(_wide(t, len(x_shape)), x_shape),
    },
    node="NativeBatchNormBackward0",
    refuses=no_kernel("batch_norm", "bic"),
    public="batch_norm",
    samples=_samples(
        lambda c: T(c, grad=False),
        lambda c: T(c, low=0.5, high=2, grad=False),
        False,
        0.1,
        1e-2,
        False,
    ),
)

# --- public functions ----------------------------------------------------------------------------


def _check_channels(channels: int, **arguments: Any) -> None:
    for label, value in arguments.items():
        if value is not None and value._data.size != channels:
            raise RuntimeError(f"{label} should contain {channels} elements not {value._data.size}")


def _normalised(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: Any,
    eps: float,
) -> Any:
    require_tensor("batch_norm", input)
    x = input._data
    if not x.size and x.ndim > 1 and (weight is not None or bias is not None):
        # Of nothing PyTorch asks nothing: the first of the weights, whatever they look like, stands for all.
        scaled = input if weight is None else input * weight[0]
        return scaled if bias is None else scaled + bias[0]
    channels = x.shape[1] if x.ndim > 1 else 0
    stats = {"running_mean": running_mean, "running_var": running_var}
    if not training:
        for label, value in stats.items():
            if value is None:
                raise RuntimeError(f"{label} must be defined in evaluation mode")
    _check_channels(channels, **stats, weight=weight, bias=bias)
    for value in (*stats.values(), weight, bias):
        if isinstance(value, Tensor) and value.is_complex() and not input.is_complex():
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    refuse_gradients("native_batch_norm", **stats)
    refuse(batch_norm_op, x.dtype)
    if x.size:
        check_mixed(input, weight, bias, running_mean, running_var)
    if modes.forward_level:
        running_mean, running_var = _without_tangents(input, running_mean, running_var)
    if not training:
        inputs = (input, weight, bias, running_mean, running_var)
        return apply_mixed(batch_norm_eval_op, inputs, {"eps": eps})
    out, mean, _, variance = apply_mixed(batch_norm_op, (input, weight, bias), {"eps": eps})
    if running_mean is not None or running_var is not None:
        _track(input, mean, variance, running_mean, running_var, momentum, eps)
    return out


def _track(
    input: Tensor,
    mean: Tensor,
    variance: Tensor,
    running_mean: Any,
    running_var: Any,
    momentum: Any,
    eps: float,
) -> None:
    """Move the running statistics: a call of its own, since it writes to tensors that were there before."""
    if modes.deferred is not None:
        given = input, mean, variance, running_mean, running_var, momentum, eps
        modes.deferred.call(_track, given, {})
        return
    x, found = input._data, (mean._data, variance._data)
    if input.dtype.is_half:  # those are rounded
        with np.errstate(all="ignore"):
            found = _train(np.astype(x, np.float32), None, None, eps)[1::2]
    _update(found, _count(x.shape), running_mean, running_var, momentum)


def _without_tangents(input: Tensor, *running: Any) -> Any:
    """Statistics that are no function of anything: tangents are refused where the input has one."""
    if input._tangents and any(r is not None and r._tangents for r in running):
        raise RuntimeError(
            "batch_norm is not differentiable wrt running_mean and running_var, they cannot have "
            "forward grad defined"
        )
    return [r.detach() if r is not None and r._tangents else r for r in running]


def _update(found: Any, count: int, running_mean: Any, running_var: Any, momentum: float) -> None:
    """Move the running statistics towards those of the batch; the variance is unbiased."""
    if not count:
        return
    mean, variance = found
    if isinstance(momentum, int):  # which is a double in a schema, however large
        momentum = float(momentum)
    moved = [r for r in (running_mean, running_var) if r is not None]
    if all(hasattr(type(r._data), "raw") and r._data.has_kernels for r in moved):
        from ..on_gpu.batch_norms import move_statistics

        unbiased = count / (count - 1) if count > 1 else 1.0
        first, second = (None if r is None else r._data for r in (running_mean, running_var))
        if move_statistics(first, second, mean, variance, momentum, unbiased):
            for running in moved:
                bump(running)
            return
    with np.errstate(all="ignore"):
        if count > 1:
            variance = variance * (count / (count - 1))
        for running, value in ((running_mean, mean), (running_var, variance)):
            if running is not None:
                data = running._data
                np.copyto(data, data * (1 - momentum) + value * momentum, casting="unsafe")
                bump(running)


@functional
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel minus its mean, over its deviation: of the batch, or the running ones."""
    if training:
        check_several(input, 1)
    eps = eps if type(eps) is float else plain_number(eps)
    found: Tensor = _normalised(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )
    return found


def check_several(input: Tensor, skip: int) -> None:
    """While training, a channel needs more than one value to have a deviation."""
    shape = input._data.shape
    if skip == 1 and _count(shape) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.size()}"
        )
    if skip == 2 and math.prod(shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.size()}"
        )


def _batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Each channel minus its mean, over its deviation: of the batch, or the running ones."""
    found: Tensor = _normalised(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )
    return found


@public(method=False, out=False)
def batch_norm_update_stats(
    input: Any, running_mean: Any, running_var: Any, momentum: float
) -> tuple[Tensor, Tensor]:
    """Mean and variance of each channel of a batch; running ones are moved towards them."""
    require_tensor("batch_norm_update_stats", input)
    shape = tuple(input._data.shape)
    if not input._data.size:
        raise RuntimeError(
            "batch_norm_cpu_update_stats: input tensor must have at least one element, but got "
            f"input_sizes = {list(shape)}"
        )
    wrap_dim(1, len(shape))
    if input._data.dtype.kind in "biu":
        raise NotImplementedError(
            f"\"batch_norm_update_stats_cpu\" not implemented for '{LEGACY_NAMES[input.dtype]}'"
        )
    _check_channels(shape[1], running_mean=running_mean, running_var=running_var)
    dims = [d for d in range(len(shape)) if d != 1]
    wide = (
        input if running_mean is None else input.to(promote_types(input.dtype, running_mean.dtype))
    )
    mean, variance = wide.mean(dims), wide.var(dims, unbiased=False)
    _update((mean._data, variance._data), _count(shape), running_mean, running_var, momentum)
    return mean, variance


def _instance_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Each channel of each example minus its mean, over its deviation."""
    require_tensor("instance_norm", input)
    momentum, eps = real_number(momentum), real_number(eps)
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    shape = tuple(input._data.shape)
    if not shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    wrap_dim(1, len(shape))
    count, channels = shape[0], shape[1]
    _check_channels(
        channels, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    w, b, mean, var = [
        None if v is None else v.repeat(count) for v in (weight, bias, running_mean, running_var)
    ]
    if not input.dtype.is_half:  # the running ones may be of another dtype
        mean, var = [v if v is None else v.to(input.dtype) for v in (mean, var)]
    flat = view_to(input.contiguous(), (1, count * channels, *shape[2:]))
    out = _normalised(flat, w, b, mean, var, use_input_stats, momentum, eps)
    if use_input_stats:
        for running, moved in ((running_mean, mean), (running_var, var)):
            if running is not None and moved is not None:
                with np.errstate(all="ignore"):
                    average = np.mean(np.reshape(moved._data, (count, channels)), axis=0)
                    np.copyto(running._data, average, casting="unsafe")
                bump(running)
    found: Tensor = view_to(out, shape)
    return found


for _label, _function in (("batch_norm", _batch_norm), ("instance_norm", _instance_norm)):
    _function.__name__ = _function.__qualname__ = _label
    FUNCTIONS[_label] = _function


@functional
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of each example minus its mean, over its deviation."""
    if use_input_stats:
        check_several(input, 2)
    return _instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )
