"""Where tautograd departs from PyTorch on purpose: as data, each entry with its reason.

There is no list of what to skip. An entry says what PyTorch does and why that is not followed, and
names a record that shows it; `test_departures` checks that PyTorch still does it and tautograd does
not, so an entry that no longer holds is a failure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .arrays import COMPLEX, DIFFERENTIABLE

HALF = ("float16", "bfloat16")


class Extension(NamedTuple):
    """PyTorch raises this error, in these dtypes; tautograd computes."""

    error: str
    dtypes: tuple[str, ...]
    shown_by: str  # a record
    reason: str
    form: str = ""  # "_" where only the in-place form raises
    stage: str = ""  # "backward" where the same error in the forward is to be raised
    mixed: tuple[str, ...] = ()  # the dtypes of the operands, where only two of them together raise


EXTENSIONS = (
    Extension(
        r'"i1e?_backward" not implemented', HALF, "special_i1",
        "PyTorch computes i1 in half precision but not its gradient; tautograd does both",
    ),
    Extension(
        r"derivative for 'inplace version of \w+' is not implemented", DIFFERENTIABLE, "acosh",
        "PyTorch differentiates the function but not its in-place twin; tautograd does both",
        form="_",
    ),
    Extension(
        r"not implemented for 'ComplexHalf'", HALF, "pow_scalar",
        "NumPy has no complex numbers of two halves; tautograd computes in complex64",
    ),
    Extension(
        r"derivative for aten::\w+_backward is not implemented", DIFFERENTIABLE, "hardsigmoid",
        "PyTorch has no rule for the second derivative; tautograd differentiates its rules",
    ),
    Extension(
        r"Expected isFloatingType\(grad.scalar_type\(\)\) \|\| \(input_is_complex", DIFFERENTIABLE,
        "logaddexp",
        "PyTorch's rules give a real operand that meets a complex one a complex gradient",
        mixed=("float32", "complex64"),
    ),
    Extension(
        r"Subtraction, the `-` operator, with a bool tensor is not supported", DIFFERENTIABLE,
        "logaddexp2",
        "PyTorch's rules subtract operands as they are, and booleans cannot be subtracted",
        mixed=("float32", "bool"),
    ),
    Extension(
        r"output with shape \[.*\] doesn't match the broadcast shape", DIFFERENTIABLE,
        "clamp_tensor", stage="backward",
        reason="PyTorch's rule for clamp forgets that bounds may broadcast its input",
    ),
    Extension(
        r"_scatter does not support automatic differentiation for outputs with complex", COMPLEX,
        "slice_scatter",
        "PyTorch differentiates copies with a part replaced in real dtypes only; tautograd in all",
    ),
    Extension(
        r"derivative for '_[cp]dist_backward' is not implemented", DIFFERENTIABLE, "cdist",
        "PyTorch differentiates distances between rows once; tautograd as often as asked",
    ),
    Extension(
        r"_trilinear does not support automatic differentiation for outputs with complex", COMPLEX,
        "trilinear", "PyTorch differentiates bilinear forms in real dtypes only; tautograd in all",
    ),
    Extension(
        r"!self.requires_grad\(\) \|\| self.is_contiguous\(\) INTERNAL ASSERT", DIFFERENTIABLE,
        "as_strided_scatter",
        "PyTorch's as_strided_scatter fails an assertion of its own on a transposed input",
    ),
    Extension(
        r"view size is not compatible with input tensor's size and stride", DIFFERENTIABLE,
        "max_unpool2d", stage="backward",
        reason="PyTorch's rule for max_unpool takes no indices that are laid out otherwise",
    ),
    Extension(
        r"grad_input must be contiguous", DIFFERENTIABLE, "nll_loss2d", stage="backward",
        reason="PyTorch's gradient of a likelihood fails on an input laid out otherwise",
    ),
    Extension(
        r"tensor does not have a device|shape '\[0\]' is invalid for input", DIFFERENTIABLE,
        "group_norm", stage="backward",
        reason="PyTorch's gradient of group_norm needs a weight where a bias is given",
    ),
    Extension(
        r"derivative for '(_embedding_bag|_ctc_loss|multi\w+_margin_loss)_backward' is not",
        DIFFERENTIABLE, "embedding_bag",
        "PyTorch differentiates these once; tautograd as often as asked",
    ),
    Extension(
        r"cannot reshape tensor of 0 elements into shape", DIFFERENTIABLE, "embedding",
        "PyTorch's second derivative of embedding takes no empty index", stage="second backward",
    ),
    Extension(
        r"Function Pixel(Uns|S)huffleBackward0 returned an invalid gradient", DIFFERENTIABLE,
        "pixel_shuffle", stage="backward",
        reason="PyTorch's gradient of pixels exchanged has the wrong shape where there are none",
    ),
    Extension(
        r"Number of groups to divide channels in must be positive. Value of groups:0",
        DIFFERENTIABLE, "channel_shuffle", stage="backward",
        reason="PyTorch's gradient of no channels divides them into no groups",
    ),
    Extension(
        r'"upsample_\w+2d_aa_backward_cpu" not implemented', HALF, "upsample_bicubic2d_aa",
        stage="backward",
        reason="PyTorch copies an image that keeps its size in any dtype, and has no way back",
    ),
    Extension(
        r"Expected a proper Tensor but got None", DIFFERENTIABLE, "layer_norm",
        stage="second backward",
        reason="PyTorch's second derivative of layer_norm needs a weight where a bias is given",
    ),
)  # fmt: skip


def extends(error: BaseException, dtypes: set[Any], stage: str) -> bool:
    """Whether PyTorch's error, for operands of these dtypes, is one tautograd need not raise."""
    return any(
        dtypes & {*e.dtypes} and stage.endswith(e.stage) and re.search(e.error, str(error))
        for e in EXTENSIONS
    )


