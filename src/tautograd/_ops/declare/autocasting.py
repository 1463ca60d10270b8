"""Mixed precision: which public functions cast their arguments under `autocast`, and to what.

The casts are made where a public function is called, not where an operation is applied: PyTorch
does so too (in its dispatcher, above shape and dtype checks), the checks in those functions must see the
cast arguments, and a function that is made of others casts once and runs them as they are. Functions
that are not listed here take what they get. In-place forms and `out=` never cast.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..._arrays.dtypes import bfloat16, dtype, float16, float32
from ..._autograd.autocast_state import (
    EVER_USED,
    is_autocast_cache_enabled,
    keep_cast,
    kept_cast,
    reaches,
)
from ..._autograd.modes import modes, set_grad, set_lower
from ..._tensor.tensor import Tensor
from .truth_values import check_given, truth_values_of

# Matrix products and their like: fast, and accurate enough, in the lower precision.
LOWER = """
    addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
    conv_transpose3d linalg.vecdot linear matmul linalg.matmul mm prelu scaled_dot_product_attention
    affine_grid lstm rnn_tanh rnn_relu rnn_tanh_cell rnn_relu_cell
"""
# What the lower precision has too few digits for, or PyTorch no kernels.
FLOAT32 = """
    adaptive_avg_pool3d adaptive_max_pool3d adaptive_max_pool3d_with_indices avg_pool3d
    binary_cross_entropy     binary_cross_entropy_with_logits cdist cholesky cholesky_inverse cholesky_solve
    cosine_embedding_loss cross_entropy ctc_loss fft.fft fft.fft2 fft.fftn fft.hfft fft.ifft fft.ifft2
    fft.ifftn fft.ihfft fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn
    fractional_max_pool2d fractional_max_pool3d fractional_max_pool2d_with_indices
    fractional_max_pool3d_with_indices geqrf grid_sample grid_sampler grid_sampler_2d
    grid_sampler_3d hinge_embedding_loss huber_loss inverse kl_div l1_loss linalg.cholesky
    linalg.cholesky_ex linalg.cond linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh
    linalg.householder_product linalg.inv linalg.inv_ex linalg.lstsq linalg.matrix_rank linalg.qr
    linalg.solve linalg.svd linalg.svdvals linalg.tensorinv linalg.tensorsolve lu_solve
    margin_ranking_loss max_unpool2d max_unpool3d mse_loss multi_margin_loss
    multilabel_margin_loss nanquantile nll_loss orgqr ormqr pinverse poisson_nll_loss polar prod qr
    quantile smooth_l1_loss soft_margin_loss stft svd trace triangular_solve triplet_margin_loss
    view_as_complex
"""
# Several tensors in one result: all in the widest of their dtypes.
WIDEST = "cat concat concatenate stack index_copy"

# Recurrent layers whose state decides: float32 stays, only the products are in lower precision.
STATES = "gru gru_cell lstm_cell"

_CAST = frozenset(d.numpy.char for d in (float16, bfloat16, float32))  # what may be cast

Function = Callable[..., Any]
Declared = TypeVar("Declared", bound=Function)
Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Policy = Callable[[tuple[Any, ...], dict[str, Any]], Arguments]


def _all_to(wanted: dtype, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    return tuple([_cast(v, wanted) for v in args]), {n: _cast(v, wanted) for n, v in kwargs.items()}


def _to_lower(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    return _all_to(modes.lower, args, kwargs)


def _to_float32(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    return _all_to(float32, args, kwargs)


def _to_widest(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    found: dtype = modes.lower
    for tensor in _tensors((*args, *kwargs.values())):
        kind = tensor.dtype
        if float32 in (kind, found):
            found = float32
        elif kind != found:
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return _all_to(found, args, kwargs)


def _by_state(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Inputs and weights rounded as for a product in lower precision; float32 states as they are."""
    given = _tensors(args[1:])
    if not given or given[0].dtype != float32:
        return _to_lower(args, kwargs)
    at = next(i for i in range(1, len(args)) if _tensors(args[i : i + 1]))
    rounded, options = _all_to(float32, *_to_lower(args, kwargs))
    return (*rounded[:at], args[at], *rounded[at + 1 :]), options


