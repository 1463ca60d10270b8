"""Reductions and normalizations of only the unmasked elements.

Each is the plain function of the input with masked-out elements replaced by its identity, a value that does not change
the result: 0 in a sum, -inf in a maximum. If all elements of a slice are masked out, the result is the identity, or
NaN. Of a sparse input the specified elements are used; the result has the same layout, and an element where
any was used.
"""

from __future__ import annotations

from typing import Any

import tautograd as torch

from .._tensor.tensor import Tensor


def _input_mask(input: Tensor, *args: Any, mask: Tensor | None = None, **kwargs: Any) -> Tensor:
    """The mask as a boolean tensor broadcast to the input's shape."""
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.ndim > input.ndim:
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
        )
    dense = mask if mask.layout == torch.strided else mask.to_dense()
    return dense.to(torch.bool).expand(input.shape)


def _reduction_identity(op_name: str, input: Tensor, *args: Any) -> Tensor | None:
    """A reduction's identity; None if it depends on the other operands."""
    name = op_name.rpartition(".")[2]
    if name in ("mean", "var", "std"):
        return None
    lowest, highest = _ends(input, complex_too=name == "logsumexp")
    values = {
        "sum": 0, "cumsum": 0, "prod": 1, "cumprod": 1, "amax": lowest, "argmax": lowest,
        "logaddexp": lowest, "logsumexp": lowest, "amin": highest, "argmin": highest,
        "norm": highest if args and args[0] == float("-inf") else 0, "median": float("nan"),
    }  # fmt: skip
    if values.get(name) is None:
        raise NotImplementedError(f"identity of {op_name} on {input.dtype} input")
    dtype = torch.float if name == "median" and not input.is_floating_point() else input.dtype
    return torch.tensor(values[name], dtype=dtype, device=input.device)


def _ends(input: Tensor, *, complex_too: bool) -> tuple[Any, Any]:
    """The smallest and the largest number of a dtype, infinities included."""
    if input.is_floating_point() or (complex_too and input.is_complex()):
        return float("-inf"), float("inf")
    if input.is_complex() or input.dtype is torch.bool:
        return None, None
    return torch.iinfo(input.dtype).min, torch.iinfo(input.dtype).max


def _combine_input_and_mask(op: Any, input: Tensor, mask: Tensor | None, *args: Any) -> Tensor:
    """The input with masked-out elements replaced by the operation's identity."""
    if mask is None:
        return input
    identity = _reduction_identity(op if isinstance(op, str) else op.__name__, input, *args)
    allowed = _input_mask(input, mask=mask)
    return torch.where(allowed, input, identity.to(input.dtype))  # type: ignore[union-attr]


def _canonical_dim(dim: Any, ndim: int) -> tuple[int, ...]:
    """Dimensions as a sorted tuple; none means all of them."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    found: list[int] = []
    rank = max(ndim, 1)
    for d in (dim,) if isinstance(dim, int) else dim:
        if not -rank <= d < rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {d})"
            )
        if d % rank in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        found.append(d % rank)
    return tuple(sorted(found))


def _output_mask(op: Any, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Where a masked function's result has an element computed from any unmasked one."""
    if not callable(op):
        raise ValueError(f"_output_mask expected masked operation (got {type(op).__name__} object)")
    allowed = _input_mask(input, mask=kwargs.get("mask"))
    if op.__name__ in _NORMALIZATIONS:
        return allowed
    if op.__name__ not in _REDUCTIONS:
        raise ValueError(
            f"_output_mask expected masked operation (got callable {op.__module__}.{op.__name__})"
        )
    rest = args[1:] if op.__name__ == "norm" else args
    dim = rest[0] if rest else kwargs.get("dim")
    return _any(allowed, _canonical_dim(dim, input.ndim), bool(kwargs.get("keepdim", False)))


