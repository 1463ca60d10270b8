"""The functions of neural networks, for type checkers.

Written by tools/make_stubs.py from what the package offers: not to be edited.
"""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import type as _type
from collections.abc import Callable, Iterator, Sequence
from types import EllipsisType
from typing import Any, Literal, overload

import numpy as np

from .. import return_types
from .._arrays.devices import device as _device
from .._arrays.dtypes import dtype as _dtype
from .._arrays.formats import layout as _layout
from .._arrays.formats import memory_format as _memory_format
from .._autograd.hooks import RemovableHandle
from .._tensor.random_state import Generator
from .._tensor.storages import TypedStorage, UntypedStorage
from .._tensor.tensor import Size, Tensor
from .._types import DeviceLike, Dims, Ints, Number, TensorOrNumber, Tensors

def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int | None] | None) -> Tensor:
    """Means of `output_size` windows along the last dimension."""

def adaptive_avg_pool2d(input: Tensor, output_size: _int | Sequence[_int | None] | None) -> Tensor:
    """Means of as many windows of an image as asked for."""

def adaptive_avg_pool3d(input: Tensor, output_size: _int | Sequence[_int | None] | None) -> Tensor:
    """Means of as many windows of a volume as asked for."""

def adaptive_max_pool1d(input: Tensor, output_size: _int | None | Sequence[_int | None], return_indices: _bool=False) -> Tensor:
    """The largest element of as many windows as asked for."""

def adaptive_max_pool1d_with_indices(input: Tensor, output_size: _int | None | Sequence[_int | None], return_indices: _bool=False) -> Tensor:
    """`adaptive_max_pool1d` and the flat position of every maximum."""

def adaptive_max_pool2d(input: Tensor, output_size: _int | None | Sequence[_int | None], return_indices: _bool=False) -> Tensor:
    """The largest element of as many windows as asked for."""

def adaptive_max_pool2d_with_indices(input: Tensor, output_size: _int | None | Sequence[_int | None], return_indices: _bool=False) -> Tensor:
    """`adaptive_max_pool2d` and the flat position of every maximum."""

def adaptive_max_pool3d(input: Tensor, output_size: _int | None | Sequence[_int | None], return_indices: _bool=False) -> Tensor:
    """The largest element of as many windows as asked for."""

def adaptive_max_pool3d_with_indices(input: Tensor, output_size: _int | None | Sequence[_int | None], return_indices: _bool=False) -> Tensor:
    """`adaptive_max_pool3d` and the flat position of every maximum."""

def affine_grid(theta: Tensor, size: Ints, align_corners: _bool | None=None) -> Tensor:
    """Grids of points for `grid_sample`, moved by a batch of affine matrices."""

def alpha_dropout(input: Tensor, p: _float=0.5, training: _bool=False, inplace: _bool=False) -> Tensor:
    """Dropout that keeps the mean and variance of what went through SELU."""

def avg_pool1d(input: Tensor, kernel_size: Dims, stride: Dims=(), padding: Dims=0, ceil_mode: _bool=False, count_include_pad: _bool=True) -> Tensor:
    """The mean of every window along the last dimension."""

def avg_pool2d(input: Tensor, kernel_size: Dims, stride: Dims | None=None, padding: Dims=0, ceil_mode: _bool=False, count_include_pad: _bool=True, divisor_override: _int | None=None, *, out: Tensor | None=None) -> Tensor:
    """The mean of every window of an image."""

def avg_pool3d(input: Tensor, kernel_size: Dims, stride: Dims | None=None, padding: Dims=0, ceil_mode: _bool=False, count_include_pad: _bool=True, divisor_override: _int | None=None, *, out: Tensor | None=None) -> Tensor:
    """The mean of every window of a volume."""

def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None=None, bias: Tensor | None=None, training: _bool=False, momentum: _float=0.1, eps: _float=1e-05) -> Tensor:
    """Each channel minus its mean, over its deviation: of the batch, or the running ones."""

def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None=None) -> Tensor:
    """`input1 @ weight[o] @ input2` for each output `o`, over the last dimensions, plus a bias."""

def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None=None, size_average: _bool | None=None, reduce: _bool | None=None, reduction: str='mean') -> Tensor:
    """-(y log x + (1 - y) log(1 - x)) of probabilities."""

def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None=None, size_average: _bool | None=None, reduce: _bool | None=None, reduction: str='mean', pos_weight: Tensor | None=None) -> Tensor:
    """Binary cross entropy of `sigmoid(input)`, without its rounding."""