def _pads(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """`pad`, where it repeats elements of the tensor."""
    _, pad, mode = _bound(args, kwargs, ("input", "pad", "mode"))
    rank = len(pad) // 2 if isinstance(pad, (tuple, list)) else 0
    listed = mode == "replicate" or (mode == "reflect" and rank < 3)
    return _to_float32(args, kwargs) if listed else (args, kwargs)


def _without_indices(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """`max_pool3d`, unless it is asked for positions, which PyTorch finds by another function."""
    positions = kwargs.get("return_indices", args[6] if len(args) > 6 else False)
    return (args, kwargs) if positions else _to_float32(args, kwargs)


def _bound(args: tuple[Any, ...], kwargs: dict[str, Any], names: tuple[str, ...]) -> list[Any]:
    return [args[i] if i < len(args) else kwargs.get(n) for i, n in enumerate(names)]


def _tensors(values: Any) -> list[Tensor]:
    """The tensors among arguments, and in lists among them, that may be cast."""
    found = []
    for value in values:
        if isinstance(value, Tensor):
            if value._data.dtype.char in _CAST:
                found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors(value)
    return found


_POLICIES: dict[str, Policy] = {
    **dict.fromkeys(LOWER.split(), _to_lower),
    **dict.fromkeys(FLOAT32.split(), _to_float32),
    **dict.fromkeys(WIDEST.split(), _to_widest),
    **dict.fromkeys(STATES.split(), _by_state),
    "pad": _pads,
    "max_pool3d": _without_indices,
}
NEVER: list[bool] = []


def policy_of(labels: tuple[str, ...], prefix: str = "") -> Policy | None:
    """What a public function of these names casts its arguments to, if anything."""
    return next((p for n in labels if (p := _POLICIES.get(prefix + n)) is not None), None)


def autocasting(fn: Declared, uncast: Function | None = None) -> Declared:
    """The function, casting under `autocast` if it is listed; for those not declared by `public`.

    `uncast` may compute the same from arguments as they are, or give None.
    """
    policy = policy_of((fn.__name__,))
    if policy is None:
        return fn
    truths = truth_values_of(fn)
    first_truth = min(truths.values(), default=0)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if EVER_USED and modes.lower is not None:
            found = None if uncast is None else as_it_is(uncast, args, kwargs)
            return cast_and_call(policy, fn, args, kwargs) if found is None else found
        if truths and (kwargs or len(args) > first_truth):
            check_given(f"nn.functional.{fn.__name__}", truths, args, kwargs, frames=3)
        return fn(*args, **kwargs) if kwargs else fn(*args)

    return call  # type: ignore[return-value]


def cast_and_call(policy: Policy, fn: Function, args: Any, kwargs: Any) -> Any:
    """Call a function with its arguments cast, and nothing inside it cast again."""
    return as_it_is(fn, *policy(args, kwargs))


def as_it_is(fn: Function, args: Any, kwargs: Any) -> Any:
    """Call a function with `autocast` suspended."""
    lower = set_lower(None)
    try:
        return fn(*args, **kwargs)
    finally:
        set_lower(lower)


def _cast(value: Any, wanted: dtype) -> Any:
    if isinstance(value, Tensor):
        return cast_tensor(value, wanted)
    if type(value) in (list, tuple):
        return type(value)(_cast(one, wanted) for one in value)
    return value


def cast_tensor(tensor: Tensor, wanted: dtype) -> Tensor:
    """The tensor in another floating-point dtype; a parameter's cast is kept for the whole region."""
    kind = tensor._data.dtype
    if kind.char not in _CAST or kind == wanted.numpy or not reaches(tensor._data):
        return tensor
    from ..elementwise.casting import cast

    keeps = (
        wanted == modes.lower
        and kind == float32.numpy
        and tensor._requires_grad
        and tensor._node is None
        and tensor._base is None
        and not modes.inference
        and is_autocast_cache_enabled()
    )
    if not keeps:
        return cast(tensor, wanted)
    found = kept_cast(tensor, wanted)
    if found is None:
        grad = set_grad(True)  # kept also for where gradients are wanted
        try:
            found = cast(tensor, wanted)
        finally:
            set_grad(grad)
        keep_cast(tensor, wanted, found)
    return found  # type: ignore[no-any-return]
