"""Mixed precision: which public functions cast their arguments under `autocast`, and to what.

The casts are made where a public function is called, not where an operation is applied: PyTorch
does so too (in its dispatcher, above shape and dtype checks), the checks in those functions must see the
cast arguments, and a function that is made of others casts once and runs them as they are. Functions
that are not listed here take what they get. In-place forms and `out=` never cast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._arrays.dtypes import bfloat16, dtype, float16, float32
from .._autograd.autocast_state import is_autocast_cache_enabled, keep_cast, kept_cast
from .._autograd.modes import modes
from .._tensor.tensor import Tensor

# Matrix products and their like: fast, and accurate enough, in the lower precision.
LOWER = """
    addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
    conv_transpose3d linalg.vecdot linear matmul linalg.matmul mm prelu scaled_dot_product_attention
"""
# What the lower precision has too few digits for, or PyTorch no kernels.
FLOAT32 = """
    adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy
    binary_cross_entropy_with_logits cdist cholesky cholesky_inverse cholesky_solve
    cosine_embedding_loss cross_entropy ctc_loss fft.fft fft.fft2 fft.fftn fft.hfft fft.ifft fft.ifft2
    fft.ifftn fft.ihfft fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn
    fractional_max_pool2d fractional_max_pool3d geqrf grid_sample grid_sampler grid_sampler_2d
    grid_sampler_3d hinge_embedding_loss huber_loss inverse kl_div l1_loss linalg.cholesky
    linalg.cholesky_ex linalg.cond linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh
    linalg.householder_product linalg.inv linalg.inv_ex linalg.lstsq linalg.matrix_rank linalg.qr
    linalg.solve linalg.svd linalg.svdvals linalg.tensorinv linalg.tensorsolve lu_solve
    margin_ranking_loss max_pool3d max_unpool2d max_unpool3d mse_loss multi_margin_loss
    multilabel_margin_loss nanquantile nll_loss orgqr ormqr pinverse poisson_nll_loss polar prod qr
    quantile smooth_l1_loss soft_margin_loss stft svd trace triangular_solve triplet_margin_loss
    view_as_complex
"""
# Several tensors in one result: all in the widest of their dtypes.
WIDEST = "cat concat concatenate stack index_copy"

_LOW = frozenset((float16.numpy.char, bfloat16.numpy.char))
_CAST = _LOW | {float32.numpy.char}  # what may be cast: neither integers nor double precision

Function = Callable[..., Any]
Policy = Callable[[tuple[Any, ...], dict[str, Any]], dtype | None]


def _to_lower(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dtype | None:
    found: dtype | None = modes.lower
    return found


def _to_float32(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dtype | None:
    return float32


def _to_widest(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dtype | None:
    found: dtype = modes.lower
    for tensor in _tensors((*args, *kwargs.values())):
        kind = tensor.dtype
        if float32 in (kind, found):
            found = float32
        elif kind != found:
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return found


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
}
NEVER: list[bool] = []


def policy_of(labels: tuple[str, ...], prefix: str) -> Policy | None:
    """What a public function of these names casts its arguments to, if anything."""
    return next((p for n in labels if (p := _POLICIES.get(prefix + n)) is not None), None)


def cast_and_call(
    policy: Policy, fn: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a function with its arguments cast, and nothing inside it cast again."""
    wanted = policy(args, kwargs)
    if wanted is not None:
        args = tuple([_cast(value, wanted) for value in args])
        kwargs = {name: _cast(value, wanted) for name, value in kwargs.items()}
    return as_it_is(fn, args, kwargs)


def as_it_is(fn: Function, args: Any, kwargs: Any) -> Any:
    """Call a function with `autocast` suspended."""
    lower, modes.lower = modes.lower, None
    try:
        return fn(*args, **kwargs)
    finally:
        modes.lower = lower


def _cast(value: Any, wanted: dtype) -> Any:
    if isinstance(value, Tensor):
        return cast_tensor(value, wanted)
    if type(value) in (list, tuple):
        return type(value)(_cast(one, wanted) for one in value)
    return value


def cast_tensor(tensor: Tensor, wanted: dtype) -> Tensor:
    """The tensor in another floating-point dtype; a parameter's cast is kept for the whole region."""
    kind = tensor._data.dtype
    if kind.char not in _CAST or kind == wanted.numpy:
        return tensor
    from .casting import cast

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
        grad, modes.grad = modes.grad, True  # kept also for where gradients are wanted
        try:
            found = cast(tensor, wanted)
        finally:
            modes.grad = grad
        keep_cast(tensor, wanted, found)
    return found  # type: ignore[no-any-return]