def celu(input: Tensor, alpha: Number=1.0, inplace: _bool=False) -> Tensor:
    """x, or `alpha * (exp(x / alpha) - 1)` below 0."""

def celu_(input: Tensor, alpha: Number=1.0) -> Tensor:
    """x, or `alpha * (exp(x / alpha) - 1)` below 0."""

def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Channels of every group dealt out over the groups."""

def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None=None, stride: Dims=1, padding: Dims | str=0, dilation: Dims=1, groups: _int=1) -> Tensor:
    """A convolution over `(batch, channels, length)`."""

def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None=None, stride: Dims=1, padding: Dims | str=0, dilation: Dims=1, groups: _int=1) -> Tensor:
    """A convolution over `(batch, channels, height, width)`."""

def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None=None, stride: Dims=1, padding: Dims | str=0, dilation: Dims=1, groups: _int=1) -> Tensor:
    """A convolution over `(batch, channels, depth, height, width)`."""

def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int=0) -> Tensor:
    """A convolution over time: `(time, batch, channels)`, weights `(kernel, channels, channels out)`."""

def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None=None, stride: Dims=1, padding: Dims=0, output_padding: Dims=0, groups: _int=1, dilation: Dims=1) -> Tensor:
    """The adjoint of `conv1d` in its input, with a bias."""

def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None=None, stride: Dims=1, padding: Dims=0, output_padding: Dims=0, groups: _int=1, dilation: Dims=1) -> Tensor:
    """The adjoint of `conv2d` in its input, with a bias."""

def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None=None, stride: Dims=1, padding: Dims=0, output_padding: Dims=0, groups: _int=1, dilation: Dims=1) -> Tensor:
    """The adjoint of `conv3d` in its input, with a bias."""

def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float=0, size_average: _bool | None=None, reduce: _bool | None=None, reduction: str='mean') -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""

def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int=1, eps: _float=1e-08) -> Tensor:
    """The cosine of the angle between `x1` and `x2` along `dim`, with norms of at least `eps`."""

def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None=None, size_average: _bool | None=None, ignore_index: _int=-100, reduce: _bool | None=None, reduction: str='mean', label_smoothing: _float=0.0) -> Tensor:
    """Minus the log-likelihood of the targets (classes or probabilities) under softmax."""

def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: _int=0, reduction: str='mean', zero_infinity: _bool=False) -> Tensor:
    """Minus the log-likelihood of label sequences, over all their alignments with the input."""

def dropout(input: Tensor, p: _float=0.5, training: _bool=True, inplace: _bool=False) -> Tensor:
    """Zero each element with probability `p`, and scale the others by 1 / (1 - p)."""

def dropout1d(input: Tensor, p: _float=0.5, training: _bool=True, inplace: _bool=False) -> Tensor:
    """Zero each channel of (N, C, L) or (C, L) with probability `p`."""

def dropout2d(input: Tensor, p: _float=0.5, training: _bool=True, inplace: _bool=False) -> Tensor:
    """Zero each channel of (N, C, H, W) with probability `p`."""

def dropout3d(input: Tensor, p: _float=0.5, training: _bool=True, inplace: _bool=False) -> Tensor:
    """Zero each channel of (N, C, D, H, W) or (C, D, H, W) with probability `p`."""

def elu(input: Tensor, alpha: Number=1.0, inplace: _bool=False) -> Tensor:
    """x, or `alpha * (exp(x) - 1)` below 0."""

def elu_(input: Tensor, alpha: Number=1.0) -> Tensor:
    """x, or `alpha * (exp(x) - 1)` below 0."""

def embedding(input: Tensor, weight: Tensor, padding_idx: _int | None=None, max_norm: _float | None=None, norm_type: _float=2.0, scale_grad_by_freq: _bool=False, sparse: _bool=False) -> Tensor:
    """The rows of `weight` that `input` names."""

def embedding_bag(input: Tensor, weight: Tensor, offsets: Any=None, max_norm: _float | None=None, norm_type: _float=2, scale_grad_by_freq: _bool=False, mode: str='mean', sparse: _bool=False, per_sample_weights: Any=None, include_last_offset: _bool=False, padding_idx: _int | None=None) -> Tensor:
    """The sum, mean or maximum of rows of `weight`, for each bag of `input`."""

def feature_alpha_dropout(input: Tensor, p: _float=0.5, training: _bool=False, inplace: _bool=False) -> Tensor:
    """`alpha_dropout` of whole channels."""

def fold(input: Tensor, output_size: _int | Sequence[_int | None] | None, kernel_size: Dims, dilation: Dims=1, padding: Dims=0, stride: Dims=1) -> Tensor:
    """Images from the columns of their sliding windows; what overlaps is added."""

def fractional_max_pool2d(input: Tensor, kernel_size: Dims, output_size: _int | None | Sequence[_int | None]=None, output_ratio: _float | Sequence[_float] | None=None, return_indices: _bool=False, _random_samples: Tensor | None=None) -> Tensor:
    """The largest element of windows that begin at random places."""

def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: Dims, output_size: _int | None | Sequence[_int | None]=None, output_ratio: _float | Sequence[_float] | None=None, return_indices: _bool=False, _random_samples: Tensor | None=None) -> Tensor:
    """`fractional_max_pool2d` and the flat position of every maximum."""

def fractional_max_pool3d(input: Tensor, kernel_size: Dims, output_size: _int | None | Sequence[_int | None]=None, output_ratio: _float | Sequence[_float] | None=None, return_indices: _bool=False, _random_samples: Tensor | None=None) -> Tensor:
    """The largest element of windows that begin at random places."""

def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: Dims, output_size: _int | None | Sequence[_int | None]=None, output_ratio: _float | Sequence[_float] | None=None, return_indices: _bool=False, _random_samples: Tensor | None=None) -> Tensor:
    """`fractional_max_pool3d` and the flat position of every maximum."""

def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: _bool=False, eps: _float=1e-06, reduction: str='mean') -> Tensor:
    """Minus the log-likelihood of targets, normal around `input` with variance `var`."""

def gelu(input: Tensor, *, approximate: str='none', out: Tensor | None=None) -> Tensor:
    """x times the normal distribution function of x, or its approximation by "tanh"."""

def glu(input: Tensor, dim: _int=-1) -> Tensor:
    """The first half times the sigmoid of the second, along a dimension."""

def grid_sample(input: Tensor, grid: Tensor, mode: str='bilinear', padding_mode: str='zeros', align_corners: _bool | None=None) -> Tensor:
    """The images at the points of a grid, whose coordinates run from -1 to 1."""

def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None=None, bias: Tensor | None=None, eps: _float=1e-05, cudnn_enabled: _bool=True) -> Tensor:
    """Each group of channels of each example minus its mean, over its deviation."""

def grouped_mm(mat_a: Any, mat_b: Any, *, offs: Any=None, bias: Tensor | None=None, out_dtype: _dtype | None=None) -> Tensor:
    """Products by groups: of rows of `mat_a`, of columns of `mat_b`, or of what both are summed over."""

def gumbel_softmax(logits: Tensor, tau: _float=1, hard: _bool=False, eps: _float=1e-10, dim: _int=-1) -> Tensor:
    """A random choice that can be differentiated: softmax of logits with Gumbel noise added."""

def hardshrink(input: Tensor, lambd: Number=0.5, *, out: Tensor | None=None) -> Tensor:
    """x, or 0 within `lambd` of 0."""

def hardsigmoid(input: Tensor, inplace: _bool=False) -> Tensor:
    """A straight line from 0 to 1 between -3 and 3."""

def hardswish(input: Tensor, inplace: _bool=False) -> Tensor:
    """x times `hardsigmoid(x)`."""

def hardtanh(input: Tensor, min_val: _float=-1.0, max_val: _float=1.0, inplace: _bool=False) -> Tensor:
    """x, or the bound it lies beyond."""

def hardtanh_(input: Tensor, min_val: _float=-1.0, max_val: _float=1.0) -> Tensor:
    """In-place version of `hardtanh`."""

def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float=1.0, size_average: _bool | None=None, reduce: _bool | None=None, reduction: str='mean') -> Tensor:
    """The distance itself where the target is 1, max(0, margin - distance) where it is -1."""

def huber_loss(input: Tensor, target: Tensor, reduction: str='mean', delta: _float=1.0, weight: Tensor | None=None) -> Tensor:
    """Half of squared differences below `delta`, absolute ones times `delta` above it."""

def instance_norm(input: Tensor, running_mean: Tensor | None=None, running_var: Tensor | None=None, weight: Tensor | None=None, bias: Tensor | None=None, use_input_stats: _bool=True, momentum: _float=0.1, eps: _float=1e-05) -> Tensor:
    """Each channel of each example minus its mean, over its deviation."""

def interpolate(input: Tensor, size: Dims | None=None, scale_factor: _float | Sequence[_float] | None=None, mode: str='nearest', align_corners: _bool | None=None, recompute_scale_factor: _bool | None=None, antialias: _bool=False) -> Tensor:
    """The images of a batch in another size."""

def kl_div(input: Tensor, target: Tensor, size_average: Any=None, reduce: str | None=None, reduction: str='mean', log_target: _bool=False) -> Tensor:
    """The Kullback-Leibler divergence of log-probabilities from a target."""

def l1_loss(input: Tensor, target: Tensor, size_average: Any=None, reduce: str | None=None, reduction: str='mean', weight: Tensor | None=None) -> Tensor:
    """The mean (or sum) of absolute differences."""

def layer_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None=None, bias: Tensor | None=None, eps: _float=1e-05, cudnn_enable: _bool=True) -> Tensor:
    """Each example minus its mean over the last dimensions, over its deviation."""

def leaky_relu(input: Tensor, negative_slope: Number=0.01, inplace: _bool=False) -> Tensor:
    """x, or a small multiple of it below 0."""

def leaky_relu_(input: Tensor, negative_slope: Number=0.01) -> Tensor:
    """x, or a small multiple of it below 0."""

def linear(input: Tensor, weight: Tensor, bias: Tensor | None=None, *, out: Tensor | None=None) -> Tensor:
    """`input @ weight.T + bias`, over the last dimension of the input."""

def linear_cross_entropy(input: Tensor, linear_weight: Any, target: Tensor, *, linear_bias: Any=None, weight: Tensor | None=None, reduction: str='mean', ignore_index: _int | None=None, label_smoothing: _float=0.0, options: Any=None) -> Tensor:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`."""