def _any(mask: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    for dim in reversed(dims):
        mask = mask.any(dim, keepdim=keepdim) if mask.ndim else mask
    return mask


_REDUCTIONS = frozenset(
    [
        "sum",
        "prod",
        "amax",
        "amin",
        "argmax",
        "argmin",
        "mean",
        "median",
        "norm",
        "var",
        "std",
        "logsumexp",
    ]
)
_NORMALIZATIONS = frozenset(["softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod"])


# --- sparse inputs ---------------------------------------------------------------------------------


class _Laid:
    """An input as a dense tensor with its mask, and results converted back to the input's layout."""

    def __init__(
        self, name: str, input: Tensor, mask: Tensor | None, *, sparse: bool = False
    ) -> None:
        self.layout = input.layout
        self.input, self.mask = input, mask
        if self.layout == torch.strided:
            return
        if not sparse or self.layout not in (torch.sparse_coo, torch.sparse_csr):
            raise ValueError(
                f"masked {name} expects strided{', sparse_coo or sparse_csr' * sparse} tensor "
                f"(got {self.layout} tensor)"
            )
        self.input = input.to_dense()
        if mask is None:
            if self.layout == torch.sparse_csr and name not in ("sum", "mean"):
                raise ValueError(f"masked {name} expects explicit mask for sparse_csr tensor input")
            coo = input.to_sparse_coo().coalesce()
            there = torch.ones(coo.values().shape, dtype=torch.bool)
            self.mask = torch.sparse_coo_tensor(coo.indices(), there, coo.shape).to_dense()

    def back(self, result: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
        """A reduction's result in the input's layout, with elements where any element was used."""
        if self.layout == torch.strided:
            return result
        if self.layout == torch.sparse_csr and not keepdim:
            raise RuntimeError(
                "reduction operations on CSR tensors with keepdim=False is unsupported"
            )
        took_part = _any(_input_mask(self.input, mask=self.mask), dims, keepdim)
        if not result.ndim:
            return result.to_sparse()
        coo = torch.sparse_coo_tensor(took_part.nonzero().t(), result[took_part], result.shape)
        return coo.to_sparse_csr() if self.layout == torch.sparse_csr else coo.coalesce()


# --- reductions ------------------------------------------------------------------------------------


def _sum_dtype(input: Tensor, dtype: Any) -> Any:
    """Sums and products of integers are int64."""
    if dtype is not None:
        return dtype
    return input.dtype if _is_inexact(input.dtype) else torch.int64


def sum(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Any:
    """The sum of the unmasked elements."""
    dtype = _sum_dtype(input, dtype)
    laid = _Laid("sum", input, mask, sparse=True)
    dims = _canonical_dim(dim, input.ndim)
    filled = _combine_input_and_mask("sum", laid.input, laid.mask)
    return laid.back(torch.sum(filled, dims, bool(keepdim), dtype=dtype), dims, bool(keepdim))


def prod(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Any:
    """The product of the unmasked elements."""
    dtype = _sum_dtype(input, dtype)
    laid = _Laid("prod", input, mask, sparse=True)
    dims = _canonical_dim(dim, input.ndim)
    result = _combine_input_and_mask("prod", laid.input, laid.mask).to(dtype)
    # A scalar has no dimension to keep, so `keepdim` is not checked.
    keepdim = bool(dims) and bool(keepdim)
    for d in reversed(dims):
        result = result.prod(d, keepdim=keepdim)
    return laid.back(result, dims, keepdim)


def _extreme(name: str, input: Any, dim: Any, keepdim: bool, dtype: Any, mask: Any) -> Any:
    laid = _Laid(name, input, mask, sparse=True)
    dims = _canonical_dim(dim, input.ndim)
    filled = _combine_input_and_mask(name, laid.input, laid.mask)
    result = getattr(torch, name)(filled, dims, bool(keepdim)).to(dtype or input.dtype)
    return laid.back(result, dims, bool(keepdim))


def amax(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Any:
    """The largest of the unmasked elements."""
    return _extreme("amax", input, dim, keepdim, dtype, mask)


def amin(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Any:
    """The smallest of the unmasked elements."""
    return _extreme("amin", input, dim, keepdim, dtype, mask)


def argmax(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Any:
    """The index of the largest unmasked element, in the input's dtype."""
    filled = _combine_input_and_mask("argmax", _Laid("argmax", input, mask).input, mask)
    return torch.argmax(filled, dim, bool(keepdim)).to(dtype or input.dtype)


def argmin(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Any:
    """The index of the smallest unmasked element, in the input's dtype."""
    filled = _combine_input_and_mask("argmin", _Laid("argmin", input, mask).input, mask)
    return torch.argmin(filled, dim, bool(keepdim)).to(dtype or input.dtype)


def mean(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Any:
    """The mean of the unmasked elements; NaN if there are none."""
    dtype = dtype or input.dtype
    if not _is_inexact(dtype):
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {dtype}"
        )
    laid = _Laid("mean", input, mask, sparse=True)
    dims = _canonical_dim(dim, input.ndim)
    if laid.mask is None:
        return torch.mean(input, dims, bool(keepdim), dtype=dtype)
    total = sum(laid.input, dims, keepdim=keepdim, dtype=dtype, mask=laid.mask)
    return laid.back(total / _count(laid.input, laid.mask, dims, keepdim), dims, bool(keepdim))


def _count(input: Tensor, mask: Tensor, dims: Any, keepdim: bool) -> Tensor:
    allowed = _input_mask(input, mask=mask).to(torch.int64)
    return torch.sum(allowed, dims, bool(keepdim))


def median(
    input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Any:
    """The lower median of the unmasked elements; NaN if there are none."""
    dims = _canonical_dim(dim, input.ndim)
    floating = input if input.is_floating_point() else input.to(torch.float)
    _Laid("median", input, mask)
    filled = _combine_input_and_mask("median", floating, mask)
    result = torch.nanmedian(filled, dims[0], bool(keepdim)).values
    if input.is_floating_point():
        return result  # in the input's dtype, whatever was requested
    if torch.isnan(result).any():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    return result.to(dtype or input.dtype)


def logsumexp(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Any:
    """`log(sum(exp(input)))` of the unmasked elements."""
    dims = _canonical_dim(dim, input.ndim)
    filled = _combine_input_and_mask("logsumexp", _Laid("logsumexp", input, mask).input, mask)
    return torch.logsumexp(filled, dims, keepdim=bool(keepdim)).to(dtype or input.dtype)


def logaddexp(
    input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None
) -> Any:
    """`log(exp(input) + exp(other))`, of the unmasked elements of each."""
    first = _combine_input_and_mask(
        "logaddexp", _Laid("logaddexp", input, input_mask).input, input_mask
    )
    second = _combine_input_and_mask(
        "logaddexp", _Laid("logaddexp", other, other_mask).input, other_mask
    )
    return torch.logaddexp(first, second).to(dtype or input.dtype)


def norm(
    input: Any, ord: float = 2.0, dim: Any = None, *, keepdim: bool = False, dtype: Any = None,
    mask: Any = None,
) -> Any:  # fmt: skip
    """The vector norm of the unmasked elements."""
    dims = _canonical_dim(dim, input.ndim)
    filled = _combine_input_and_mask("norm", _Laid("norm", input, mask).input, mask, ord)
    return torch.linalg.vector_norm(filled, ord, dims, bool(keepdim), dtype=dtype or input.dtype)


def _spread(
    input: Any, dim: Any, unbiased: Any, correction: Any, keepdim: bool, dtype: Any, mask: Any,
    take_root: bool,
) -> Any:  # fmt: skip
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    correction = float(correction)
    if dtype is None:
        dtype = input.dtype if _is_inexact(input.dtype) else torch.float32
    _Laid("std" if take_root else "var", input, mask)
    dims = _canonical_dim(dim, input.ndim)
    allowed = (
        torch.ones(input.shape, dtype=torch.bool) if mask is None else _input_mask(input, mask=mask)
    )
    count = torch.sum(allowed, dims, True)
    center = sum(input, dims, keepdim=True, dtype=dtype, mask=allowed) / count
    apart = input - center
    within = dtype if _is_inexact(dtype) else torch.float32
    total = sum(apart * apart.conj(), dims, keepdim=keepdim, dtype=within, mask=allowed)
    if not keepdim:
        count = count.reshape(total.shape)
    # With fewer elements than the correction there is nothing to divide by: 0 / 0.
    freedom = torch.clamp(count.to(total.real.dtype) - correction, min=0) if correction else count
    spread = (total / freedom).to(dtype)
    return torch.sqrt(spread) if take_root else spread


def _is_inexact(dtype: Any) -> bool:
    return bool(dtype.is_floating_point or dtype.is_complex)


def var(
    input: Any, dim: Any = None, unbiased: Any = None, *, correction: Any = None,
    keepdim: bool = False, dtype: Any = None, mask: Any = None,
) -> Any:  # fmt: skip
    """The variance of the unmasked elements."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask, take_root=False)


def std(
    input: Any, dim: Any = None, unbiased: Any = None, *, correction: Any = None,
    keepdim: bool = False, dtype: Any = None, mask: Any = None,
) -> Any:  # fmt: skip
    """The standard deviation of the unmasked elements."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask, take_root=True)


# --- results of the input's shape ------------------------------------------------------------------


def cumsum(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Cumulative sums of the unmasked elements along a dimension."""
    filled = _combine_input_and_mask("cumsum", _Laid("cumsum", input, mask).input, mask)
    dtype = dtype or input.dtype
    return torch.cumsum(filled, _canonical_dim(dim, input.ndim)[0], dtype=dtype).to(dtype)


def cumprod(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Cumulative products of the unmasked elements along a dimension."""
    filled = _combine_input_and_mask("cumprod", _Laid("cumprod", input, mask).input, mask)
    dtype = dtype or input.dtype
    return torch.cumprod(filled, _canonical_dim(dim, input.ndim)[0], dtype=dtype).to(dtype)


def softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Softmax of the unmasked elements, 0 elsewhere."""
    filled = _combine_input_and_mask("amax", _Laid("softmax", input, mask).input, mask)
    return torch.nn.functional.softmax(filled, _canonical_dim(dim, input.ndim)[0], dtype=dtype)


def log_softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The logarithm of the softmax of the unmasked elements."""
    filled = _combine_input_and_mask("amax", _Laid("log_softmax", input, mask).input, mask)
    return torch.nn.functional.log_softmax(filled, _canonical_dim(dim, input.ndim)[0], dtype=dtype)


def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Softmin of the unmasked elements, 0 elsewhere."""
    filled = _combine_input_and_mask("amin", _Laid("softmin", input, mask).input, mask)
    return torch.nn.functional.softmin(filled, _canonical_dim(dim, input.ndim)[0], dtype=dtype)


def normalize(
    input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None
) -> Any:
    """The unmasked elements divided by their norm, 0 elsewhere."""
    filled = _combine_input_and_mask("sum", _Laid("normalize", input, mask).input, mask)
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return filled / torch.maximum(length, torch.full_like(length, eps))