class Wrong(NamedTuple):
    """PyTorch's derivatives contradict finite differences of its own forward, in these samples."""

    items: tuple[str, ...]  # which items of a comparison, by the beginning of their names
    reason: str
    where: Callable[[Any, str], bool] = lambda sample, dtype: True  # of a sample and the dtype

    def concerns(self, key: str, sample: Any, dtype: str) -> bool:
        return key.startswith(self.items) and self.where(sample, dtype)


def _integer_exponent(sample: Any, dtype: str) -> bool:
    return "int" in (sample.args[1].dtype or dtype)


def _more_digits_than_float32(sample: Any, dtype: str) -> bool:
    alpha = sample.kwargs.get("alpha", 1.0)
    return dtype == "float64" and float(np.float32(alpha)) != alpha


def _resized(sample: Any) -> list[tuple[int, int, float]]:
    """Size, new size and scale factor of each dimension, where the factor is what counts."""
    factor = sample.kwargs.get("scale_factor")
    if factor is None or sample.kwargs.get("recompute_scale_factor"):
        return []
    sizes = sample.args[0].shape[2:]
    factors = factor if isinstance(factor, tuple) else (factor,) * len(sizes)
    return [(n, math.floor(n * f), f) for n, f in zip(sizes, factors, strict=True)]