def local_response_norm(input: Tensor, size: _int, alpha: _float=0.0001, beta: _float=0.75, k: _float=1.0) -> Tensor:
    """x / (k + alpha * mean of squares of `size` neighbouring channels) ** beta."""

def log_softmax(input: Tensor, dim: _int | None=None, _stacklevel: _int=3, dtype: _dtype | None=None) -> Tensor:
    """The logarithm of `softmax`, without its rounding."""

def logsigmoid(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`log(sigmoid(x))` without underflow."""

def lp_pool1d(input: Tensor, norm_type: _float, kernel_size: Dims, stride: Dims | None=None, ceil_mode: _bool=False) -> Tensor:
    """The norm of every window along the last dimension."""

def lp_pool2d(input: Tensor, norm_type: _float, kernel_size: Dims, stride: Dims | None=None, ceil_mode: _bool=False) -> Tensor:
    """The norm of every window of an image."""

def lp_pool3d(input: Tensor, norm_type: _float, kernel_size: Dims, stride: Dims | None=None, ceil_mode: _bool=False) -> Tensor:
    """The norm of every window of a volume."""

def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float=0, size_average: _bool | None=None, reduce: _bool | None=None, reduction: str='mean') -> Tensor:
    """max(0, -y (x1 - x2) + margin)."""

def max_pool1d(input: Tensor, kernel_size: Dims, stride: Dims | None=None, padding: Dims=0, dilation: Dims=1, ceil_mode: _bool=False, return_indices: _bool=False) -> Tensor:
    """The largest element of every window along the last dimension."""

def max_pool1d_with_indices(input: Tensor, kernel_size: Dims, stride: Dims | None=None, padding: Dims=0, dilation: Dims=1, ceil_mode: _bool=False, return_indices: _bool=False) -> Tensor:
    """`max_pool1d` and the flat position of every maximum."""

def max_pool2d(input: Tensor, kernel_size: Dims, stride: Dims | None=None, padding: Dims=0, dilation: Dims=1, ceil_mode: _bool=False, return_indices: _bool=False) -> Tensor:
    """The largest element of every window of an image."""

def max_pool2d_with_indices(input: Tensor, kernel_size: Dims, stride: Dims | None=None, padding: Dims=0, dilation: Dims=1, ceil_mode: _bool=False, return_indices: _bool=False) -> Tensor:
    """`max_pool2d` and the flat position of every maximum."""

def max_pool3d(input: Tensor, kernel_size: Dims, stride: Dims | None=None, padding: Dims=0, dilation: Dims=1, ceil_mode: _bool=False, return_indices: _bool=False) -> Tensor:
    """The largest element of every window of a volume."""

def max_pool3d_with_indices(input: Tensor, kernel_size: Dims, stride: Dims | None=None, padding: Dims=0, dilation: Dims=1, ceil_mode: _bool=False, return_indices: _bool=False) -> Tensor:
    """`max_pool3d` and the flat position of every maximum."""

def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: Dims, stride: Dims | None=None, padding: Dims=0, output_size: Ints | None=None) -> Tensor:
    """A line of zeros with maxima put back where `max_pool1d` found them."""

def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: Dims, stride: Dims | None=None, padding: Dims=0, output_size: Ints | None=None) -> Tensor:
    """An image of zeros with maxima put back where `max_pool2d` found them."""

def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: Dims, stride: Dims | None=None, padding: Dims=0, output_size: Ints | None=None) -> Tensor:
    """A volume of zeros with maxima put back where `max_pool3d` found them."""

def mish(input: Tensor, inplace: _bool=False) -> Tensor:
    """`x * tanh(softplus(x))`."""

def mse_loss(input: Tensor, target: Tensor, size_average: Any=None, reduce: str | None=None, reduction: str='mean', weight: Tensor | None=None) -> Tensor:
    """The mean (or sum) of squared differences."""

def multi_head_attention_forward(query: Any, key: Any, value: TensorOrNumber, embed_dim_to_check: _int, num_heads: _int, in_proj_weight: Any, in_proj_bias: Any, bias_k: Any, bias_v: Any, add_zero_attn: _bool, dropout_p: _float, out_proj_weight: Any, out_proj_bias: Any, training: _bool=True, key_padding_mask: Any=None, need_weights: _bool=True, attn_mask: Any=None, use_separate_proj_weight: _bool=False, q_proj_weight: Any=None, k_proj_weight: Any=None, v_proj_weight: Any=None, static_k: Any=None, static_v: Any=None, average_attn_weights: _bool=True, is_causal: _bool=False) -> tuple[Tensor, Tensor | None]:
    """Attention of `num_heads` heads, and its weights if they are needed."""

def multi_margin_loss(input: Tensor, target: Tensor, p: _int=1, margin: _float=1.0, weight: Tensor | None=None, size_average: _bool | None=None, reduce: _bool | None=None, reduction: str='mean') -> Tensor:
    """The mean over classes of max(0, margin - x[target] + x[class]) to the power of p."""

def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: _bool | None=None, reduce: _bool | None=None, reduction: str='mean') -> Tensor:
    """Margins of every class in a set (listed up to the first -1) over every class outside of it."""

def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None=None, size_average: _bool | None=None, reduce: _bool | None=None, reduction: str='mean') -> Tensor:
    """Binary cross entropy of logits, averaged over the classes (the last dimension)."""

def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None=None, size_average: _bool | None=None, ignore_index: _int=-100, reduce: _bool | None=None, reduction: str='mean') -> Tensor:
    """Minus the log-likelihood of each target's class, weighted by class."""

def normalize(input: Tensor, p: _float=2.0, dim: _int=1, eps: _float=1e-12, out: Tensor | None=None) -> Tensor:
    """`input` divided by its p-norm along a dimension, or by `eps` if that is larger."""

def one_hot(input: Tensor, num_classes: _int=-1) -> Tensor:
    """Integers as vectors of zeros with a one in their place."""

def pad(input: Tensor, pad: Ints, mode: str='constant', value: TensorOrNumber | None=None) -> Tensor:
    """The tensor made longer at both ends of its last dimensions, the last pair of `pad` first."""

def pairwise_distance(x1: Tensor, x2: Tensor, p: _float=2.0, eps: _float=1e-06, keepdim: _bool=False) -> Tensor:
    """The p-norm of each row of `x1 - x2 + eps`."""

def pdist(input: Tensor, p: _float=2) -> Tensor:
    """The p-norm of the difference of every two rows, those of the first row first."""

def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """Channels turned into pixels: the image grows by the factor in both directions."""

def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """Pixels turned into channels: the image shrinks by the factor in both directions."""

def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool=True, full: _bool=False, size_average: _bool | None=None, eps: _float=1e-08, reduce: _bool | None=None, reduction: str='mean') -> Tensor:
    """Minus the log-likelihood of counts, given (the logarithm of) their rate."""

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x, or `weight * x` below 0; the weight is one number, or one per channel (dimension 1)."""

def relu(input: Tensor, inplace: _bool=False) -> Tensor:
    """Each element, or 0 if it is negative."""

def relu6(input: Tensor, inplace: _bool=False) -> Tensor:
    """x between 0 and 6, or the bound it lies beyond."""

def relu_(input: Tensor) -> Tensor:
    """In-place version of `relu`."""

def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None=None, eps: _float | None=None) -> Tensor:
    """Each example over the root of its mean square, over the last dimensions."""

def rrelu(input: Tensor, lower: _float=0.125, upper: _float=0.3333333333333333, training: _bool=False, inplace: _bool=False) -> Tensor:
    """x, or a random multiple of it below 0 (outside training: the mean one)."""

def rrelu_(input: Tensor, lower: _float=0.125, upper: _float=0.3333333333333333, training: _bool=False, generator: Generator | None=None) -> Tensor:
    """In-place version of `rrelu`."""

def scaled_dot_product_attention(query: Any, key: Any, value: TensorOrNumber, attn_mask: Any=None, dropout_p: _float=0.0, is_causal: _bool=False, *, scale: _float | None=None, enable_gqa: _bool=False) -> Tensor:
    """`softmax(query @ key.T * scale + attn_mask) @ value`, by default with scale 1 / sqrt(width)."""

def selu(input: Tensor, inplace: _bool=False) -> Tensor:
    """`elu` with the scale that keeps mean and variance."""

def selu_(input: Tensor) -> Tensor:
    """`elu` with the scale that keeps mean and variance."""

def sigmoid(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`1 / (1 + exp(-x))`."""

