"""Everything in `tautograd`, for type checkers.

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

from ._arrays.devices import device as _device
from ._arrays.dtypes import dtype as _dtype
from ._arrays.formats import layout as _layout
from ._arrays.formats import memory_format as _memory_format
from ._autograd.hooks import RemovableHandle
from ._tensor.storages import TypedStorage, UntypedStorage
from ._types import DeviceLike, Dims, Ints, Number, TensorOrNumber, Tensors
from math import e as e, inf as inf, nan as nan, pi as pi
from ._arrays.devices import device as device
from ._arrays.dtypes import can_cast as can_cast
from ._arrays.dtypes import dtype as dtype
from ._arrays.dtypes import get_default_dtype as get_default_dtype
from ._arrays.dtypes import promote_types as promote_types
from ._arrays.dtypes import set_default_dtype as set_default_dtype
from ._arrays.formats import layout as layout
from ._arrays.formats import memory_format as memory_format
from ._arrays.limits import finfo as finfo
from ._arrays.limits import iinfo as iinfo
from ._autograd.grad_mode import enable_grad as enable_grad
from ._autograd.grad_mode import inference_mode as inference_mode
from ._autograd.grad_mode import is_grad_enabled as is_grad_enabled
from ._autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from ._autograd.grad_mode import no_grad as no_grad
from ._autograd.grad_mode import set_grad_enabled as set_grad_enabled
from ._tensor.printing import get_printoptions as get_printoptions
from ._tensor.printing import set_printoptions as set_printoptions
from ._tensor.random_state import Generator as Generator
from ._tensor.random_state import default_generator as default_generator
from ._tensor.storages import TypedStorage as TypedStorage
from ._tensor.storages import UntypedStorage as UntypedStorage
from ._tensor.tensor import Size as Size
from ._tensor.tensor import Tensor as Tensor
from ._version import __version__ as __version__
from . import _C as _C
from . import __config__ as __config__
from . import __future__ as __future__
from . import _custom_ops as _custom_ops
from . import _dynamo as _dynamo
from . import _subclasses as _subclasses
from . import _tensor_str as _tensor_str
from . import _utils as _utils
from . import _vmap_internals as _vmap_internals
from . import accelerator as accelerator
from . import amp as amp
from . import ao as ao
from . import autograd as autograd
from . import backends as backends
from . import compiler as compiler
from . import cpu as cpu
from . import cuda as cuda
from . import distributed as distributed
from . import distributions as distributions
from . import evidence as evidence
from . import fft as fft
from . import func as func
from . import functional as functional
from . import futures as futures
from . import fx as fx
from . import hub as hub
from . import jit as jit
from . import library as library
from . import linalg as linalg
from . import masked as masked
from . import multiprocessing as multiprocessing
from . import nn as nn
from . import onnx as onnx
from . import ops as ops
from . import optim as optim
from . import overrides as overrides
from . import profiler as profiler
from . import quantization as quantization
from . import quasirandom as quasirandom
from . import random as random
from . import return_types as return_types
from . import safetensors as safetensors
from . import serialization as serialization
from . import signal as signal
from . import sparse as sparse
from . import special as special
from . import storage as storage
from . import testing as testing
from . import torch_version as torch_version
from . import types as types
from . import utils as utils
from . import version as version
from ._ops.sparse.creation import sparse_compressed_tensor as sparse_compressed_tensor
from ._ops.sparse.creation import sparse_coo_tensor as sparse_coo_tensor
from ._ops.sparse.creation import sparse_csc_tensor as sparse_csc_tensor
from ._ops.sparse.creation import sparse_csr_tensor as sparse_csr_tensor
from ._autograd.detaching import detach as detach
from ._autograd.detaching import detach_ as detach_
from .futures import Future as Future
from ._ops.linalg.older_norms import frobenius_norm as frobenius_norm
from ._ops.sparse.products import hspmm as hspmm
from ._ops.sparse.products import smm as smm
from ._ops.sparse.products import sspaddmm as sspaddmm
from ._ops.sparse.older_names import dsmm as dsmm
from ._ops.sparse.older_names import hsmm as hsmm
from ._ops.sparse.older_names import saddmm as saddmm
from ._ops.sparse.older_names import spmm as spmm
from ._ops.spectral.short_time import istft as istft
from ._ops.nn.native_results import native_batch_norm as native_batch_norm
from ._ops.nn.native_results import native_dropout as native_dropout
from ._ops.nn.native_results import native_group_norm as native_group_norm
from ._ops.nn.native_results import native_layer_norm as native_layer_norm
from ._ops.spectral.short_time import stft as stft
from ._ops.spectral.windows import bartlett_window as bartlett_window
from ._ops.spectral.windows import blackman_window as blackman_window
from ._ops.spectral.windows import hamming_window as hamming_window
from ._ops.spectral.windows import hann_window as hann_window
from ._ops.spectral.windows import kaiser_window as kaiser_window
from ._ops.assertions import _assert as _assert
from ._ops.assertions import _assert_async as _assert_async
from ._files.file_reader import PyTorchFileReader as PyTorchFileReader
from ._symbolic import SymBool as SymBool
from ._symbolic import SymFloat as SymFloat
from ._symbolic import SymInt as SymInt
from .jit import ScriptModule as ScriptModule
from .jit import ScriptFunction as ScriptFunction
from .serialization import load as load
from .serialization import save as save
from .func import vmap as vmap
from ._compile.api import compile as compile
from ._verify.verify import verify as verify
from ._verify.subject.intent import intended as intended
from ._verify.behaviour.check_gradients import check_gradients as check_gradients
from ._doctor.doctor import doctor as doctor
from ._verify.behaviour.compare_devices import compare_devices as compare_devices
from ._view.view import view as view
from ._view.explain import explain as explain
from ._view.summary.summary import summary as summary
from .amp import autocast as autocast
from ._autograd.autocast_state import autocast_decrement_nesting as autocast_decrement_nesting
from ._autograd.autocast_state import autocast_increment_nesting as autocast_increment_nesting
from ._autograd.autocast_state import clear_autocast_cache as clear_autocast_cache
from ._autograd.autocast_state import get_autocast_dtype as get_autocast_dtype
from ._autograd.autocast_state import is_autocast_cache_enabled as is_autocast_cache_enabled
from ._autograd.autocast_state import is_autocast_enabled as is_autocast_enabled
from ._autograd.autocast_state import set_autocast_cache_enabled as set_autocast_cache_enabled
from ._autograd.autocast_state import set_autocast_dtype as set_autocast_dtype
from ._autograd.autocast_state import set_autocast_enabled as set_autocast_enabled
from .amp._older_names import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from .amp._older_names import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from .amp._older_names import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from .amp._older_names import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from .amp._older_names import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from .amp._older_names import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from ._tensor.random_gamma import _dirichlet_grad as _dirichlet_grad
from ._tensor.random_gamma import _sample_dirichlet as _sample_dirichlet
from ._tensor.random_gamma import _standard_gamma as _standard_gamma
from ._tensor.random_gamma import _standard_gamma_grad as _standard_gamma_grad
from .autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled

newaxis: None
bfloat16: _dtype
bool: _dtype
cdouble: _dtype
cfloat: _dtype
chalf: _dtype
complex128: _dtype
complex32: _dtype
complex64: _dtype
double: _dtype
float: _dtype
float16: _dtype
float32: _dtype
float64: _dtype
float8_e4m3fn: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2: _dtype
float8_e5m2fnuz: _dtype
float8_e8m0fnu: _dtype
half: _dtype
int: _dtype
int16: _dtype
int32: _dtype
int64: _dtype
int8: _dtype
long: _dtype
short: _dtype
uint16: _dtype
uint32: _dtype
uint64: _dtype
uint8: _dtype
channels_last: _memory_format
channels_last_3d: _memory_format
contiguous_format: _memory_format
preserve_format: _memory_format
sparse_bsc: _layout
sparse_bsr: _layout
sparse_coo: _layout
sparse_csc: _layout
sparse_csr: _layout
strided: _layout
BFloat16Tensor: _type[Tensor]
BoolTensor: _type[Tensor]
ByteTensor: _type[Tensor]
CharTensor: _type[Tensor]
DoubleTensor: _type[Tensor]
FloatTensor: _type[Tensor]
HalfTensor: _type[Tensor]
IntTensor: _type[Tensor]
LongTensor: _type[Tensor]
ShortTensor: _type[Tensor]
BFloat16Storage: _type[TypedStorage]
BoolStorage: _type[TypedStorage]
ByteStorage: _type[TypedStorage]
CharStorage: _type[TypedStorage]
ComplexDoubleStorage: _type[TypedStorage]
ComplexFloatStorage: _type[TypedStorage]
DoubleStorage: _type[TypedStorage]
FloatStorage: _type[TypedStorage]
HalfStorage: _type[TypedStorage]
IntStorage: _type[TypedStorage]
LongStorage: _type[TypedStorage]
ShortStorage: _type[TypedStorage]
Storage: _type[TypedStorage]

def _pack_padded_sequence(input: Tensor, lengths: Any, batch_first: _bool) -> tuple[Tensor, Tensor]:
    """The rows of padded sequences step by step, and how many there are at each."""

def _pad_packed_sequence(data: Any, batch_sizes: Any, batch_first: _bool, padding_value: _float, total_length: _int) -> tuple[Tensor, Tensor]:
    """Padded sequences from their rows step by step, and the lengths of them."""

def _weight_norm(v: Tensor, g: Tensor, dim: _int=0) -> Tensor:
    """The direction `v` with the lengths `g`, one per place along `dim` (-1: one for all)."""

def abs(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The absolute value."""

def abs_(input: Tensor) -> Tensor:
    """In-place version of `abs`."""