def _nearest_by_size(sample: Any, dtype: str) -> bool:
    return any(
        count in (n, 2 * n) and any(math.floor(i / f) != i * n // count for i in range(count))
        for n, count, f in _resized(sample)
    )


def _same_size(some: Callable[..., bool]) -> Callable[[Any, str], bool]:
    """Whether some, or all, dimensions keep their size although they are to be scaled."""

    def where(sample: Any, dtype: str) -> bool:
        sizes = _resized(sample)
        if not sizes or sample.kwargs.get("align_corners"):
            return False
        return some(n == count for n, count, _ in sizes) and any(
            n == count and f != 1 for n, count, f in sizes
        )

    return where


_BY_SIZE = Wrong(
    ("grad0", "second"),
    "the gradient of nearest elements goes by the sizes, the function by the scale factor",
    _nearest_by_size,
)
_BY_SCALE = Wrong(
    ("grad0", "second"),
    "a dimension that keeps its size is copied, but its gradient is that of a scaled one",
    _same_size(any),
)

WRONG_IN_PYTORCH: dict[str, Wrong] = {
    "upsample_nearest1d": _BY_SIZE,
    "upsample_nearest3d": _BY_SIZE,
    "upsample_bicubic2d": Wrong(
        ("grad0", "second"),
        "the gradient of an image that keeps its size is copied, though the image was not",
        _same_size(all),
    ),
    "upsample_bilinear2d_aa": _BY_SCALE,
    "upsample_bicubic2d_aa": _BY_SCALE,
    "upsample_lanczos2d_aa": _BY_SCALE,
    "ctc_loss": Wrong(
        ("grad0", "second"),
        "the gradient takes log_probs to be what log_softmax gave, and adds their exponentials",
    ),
    "weight_norm": Wrong(
        ("second",), "the second derivative takes the norm of the weight to be a constant"
    ),
    "ldexp": Wrong(
        ("grad0", "second"),
        "the power of 2 beside an integer exponent is computed in integers, so 2**-1 is 0",
        _integer_exponent,
    ),
    "celu": Wrong(
        ("grad0", "second"),
        "the gradient, not the function, rounds alpha to single precision",
        _more_digits_than_float32,
    ),
    "as_strided_scatter": Wrong(
        ("grad0", "second"),
        "the gradient of the input is kept where it was replaced and zeroed elsewhere: inside out",
    ),
    "cholesky_inverse": Wrong(
        ("grad0", "second"), "the triangle of the factor that is not read gets a gradient"
    ),
    "cholesky_solve": Wrong(
        ("grad1", "second"), "the triangle of the factor that is not read gets a gradient"
    ),
}

# Where PyTorch's results are NaN for no reason: the record, in which dtypes, and why.
NOISE_IN_PYTORCH: dict[str, tuple[tuple[str, ...], str]] = {
    "linalg_matrix_exp": (HALF, "PyTorch's series for half precision gives NaN for small matrices"),
}

# Where PyTorch's result, if it has no elements, has another shape than PyTorch itself says on a
# device without data.
MISSHAPEN_IN_PYTORCH: dict[str, str] = {
    "pixel_unshuffle": "what has no elements is shuffled the other way, and then left as it was",
}

# Integers for which PyTorch does not raise but ends the process (a division that overflows). The
# extremes of these records leave out the smallest integer.
FATAL_IN_PYTORCH: dict[str, str] = {
    "lcm": "torch.lcm(smallest, torch.full_like(smallest, 7))",
    "div_rounded": "torch.div(smallest, torch.full_like(smallest, -1), rounding_mode='trunc')",
}

# A dtype that NumPy lacks, and what stands for it.
STANDS_FOR = {"complex32": "complex64"}


class NodeVaries(NamedTuple):
    """PyTorch's node, in these dtypes, has this name on a CPU whose oneDNN has the dtype."""

    dtypes: tuple[str, ...]
    with_onednn: str
    without: str


NODES_VARY: dict[str, NodeVaries] = {
    "lstm_layer": NodeVaries(("bfloat16",), "MkldnnRnnLayerBackward0", "StackBackward0"),
}


class Varying(NamedTuple):
    """PyTorch's strides, of results with this many dimensions, depend on the kernel it chooses."""

    ndim: int
    reason: str


_VOLUMES = Varying(
    5,
    "channels of a volume stay last in oneDNN's kernel only, which PyTorch chooses by the dtype, the "
    "sizes, the number of threads and the processor; here they stay last wherever they were",
)
STRIDES_VARY: dict[str, Varying] = {
    "convolution": _VOLUMES,
    "transposed_convolution": _VOLUMES,
}


class OtherWords(NamedTuple):
    """Both engines refuse the same call, for different reasons: parts of what each says."""

    theirs: str
    ours: str
    records: tuple[str, ...]
    reason: str


OTHER_WORDS = (
    OtherWords(
        "does not support automatic differentiation for outputs with complex dtype",
        "not implemented for 'Complex",
        ("adaptive_avg_pool2d", "amax", "amin", "cummax", "cummin", "grid_sampler_2d", "kthvalue", "mode"),
        "PyTorch asks for the gradient before it looks for a kernel; there is neither",
    ),
    OtherWords(
        "value cannot be converted to type", "not implemented for 'Byte'",
        ("histc", "histogram", "histogramdd"),
        "PyTorch converts the range before it looks for a kernel; there is none for integers",
    ),
    OtherWords(
        "", "expected scalar type Float but found", ("scaled_dot_product_attention",),
        "which of its parts refuses integers first depends on how PyTorch computes attention",
    ),
    OtherWords(
        "could not infer output dtype", "not implemented for", ("batch_norm",),
        "PyTorch takes a mean of the integers first, which has no kernel either",
    ),
    OtherWords(
        "This function doesn't handle types other than float and double",
        "expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble types",
        ("linalg_pinv",),
        "PyTorch asks for the epsilon of the dtype first",
    ),
    OtherWords(
        "Negation, the `-` operator, on a bool tensor is not supported",
        "result type Float can't be cast to the desired output type Bool", ("soft_margin_loss",),
        "PyTorch negates first, then divides: neither is there for bool",
    ),
)  # fmt: skip


def says_otherwise(record: str, theirs: BaseException, ours: BaseException) -> bool:
    """Whether this is one of those pairs of refusals."""
    return any(
        record in words.records and words.theirs in str(theirs) and words.ours in str(ours)
        for words in OTHER_WORDS
    )