def silu(input: Tensor, inplace: _bool=False) -> Tensor:
    """`x * sigmoid(x)`."""

def smooth_l1_loss(input: Tensor, target: Tensor, size_average: _bool | None=None, reduce: _bool | None=None, reduction: str='mean', beta: _float=1.0) -> Tensor:
    """Squared differences below `beta`, absolute ones above it."""

def soft_margin_loss(input: Tensor, target: Tensor, size_average: _bool | None=None, reduce: _bool | None=None, reduction: str='mean') -> Tensor:
    """log(1 + exp(-y x)), for targets of -1 and 1."""

def softmax(input: Tensor, dim: _int | None=None, _stacklevel: _int=3, dtype: _dtype | None=None) -> Tensor:
    """`exp(x) / sum(exp(x))` along a dimension."""

def softmin(input: Tensor, dim: _int | None=None, _stacklevel: _int=3, dtype: _dtype | None=None) -> Tensor:
    """`softmax` of the negated input."""

def softplus(input: Tensor, beta: Number=1.0, threshold: Number=20.0, *, out: Tensor | None=None) -> Tensor:
    """`log(1 + exp(beta * x)) / beta`, or x where that is as good."""

def softshrink(input: Tensor, lambd: _float=0.5, *, out: Tensor | None=None) -> Tensor:
    """x moved towards 0 by `lambd`, or 0 if it lies nearer."""