def absolute(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The absolute value."""

def acos(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The angle whose cosine is each element."""

def acos_(input: Tensor) -> Tensor:
    """In-place version of `acos`."""

def acosh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The inverse of `cosh`."""

def acosh_(input: Tensor) -> Tensor:
    """In-place version of `acosh`."""

def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int | None] | None) -> Tensor:
    """Means of `output_size` windows along the last dimension."""

def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int | None] | None) -> Tensor:
    """The largest element of each of `output_size` windows, and its position."""

def add(input: Tensor, other: TensorOrNumber, *others: Any, alpha: Number=1, out: Tensor | None=None) -> Tensor:
    """`input + alpha * other`."""

def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number=1, alpha: Number=1, out: Tensor | None=None) -> Tensor:
    """`beta * input + alpha * sum of the products batch1[i] @ batch2[i]`."""

def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number=1, out: Tensor | None=None) -> Tensor:
    """`input + value * tensor1 / tensor2`."""

def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number=1, out: Tensor | None=None) -> Tensor:
    """`input + value * tensor1 * tensor2`."""

def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, out_dtype: _dtype | None=None, *, beta: Number=1, alpha: Number=1, out: Tensor | None=None) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`."""

def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number=1, alpha: Number=1, out: Tensor | None=None) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`."""

def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number=1, alpha: Number=1) -> Tensor:
    """In-place version of `addmv`."""

def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number=1, alpha: Number=1, out: Tensor | None=None) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""

def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, and the conjugate taken."""

def alias_copy(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """A copy in C order."""

def all(input: Tensor, dim: Dims | None=None, keepdim: _bool=False, *, out: Tensor | None=None) -> Tensor:
    """Whether all elements are true."""

def allclose(input: Tensor, other: TensorOrNumber, rtol: _float=1e-05, atol: _float=1e-08, equal_nan: _bool=False) -> _bool:
    """Whether `isclose` holds for every element."""

def alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Dropout that keeps the statistics of SELU."""

def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place version of `alpha_dropout`."""

def amax(input: Tensor, dim: Dims | None=None, keepdim: _bool=False, *, out: Tensor | None=None) -> Tensor:
    """The largest value over `dim`; ties share the gradient evenly."""

def amin(input: Tensor, dim: Dims | None=None, keepdim: _bool=False, *, out: Tensor | None=None) -> Tensor:
    """The smallest value over `dim`; ties share the gradient evenly."""

def aminmax(input: Tensor, *, dim: _int | None=None, keepdim: _bool=False, out: Tensors | None=None) -> return_types.aminmax:
    """The smallest and the largest value, in one result."""

def angle(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The angle in the complex plane, between -π and π."""

def any(input: Tensor, dim: Dims | None=None, keepdim: _bool=False, *, out: Tensor | None=None) -> Tensor:
    """Whether some element is true."""

@overload
def arange(end: Number, *, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """Numbers from `start` (0) up to but not including `end`, in steps of `step` (1)."""
@overload
def arange(start: Number, end: Number, step: Number=1, *, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """Numbers from `start` (0) up to but not including `end`, in steps of `step` (1)."""

def arccos(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The angle whose cosine is each element."""

def arccos_(input: Tensor) -> Tensor:
    """In-place version of `arccos`."""

def arccosh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The inverse of `cosh`."""

def arccosh_(input: Tensor) -> Tensor:
    """In-place version of `arccosh`."""

def arcsin(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The angle whose sine is each element."""

def arcsin_(input: Tensor) -> Tensor:
    """In-place version of `arcsin`."""

def arcsinh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The inverse of `sinh`."""

def arcsinh_(input: Tensor) -> Tensor:
    """In-place version of `arcsinh`."""

def arctan(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The angle whose tangent is each element."""

def arctan2(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The angle of the point (other, input), in its quadrant."""

def arctan_(input: Tensor) -> Tensor:
    """In-place version of `arctan`."""

def arctanh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The inverse of `tanh`."""

def arctanh_(input: Tensor) -> Tensor:
    """In-place version of `arctanh`."""

def are_deterministic_algorithms_enabled() -> _bool:
    """Whether deterministic algorithms were asked for."""

def argmax(input: Tensor, dim: _int | None=None, keepdim: _bool=False, *, out: Tensor | None=None) -> Tensor:
    """Where the largest value is: the first, where several tie."""

def argmin(input: Tensor, dim: _int | None=None, keepdim: _bool=False, *, out: Tensor | None=None) -> Tensor:
    """Where the smallest value is: the first, where several tie."""

def argsort(input: Tensor, dim: _int=-1, descending: _bool=False, *, stable: _bool=False, out: Tensor | None=None) -> Tensor:
    """The indices that sort along `dim`."""

def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, a row each."""

def as_strided(input: Tensor, size: Ints, stride: Ints, storage_offset: _int | None=None) -> Tensor:
    """A view of the storage with the given sizes, strides and offset (in elements)."""

def as_strided_(input: Tensor, size: Ints, stride: Ints, storage_offset: _int | None=None) -> Tensor:
    """Let this tensor show its storage with other sizes and strides."""

def as_strided_copy(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """`as_strided` as a copy."""

def as_strided_scatter(input: Tensor, src: Tensor, size: Ints, stride: Ints, storage_offset: _int | None=None) -> Tensor:
    """A copy of `input` with the elements that `as_strided` shows replaced by `src`."""

def as_tensor(data: Any, dtype: _dtype | None=None, device: DeviceLike | None=None) -> Tensor:
    """A tensor with this data: the same tensor or memory where the dtype allows, else a copy."""

def asarray(obj: Any, *, dtype: _dtype | None=None, device: DeviceLike | None=None, copy: _bool | None=None, requires_grad: _bool | None=None) -> Tensor:
    """A tensor from an object: shares memory unless `copy` or the dtype forbids it."""

def asin(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The angle whose sine is each element."""

def asin_(input: Tensor) -> Tensor:
    """In-place version of `asin`."""

def asinh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The inverse of `sinh`."""

def asinh_(input: Tensor) -> Tensor:
    """In-place version of `asinh`."""

def atan(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The angle whose tangent is each element."""

def atan2(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The angle of the point (other, input), in its quadrant."""

def atan_(input: Tensor) -> Tensor:
    """In-place version of `atan`."""

def atanh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The inverse of `tanh`."""

def atanh_(input: Tensor) -> Tensor:
    """In-place version of `atanh`."""

@overload
def atleast_1d(tensor: Tensor, /) -> Tensor:
    """A view with at least 1 dimensions; a tuple of them for several tensors."""
@overload
def atleast_1d(tensors: Tensors, /) -> tuple[Tensor, ...]:
    """A view with at least 1 dimensions; a tuple of them for several tensors."""
@overload
def atleast_1d(*tensors: Tensor) -> tuple[Tensor, ...]:
    """A view with at least 1 dimensions; a tuple of them for several tensors."""

@overload
def atleast_2d(tensor: Tensor, /) -> Tensor:
    """A view with at least 2 dimensions; a tuple of them for several tensors."""
@overload
def atleast_2d(tensors: Tensors, /) -> tuple[Tensor, ...]:
    """A view with at least 2 dimensions; a tuple of them for several tensors."""
@overload
def atleast_2d(*tensors: Tensor) -> tuple[Tensor, ...]:
    """A view with at least 2 dimensions; a tuple of them for several tensors."""

@overload
def atleast_3d(tensor: Tensor, /) -> Tensor:
    """A view with at least 3 dimensions; a tuple of them for several tensors."""
@overload
def atleast_3d(tensors: Tensors, /) -> tuple[Tensor, ...]:
    """A view with at least 3 dimensions; a tuple of them for several tensors."""
@overload
def atleast_3d(*tensors: Tensor) -> tuple[Tensor, ...]:
    """A view with at least 3 dimensions; a tuple of them for several tensors."""

def avg_pool1d(input: Tensor, kernel_size: Dims, stride: Dims=(), padding: Dims=0, ceil_mode: _bool=False, count_include_pad: _bool=True) -> Tensor:
    """The mean of every window along the last dimension."""

def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, out_dtype: _dtype | None=None, *, beta: Number=1, alpha: Number=1, out: Tensor | None=None) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2)`, batch by batch."""

def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Any, running_var: Any, training: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool) -> Tensor:
    """Each channel minus its mean, over its deviation: of the batch, or the running ones."""

def batch_norm_update_stats(input: Tensor, running_mean: Any, running_var: Any, momentum: _float) -> tuple[Tensor, Tensor]:
    """Mean and variance of each channel of a batch; running ones are moved towards them."""

def bernoulli(input: Tensor, p: _float | str | None=None, *, generator: Generator | None=None, out: Tensor | None=None) -> Tensor:
    """One with the probability at its place in `input` (or `p` everywhere), else zero."""

def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None=None) -> Tensor:
    """`input1 @ weight[o] @ input2` for each output `o`, over the last dimensions, plus a bias."""

def bincount(input: Tensor, weights: Tensor | None=None, minlength: _int=0) -> Tensor:
    """How often each non-negative integer occurs, or the sum of its weights."""

def binomial(count: Tensor, prob: Tensor, generator: Generator | None=None) -> Tensor:
    """How many of `count` trials succeed, each with probability `prob`."""

def bitwise_and(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Bits set in both."""