def softsign(input: Tensor) -> Tensor:
    """`x / (1 + |x|)`."""

def tanh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The hyperbolic tangent."""

def tanhshrink(input: Tensor) -> Tensor:
    """`x - tanh(x)`."""

def threshold(input: Tensor, threshold: Number, value: TensorOrNumber, inplace: _bool=False) -> Tensor:
    """x, or `value` up to the threshold."""

def threshold_(input: Tensor, threshold: Number, value: TensorOrNumber) -> Tensor:
    """x, or `value` up to the threshold."""

def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float=1.0, p: _float=2, eps: _float=1e-06, swap: _bool=False, size_average: _bool | None=None, reduce: _bool | None=None, reduction: str='mean') -> Tensor:
    """max(0, margin + distance to the positive - distance to the negative)."""

def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Any=None, margin: _float=1.0, swap: _bool=False, reduction: str='mean') -> Tensor:
    """`triplet_margin_loss` with a distance of your own."""

def unfold(input: Tensor, kernel_size: Dims, dilation: Dims=1, padding: Dims=0, stride: Dims=1) -> Tensor:
    """Every sliding window of an image as a column."""

def upsample(input: Tensor, size: Dims | None=None, scale_factor: _float | Sequence[_float] | None=None, mode: str='nearest', align_corners: _bool | None=None) -> Tensor:
    """The older name of `interpolate`."""

def upsample_bilinear(input: Tensor, size: Dims | None=None, scale_factor: _float | Sequence[_float] | None=None) -> Tensor:
    """`interpolate` bilinearly, with corners on corners."""

def upsample_nearest(input: Tensor, size: Dims | None=None, scale_factor: _float | Sequence[_float] | None=None) -> Tensor:
    """`interpolate` by nearest elements."""