def bitwise_left_shift(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`input * 2**other`."""

def bitwise_not(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Each bit flipped (for booleans: not)."""

def bitwise_or(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Bits set in either."""

def bitwise_right_shift(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`input // 2**other`."""

def bitwise_xor(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Bits set in exactly one."""

def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere."""

def bmm(input: Tensor, mat2: Tensor, out_dtype: _dtype | None=None, *, out: Tensor | None=None) -> Tensor:
    """The products of two batches of matrices, pair by pair."""

def broadcast_shapes(*shapes: Dims) -> Size:
    """The shape that shapes broadcast to."""

def broadcast_tensors(*tensors: Tensor | Tensors) -> tuple[Tensor, ...]:
    """Views of several tensors in the shape they broadcast to."""

def broadcast_to(input: Tensor, size: Ints) -> Tensor:
    """`expand`, by NumPy's name."""

def bucketize(input: TensorOrNumber, boundaries: Tensor, *, out_int32: _bool=False, right: _bool=False, out: Tensor | None=None) -> Tensor:
    """The bucket between sorted 1-dim boundaries that each value falls into."""

def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one element of each vector, as rows."""

def cat(tensors: Tensors, dim: _int=0, *, out: Tensor | None=None) -> Tensor:
    """Tensors one after the other along an existing dimension."""

def cdist(x1: Tensor, x2: Tensor, p: _float=2.0, compute_mode: Any='use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """The p-norm of the difference of every row of `x1` and every row of `x2`."""

def ceil(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The smallest integer not below each element."""

def ceil_(input: Tensor) -> Tensor:
    """In-place version of `ceil`."""

def celu(input: Tensor, alpha: Number=1.0) -> Tensor:
    """x, or `alpha * (exp(x / alpha) - 1)` below 0."""

def celu_(input: Tensor, alpha: Number=1.0) -> Tensor:
    """x, or `alpha * (exp(x / alpha) - 1)` below 0."""

def chain_matmul(*matrices: Tensor, out: Tensor | None=None) -> Tensor:
    """`linalg.multi_dot` by its old name, for matrices given one by one."""

def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Channels of every group dealt out over the groups."""

def cholesky(input: Tensor, upper: _bool=False, *, out: Tensor | None=None) -> Tensor:
    """`linalg.cholesky` by its old name."""

def cholesky_inverse(input: Tensor, upper: _bool=False, *, out: Tensor | None=None) -> Tensor:
    """The inverse of A, given its Cholesky factor."""

def cholesky_solve(input: Tensor, input2: Tensor, upper: _bool=False, *, out: Tensor | None=None) -> Tensor:
    """X with `A @ X = input`, given the Cholesky factor of A."""

def chunk(input: Tensor, chunks: _int, dim: _int=0) -> tuple[Tensor, ...]:
    """At most `chunks` views of one size (the last may be smaller)."""

def clamp(input: Tensor, min: TensorOrNumber | None=None, max: TensorOrNumber | None=None, *, out: Tensor | None=None) -> Tensor:
    """Each element, or the bound it lies beyond; bounds are numbers or tensors."""

def clamp_(input: Tensor, min: TensorOrNumber | None=None, max: TensorOrNumber | None=None) -> Tensor:
    """In-place version of `clamp`."""

def clamp_max(input: Tensor, max: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Each element, or `max` if that is smaller."""

def clamp_max_(input: Tensor, max: TensorOrNumber) -> Tensor:
    """In-place version of `clamp_max`."""

def clamp_min(input: Tensor, min: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Each element, or `min` if that is larger."""

def clamp_min_(input: Tensor, min: TensorOrNumber) -> Tensor:
    """In-place version of `clamp_min`."""

def clip(input: Tensor, min: TensorOrNumber | None=None, max: TensorOrNumber | None=None, *, out: Tensor | None=None) -> Tensor:
    """Each element, or the bound it lies beyond; bounds are numbers or tensors."""

def clip_(input: Tensor, min: TensorOrNumber | None=None, max: TensorOrNumber | None=None) -> Tensor:
    """In-place version of `clip`."""

def clone(input: Tensor, *, memory_format: _memory_format | None=None) -> Tensor:
    """A copy that passes gradients back to the original."""

def column_stack(tensors: Tensors, *, out: Tensor | None=None) -> Tensor:
    """Tensors side by side, vectors as columns."""

def combinations(input: Tensor, r: _int=2, with_replacement: _bool=False) -> Tensor:
    """All ways to choose `r` elements of a vector, in order, as rows."""

def complex(real: Tensor, imag: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`real + i * imag`."""

def concat(tensors: Tensors, dim: _int=0, *, out: Tensor | None=None) -> Tensor:
    """Tensors one after the other along an existing dimension."""

def concatenate(tensors: Tensors, dim: _int=0, *, out: Tensor | None=None) -> Tensor:
    """Tensors one after the other along an existing dimension."""

def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor is its own."""

def conj_physical(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The complex conjugate in memory of its own."""

def conj_physical_(input: Tensor) -> Tensor:
    """In-place version of `conj_physical`."""

def constant_pad_nd(input: Tensor, pad: Ints, value: TensorOrNumber=0, *, out: Tensor | None=None) -> Tensor:
    """The tensor with `value` before and after its last dimensions, the last pair first."""

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

def convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Dims, padding: Dims, dilation: Dims, transposed: _bool, output_padding: Dims, groups: _int) -> Tensor:
    """A convolution, or a transposed one, over all dimensions after the first two."""

def copysign(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The size of `input` with the sign of `other`."""

def corrcoef(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The correlation matrix of variables in rows, observations in columns."""

def cos(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The cosine."""

def cos_(input: Tensor) -> Tensor:
    """In-place version of `cos`."""

def cosh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The hyperbolic cosine."""

def cosh_(input: Tensor) -> Tensor:
    """In-place version of `cosh`."""

def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float=0.0, reduction: _int=1) -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""

def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int=1, eps: _float=1e-08) -> Tensor:
    """The cosine of the angle between `x1` and `x2` along `dim`, with norms of at least `eps`."""

def count_nonzero(input: Tensor, dim: Dims | None=None) -> Tensor:
    """How many elements are not zero."""

def cov(input: Tensor, *, correction: _int=1, fweights: Tensor | None=None, aweights: Tensor | None=None, out: Tensor | None=None) -> Tensor:
    """The covariance matrix of variables in rows, observations in columns."""

def cross(input: Tensor, other: TensorOrNumber, dim: _int | None=None, *, out: Tensor | None=None) -> Tensor:
    """The vector product along `dim`, or along the first dimension of size three."""

def ctc_loss(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: _int=0, reduction: _int=1, zero_infinity: _bool=False) -> Tensor:
    """Minus the log-likelihood of label sequences, over all their alignments with the input."""

def cummax(input: Tensor, dim: _int, *, out: Tensors | None=None) -> return_types.cummax:
    """The running maximum along `dim`, and where it is: the last, where several tie."""

def cummin(input: Tensor, dim: _int, *, out: Tensors | None=None) -> return_types.cummin:
    """The running minimum along `dim`, and where it is: the last, where several tie."""

def cumprod(input: Tensor, dim: _int, *, dtype: _dtype | None=None, out: Tensor | None=None) -> Tensor:
    """The running product along `dim`; integers and bools run in int64."""

def cumsum(input: Tensor, dim: _int, *, dtype: _dtype | None=None, out: Tensor | None=None) -> Tensor:
    """The running sum along `dim`; integers and bools run in int64."""

def cumulative_trapezoid(y: Tensor, x: Tensor | None=None, *, dx: Number | None=None, dim: _int=-1, out: Tensor | None=None) -> Tensor:
    """The running integral of `y` along `dim`."""

def deg2rad(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Degrees to radians."""

def deg2rad_(input: Tensor) -> Tensor:
    """In-place version of `deg2rad`."""

def det(input: Tensor) -> Tensor:
    """The determinant of square matrices."""

def detach_copy(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """`detach` as a copy."""

def diag(input: Tensor, diagonal: _int=0, *, out: Tensor | None=None) -> Tensor:
    """A matrix with a vector on its diagonal, or the diagonal of a matrix as a vector."""

def diag_embed(input: Tensor, offset: _int=0, dim1: _int=-2, dim2: _int=-1) -> Tensor:
    """Matrices with the last dimension of `input` on a diagonal and zeros elsewhere."""

def diagflat(input: Tensor, offset: _int=0) -> Tensor:
    """A matrix with all elements of `input` on a diagonal."""

def diagonal(input: Tensor, offset: _int=0, dim1: _int=0, dim2: _int=1) -> Tensor:
    """A view of the diagonals of the matrices in two dimensions; the new dimension is last."""

def diagonal_copy(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """`diagonal` as a copy."""

def diagonal_scatter(input: Tensor, src: Tensor, offset: _int=0, dim1: _int=0, dim2: _int=1) -> Tensor:
    """A copy of `input` with a diagonal replaced by `src`."""

def diff(input: Tensor, n: _int=1, dim: _int=-1, prepend: Tensor | None=None, append: Tensor | None=None, *, out: Tensor | None=None) -> Tensor:
    """The n-th differences of neighbours along `dim`; bools differ by exclusive or."""

def digamma(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The derivative of `lgamma`."""

def dist(input: Tensor, other: TensorOrNumber, p: _float | str=2, *, out: Tensor | None=None) -> Tensor:
    """The p-norm of `input - other`."""

def div(input: Tensor, other: TensorOrNumber, *, rounding_mode: str | None=None, out: Tensor | None=None) -> Tensor:
    """`input / other`, or rounded: "floor" (down) or "trunc" (towards zero)."""

def divide(input: Tensor, other: TensorOrNumber, *, rounding_mode: str | None=None, out: Tensor | None=None) -> Tensor:
    """`input / other`, or rounded: "floor" (down) or "trunc" (towards zero)."""

def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The sum of the products of two vectors' elements (neither is conjugated)."""

def dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Zero each element with probability `p`."""

def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place version of `dropout`."""

@overload
def dsplit(input: Tensor, indices_or_sections: Dims) -> tuple[Tensor, ...]:
    """Views cut along dimension 1."""
@overload
def dsplit(input: Tensor, indices: Ints) -> tuple[Tensor, ...]:
    """Views cut along dimension 1."""
@overload
def dsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """Views cut along dimension 1."""

def dstack(tensors: Tensors, *, out: Tensor | None=None) -> Tensor:
    """Tensors behind each other: along dimension 2."""

@overload
def einsum(equation: str, *operands: Tensor | Tensors) -> Tensor:
    """The sum over repeated subscripts of the products of the operands' elements."""
@overload
def einsum(*operands: Tensor | Sequence[_int | EllipsisType]) -> Tensor:
    """The sum over repeated subscripts of the products of the operands' elements."""

def embedding(weight: Tensor, indices: Tensor, padding_idx: _int=-1, scale_grad_by_freq: _bool=False, sparse: _bool=False) -> Tensor:
    """The rows of `weight` that `indices` name; the row `padding_idx` gets no gradient."""

def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: _float, norm_type: _float) -> Tensor:
    """Scale the rows that `indices` name down to a largest norm, in place."""

@overload
def empty(size: Ints, *, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False, memory_format: _memory_format | None=None) -> Tensor:
    """A tensor of the given size whose values are not set."""
@overload
def empty(*size: _int, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False, memory_format: _memory_format | None=None) -> Tensor:
    """A tensor of the given size whose values are not set."""

def empty_like(input: Tensor, *, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False, memory_format: _memory_format | None=None) -> Tensor:
    """`empty` with the shape and dtype of `input`."""

def empty_permuted(size: Ints, physical_layout: Ints, *, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, requires_grad: _bool=False, pin_memory: _bool=False) -> Tensor:
    """An uninitialised dense tensor whose dimensions lie in memory in this order, slowest first."""

def empty_strided(size: Ints, stride: Ints, *, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, requires_grad: _bool=False, pin_memory: _bool=False) -> Tensor:
    """An uninitialised tensor with these strides (counted in elements)."""

def eq(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Whether elements are equal."""

def equal(input: Tensor, other: TensorOrNumber) -> _bool:
    """Whether two tensors have the same shape and elements."""

def erf(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The error function."""

def erf_(input: Tensor) -> Tensor:
    """In-place version of `erf`."""

def erfc(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """One minus the error function."""

def erfc_(input: Tensor) -> Tensor:
    """In-place version of `erfc`."""

def erfinv(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The inverse of `erf`."""

def exp(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """e to the power of each element."""

def exp2(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """2 to the power of each element."""

def exp2_(input: Tensor) -> Tensor:
    """In-place version of `exp2`."""

def exp_(input: Tensor) -> Tensor:
    """In-place version of `exp`."""

def expand_copy(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """`expand` as a copy."""

def expm1(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`exp(x) - 1`, exact near 0."""

def expm1_(input: Tensor) -> Tensor:
    """In-place version of `expm1`."""

def eye(n: _int, m: _int | None=None, *, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere."""

def feature_alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Dropout of channels that keeps the statistics of SELU."""

def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place version of `feature_alpha_dropout`."""

def feature_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Zero each channel with probability `p`."""

def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place version of `feature_dropout`."""

def fill(input: Tensor, value: TensorOrNumber) -> Tensor:
    """A tensor like this one with every element `value`."""

def fill_(input: Tensor, value: TensorOrNumber) -> Tensor:
    """Set every element to `value`."""

def fix(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Each element without its fraction."""

def fix_(input: Tensor) -> Tensor:
    """In-place version of `fix`."""

def flatten(input: Tensor, start_dim: _int=0, end_dim: _int=-1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` as one."""

def flip(input: Tensor, dims: Dims) -> Tensor:
    """A copy with the order of the elements reversed along the given dimensions."""

def fliplr(input: Tensor) -> Tensor:
    """`flip` along dimension 1."""

def flipud(input: Tensor) -> Tensor:
    """`flip` along dimension 0."""

def float_power(input: TensorOrNumber, exponent: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`input ** exponent` in double precision."""

def floor(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The largest integer not above each element."""

def floor_(input: Tensor) -> Tensor:
    """In-place version of `floor`."""

def floor_divide(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`input // other`: the quotient rounded down."""

def fmax(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The larger of two elements; NaN only if both are NaN."""

def fmin(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The smaller of two elements; NaN only if both are NaN."""

def fmod(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """What division leaves when the quotient is rounded towards zero."""

def frac(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The fraction that `trunc` drops."""

def frac_(input: Tensor) -> Tensor:
    """In-place version of `frac`."""

def frexp(input: Tensor, *, out: Tensors | None=None) -> return_types.frexp:
    """Mantissa (between 1/2 and 1) and exponent: `input = mantissa * 2**exponent`."""

def from_dlpack(ext_tensor: Any, *, device: DeviceLike | None=None, copy: _bool | None=None) -> Tensor:
    """A tensor on the memory of another library's array, through DLPack."""

def from_file(filename: Any, shared: _bool | None=None, size: _int=0, *, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """A tensor over the elements in a file; with `shared`, what is written shows in the file."""

def from_numpy(ndarray: Any) -> Tensor:
    """A tensor on the memory of a NumPy array."""

def frombuffer(buffer: Any, *, dtype: _dtype | None=None, count: _int=-1, offset: _int=0, requires_grad: _bool=False) -> Tensor:
    """A vector on the memory of an object with Python's buffer protocol."""

def full(size: Ints, fill_value: Number, *, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """A tensor of the given size with every element `fill_value`, whose type gives the dtype."""

def full_like(input: Tensor, fill_value: Number, *, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False, memory_format: _memory_format | None=None) -> Tensor:
    """`full` with the shape and dtype of `input`."""

def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool=False, out: Tensor | None=None) -> Tensor:
    """Pick elements along `dim`: `out[i][j] = input[index[i][j]][j]` for dim 0."""

def gcd(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The greatest common divisor."""

def gcd_(input: Tensor, other: TensorOrNumber) -> Tensor:
    """In-place version of `gcd`."""

def ge(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Whether input is at least other."""

def geqrf(input: Tensor, *, out: Tensors | None=None) -> return_types.geqrf:
    """R, and below it the reflections that Q is the product of, as LAPACK leaves them."""

def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The matrix of all products of two vectors' elements."""

def get_default_device() -> _device:
    """Where new tensors are made."""

def get_deterministic_debug_mode() -> _int:
    """0, 1 or 2: as `set_deterministic_debug_mode` takes it."""

def get_device(input: Tensor) -> _int:
    """The number of the device; -1 for the CPU."""

def get_float32_matmul_precision() -> str:
    """The precision asked for in matrix products."""

def get_num_interop_threads() -> _int:
    """How many threads were asked for between operations."""

def get_num_threads() -> _int:
    """How many threads were asked for."""

def get_rng_state() -> Tensor:
    """The default generator's state, as a tensor of bytes."""

def gradient(input: Tensor, *, spacing: Number | Sequence[Number] | Tensors | None=None, dim: Dims | None=None, edge_order: _int=1) -> tuple[Tensor, ...]:
    """The derivative along each of `dim`, from neighbours on either side."""

def greater(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Whether input is greater than other."""

def greater_equal(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Whether input is at least other."""

def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """The images at the points of a grid, with modes as numbers."""

def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """The images at the points of a grid, with modes as numbers."""

def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """The images at the points of a grid, with modes as numbers."""

def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None=None, bias: Tensor | None=None, eps: _float=1e-05, cudnn_enabled: _bool=True) -> Tensor:
    """Each group of channels of each example minus its mean, over its deviation."""

def gru(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """GRU layers over a sequence: the output, and the final state."""

def gru_cell(input: Tensor, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any=None, b_hh: Any=None) -> Tensor:
    """One step of `gru`."""

def gt(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Whether input is greater than other."""

def hardshrink(input: Tensor, lambd: Number=0.5, *, out: Tensor | None=None) -> Tensor:
    """x, or 0 within `lambd` of 0."""

def heaviside(input: Tensor, values: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """0 for negative elements, 1 for positive ones, `values` at 0."""

def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float=1.0, reduction: _int=1) -> Tensor:
    """The distance itself where the target is 1, max(0, margin - distance) where it is -1."""

def histc(input: Tensor, bins: _int=100, min: Number=0, max: Number=0, *, out: Tensor | None=None) -> Tensor:
    """How many elements fall into each of evenly spaced bins."""

def histogram(input: Tensor, bins: _int | Tensor | Sequence[_int] | Tensors=100, *, range: Sequence[_float] | None=None, weight: Tensor | None=None, density: _bool=False, out: Tensors | None=None) -> return_types.histogram:
    """Counts (or sums of weights, or a density) per bin, and the edges of the bins."""

def histogramdd(input: Tensor, bins: _int | Tensor | Sequence[_int] | Tensors, range: Sequence[_float] | None=None, weight: Tensor | None=None, density: _bool=False) -> return_types.histogramdd:
    """The histogram of points in several dimensions (the last dimension), and all edges."""

@overload
def hsplit(input: Tensor, indices_or_sections: Dims) -> tuple[Tensor, ...]:
    """Views cut along dimension 1 (0 of a vector)."""
@overload
def hsplit(input: Tensor, indices: Ints) -> tuple[Tensor, ...]:
    """Views cut along dimension 1 (0 of a vector)."""
@overload
def hsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """Views cut along dimension 1 (0 of a vector)."""

def hstack(tensors: Tensors, *, out: Tensor | None=None) -> Tensor:
    """Tensors side by side: along dimension 1, or 0 for vectors."""

def hypot(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`sqrt(input² + other²)` without overflow."""

def i0(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""

def i0_(input: Tensor) -> Tensor:
    """In-place version of `i0`."""

def igamma(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The lower incomplete gamma function of order `input`, divided by its limit."""

def igammac(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """One minus `igamma`."""

def imag(input: Tensor) -> Tensor:
    """The imaginary part, in the same memory."""

def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: Number=1, out: Tensor | None=None) -> Tensor:
    """Add `alpha` times the slices of `source` at the positions in `index`, which may repeat."""

def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Put the slices of `source` at the positions in `index`."""

def index_fill(input: Tensor, dim: _int, index: Tensor, value: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Fill the slices at the positions in `index` with a number."""

def index_put(input: Tensor, indices: Sequence[Tensor | None], values: TensorOrNumber, accumulate: _bool=False) -> Tensor:
    """`input` with `values` put (or added) where the index tensors point."""

def index_put_(input: Tensor, indices: Sequence[Tensor | None], values: TensorOrNumber, accumulate: _bool=False) -> Tensor:
    """In-place version of `index_put`."""

def index_reduce(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool=True, out: Tensor | None=None) -> Tensor:
    """Reduce the slices of `source` that `index` sends to one: prod, mean, amax or amin."""

def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The slices of `input` along `dim` at the positions in `index`."""

def initial_seed() -> _int:
    """The seed the default generator was last given."""

def inner(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The sum of products over the last dimension of both."""

def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Any, running_var: Any, use_input_stats: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool) -> Tensor:
    """Each channel of each example minus its mean, over its deviation."""

def inverse(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The inverse of square matrices."""

def is_complex(input: Tensor) -> _bool:
    """Whether the dtype is complex."""

def is_conj(input: Tensor) -> _bool:
    """Whether a conjugation or negation is pending: never, here."""

def is_deterministic_algorithms_warn_only_enabled() -> _bool:
    """Whether they were asked for with `warn_only`."""

def is_floating_point(input: Tensor) -> _bool:
    """Whether the dtype is a floating-point one."""

def is_inference(input: Tensor) -> _bool:
    """Whether a tensor was made in inference mode."""

def is_neg(input: Tensor) -> _bool:
    """Whether a conjugation or negation is pending: never, here."""

def is_nonzero(input: Tensor) -> _bool:
    """Whether the one element is not zero."""

def is_same_size(input: Tensor, other: TensorOrNumber) -> _bool:
    """Whether two tensors have the same shape."""

def is_signed(input: Tensor) -> _bool:
    """Whether the dtype can hold negative numbers."""

def is_storage(obj: Any, /) -> _bool:
    """Whether an object is the untyped memory of a tensor."""

def is_tensor(obj: Any, /) -> _bool:
    """Whether an object is a tensor."""

def is_warn_always_enabled() -> _bool:
    """Whether warnings that come once were asked for each time."""

def isclose(input: Tensor, other: TensorOrNumber, rtol: _float=1e-05, atol: _float=1e-08, equal_nan: _bool=False) -> Tensor:
    """Whether `|input - other| <= atol + rtol * |other|`, element by element."""

def isfinite(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Whether each element is neither infinite nor NaN."""

def isin(elements: TensorOrNumber, test_elements: TensorOrNumber, *, assume_unique: _bool=False, invert: _bool=False, out: Tensor | None=None) -> Tensor:
    """Whether each of `elements` is among `test_elements`; either may be one number instead."""

def isinf(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Whether each element is infinite."""

def isnan(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Whether each element is NaN."""

def isneginf(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Whether each element is minus infinity."""

def isposinf(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Whether each element is plus infinity."""

def isreal(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Whether the imaginary part is 0."""

def kl_div(input: Tensor, target: Tensor, reduction: _int=1, *, log_target: _bool=False) -> Tensor:
    """The Kullback-Leibler divergence of log-probabilities from a target."""

def kron(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The Kronecker product: `other`, scaled by each element of `input` in turn."""

def kthvalue(input: Tensor, k: _int, dim: _int=-1, keepdim: _bool=False, *, out: Tensors | None=None) -> return_types.kthvalue:
    """The k-th smallest value along `dim`, and where it is."""

def layer_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None=None, bias: Tensor | None=None, eps: _float=1e-05, cudnn_enable: _bool=True) -> Tensor:
    """Each example minus its mean over the last dimensions, over its deviation."""

def lcm(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The least common multiple."""

def lcm_(input: Tensor, other: TensorOrNumber) -> Tensor:
    """In-place version of `lcm`."""

def ldexp(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`input * 2**other`."""

def ldexp_(input: Tensor, other: TensorOrNumber) -> Tensor:
    """In-place version of `ldexp`."""

def le(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Whether input is at most other."""

def lerp(input: Tensor, end: TensorOrNumber, weight: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`input + weight * (end - input)`."""

def less(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Whether input is less than other."""

def less_equal(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Whether input is at most other."""

def lgamma(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""

def linspace(start: TensorOrNumber, end: TensorOrNumber, steps: _int | None=None, *, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """`steps` numbers from `start` to `end`, evenly spaced, both ends included."""

def log(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The natural logarithm."""

def log10(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The logarithm to base 10."""

def log10_(input: Tensor) -> Tensor:
    """In-place version of `log10`."""

def log1p(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`log(1 + x)`, exact near 0."""

def log1p_(input: Tensor) -> Tensor:
    """In-place version of `log1p`."""

def log2(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The logarithm to base 2."""

def log2_(input: Tensor) -> Tensor:
    """In-place version of `log2`."""

def log_(input: Tensor) -> Tensor:
    """In-place version of `log`."""

def log_softmax(input: Tensor, dim: _int, dtype: _dtype | None=None, *, out: Tensor | None=None) -> Tensor:
    """The logarithm of `softmax`, without its rounding."""

def logaddexp(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`log(exp(x) + exp(y))` without overflow."""

def logaddexp2(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`log2(2**x + 2**y)` without overflow."""

def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None=None) -> Tensor:
    """`log(cumsum(exp(input)))` along `dim`, without overflow."""

def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant: NaN where that is negative."""

def logical_and(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Whether both are true (not zero)."""

def logical_not(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Whether each element is false (zero)."""

def logical_or(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Whether either is true (not zero)."""

def logical_xor(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Whether exactly one is true (not zero)."""

def logit(input: Tensor, eps: _float | None=None, *, out: Tensor | None=None) -> Tensor:
    """`log(x / (1 - x))`, with x kept between eps and 1 - eps if eps is given."""

def logit_(input: Tensor, eps: _float | None=None) -> Tensor:
    """In-place version of `logit`."""

def logspace(start: TensorOrNumber, end: TensorOrNumber, steps: _int | None=None, base: Number=10.0, *, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """`steps` powers of `base`, from `base**start` to `base**end`, exponents evenly spaced."""

def logsumexp(input: Tensor, dim: Dims, keepdim: _bool=False, *, out: Tensor | None=None) -> Tensor:
    """`log(sum(exp(input)))` over `dim`, without overflow."""

def lstm(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """LSTM layers over a sequence: the output, and the final h and c."""

def lstm_cell(input: Tensor, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any=None, b_hh: Any=None) -> tuple[Tensor, Tensor]:
    """One step of `lstm`: h and c."""

def lt(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Whether input is less than other."""

def lu(A: Tensor, pivot: _bool=True, get_infos: _bool=False) -> tuple[Tensor, ...]:
    """`linalg.lu_factor_ex` by its old name."""

def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`linalg.lu_solve` by its old name."""

def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool=True, unpack_pivots: _bool=True, *, out: Tensors | None=None) -> return_types.lu_unpack:
    """P, L and U from what `linalg.lu_factor` gives."""

def manual_seed(seed: _int) -> Generator:
    """Seed the default generator; the same seed gives PyTorch's numbers."""

def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float=0.0, reduction: _int=1) -> Tensor:
    """max(0, -y (x1 - x2) + margin)."""

def masked_fill(input: Tensor, mask: Tensor, value: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`input` with a number where `mask` is true."""

def masked_scatter(input: Tensor, mask: Tensor, source: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`input` with the elements of `source`, one after another, where `mask` is true."""

def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The elements where `mask` is true, as a vector."""

def matmul(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The matrix product: of vectors, matrices, or batches of matrices broadcast together."""

def matrix_exp(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The exponential of square matrices: the sum of A^k / k!."""

def matrix_power(input: Tensor, n: _int, *, out: Tensor | None=None) -> Tensor:
    """The n-th power of square matrices: `linalg.matrix_power`."""

@overload
def max(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The largest value; with `dim`, values and indices; with a tensor, element by element."""
@overload
def max(input: Tensor, dim: _int, keepdim: _bool=False, *, out: Tensors | None=None) -> return_types.max:
    """The largest value; with `dim`, values and indices; with a tensor, element by element."""
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The largest value; with `dim`, values and indices; with a tensor, element by element."""

def max_pool1d(input: Tensor, kernel_size: Dims, stride: Dims=(), padding: Dims=0, dilation: Dims=1, ceil_mode: _bool=False) -> Tensor:
    """The largest element of every window along the last dimension."""

def max_pool1d_with_indices(input: Tensor, kernel_size: Dims, stride: Dims=(), padding: Dims=0, dilation: Dims=1, ceil_mode: _bool=False) -> Tensor:
    """`max_pool1d` and the flat position of every maximum."""

def max_pool2d(input: Tensor, kernel_size: Dims, stride: Dims=(), padding: Dims=0, dilation: Dims=1, ceil_mode: _bool=False) -> Tensor:
    """The largest element of every window of an image."""

def max_pool3d(input: Tensor, kernel_size: Dims, stride: Dims=(), padding: Dims=0, dilation: Dims=1, ceil_mode: _bool=False) -> Tensor:
    """The largest element of every window of a volume."""

def maximum(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The larger of two elements; NaN if either is NaN."""

def mean(input: Tensor, dim: Dims | None=None, keepdim: _bool=False, *, dtype: _dtype | None=None, out: Tensor | None=None) -> Tensor:
    """The mean over `dim`, or of everything; integers need a floating-point `dtype`."""

@overload
def median(input: Tensor) -> Tensor:
    """The lower median of everything, or along `dim` with its index; NaN makes it NaN."""
@overload
def median(input: Tensor, dim: _int, keepdim: _bool=False, *, out: Tensors | None=None) -> return_types.median:
    """The lower median of everything, or along `dim` with its index; NaN makes it NaN."""

def meshgrid(*tensors: Tensor | Tensors, indexing: str | None=None) -> tuple[Tensor, ...]:
    """Views of vectors as the coordinates of a grid, in matrix ("ij") or image ("xy") order."""

@overload
def min(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The smallest value; with `dim`, values and indices; with a tensor, element by element."""
@overload
def min(input: Tensor, dim: _int, keepdim: _bool=False, *, out: Tensors | None=None) -> return_types.min:
    """The smallest value; with `dim`, values and indices; with a tensor, element by element."""
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The smallest value; with `dim`, values and indices; with a tensor, element by element."""

def minimum(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The smaller of two elements; NaN if either is NaN."""

def mm(input: Tensor, mat2: Tensor, out_dtype: _dtype | None=None, *, out: Tensor | None=None) -> Tensor:
    """The product of two matrices."""

def mode(input: Tensor, dim: _int=-1, keepdim: _bool=False, *, out: Tensors | None=None) -> return_types.mode:
    """The most frequent value along `dim` (the smallest of several), and its last place."""

def moveaxis(input: Tensor, source: Dims, destination: Dims) -> Tensor:
    """A view with the dimensions `source` moved to the places `destination`."""

def movedim(input: Tensor, source: Dims, destination: Dims) -> Tensor:
    """A view with the dimensions `source` moved to the places `destination`."""

def msort(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Sorted along the first dimension."""

def mul(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`input * other`, element by element."""

def multinomial(input: Tensor, num_samples: _int, replacement: _bool=False, *, generator: Generator | None=None, out: Tensor | None=None) -> Tensor:
    """The places of `num_samples` draws from each row, with the row's values as weights."""

def multiply(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`input * other`, element by element."""

def mv(input: Tensor, vec: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The product of a matrix and a vector."""

def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None=None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""

def nan_to_num(input: Tensor, nan: _float | None=None, posinf: _float | None=None, neginf: _float | None=None, *, out: Tensor | None=None) -> Tensor:
    """NaN and infinities replaced by numbers: 0 and the largest ones, unless told otherwise."""

def nan_to_num_(input: Tensor, nan: _float | None=None, posinf: _float | None=None, neginf: _float | None=None) -> Tensor:
    """In-place version of `nan_to_num`."""

def nanmean(input: Tensor, dim: Dims | None=None, keepdim: _bool=False, *, dtype: _dtype | None=None, out: Tensor | None=None) -> Tensor:
    """The mean of what is not NaN."""

@overload
def nanmedian(input: Tensor) -> Tensor:
    """The lower median of everything, or along `dim` with its index; NaN is left out."""
@overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool=False, *, out: Tensors | None=None) -> return_types.nanmedian:
    """The lower median of everything, or along `dim` with its index; NaN is left out."""

def nanquantile(input: Tensor, q: TensorOrNumber, dim: _int | None=None, keepdim: _bool=False, *, interpolation: str='linear', out: Tensor | None=None) -> Tensor:
    """The q-th quantiles of what is not NaN."""

def nansum(input: Tensor, dim: Dims | None=None, keepdim: _bool=False, *, dtype: _dtype | None=None, out: Tensor | None=None) -> Tensor:
    """The sum with NaN counted as zero."""

def narrow(input: Tensor, dim: _int, start: Tensor | _int, length: _int) -> Tensor:
    """A view of `length` indices of a dimension from `start` on."""

def narrow_copy(input: Tensor, dim: _int, start: Tensor | _int, length: _int, *, out: Tensor | None=None) -> Tensor:
    """`narrow` as a copy."""

def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Channels of every group dealt out over the groups."""

def ne(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Whether elements differ."""

def neg(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Minus each element."""

def neg_(input: Tensor) -> Tensor:
    """In-place version of `neg`."""

def negative(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Minus each element."""

def negative_(input: Tensor) -> Tensor:
    """In-place version of `negative`."""

def nextafter(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The next number after `input` on the way to `other`."""

@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False]=False, out: Tensor | None=None) -> Tensor:
    """The indices of the elements that are not zero: a row each, or a vector per dimension."""
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
    """The indices of the elements that are not zero: a row each, or a vector per dimension."""

def nonzero_static(input: Tensor, *, size: _int, fill_value: _int=-1, out: Tensor | None=None) -> Tensor:
    """Indices of the first `size` elements that are not zero, a row each; more rows hold `fill_value`."""

def norm(input: Tensor, p: _float | str='fro', dim: Dims | None=None, keepdim: _bool=False, dtype: _dtype | None=None, *, out: Tensor | None=None) -> Tensor:
    """The p-norm over `dim` or of everything; "fro" is 2, "nuc" the nuclear norm of matrices."""

def norm_except_dim(v: Tensor, pow: _int=2, dim: _int=0) -> Tensor:
    """The norms over all dimensions but one, with all of them kept (-1: of the whole tensor)."""

@overload
def normal(mean: Tensor, std: TensorOrNumber=1.0, *, generator: Generator | None=None, out: Tensor | None=None) -> Tensor:
    """Normal numbers of this mean and deviation: of one `size`, or one for each given."""
@overload
def normal(mean: _float, std: Tensor, *, generator: Generator | None=None, out: Tensor | None=None) -> Tensor:
    """Normal numbers of this mean and deviation: of one `size`, or one for each given."""
@overload
def normal(mean: _float, std: _float, size: Ints, *, generator: Generator | None=None, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """Normal numbers of this mean and deviation: of one `size`, or one for each given."""

def not_equal(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """Whether elements differ."""

def nuclear_norm(input: Tensor, dim: _int | None=None, keepdim: _bool=False, *, out: Tensor | None=None) -> Tensor:
    """The sum of singular values; `linalg.matrix_norm(input, "nuc")` by its old name."""

def numel(input: Tensor) -> _int:
    """The number of elements."""

@overload
def ones(size: Ints, *, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """A tensor of ones of the given size."""
@overload
def ones(*size: _int, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """A tensor of ones of the given size."""

def ones_like(input: Tensor, *, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False, memory_format: _memory_format | None=None) -> Tensor:
    """`ones` with the shape and dtype of `input`."""

def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`linalg.householder_product` by its old name."""

def ormqr(input: Tensor, input2: Tensor, input3: Any, left: _bool=True, transpose: _bool=False, *, out: Tensor | None=None) -> Tensor:
    """`Q @ other`, or `other @ Q`, where Q is the whole product of the reflections; `transpose`: its adjoint."""

def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The matrix of all products of two vectors' elements."""

def pairwise_distance(x1: Tensor, x2: Tensor, p: _float=2.0, eps: _float=1e-06, keepdim: _bool=False) -> Tensor:
    """The p-norm of each row of `x1 - x2 + eps`."""

def pca_lowrank(A: Tensor, q: _int | None=None, center: _bool=True, niter: _int=2) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of the principal components of rows of data, without their mean if `center`."""

def pdist(input: Tensor, p: _float=2) -> Tensor:
    """The p-norm of the difference of every two rows, those of the first row first."""

def permute(input: Tensor, dims: Ints) -> Tensor:
    """A view with its dimensions in the given order."""

def permute_copy(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """`permute` as a copy."""

def pinverse(input: Tensor, rcond: _float=1e-15) -> Tensor:
    """`linalg.pinv` by its old name."""

def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """Channels turned into pixels: the image grows by the factor in both directions."""

def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """Pixels turned into channels: the image shrinks by the factor in both directions."""

def poisson(input: Tensor, generator: Generator | None=None) -> Tensor:
    """How often something happens whose rate is at its place in `input`."""

def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool, full: _bool, eps: _float, reduction: _int) -> Tensor:
    """Minus the log-likelihood of counts, given (the logarithm of) their rate."""

def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`abs * (cos(angle) + i * sin(angle))`."""

def polygamma(n: _int, input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The n-th derivative of `digamma`."""

def positive(input: Tensor) -> Tensor:
    """The tensor itself."""

def pow(input: TensorOrNumber, exponent: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`input ** exponent`; one of the two may be a number."""

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x, or `weight * x` below 0; the weight is one number, or one per channel (dimension 1)."""

@overload
def prod(input: Tensor, *, dtype: _dtype | None=None) -> Tensor:
    """The product along `dim`, or of everything; integers and bools multiply in int64."""
@overload
def prod(input: Tensor, dim: _int, keepdim: _bool=False, *, dtype: _dtype | None=None, out: Tensor | None=None) -> Tensor:
    """The product along `dim`, or of everything; integers and bools multiply in int64."""

def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool=False, *, out: Tensor | None=None) -> Tensor:
    """Put (or add) the elements of `source` at flat positions."""

def put_(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool=False) -> Tensor:
    """In-place version of `put`."""

def qr(input: Tensor, some: _bool=True, *, out: Tensors | None=None) -> return_types.qr:
    """`linalg.qr` by its old name."""

def quantile(input: Tensor, q: TensorOrNumber, dim: _int | None=None, keepdim: _bool=False, *, interpolation: str='linear', out: Tensor | None=None) -> Tensor:
    """The q-th quantiles along `dim`, or of everything."""

def rad2deg(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Radians to degrees."""

def rad2deg_(input: Tensor) -> Tensor:
    """In-place version of `rad2deg`."""

@overload
def rand(size: Ints, *, generator: Generator | None=None, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """Uniform numbers in [0, 1)."""
@overload
def rand(*size: _int, generator: Generator | None=None, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """Uniform numbers in [0, 1)."""

def rand_like(input: Tensor, *, generator: Generator | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False, memory_format: _memory_format | None=None) -> Tensor:
    """`rand` with the shape and dtype of `input`."""

@overload
def randint(high: _int, size: Ints, *, generator: Generator | None=None, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """Whole numbers from `low` (0) up to but not including `high`: `randint(low, high, size)`."""
@overload
def randint(low: _int, high: _int, size: Ints, *, generator: Generator | None=None, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """Whole numbers from `low` (0) up to but not including `high`: `randint(low, high, size)`."""

@overload
def randint_like(input: Tensor, high: _int, *, generator: Generator | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False, memory_format: _memory_format | None=None) -> Tensor:
    """`randint` with the shape and dtype of `input`: `randint_like(input, low, high)`."""
@overload
def randint_like(input: Tensor, low: _int, high: _int, *, generator: Generator | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False, memory_format: _memory_format | None=None) -> Tensor:
    """`randint` with the shape and dtype of `input`: `randint_like(input, low, high)`."""

@overload
def randn(size: Ints, *, generator: Generator | None=None, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """Normal numbers of mean 0 and variance 1."""
@overload
def randn(*size: _int, generator: Generator | None=None, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """Normal numbers of mean 0 and variance 1."""

def randn_like(input: Tensor, *, generator: Generator | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False, memory_format: _memory_format | None=None) -> Tensor:
    """`randn` with the shape and dtype of `input`."""

def randperm(n: _int, *, generator: Generator | None=None, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """The numbers from 0 to `n - 1` in random order."""

def range(start: Number, end: Number, step: Number=1, *, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """Numbers from `start` to `end`, which is included, in steps of `step`."""

def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension, copied only if they must be."""

def real(input: Tensor) -> Tensor:
    """The real part, in the same memory; a real tensor is its own."""

def reciprocal(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """One over each element."""

def reciprocal_(input: Tensor) -> Tensor:
    """In-place version of `reciprocal`."""

def relu(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Each element, or 0 if it is negative."""

def relu_(input: Tensor) -> Tensor:
    """In-place version of `relu`."""

def remainder(input: TensorOrNumber, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`input % other`: what division leaves when the quotient is rounded down."""

def renorm(input: Tensor, p: _float | str, dim: _int, maxnorm: Number, *, out: Tensor | None=None) -> Tensor:
    """The slices along `dim`, each scaled down to p-norm `maxnorm` if its own is larger."""

@overload
def repeat_interleave(input: Tensor, repeats: Tensor | _int, dim: _int | None=None, *, output_size: _int | None=None) -> Tensor:
    """Each element (or each index of `dim`) repeated so many times, one after the other."""
@overload
def repeat_interleave(repeats: Tensor, *, output_size: _int | None=None) -> Tensor:
    """Each element (or each index of `dim`) repeated so many times, one after the other."""

def reshape(input: Tensor, shape: Ints) -> Tensor:
    """The same elements in another shape: a view where memory allows, else a copy."""

def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: _memory_format | None=None) -> Tensor:
    """Give this tensor the size of another."""

def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugates are never pending here."""

def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: negations are never pending here."""

def result_type(tensor1: TensorOrNumber, tensor2: TensorOrNumber) -> _dtype:
    """The dtype an arithmetic operation on these operands gives."""

def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None=None, eps: _float | None=None) -> Tensor:
    """Each example over the root of its mean square, over the last dimensions."""

def rnn_relu(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """Layers of h' = relu(…) over a sequence, and the final state."""

def rnn_relu_cell(input: Tensor, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any=None, b_hh: Any=None) -> Tensor:
    """One step of `rnn_relu`."""

def rnn_tanh(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """Layers of h' = tanh(…) over a sequence, and the final state."""

def rnn_tanh_cell(input: Tensor, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any=None, b_hh: Any=None) -> Tensor:
    """One step of `rnn_tanh`."""

def roll(input: Tensor, shifts: Dims, dims: Dims=()) -> Tensor:
    """A copy with elements moved along dimensions (all as one if none is named), round the end."""

def rot90(input: Tensor, k: _int=1, dims: Ints=(0, 1)) -> Tensor:
    """A copy turned `k` quarters from the first of two dimensions towards the second."""

def round(input: Tensor, *, decimals: _int=0, out: Tensor | None=None) -> Tensor:
    """Each element to the nearest integer (or decimal), halves to the even one."""

def round_(input: Tensor, *, decimals: _int=0) -> Tensor:
    """In-place version of `round`."""

def row_stack(tensors: Tensors, *, out: Tensor | None=None) -> Tensor:
    """Tensors below each other: along dimension 0, vectors as rows."""

def rrelu(input: Tensor, lower: _float=0.125, upper: _float=0.3333333333333333, training: _bool=False, generator: Generator | None=None) -> Tensor:
    """x, or a random multiple of it below 0 (outside training: the mean one)."""

def rrelu_(input: Tensor, lower: _float=0.125, upper: _float=0.3333333333333333, training: _bool=False, generator: Generator | None=None) -> Tensor:
    """In-place version of `rrelu`."""

def rsqrt(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """One over the square root."""

def rsqrt_(input: Tensor) -> Tensor:
    """In-place version of `rsqrt`."""

def rsub(input: Tensor, other: TensorOrNumber, *factor: Any, alpha: Number=1, out: Tensor | None=None) -> Tensor:
    """`other - alpha * input`."""

def scalar_tensor(s: Number, *, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """A 0-dim tensor; floating-point unless a dtype is given."""

@overload
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, reduce: str | None=None, out: Tensor | None=None) -> Tensor:
    """Write `src` (a tensor or a number) at the places `index` names along `dim`."""
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, value: Number, *, reduce: str | None=None, out: Tensor | None=None) -> Tensor:
    """Write `src` (a tensor or a number) at the places `index` names along `dim`."""

def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Add `src` at the places `index` names along `dim`; places may repeat."""

def scatter_reduce(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool=True, out: Tensor | None=None) -> Tensor:
    """Reduce the values of `src` that `index` sends to one place: sum, prod, mean, amax or amin."""

def searchsorted(sorted_sequence: Tensor, input: TensorOrNumber, *, out_int32: _bool=False, right: _bool=False, side: str | None=None, sorter: Tensor | None=None, out: Tensor | None=None) -> Tensor:
    """Where each value belongs in its sorted sequence: before its equals, or after (`right`)."""

def seed() -> _int:
    """Seed the default generator from the system's entropy; the seed is returned."""

def segment_reduce(data: Tensor, reduce: str, *, lengths: Tensor | None=None, indices: Tensor | None=None, offsets: Tensor | None=None, axis: _int=0, unsafe: _bool=False, initial: _float | None=None) -> Tensor:
    """Reduce segments of `data` along `axis`: their sum, mean, prod, max or min."""

def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """A view at one index of a dimension, without that dimension."""

def select_copy(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """`select` as a copy."""

def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int) -> Tensor:
    """A copy of `input` with one index of a dimension replaced by `src`."""

def selu(input: Tensor) -> Tensor:
    """`elu` with the scale that keeps mean and variance."""

def selu_(input: Tensor) -> Tensor:
    """`elu` with the scale that keeps mean and variance."""

def set_default_device(device: DeviceLike) -> None:
    """Where new tensors are made from now on; None is the CPU."""

def set_default_tensor_type(t: Any, /) -> None:
    """The old way to set the default dtype: `torch.DoubleTensor` or its name."""

def set_deterministic_debug_mode(debug_mode: Any) -> None:
    """0 or "default", 1 or "warn", 2 or "error"."""

def set_float32_matmul_precision(precision: str) -> None:
    """Ask for a precision of matrix products: a GPU computes in TF32 unless it is the highest."""

def set_flush_denormal(mode: _bool) -> _bool:
    """Flushing of denormal numbers cannot be set: False says so."""

def set_num_interop_threads(num: _int, /) -> None:
    """Ask for a number of threads between operations (kept; operations run one by one)."""

def set_num_threads(num: _int, /) -> None:
    """Ask for a number of threads (kept; NumPy's own libraries decide, compiled programs obey)."""

def set_rng_state(new_state: Tensor) -> None:
    """Let the default generator go on from a state that `get_rng_state` returned."""

def set_warn_always(b: _bool, /) -> None:
    """Ask for warnings that come once each time."""

def sgn(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The direction of each element: its sign, or `z / |z|`."""

def sigmoid(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`1 / (1 + exp(-x))`."""

def sigmoid_(input: Tensor) -> Tensor:
    """In-place version of `sigmoid`."""

def sign(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """-1, 0 or 1: the sign of each element."""

def signbit(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Whether the sign bit is set (-0.0 included)."""

def sin(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The sine."""

def sin_(input: Tensor) -> Tensor:
    """In-place version of `sin`."""

def sinc(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`sin(πx) / (πx)`, which is 1 at 0."""

def sinc_(input: Tensor) -> Tensor:
    """In-place version of `sinc`."""

def sinh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The hyperbolic sine."""

def sinh_(input: Tensor) -> Tensor:
    """In-place version of `sinh`."""

def slice_copy(input: Tensor, dim: _int=0, start: TensorOrNumber | None=None, end: TensorOrNumber | None=None, step: _int=1, *, out: Tensor | None=None) -> Tensor:
    """`input[start:end:step]` along a dimension, as a copy."""

def slice_scatter(input: Tensor, src: Tensor, dim: _int=0, start: _int | None=None, end: _int | None=None, step: _int=1, *, out: Tensor | None=None) -> Tensor:
    """A copy of `input` with a slice of a dimension replaced by `src`."""

def slogdet(input: Tensor, *, out: Tensors | None=None) -> return_types.slogdet:
    """The sign of the determinant and the logarithm of its absolute value."""

def softmax(input: Tensor, dim: _int, dtype: _dtype | None=None, *, out: Tensor | None=None) -> Tensor:
    """`exp(x) / sum(exp(x))` along a dimension."""

def sort(input: Tensor, dim: _int=-1, descending: _bool=False, *, stable: _bool | None=None, out: Tensors | None=None) -> return_types.sort:
    """Sorted values along `dim`, and where each came from."""

def split(tensor: Tensor, split_size_or_sections: Dims, dim: _int=0) -> tuple[Tensor, ...]:
    """Views of `split_size` indices each (the last may be smaller), or of the sizes listed."""

def split_copy(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """`split` as a copy."""

def split_with_sizes(input: Tensor, split_sizes: Ints, dim: _int=0) -> tuple[Tensor, ...]:
    """Views of the sizes listed, one after the other along a dimension."""

def split_with_sizes_copy(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """`split_with_sizes` as a copy."""

def sqrt(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The square root."""

def sqrt_(input: Tensor) -> Tensor:
    """In-place version of `sqrt`."""

def square(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`input ** 2`."""

def square_(input: Tensor) -> Tensor:
    """In-place version of `square`."""

def squeeze(input: Tensor, dim: Dims | None=None) -> Tensor:
    """A view without the dimensions of size one: all of them, or those named that are."""

def squeeze_copy(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """`squeeze` as a copy."""

def stack(tensors: Tensors, dim: _int=0, *, out: Tensor | None=None) -> Tensor:
    """Tensors of one shape side by side along a new dimension."""

@overload
def std(input: Tensor, dim: Dims | None=None, *, correction: _float | None=None, keepdim: _bool=False, out: Tensor | None=None) -> Tensor:
    """The standard deviation over `dim`; squares are divided by n - `correction`, which is 1."""
@overload
def std(input: Tensor, dim: Dims | None, unbiased: _bool, keepdim: _bool=False, out: Tensor | None=None) -> Tensor:
    """The standard deviation over `dim`; squares are divided by n - `correction`, which is 1."""
@overload
def std(input: Tensor, unbiased: _bool) -> Tensor:
    """The standard deviation over `dim`; squares are divided by n - `correction`, which is 1."""

@overload
def std_mean(input: Tensor, dim: Dims | None=None, *, correction: _float | None=None, keepdim: _bool=False) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean over `dim`; squares are divided by n - `correction`, which is 1."""
@overload
def std_mean(input: Tensor, dim: Dims | None, unbiased: _bool, keepdim: _bool=False) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean over `dim`; squares are divided by n - `correction`, which is 1."""
@overload
def std_mean(input: Tensor, unbiased: _bool) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean over `dim`; squares are divided by n - `correction`, which is 1."""

def sub(input: Tensor, other: TensorOrNumber, *others: Any, alpha: Number=1, out: Tensor | None=None) -> Tensor:
    """`input - alpha * other`."""

def subtract(input: Tensor, other: TensorOrNumber, *others: Any, alpha: Number=1, out: Tensor | None=None) -> Tensor:
    """`input - alpha * other`."""

def sum(input: Tensor, dim: Dims | None=None, keepdim: _bool=False, *, dtype: _dtype | None=None, out: Tensor | None=None) -> Tensor:
    """The sum over `dim`, or of everything; integers and bools add up in int64."""

def svd(input: Tensor, some: _bool=True, compute_uv: _bool=True, *, out: Tensors | None=None) -> return_types.svd:
    """`linalg.svd` by its old name, which gives V rather than its conjugate transpose."""

def svd_lowrank(A: Tensor, q: _int | None=6, niter: _int | None=2, M: Any=None) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of the q largest singular values of A (which may be sparse), or of A - M."""

def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """A view with two dimensions exchanged; NumPy's name for `transpose`."""

def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """A view with two dimensions exchanged."""

def t(input: Tensor) -> Tensor:
    """A view of a matrix transposed; fewer than two dimensions stay as they are."""

def t_copy(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """`t` as a copy."""

def take(input: Tensor, index: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The elements at flat positions, in the shape of `index`."""

def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None=None, *, out: Tensor | None=None) -> Tensor:
    """Pick elements along `dim` with broadcasting; by flat position where `dim` is None."""

def tan(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The tangent."""

def tan_(input: Tensor) -> Tensor:
    """In-place version of `tan`."""

def tanh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The hyperbolic tangent."""

def tanh_(input: Tensor) -> Tensor:
    """In-place version of `tanh`."""

def tensor(data: Any, *, dtype: _dtype | None=None, device: DeviceLike | None=None, requires_grad: _bool=False, pin_memory: _bool=False) -> Tensor:
    """A new tensor with a copy of `data` (numbers, nested lists, an array or a tensor)."""

@overload
def tensor_split(input: Tensor, indices_or_sections: Dims | Tensor, dim: _int=0) -> tuple[Tensor, ...]:
    """Views between the indices listed, or in a number of nearly equal sections."""
@overload
def tensor_split(input: Tensor, indices: Ints, dim: _int=0) -> tuple[Tensor, ...]:
    """Views between the indices listed, or in a number of nearly equal sections."""
@overload
def tensor_split(input: Tensor, sections: _int, dim: _int=0) -> tuple[Tensor, ...]:
    """Views between the indices listed, or in a number of nearly equal sections."""

def tensordot(a: Tensor, b: Tensor, dims: _int | Sequence[Ints] | Tensor=2, out: Tensor | None=None) -> Tensor:
    """The sum of products over `dims` dimensions: the last of `a` with the first of `b`, or a pair of lists that says which."""

def threshold(input: Tensor, threshold: Number, value: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """x, or `value` up to the threshold."""

def threshold_(input: Tensor, threshold: Number, value: TensorOrNumber) -> Tensor:
    """x, or `value` up to the threshold."""

def tile(input: Tensor, dims: Ints) -> Tensor:
    """`repeat`, with the counts for the last dimensions if there are fewer than dimensions."""

def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule on this tensor's memory."""

def topk(input: Tensor, k: _int, dim: _int=-1, largest: _bool=True, sorted: _bool=True, *, out: Tensors | None=None) -> return_types.topk:
    """The k largest (or smallest) values along `dim`, in order, and where they are."""

def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal."""

def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """A view with two dimensions exchanged."""

def transpose_copy(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """`transpose` as a copy."""

def trapezoid(y: Tensor, x: Tensor | None=None, *, dx: Number | None=None, dim: _int=-1, out: Tensor | None=None) -> Tensor:
    """The integral of `y` along `dim`, over points `x` or with spacing `dx`."""

def trapz(y: Tensor, x: Tensor | None=None, *, dx: Number | None=None, dim: _int=-1, out: Tensor | None=None) -> Tensor:
    """The integral of `y` along `dim`, over points `x` or with spacing `dx`."""

def triangular_solve(input: Tensor, A: Tensor, upper: _bool=True, transpose: _bool=False, unitriangular: _bool=False) -> return_types.triangular_solve:
    """`linalg.solve_triangular` by its old name, with a copy of A beside the solution."""

def tril(input: Tensor, diagonal: _int=0, *, out: Tensor | None=None) -> Tensor:
    """The lower triangle of matrices, zeros above the given diagonal."""

def tril_indices(row: _int, col: _int, offset: _int=0, *, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """The row and column numbers of the lower triangle of a matrix."""

def triplet_margin_loss(anchor: Any, positive: Any, negative: Any, margin: _float=1.0, p: _float=2.0, eps: _float=1e-06, swap: _bool=False, reduction: _int=1) -> Tensor:
    """max(0, margin + distance to the positive - distance to the negative)."""

def triu(input: Tensor, diagonal: _int=0, *, out: Tensor | None=None) -> Tensor:
    """The upper triangle of matrices, zeros below the given diagonal."""

def triu_indices(row: _int, col: _int, offset: _int=0, *, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """The row and column numbers of the upper triangle of a matrix."""

def true_divide(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`input / other`."""

def trunc(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Each element without its fraction."""

def trunc_(input: Tensor) -> Tensor:
    """In-place version of `trunc`."""

def typename(obj: Any, /) -> str:
    """An object's type in words: `torch.FloatTensor`, `int`, …"""

def unbind(input: Tensor, dim: _int=0) -> tuple[Tensor, ...]:
    """Views at every index of a dimension, as a tuple."""

def unbind_copy(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """`unbind` as a copy."""

def unflatten(input: Tensor, dim: _int, sizes: Ints) -> Tensor:
    """One dimension as several whose sizes multiply up to it; one of them may be -1."""

def unfold_copy(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """`unfold` as a copy."""

@overload
def unique(input: Tensor, sorted: _bool=True, return_inverse: Literal[False]=False, return_counts: Literal[False]=False, dim: _int | None=None) -> Tensor:
    """The distinct values in order; on request where each input went, and how often each came."""
@overload
def unique(input: Tensor, sorted: _bool=True, return_inverse: _bool=False, return_counts: _bool=False, dim: _int | None=None) -> Any:
    """The distinct values in order; on request where each input went, and how often each came."""

@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[False]=False, return_counts: Literal[False]=False, dim: _int | None=None) -> Tensor:
    """The first of each run of equal values."""
@overload
def unique_consecutive(input: Tensor, return_inverse: _bool=False, return_counts: _bool=False, dim: _int | None=None) -> Any:
    """The first of each run of equal values."""

def unravel_index(indices: Tensor, shape: Ints) -> tuple[Tensor, ...]:
    """The index along each dimension of a shape, of places counted through all of it."""

def unsafe_chunk(input: Tensor, chunks: _int, dim: _int=0) -> tuple[Tensor, ...]:
    """`chunk` that does not watch the parts."""

def unsafe_split(input: Tensor, split_size: _int, dim: _int=0) -> tuple[Tensor, ...]:
    """`split` that does not watch the parts: changing one in place leaves the others' history."""

def unsafe_split_with_sizes(input: Tensor, split_sizes: Ints, dim: _int=0) -> tuple[Tensor, ...]:
    """`split_with_sizes` that does not watch the parts."""

def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """A view with a dimension of size one inserted before `dim`."""

def unsqueeze_copy(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """`unsqueeze` as a copy."""

def use_deterministic_algorithms(mode: _bool, *, warn_only: _bool=False) -> None:
    """Ask for algorithms that give the same result every time: there are no others."""

def vander(x: Tensor, N: _int | None=None, increasing: _bool=False) -> Tensor:
    """The matrix whose columns are powers of a vector, the highest first unless `increasing`."""

@overload
def var(input: Tensor, dim: Dims | None=None, *, correction: _float | None=None, keepdim: _bool=False, out: Tensor | None=None) -> Tensor:
    """The variance over `dim`; squares are divided by n - `correction`, which is 1."""
@overload
def var(input: Tensor, dim: Dims | None, unbiased: _bool, keepdim: _bool=False, out: Tensor | None=None) -> Tensor:
    """The variance over `dim`; squares are divided by n - `correction`, which is 1."""
@overload
def var(input: Tensor, unbiased: _bool) -> Tensor:
    """The variance over `dim`; squares are divided by n - `correction`, which is 1."""

@overload
def var_mean(input: Tensor, dim: Dims | None=None, *, correction: _float | None=None, keepdim: _bool=False) -> tuple[Tensor, Tensor]:
    """The variance and the mean over `dim`; squares are divided by n - `correction`, which is 1."""
@overload
def var_mean(input: Tensor, dim: Dims | None, unbiased: _bool, keepdim: _bool=False) -> tuple[Tensor, Tensor]:
    """The variance and the mean over `dim`; squares are divided by n - `correction`, which is 1."""
@overload
def var_mean(input: Tensor, unbiased: _bool) -> tuple[Tensor, Tensor]:
    """The variance and the mean over `dim`; squares are divided by n - `correction`, which is 1."""

def vdot(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The inner product of two vectors, the first one conjugated."""

def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of real numbers in the last dimension as complex ones, in the same memory."""

def view_as_complex_copy(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`view_as_complex` as a copy."""

def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones in a last dimension, in the same memory."""

def view_as_real_copy(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`view_as_real` as a copy."""

def view_copy(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """`view` as a copy."""

@overload
def vsplit(input: Tensor, indices_or_sections: Dims) -> tuple[Tensor, ...]:
    """Views cut along dimension 0."""
@overload
def vsplit(input: Tensor, indices: Ints) -> tuple[Tensor, ...]:
    """Views cut along dimension 0."""
@overload
def vsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """Views cut along dimension 0."""

def vstack(tensors: Tensors, *, out: Tensor | None=None) -> Tensor:
    """Tensors below each other: along dimension 0, vectors as rows."""

@overload
def where(condition: Tensor) -> tuple[Tensor, ...]:
    """`input` where the condition holds, `other` elsewhere; alone, where the condition holds."""
@overload
def where(condition: Tensor, input: TensorOrNumber, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`input` where the condition holds, `other` elsewhere; alone, where the condition holds."""

def xlogy(input: TensorOrNumber, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`input * log(other)`, which is 0 where input is 0."""

def xlogy_(input: Tensor, other: TensorOrNumber) -> Tensor:
    """In-place version of `xlogy`."""

def zero_(input: Tensor) -> Tensor:
    """Set every element to zero."""

@overload
def zeros(size: Ints, *, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """A tensor of zeros of the given size."""
@overload
def zeros(*size: _int, out: Tensor | None=None, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
    """A tensor of zeros of the given size."""

def zeros_like(input: Tensor, *, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False, memory_format: _memory_format | None=None) -> Tensor:
    """`zeros` with the shape and dtype of `input`."""
