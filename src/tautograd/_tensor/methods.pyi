"""What operations attach to `Tensor`, for type checkers.

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

class TensorMethods:
    @property
    def H(self) -> Tensor: ...

    @property
    def T(self) -> Tensor: ...

    def __abs__(self) -> Tensor:
        """The absolute value."""

    def __add__(self, other: Any) -> Tensor:
        """`input + alpha * other`."""

    def __and__(self, other: Any) -> Tensor:
        """Bits set in both."""

    def __array__(self, dtype: _dtype | None=None, *, copy: _bool | None=None) -> np.ndarray[Any, Any]:
        """What `np.asarray(tensor)` calls."""

    def __array_wrap__(self, array: Any, context: Any=None, return_scalar: _bool=False) -> Tensor:
        """What a NumPy function applied to a tensor returns: a tensor again (masks as uint8)."""

    def __bool__(self) -> _bool:
        """Whether the single element is not zero."""

    def __complex__(self) -> _complex:
        ...

    def __contains__(self, element: TensorOrNumber) -> _bool:
        ...

    def __copy__(self) -> Tensor:
        """Another leaf over the same memory."""

    @property
    def __cuda_array_interface__(self) -> Tensor: ...

    def __deepcopy__(self, memo: dict[_int, Any]) -> Tensor:
        """A leaf in its own memory; tensors that shared memory share the copy."""

    def __delitem__(self, key: Any) -> None:
        ...

    def __div__(self, other: Any) -> Tensor:
        """`input / other`, or rounded: "floor" (down) or "trunc" (towards zero)."""

    def __dlpack__(self, *, stream: Any=-1, max_version: tuple[_int, _int] | None=None, dl_device: Any=None, copy: _bool | None=None) -> Any:
        """The DLPack protocol: a capsule over this tensor's memory."""

    def __dlpack_device__(self) -> tuple[_int, _int]:
        """DLPack's name of the device: the CPU is kind 1, CUDA kind 2."""

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        """`==`, the only tensor operator that takes a NumPy array without converting it."""

    def __float__(self) -> _float:
        ...

    def __floordiv__(self, other: Any) -> Tensor:
        """`input // other`: the quotient rounded down."""

    def __format__(self, spec: str) -> str:
        ...

    def __ge__(self, other: TensorOrNumber) -> Tensor:
        """Whether input is at least other."""

    def __getitem__(self, key: Any) -> Tensor:
        """`self[key]`."""

    def __gt__(self, other: TensorOrNumber) -> Tensor:
        """Whether input is greater than other."""

    def __iadd__(self, other: Any) -> Tensor:
        """In-place version of `add`."""

    def __iand__(self, other: Any) -> Tensor:
        """In-place version of `bitwise_and`."""

    def __idiv__(self, other: Any) -> Tensor:
        """In-place version of `div`."""

    def __ifloordiv__(self, other: Any) -> Tensor:
        """In-place version of `floor_divide`."""

    def __ilshift__(self, other: Any) -> Tensor:
        """In-place version of `bitwise_left_shift`."""

    def __imod__(self, other: Any) -> Tensor:
        """In-place version of `remainder`."""

    def __imul__(self, other: Any) -> Tensor:
        """In-place version of `mul`."""

    def __index__(self) -> _int:
        ...

    def __int__(self) -> _int:
        ...

    def __invert__(self) -> Tensor:
        """Each bit flipped (for booleans: not)."""

    def __ior__(self, other: Any) -> Tensor:
        """In-place version of `bitwise_or`."""

    def __ipow__(self, other: Any) -> Tensor:
        """In-place version of `pow`."""

    def __irshift__(self, other: Any) -> Tensor:
        """In-place version of `bitwise_right_shift`."""

    def __isub__(self, other: Any) -> Tensor:
        """In-place version of `sub`."""

    def __iter__(self) -> Iterator[Tensor]:
        ...

    def __itruediv__(self, other: Any) -> Tensor:
        """In-place version of `div`."""

    def __ixor__(self, other: Any) -> Tensor:
        """In-place version of `bitwise_xor`."""

    def __le__(self, other: TensorOrNumber) -> Tensor:
        """Whether input is at most other."""

    def __lshift__(self, other: Any) -> Tensor:
        """`input * 2**other`."""

    def __lt__(self, other: TensorOrNumber) -> Tensor:
        """Whether input is less than other."""

    def __matmul__(self, other: Any) -> Tensor:
        ...

    def __mod__(self, other: Any) -> Tensor:
        """`input % other`: what division leaves when the quotient is rounded down."""

    def __mul__(self, other: Any) -> Tensor:
        """`input * other`, element by element."""

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        """Whether elements differ."""

    def __neg__(self) -> Tensor:
        """Minus each element."""

    def __or__(self, other: Any) -> Tensor:
        """Bits set in either."""

    def __pos__(self) -> Tensor:
        """The tensor itself."""

    def __pow__(self, other: Any) -> Tensor:
        """`input ** exponent`; one of the two may be a number."""

    def __radd__(self, other: Any) -> Tensor:
        """`input + alpha * other`."""

    def __rand__(self, other: Any) -> Tensor:
        """Bits set in both."""

    def __rdiv__(self, other: Any) -> Tensor:
        """`other / self`; an array of NumPy is left to the product."""

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """What `pickle` writes: the elements in memory order, without gaps between views."""

    def __repr__(self) -> str:
        ...

    def __reversed__(self) -> Tensor:
        ...

    def __rfloordiv__(self, other: Any) -> Tensor:
        """`input // other`: the quotient rounded down."""

    def __rlshift__(self, other: Any) -> Tensor:
        """`input * 2**other`."""

    def __rmatmul__(self, other: Any) -> Tensor:
        ...

    def __rmod__(self, other: Any) -> Tensor:
        """`input % other`: what division leaves when the quotient is rounded down."""

    def __rmul__(self, other: Any) -> Tensor:
        """`input * other`, element by element."""

    def __ror__(self, other: Any) -> Tensor:
        """Bits set in either."""

    def __rpow__(self, other: Any) -> Tensor:
        """`input ** exponent`; one of the two may be a number."""

    def __rrshift__(self, other: Any) -> Tensor:
        """`input // 2**other`."""

    def __rshift__(self, other: Any) -> Tensor:
        """`input // 2**other`."""

    def __rsub__(self, other: Any) -> Tensor:
        """`other - alpha * input`."""

    def __rtruediv__(self, other: Any) -> Tensor:
        """`other / self`; an array of NumPy is left to the product."""

    def __rxor__(self, other: Any) -> Tensor:
        """Bits set in exactly one."""

    def __setitem__(self, key: Any, value: TensorOrNumber) -> None:
        """`self[key] = value`."""

    def __sub__(self, other: Any) -> Tensor:
        """`input - alpha * other`."""

    def __truediv__(self, other: Any) -> Tensor:
        """`input / other`, or rounded: "floor" (down) or "trunc" (towards zero)."""

    def __xor__(self, other: Any) -> Tensor:
        """Bits set in exactly one."""

    def abs(self) -> Tensor:
        """The absolute value."""

    def abs_(self) -> Tensor:
        """In-place version of `abs`."""

    def absolute(self) -> Tensor:
        """The absolute value."""

    def absolute_(self) -> Tensor:
        """In-place version of `abs`."""

    def acos(self) -> Tensor:
        """The angle whose cosine is each element."""

    def acos_(self) -> Tensor:
        """In-place version of `acos`."""

    def acosh(self) -> Tensor:
        """The inverse of `cosh`."""

    def acosh_(self) -> Tensor:
        """In-place version of `acosh`."""

    def add(self, other: TensorOrNumber, *others: Any, alpha: Number=1) -> Tensor:
        """`input + alpha * other`."""

    def add_(self, other: TensorOrNumber, *others: Any, alpha: Number=1) -> Tensor:
        """In-place version of `add`."""

    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Number=1, alpha: Number=1) -> Tensor:
        """`beta * input + alpha * sum of the products batch1[i] @ batch2[i]`."""

    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Number=1, alpha: Number=1) -> Tensor:
        """In-place version of `addbmm`; of all of these PyTorch lets it alone grow its tensor."""

    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: Number=1) -> Tensor:
        """`input + value * tensor1 / tensor2`."""

    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: Number=1) -> Tensor:
        """In-place version of `addcdiv`."""

    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: Number=1) -> Tensor:
        """`input + value * tensor1 * tensor2`."""

    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: Number=1) -> Tensor:
        """In-place version of `addcmul`."""

    def addmm(self, mat1: Tensor, mat2: Tensor, out_dtype: _dtype | None=None, *, beta: Number=1, alpha: Number=1) -> Tensor:
        """`beta * input + alpha * (mat1 @ mat2)`."""

    def addmm_(self, mat1: Tensor, mat2: Tensor, out_dtype: _dtype | None=None, *, beta: Number=1, alpha: Number=1) -> Tensor:
        """In-place version of `addmm`."""

    def addmv(self, mat: Tensor, vec: Tensor, *, beta: Number=1, alpha: Number=1) -> Tensor:
        """`beta * input + alpha * (mat @ vec)`."""

    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: Number=1, alpha: Number=1) -> Tensor:
        """In-place version of `addmv`."""

    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: Number=1, alpha: Number=1) -> Tensor:
        """`beta * input + alpha * outer(vec1, vec2)`."""

    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: Number=1, alpha: Number=1) -> Tensor:
        """In-place version of `addr`."""

    def adjoint(self) -> Tensor:
        """The last two dimensions exchanged, and the conjugate taken."""

    def all(self, dim: Dims | None=None, keepdim: _bool=False) -> Tensor:
        """Whether all elements are true."""

    def allclose(self, other: TensorOrNumber, rtol: _float=1e-05, atol: _float=1e-08, equal_nan: _bool=False) -> _bool:
        """Whether `isclose` holds for every element."""

    def amax(self, dim: Dims | None=None, keepdim: _bool=False) -> Tensor:
        """The largest value over `dim`; ties share the gradient evenly."""

    def amin(self, dim: Dims | None=None, keepdim: _bool=False) -> Tensor:
        """The smallest value over `dim`; ties share the gradient evenly."""

    def aminmax(self, *, dim: _int | None=None, keepdim: _bool=False) -> return_types.aminmax:
        """The smallest and the largest value, in one result."""

    def angle(self) -> Tensor:
        """The angle in the complex plane, between -π and π."""

    def any(self, dim: Dims | None=None, keepdim: _bool=False) -> Tensor:
        """Whether some element is true."""

    def apply_(self, callable: Callable[..., Any]) -> Tensor:
        """Replace each element by a Python function of it: slow, one call per element."""

    def arccos(self) -> Tensor:
        """The angle whose cosine is each element."""

    def arccos_(self) -> Tensor:
        """In-place version of `arccos`."""

    def arccosh(self) -> Tensor:
        """The inverse of `cosh`."""

    def arccosh_(self) -> Tensor:
        """In-place version of `arccosh`."""

    def arcsin(self) -> Tensor:
        """The angle whose sine is each element."""

    def arcsin_(self) -> Tensor:
        """In-place version of `arcsin`."""

    def arcsinh(self) -> Tensor:
        """The inverse of `sinh`."""

    def arcsinh_(self) -> Tensor:
        """In-place version of `arcsinh`."""

    def arctan(self) -> Tensor:
        """The angle whose tangent is each element."""

    def arctan2(self, other: TensorOrNumber) -> Tensor:
        """The angle of the point (other, input), in its quadrant."""

    def arctan2_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `arctan2`."""

    def arctan_(self) -> Tensor:
        """In-place version of `arctan`."""

    def arctanh(self) -> Tensor:
        """The inverse of `tanh`."""

    def arctanh_(self) -> Tensor:
        """In-place version of `arctanh`."""

    def argmax(self, dim: _int | None=None, keepdim: _bool=False) -> Tensor:
        """Where the largest value is: the first, where several tie."""

    def argmin(self, dim: _int | None=None, keepdim: _bool=False) -> Tensor:
        """Where the smallest value is: the first, where several tie."""

    def argsort(self, dim: _int=-1, descending: _bool=False, *, stable: _bool=False) -> Tensor:
        """The indices that sort along `dim`."""

    def argwhere(self) -> Tensor:
        """The indices of the elements that are not zero, a row each."""

    def as_strided(self, size: Ints, stride: Ints, storage_offset: _int | None=None) -> Tensor:
        """A view of the storage with the given sizes, strides and offset (in elements)."""

    def as_strided_(self, size: Ints, stride: Ints, storage_offset: _int | None=None) -> Tensor:
        """Let this tensor show its storage with other sizes and strides."""

    def as_strided_scatter(self, src: Tensor, size: Ints, stride: Ints, storage_offset: _int | None=None) -> Tensor:
        """A copy of `input` with the elements that `as_strided` shows replaced by `src`."""

    def as_subclass(self, cls: Any) -> Any:
        """The same memory and history as an instance of a Tensor subclass."""

    def asin(self) -> Tensor:
        """The angle whose sine is each element."""

    def asin_(self) -> Tensor:
        """In-place version of `asin`."""

    def asinh(self) -> Tensor:
        """The inverse of `sinh`."""

    def asinh_(self) -> Tensor:
        """In-place version of `asinh`."""

    def atan(self) -> Tensor:
        """The angle whose tangent is each element."""

    def atan2(self, other: TensorOrNumber) -> Tensor:
        """The angle of the point (other, input), in its quadrant."""

    def atan2_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `atan2`."""

    def atan_(self) -> Tensor:
        """In-place version of `atan`."""

    def atanh(self) -> Tensor:
        """The inverse of `tanh`."""

    def atanh_(self) -> Tensor:
        """In-place version of `atanh`."""

    def backward(self, gradient: Tensor | None=None, retain_graph: _bool | None=None, create_graph: _bool=False, inputs: Tensor | Tensors | None=None) -> None:
        """Add this tensor's gradients to the `.grad` of the leaves it was computed from."""

    def baddbmm(self, batch1: Tensor, batch2: Tensor, out_dtype: _dtype | None=None, *, beta: Number=1, alpha: Number=1) -> Tensor:
        """`beta * input + alpha * (batch1 @ batch2)`, batch by batch."""

    def baddbmm_(self, batch1: Tensor, batch2: Tensor, out_dtype: _dtype | None=None, *, beta: Number=1, alpha: Number=1) -> Tensor:
        """In-place version of `baddbmm`."""

    @overload
    def bernoulli(self, *, generator: Generator | None=None) -> Tensor:
        """One with the probability given by the same element of `input` (or `p` everywhere), else zero."""
    @overload
    def bernoulli(self, p: _float, *, generator: Generator | None=None) -> Tensor:
        """One with the probability given by the same element of `input` (or `p` everywhere), else zero."""

    def bernoulli_(self, p: TensorOrNumber=0.5, *, generator: Generator | None=None) -> Tensor:
        """Fill with ones with probability `p` (one for all, or a tensor), and zeros otherwise."""

    def bfloat16(self, *, memory_format: _memory_format | None=None) -> Tensor:
        """This tensor as `bfloat16`."""

    def bincount(self, weights: Tensor | None=None, minlength: _int=0) -> Tensor:
        """How often each non-negative integer occurs, or the sum of its weights."""

    def bitwise_and(self, other: TensorOrNumber) -> Tensor:
        """Bits set in both."""

    def bitwise_and_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `bitwise_and`."""

    def bitwise_left_shift(self, other: TensorOrNumber) -> Tensor:
        """`input * 2**other`."""

    def bitwise_left_shift_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `bitwise_left_shift`."""

    def bitwise_not(self) -> Tensor:
        """Each bit flipped (for booleans: not)."""

    def bitwise_not_(self) -> Tensor:
        """In-place version of `bitwise_not`."""

    def bitwise_or(self, other: TensorOrNumber) -> Tensor:
        """Bits set in either."""

    def bitwise_or_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `bitwise_or`."""

    def bitwise_right_shift(self, other: TensorOrNumber) -> Tensor:
        """`input // 2**other`."""

    def bitwise_right_shift_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `bitwise_right_shift`."""

    def bitwise_xor(self, other: TensorOrNumber) -> Tensor:
        """Bits set in exactly one."""

    def bitwise_xor_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `bitwise_xor`."""

    def bmm(self, mat2: Tensor, out_dtype: _dtype | None=None) -> Tensor:
        """The products of two batches of matrices, pair by pair."""

    def bool(self, *, memory_format: _memory_format | None=None) -> Tensor:
        """This tensor as `bool`."""

    @overload
    def broadcast_to(self, size: Ints) -> Tensor:
        """`expand`, by NumPy's name."""
    @overload
    def broadcast_to(self, *size: _int) -> Tensor:
        """`expand`, by NumPy's name."""

    def byte(self, *, memory_format: _memory_format | None=None) -> Tensor:
        """This tensor as `uint8`."""

    def cauchy_(self, median: _float=0.0, sigma: _float=1.0, *, generator: Generator | None=None) -> Tensor:
        """Fill with Cauchy-distributed numbers."""

    def ccol_indices(self) -> Tensor:
        """Where each column of a CSC matrix begins, and where the last one ends."""

    def cdouble(self, *, memory_format: _memory_format | None=None) -> Tensor:
        """This tensor as `complex128`."""

    def ceil(self) -> Tensor:
        """The smallest integer not below each element."""

    def ceil_(self) -> Tensor:
        """In-place version of `ceil`."""

    def cfloat(self, *, memory_format: _memory_format | None=None) -> Tensor:
        """This tensor as `complex64`."""

    def char(self, *, memory_format: _memory_format | None=None) -> Tensor:
        """This tensor as `int8`."""

    def cholesky(self, upper: _bool=False) -> Tensor:
        """`linalg.cholesky` by its old name."""

    def cholesky_inverse(self, upper: _bool=False) -> Tensor:
        """The inverse of A, given its Cholesky factor."""

    def cholesky_solve(self, input2: Tensor, upper: _bool=False) -> Tensor:
        """X with `A @ X = input`, given the Cholesky factor of A."""

    def chunk(self, chunks: _int, dim: _int=0) -> tuple[Tensor, ...]:
        """At most `chunks` views of one size (the last may be smaller)."""

    def clamp(self, min: TensorOrNumber | None=None, max: TensorOrNumber | None=None) -> Tensor:
        """Each element, or the bound it lies beyond; bounds are numbers or tensors."""

    def clamp_(self, min: TensorOrNumber | None=None, max: TensorOrNumber | None=None) -> Tensor:
        """In-place version of `clamp`."""

    def clamp_max(self, max: TensorOrNumber) -> Tensor:
        """Each element, or `max` if that is smaller."""

    def clamp_max_(self, max: TensorOrNumber) -> Tensor:
        """In-place version of `clamp_max`."""

    def clamp_min(self, min: TensorOrNumber) -> Tensor:
        """Each element, or `min` if that is larger."""

    def clamp_min_(self, min: TensorOrNumber) -> Tensor:
        """In-place version of `clamp_min`."""

    def clip(self, min: TensorOrNumber | None=None, max: TensorOrNumber | None=None) -> Tensor:
        """Each element, or the bound it lies beyond; bounds are numbers or tensors."""

    def clip_(self, min: TensorOrNumber | None=None, max: TensorOrNumber | None=None) -> Tensor:
        """In-place version of `clip`."""

    def clone(self, *, memory_format: _memory_format | None=None) -> Tensor:
        """A copy that passes gradients back to the original."""

    def coalesce(self) -> Tensor:
        """Each place once and in order, with the sum of what stood there."""

    def col_indices(self) -> Tensor:
        """The columns of what a CSR matrix holds."""

    def combinations(self, r: _int=2, with_replacement: _bool=False) -> Tensor:
        """All ways to choose `r` elements of a vector, in order, as rows."""

    def conj(self) -> Tensor:
        """The complex conjugate; a real tensor is its own."""

    def conj_physical(self) -> Tensor:
        """The complex conjugate in memory of its own."""

    def conj_physical_(self) -> Tensor:
        """In-place version of `conj_physical`."""

    def const_data_ptr(self) -> _int:
        """The address of the first element; 0 for none."""

    def contiguous(self, *, memory_format: _memory_format=...) -> Tensor:
        """This tensor if it lies in memory in order, else a copy that does."""

    def copy_(self, other: TensorOrNumber, non_blocking: _bool=False) -> Tensor:
        """Write another tensor's values into this one, broadcast and cast."""

    def copysign(self, other: TensorOrNumber) -> Tensor:
        """The size of `input` with the sign of `other`."""

    def copysign_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `copysign`."""

    def corrcoef(self) -> Tensor:
        """The correlation matrix of variables in rows, observations in columns."""

    def cos(self) -> Tensor:
        """The cosine."""

    def cos_(self) -> Tensor:
        """In-place version of `cos`."""

    def cosh(self) -> Tensor:
        """The hyperbolic cosine."""

    def cosh_(self) -> Tensor:
        """In-place version of `cosh`."""

    def count_nonzero(self, dim: Dims | None=None) -> Tensor:
        """How many elements are not zero."""

    def cov(self, *, correction: _int=1, fweights: Tensor | None=None, aweights: Tensor | None=None) -> Tensor:
        """The covariance matrix of variables in rows, observations in columns."""

    def cpu(self, memory_format: _memory_format | None=None) -> Tensor:
        """This tensor on the CPU."""

    def cross(self, other: TensorOrNumber, dim: _int | None=None) -> Tensor:
        """The vector product along `dim`, or along the first dimension of size three."""

    def crow_indices(self) -> Tensor:
        """Where each row of a CSR matrix begins, and where the last one ends."""

    def cuda(self, device: DeviceLike | None=None, non_blocking: _bool=False) -> Tensor:
        """This tensor on a GPU; raises if there is none."""

    def cummax(self, dim: _int) -> return_types.cummax:
        """The running maximum along `dim`, and where it is: the last, where several tie."""

    def cummin(self, dim: _int) -> return_types.cummin:
        """The running minimum along `dim`, and where it is: the last, where several tie."""

    def cumprod(self, dim: _int, *, dtype: _dtype | None=None) -> Tensor:
        """The running product along `dim`; integers and bools run in int64."""

    def cumprod_(self, dim: _int, *, dtype: _dtype | None=None) -> Tensor:
        """In-place version of `cumprod`."""

    def cumsum(self, dim: _int, *, dtype: _dtype | None=None) -> Tensor:
        """The running sum along `dim`; integers and bools run in int64."""

    def cumsum_(self, dim: _int, *, dtype: _dtype | None=None) -> Tensor:
        """In-place version of `cumsum`."""

    data: Tensor

    def data_ptr(self) -> _int:
        """The address of the first element; 0 for none."""

    def deg2rad(self) -> Tensor:
        """Degrees to radians."""

    def deg2rad_(self) -> Tensor:
        """In-place version of `deg2rad`."""

    def dense_dim(self) -> _int:
        """How many dimensions what is held has."""

    def det(self) -> Tensor:
        """The determinant of square matrices."""

    def detach(self) -> Tensor:
        """The same data with no history; an in-place change of either is seen by both."""

    def detach_(self) -> Tensor:
        """Forget this tensor's history."""

    def diag(self, diagonal: _int=0) -> Tensor:
        """A matrix with a vector on its diagonal, or the diagonal of a matrix as a vector."""

    def diag_embed(self, offset: _int=0, dim1: _int=-2, dim2: _int=-1) -> Tensor:
        """Matrices with the last dimension of `input` on a diagonal and zeros elsewhere."""

    def diagflat(self, offset: _int=0) -> Tensor:
        """A matrix with all elements of `input` on a diagonal."""

    def diagonal(self, offset: _int=0, dim1: _int=0, dim2: _int=1) -> Tensor:
        """A view of the diagonals of the matrices in two dimensions; the new dimension is last."""

    def diagonal_scatter(self, src: Tensor, offset: _int=0, dim1: _int=0, dim2: _int=1) -> Tensor:
        """A copy of `input` with a diagonal replaced by `src`."""

    def diff(self, n: _int=1, dim: _int=-1, prepend: Tensor | None=None, append: Tensor | None=None) -> Tensor:
        """The n-th differences of neighbours along `dim`; bools differ by exclusive or."""

    def digamma(self) -> Tensor:
        """The derivative of `lgamma`."""

    def digamma_(self) -> Tensor:
        """In-place version of `digamma`."""

    def dim(self) -> _int:
        """The number of dimensions."""

    def dim_order(self, ambiguity_check: Any=False) -> tuple[_int, ...]:
        """The dimensions by decreasing stride."""

    def dist(self, other: TensorOrNumber, p: _float | str=2) -> Tensor:
        """The p-norm of `input - other`."""

    def div(self, other: TensorOrNumber, *, rounding_mode: str | None=None) -> Tensor:
        """`input / other`, or rounded: "floor" (down) or "trunc" (towards zero)."""

    def div_(self, other: TensorOrNumber, *, rounding_mode: str | None=None) -> Tensor:
        """In-place version of `div`."""

    def divide(self, other: TensorOrNumber, *, rounding_mode: str | None=None) -> Tensor:
        """`input / other`, or rounded: "floor" (down) or "trunc" (towards zero)."""

    def divide_(self, other: TensorOrNumber, *, rounding_mode: str | None=None) -> Tensor:
        """In-place version of `divide`."""

    def dot(self, tensor: Tensor) -> Tensor:
        """The sum of the products of two vectors' elements (neither is conjugated)."""

    def double(self, *, memory_format: _memory_format | None=None) -> Tensor:
        """This tensor as `float64`."""

    @overload
    def dsplit(self, indices_or_sections: Dims) -> tuple[Tensor, ...]:
        """Views cut along dimension 1."""
    @overload
    def dsplit(self, indices: Ints) -> tuple[Tensor, ...]:
        """Views cut along dimension 1."""
    @overload
    def dsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """Views cut along dimension 1."""

    def element_size(self) -> _int:
        """The bytes of one element."""

    def eq(self, other: TensorOrNumber) -> Tensor:
        """Whether elements are equal."""

    def eq_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `eq`."""

    def equal(self, other: TensorOrNumber) -> _bool:
        """Whether two tensors have the same shape and elements."""

    def erf(self) -> Tensor:
        """The error function."""

    def erf_(self) -> Tensor:
        """In-place version of `erf`."""

    def erfc(self) -> Tensor:
        """One minus the error function."""

    def erfc_(self) -> Tensor:
        """In-place version of `erfc`."""

    def erfinv(self) -> Tensor:
        """The inverse of `erf`."""

    def erfinv_(self) -> Tensor:
        """In-place version of `erfinv`."""

    def exp(self) -> Tensor:
        """e to the power of each element."""

    def exp2(self) -> Tensor:
        """2 to the power of each element."""

    def exp2_(self) -> Tensor:
        """In-place version of `exp2`."""

    def exp_(self) -> Tensor:
        """In-place version of `exp`."""

    @overload
    def expand(self, size: Ints, *, implicit: _bool=False) -> Tensor:
        """A view with dimensions of size one (or new leading ones) repeated without a copy."""
    @overload
    def expand(self, *size: _int, implicit: _bool=False) -> Tensor:
        """A view with dimensions of size one (or new leading ones) repeated without a copy."""

    def expand_as(self, other: TensorOrNumber) -> Tensor:
        """`expand` to the shape of another tensor."""

    def expm1(self) -> Tensor:
        """`exp(x) - 1`, exact near 0."""

    def expm1_(self) -> Tensor:
        """In-place version of `expm1`."""

    def exponential_(self, lambd: _float=1.0, *, generator: Generator | None=None) -> Tensor:
        """Fill with exponentially distributed numbers of rate `lambd`."""

    def fill(self, value: TensorOrNumber) -> Tensor:
        """A tensor like this one with every element `value`."""

    def fill_(self, value: TensorOrNumber) -> Tensor:
        """Set every element to `value`."""

    def fill_diagonal_(self, fill_value: Number, wrap: _bool=False) -> Tensor:
        """Set the main diagonal; with `wrap`, that of a tall matrix starts anew below each square."""

    def fix(self) -> Tensor:
        """Each element without its fraction."""

    def fix_(self) -> Tensor:
        """In-place version of `fix`."""

    def flatten(self, start_dim: _int=0, end_dim: _int=-1) -> Tensor:
        """The dimensions from `start_dim` to `end_dim` as one."""

    @overload
    def flip(self, dims: Dims) -> Tensor:
        """A copy with the order of the elements reversed along the given dimensions."""
    @overload
    def flip(self, *dims: _int) -> Tensor:
        """A copy with the order of the elements reversed along the given dimensions."""

    def fliplr(self) -> Tensor:
        """`flip` along dimension 1."""

    def flipud(self) -> Tensor:
        """`flip` along dimension 0."""

    def float(self, *, memory_format: _memory_format | None=None) -> Tensor:
        """This tensor as `float32`."""

    def float_power(self, exponent: TensorOrNumber) -> Tensor:
        """`input ** exponent` in double precision."""

    def float_power_(self, exponent: TensorOrNumber) -> Tensor:
        """In-place version of `float_power`, for tensors of double precision."""

    def floor(self) -> Tensor:
        """The largest integer not above each element."""

    def floor_(self) -> Tensor:
        """In-place version of `floor`."""

    def floor_divide(self, other: TensorOrNumber) -> Tensor:
        """`input // other`: the quotient rounded down."""

    def floor_divide_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `floor_divide`."""

    def fmax(self, other: TensorOrNumber) -> Tensor:
        """The larger of two elements; NaN only if both are NaN."""

    def fmin(self, other: TensorOrNumber) -> Tensor:
        """The smaller of two elements; NaN only if both are NaN."""

    def fmod(self, other: TensorOrNumber) -> Tensor:
        """What division leaves when the quotient is rounded towards zero."""

    def fmod_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `fmod`."""

    def frac(self) -> Tensor:
        """The fraction that `trunc` drops."""

    def frac_(self) -> Tensor:
        """In-place version of `frac`."""

    def frexp(self) -> return_types.frexp:
        """Mantissa (between 1/2 and 1) and exponent: `input = mantissa * 2**exponent`."""

    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool=False) -> Tensor:
        """Pick elements along `dim`: `out[i][j] = input[index[i][j]][j]` for dim 0."""

    def gcd(self, other: TensorOrNumber) -> Tensor:
        """The greatest common divisor."""

    def gcd_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `gcd`."""

    def ge(self, other: TensorOrNumber) -> Tensor:
        """Whether input is at least other."""

    def ge_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `ge`."""

    def geometric_(self, p: _float, *, generator: Generator | None=None) -> Tensor:
        """Fill with the number of trials up to the first success of probability `p`."""

    def geqrf(self) -> return_types.geqrf:
        """R, and below it the reflections that Q is the product of, as LAPACK leaves them."""

    def ger(self, vec2: Tensor) -> Tensor:
        """The matrix of all products of two vectors' elements."""

    def get_device(self) -> _int:
        """The number of the device; -1 for the CPU."""

    grad: Tensor | None

    grad_dtype: Tensor

    def greater(self, other: TensorOrNumber) -> Tensor:
        """Whether input is greater than other."""

    def greater_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `greater`."""

    def greater_equal(self, other: TensorOrNumber) -> Tensor:
        """Whether input is at least other."""

    def greater_equal_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `greater_equal`."""

    def gt(self, other: TensorOrNumber) -> Tensor:
        """Whether input is greater than other."""

    def gt_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `gt`."""

    def half(self, *, memory_format: _memory_format | None=None) -> Tensor:
        """This tensor as `float16`."""

    def hardshrink(self, lambd: Number=0.5) -> Tensor:
        """x, or 0 within `lambd` of 0."""

    def heaviside(self, values: TensorOrNumber) -> Tensor:
        """0 for negative elements, 1 for positive ones, `values` at 0."""

    def heaviside_(self, values: TensorOrNumber) -> Tensor:
        """In-place version of `heaviside`."""

    def histc(self, bins: _int=100, min: Number=0, max: Number=0) -> Tensor:
        """How many elements fall into each of evenly spaced bins."""

    def histogram(self, bins: _int | Tensor | Sequence[_int] | Tensors=100, *, range: Sequence[_float] | None=None, weight: Tensor | None=None, density: _bool=False) -> return_types.histogram:
        """Counts (or sums of weights, or a density) per bin, and the edges of the bins."""

    @overload
    def hsplit(self, indices_or_sections: Dims) -> tuple[Tensor, ...]:
        """Views cut along dimension 1 (0 of a vector)."""
    @overload
    def hsplit(self, indices: Ints) -> tuple[Tensor, ...]:
        """Views cut along dimension 1 (0 of a vector)."""
    @overload
    def hsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """Views cut along dimension 1 (0 of a vector)."""

    def hypot(self, other: TensorOrNumber) -> Tensor:
        """`sqrt(input² + other²)` without overflow."""

    def hypot_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `hypot`."""

    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind, of order 0."""

    def i0_(self) -> Tensor:
        """In-place version of `i0`."""

    def igamma(self, other: TensorOrNumber) -> Tensor:
        """The lower incomplete gamma function of order `input`, divided by its limit."""

    def igamma_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `igamma`."""

    def igammac(self, other: TensorOrNumber) -> Tensor:
        """One minus `igamma`."""

    def igammac_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `igammac`."""

    imag: Tensor

    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Number=1) -> Tensor:
        """Add `alpha` times the slices of `source` at the positions in `index`, which may repeat."""

    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Number=1) -> Tensor:
        """In-place version of `index_add`."""

    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """Put the slices of `source` at the positions in `index`."""

    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """In-place version of `index_copy`."""

    def index_fill(self, dim: _int, index: Tensor, value: TensorOrNumber) -> Tensor:
        """Fill the slices at the positions in `index` with a number."""

    def index_fill_(self, dim: _int, index: Tensor, value: TensorOrNumber) -> Tensor:
        """In-place version of `index_fill`."""

    def index_put(self, indices: Sequence[Tensor | None], values: TensorOrNumber, accumulate: _bool=False) -> Tensor:
        """`input` with `values` put (or added) where the index tensors point."""

    def index_put_(self, indices: Sequence[Tensor | None], values: TensorOrNumber, accumulate: _bool=False) -> Tensor:
        """In-place version of `index_put`."""

    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool=True) -> Tensor:
        """Reduce the slices of `source` that `index` sends to one: prod, mean, amax or amin."""

    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool=True) -> Tensor:
        """In-place version of `index_reduce`."""

    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """The slices of `input` along `dim` at the positions in `index`."""

    def indices(self) -> Tensor:
        """The places, one to a column."""

    def inner(self, other: TensorOrNumber) -> Tensor:
        """The sum of products over the last dimension of both."""

    def int(self, *, memory_format: _memory_format | None=None) -> Tensor:
        """This tensor as `int32`."""

    def inverse(self) -> Tensor:
        """The inverse of square matrices."""

    def is_coalesced(self) -> _bool:
        """Whether each place is listed once, in order."""

    def is_complex(self) -> _bool:
        """Whether the dtype is complex."""

    def is_conj(self) -> _bool:
        """Whether a conjugation or negation is pending: never, here."""

    def is_contiguous(self, *, memory_format: _memory_format=...) -> _bool:
        """Whether the elements lie in memory in the order of their indices."""

    def is_floating_point(self) -> _bool:
        """Whether the dtype is a floating-point one."""

    def is_inference(self) -> _bool:
        ...

    def is_neg(self) -> _bool:
        """Whether a conjugation or negation is pending: never, here."""

    def is_nonzero(self) -> _bool:
        """Whether the single element is not zero."""

    def is_pinned(self, device: DeviceLike | None=None) -> _bool:
        """Whether the memory is locked for transfers to an accelerator."""

    def is_same_size(self, other: TensorOrNumber) -> _bool:
        """Whether two tensors have the same shape."""

    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether two tensors are the same view of the same storage."""

    def is_shared(self) -> _bool:
        """Whether other processes see this tensor's memory (a GPU's always; otherwise after `share_memory_`)."""

    def is_signed(self) -> _bool:
        """Whether the dtype can hold negative numbers."""

    def isclose(self, other: TensorOrNumber, rtol: _float=1e-05, atol: _float=1e-08, equal_nan: _bool=False) -> Tensor:
        """Whether `|input - other| <= atol + rtol * |other|`, element by element."""

    def isfinite(self) -> Tensor:
        """Whether each element is neither infinite nor NaN."""

    def isinf(self) -> Tensor:
        """Whether each element is infinite."""

    def isnan(self) -> Tensor:
        """Whether each element is NaN."""

    def isneginf(self) -> Tensor:
        """Whether each element is minus infinity."""

    def isposinf(self) -> Tensor:
        """Whether each element is plus infinity."""

    def isreal(self) -> Tensor:
        """Whether the imaginary part is 0."""

    def istft(self, *args: Any, **options: Any) -> Tensor:
        """The signal whose `stft` this is."""

    def item(self) -> _float | _int | _bool:
        """The single element as a Python number."""

    def kron(self, other: TensorOrNumber) -> Tensor:
        """The Kronecker product: `other`, scaled by each element of `input` in turn."""

    def kthvalue(self, k: _int, dim: _int=-1, keepdim: _bool=False) -> return_types.kthvalue:
        """The k-th smallest value along `dim`, and where it is."""

    def lcm(self, other: TensorOrNumber) -> Tensor:
        """The least common multiple."""

    def lcm_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `lcm`."""

    def ldexp(self, other: TensorOrNumber) -> Tensor:
        """`input * 2**other`."""

    def ldexp_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `ldexp`."""

    def le(self, other: TensorOrNumber) -> Tensor:
        """Whether input is at most other."""

    def le_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `le`."""

    def lerp(self, end: TensorOrNumber, weight: TensorOrNumber) -> Tensor:
        """`input + weight * (end - input)`."""

    def lerp_(self, end: TensorOrNumber, weight: TensorOrNumber) -> Tensor:
        """In-place version of `lerp`."""

    def less(self, other: TensorOrNumber) -> Tensor:
        """Whether input is less than other."""

    def less_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `less`."""

    def less_equal(self, other: TensorOrNumber) -> Tensor:
        """Whether input is at most other."""

    def less_equal_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `less_equal`."""

    def lgamma(self) -> Tensor:
        """The logarithm of the absolute value of the gamma function."""

    def lgamma_(self) -> Tensor:
        """In-place version of `lgamma`."""

    def log(self) -> Tensor:
        """The natural logarithm."""

    def log10(self) -> Tensor:
        """The logarithm to base 10."""

    def log10_(self) -> Tensor:
        """In-place version of `log10`."""

    def log1p(self) -> Tensor:
        """`log(1 + x)`, exact near 0."""

    def log1p_(self) -> Tensor:
        """In-place version of `log1p`."""

    def log2(self) -> Tensor:
        """The logarithm to base 2."""

    def log2_(self) -> Tensor:
        """In-place version of `log2`."""

    def log_(self) -> Tensor:
        """In-place version of `log`."""

    def log_normal_(self, mean: _float=1.0, std: _float=2.0, *, generator: Generator | None=None) -> Tensor:
        """Fill with numbers whose logarithms are normal."""

    def log_softmax(self, dim: _int, dtype: _dtype | None=None) -> Tensor:
        """The logarithm of `softmax`, without its rounding."""

    def logaddexp(self, other: TensorOrNumber) -> Tensor:
        """`log(exp(x) + exp(y))` without overflow."""

    def logaddexp2(self, other: TensorOrNumber) -> Tensor:
        """`log2(2**x + 2**y)` without overflow."""

    def logcumsumexp(self, dim: _int) -> Tensor:
        """`log(cumsum(exp(input)))` along `dim`, without overflow."""

    def logdet(self) -> Tensor:
        """The logarithm of the determinant: NaN where that is negative."""

    def logical_and(self, other: TensorOrNumber) -> Tensor:
        """Whether both are true (not zero)."""

    def logical_and_(self, other: Tensor) -> Tensor:
        """In-place version of `logical_and`."""

    def logical_not(self) -> Tensor:
        """Whether each element is false (zero)."""

    def logical_not_(self) -> Tensor:
        """In-place version of `logical_not`."""

    def logical_or(self, other: TensorOrNumber) -> Tensor:
        """Whether either is true (not zero)."""

    def logical_or_(self, other: Tensor) -> Tensor:
        """In-place version of `logical_or`."""

    def logical_xor(self, other: TensorOrNumber) -> Tensor:
        """Whether exactly one is true (not zero)."""

    def logical_xor_(self, other: Tensor) -> Tensor:
        """In-place version of `logical_xor`."""

    def logit(self, eps: _float | None=None) -> Tensor:
        """`log(x / (1 - x))`, with x kept between eps and 1 - eps if eps is given."""

    def logit_(self, eps: _float | None=None) -> Tensor:
        """In-place version of `logit`."""

    def logsumexp(self, dim: Dims, keepdim: _bool=False) -> Tensor:
        """`log(sum(exp(input)))` over `dim`, without overflow."""

    def long(self, *, memory_format: _memory_format | None=None) -> Tensor:
        """This tensor as `int64`."""

    def lt(self, other: TensorOrNumber) -> Tensor:
        """Whether input is less than other."""

    def lt_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `lt`."""

    def lu(self, pivot: _bool=True, get_infos: _bool=False) -> tuple[Tensor, ...]:
        """`linalg.lu_factor_ex` by its old name."""

    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """`linalg.lu_solve` by its old name."""

    @property
    def mH(self) -> Tensor: ...

    @property
    def mT(self) -> Tensor: ...

    def map2_(self, x: Tensor, y: Tensor, callable: Callable[..., Any]) -> Tensor:
        """Replace each element by a Python function of it and of two other tensors' elements."""

    def map_(self, other: Tensor, callable: Callable[..., Any]) -> Tensor:
        """Replace each element by a Python function of it and of another tensor's element."""

    def masked_fill(self, mask: Tensor, value: TensorOrNumber) -> Tensor:
        """`input` with a number where `mask` is true."""

    def masked_fill_(self, mask: Tensor, value: TensorOrNumber) -> Tensor:
        """In-place version of `masked_fill`."""

    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """`input` with the elements of `source`, one after another, where `mask` is true."""

    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """In-place version of `masked_scatter`."""

    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where `mask` is true, as a vector."""

    def matmul(self, other: TensorOrNumber) -> Tensor:
        """The matrix product: of vectors, matrices, or batches of matrices broadcast together."""

    def matrix_exp(self) -> Tensor:
        """The exponential of square matrices: the sum of A^k / k!."""

    def matrix_power(self, n: _int) -> Tensor:
        """The n-th power of square matrices: `linalg.matrix_power`."""

    @overload
    def max(self) -> Tensor:
        """The largest value; with `dim`, values and indices; with a tensor, element by element."""
    @overload
    def max(self, dim: _int, keepdim: _bool=False) -> return_types.max:
        """The largest value; with `dim`, values and indices; with a tensor, element by element."""
    @overload
    def max(self, other: Tensor) -> Tensor:
        """The largest value; with `dim`, values and indices; with a tensor, element by element."""

    def maximum(self, other: TensorOrNumber) -> Tensor:
        """The larger of two elements; NaN if either is NaN."""

    def mean(self, dim: Dims | None=None, keepdim: _bool=False, *, dtype: _dtype | None=None) -> Tensor:
        """The mean over `dim`, or of everything; integers need a floating-point `dtype`."""

    @overload
    def median(self) -> Tensor:
        """The lower median of everything, or along `dim` with its index; NaN makes it NaN."""
    @overload
    def median(self, dim: _int, keepdim: _bool=False) -> return_types.median:
        """The lower median of everything, or along `dim` with its index; NaN makes it NaN."""

    @overload
    def min(self) -> Tensor:
        """The smallest value; with `dim`, values and indices; with a tensor, element by element."""
    @overload
    def min(self, dim: _int, keepdim: _bool=False) -> return_types.min:
        """The smallest value; with `dim`, values and indices; with a tensor, element by element."""
    @overload
    def min(self, other: Tensor) -> Tensor:
        """The smallest value; with `dim`, values and indices; with a tensor, element by element."""

    def minimum(self, other: TensorOrNumber) -> Tensor:
        """The smaller of two elements; NaN if either is NaN."""

    def mm(self, mat2: Tensor, out_dtype: _dtype | None=None) -> Tensor:
        """The product of two matrices."""

    def mode(self, dim: _int=-1, keepdim: _bool=False) -> return_types.mode:
        """The most frequent value along `dim` (the smallest of several), and its last place."""

    def moveaxis(self, source: Dims, destination: Dims) -> Tensor:
        """A view with the dimensions `source` moved to the places `destination`."""

    def movedim(self, source: Dims, destination: Dims) -> Tensor:
        """A view with the dimensions `source` moved to the places `destination`."""

    def msort(self) -> Tensor:
        """Sorted along the first dimension."""

    def mul(self, other: TensorOrNumber) -> Tensor:
        """`input * other`, element by element."""

    def mul_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `mul`."""

    def multinomial(self, num_samples: _int, replacement: _bool=False, *, generator: Generator | None=None, out: Tensor | None=None) -> Tensor:
        """The indices of `num_samples` draws from each row, with the row's values as weights."""

    def multiply(self, other: TensorOrNumber) -> Tensor:
        """`input * other`, element by element."""

    def multiply_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `multiply`."""

    def mv(self, vec: Tensor) -> Tensor:
        """The product of a matrix and a vector."""

    def mvlgamma(self, p: _int) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension p."""

    def mvlgamma_(self, p: _int) -> Tensor:
        """In-place version of `mvlgamma`."""

    @property
    def name(self) -> str | None: ...

    def nan_to_num(self, nan: _float | None=None, posinf: _float | None=None, neginf: _float | None=None) -> Tensor:
        """NaN and infinities replaced by numbers: 0 and the largest ones, unless told otherwise."""

    def nan_to_num_(self, nan: _float | None=None, posinf: _float | None=None, neginf: _float | None=None) -> Tensor:
        """In-place version of `nan_to_num`."""

    def nanmean(self, dim: Dims | None=None, keepdim: _bool=False, *, dtype: _dtype | None=None) -> Tensor:
        """The mean of what is not NaN."""

    @overload
    def nanmedian(self) -> Tensor:
        """The lower median of everything, or along `dim` with its index; NaN is left out."""
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool=False) -> return_types.nanmedian:
        """The lower median of everything, or along `dim` with its index; NaN is left out."""

    def nanquantile(self, q: TensorOrNumber, dim: _int | None=None, keepdim: _bool=False, *, interpolation: str='linear') -> Tensor:
        """The q-th quantiles of what is not NaN."""

    def nansum(self, dim: Dims | None=None, keepdim: _bool=False, *, dtype: _dtype | None=None) -> Tensor:
        """The sum with NaN counted as zero."""

    def narrow(self, dim: _int, start: Tensor | _int, length: _int) -> Tensor:
        """A view of `length` indices of a dimension from `start` on."""

    def narrow_copy(self, dim: _int, start: Tensor | _int, length: _int) -> Tensor:
        """`narrow` as a copy."""

    def ndimension(self) -> _int:
        """The number of dimensions."""

    def ne(self, other: TensorOrNumber) -> Tensor:
        """Whether elements differ."""

    def ne_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `ne`."""

    def neg(self) -> Tensor:
        """Minus each element."""

    def neg_(self) -> Tensor:
        """In-place version of `neg`."""

    def negative(self) -> Tensor:
        """Minus each element."""

    def negative_(self) -> Tensor:
        """In-place version of `negative`."""

    def nelement(self) -> _int:
        """The number of elements."""

    def new(self, *args: Any, device: DeviceLike | None=None) -> Tensor:
        """The old constructor, with this tensor's dtype."""

    @overload
    def new_empty(self, size: Ints, *, dtype: _dtype | None=None, device: DeviceLike | None=None, requires_grad: _bool=False, layout: _layout | None=None, pin_memory: _bool=False) -> Tensor:
        """`empty` with this tensor's dtype and device."""
    @overload
    def new_empty(self, *size: _int, dtype: _dtype | None=None, device: DeviceLike | None=None, requires_grad: _bool=False, layout: _layout | None=None, pin_memory: _bool=False) -> Tensor:
        """`empty` with this tensor's dtype and device."""

    def new_empty_strided(self, size: Ints, stride: Ints, *, dtype: _dtype | None=None, layout: _layout | None=None, device: DeviceLike | None=None, pin_memory: _bool=False, requires_grad: _bool=False) -> Tensor:
        """`empty_strided` with this tensor's dtype."""

    def new_full(self, size: Ints, fill_value: Number, *, dtype: _dtype | None=None, device: DeviceLike | None=None, requires_grad: _bool=False, layout: _layout | None=None, pin_memory: _bool=False) -> Tensor:
        """`full` with this tensor's dtype and device."""

    @overload
    def new_ones(self, size: Ints, *, dtype: _dtype | None=None, device: DeviceLike | None=None, requires_grad: _bool=False, layout: _layout | None=None, pin_memory: _bool=False) -> Tensor:
        """`ones` with this tensor's dtype and device."""
    @overload
    def new_ones(self, *size: _int, dtype: _dtype | None=None, device: DeviceLike | None=None, requires_grad: _bool=False, layout: _layout | None=None, pin_memory: _bool=False) -> Tensor:
        """`ones` with this tensor's dtype and device."""

    def new_tensor(self, data: Any, *, dtype: _dtype | None=None, device: DeviceLike | None=None, requires_grad: _bool=False, layout: _layout | None=None, pin_memory: _bool=False) -> Tensor:
        """A tensor with a copy of `data` and this tensor's dtype."""

    @overload
    def new_zeros(self, size: Ints, *, dtype: _dtype | None=None, device: DeviceLike | None=None, requires_grad: _bool=False, layout: _layout | None=None, pin_memory: _bool=False) -> Tensor:
        """`zeros` with this tensor's dtype and device."""
    @overload
    def new_zeros(self, *size: _int, dtype: _dtype | None=None, device: DeviceLike | None=None, requires_grad: _bool=False, layout: _layout | None=None, pin_memory: _bool=False) -> Tensor:
        """`zeros` with this tensor's dtype and device."""

    def nextafter(self, other: TensorOrNumber) -> Tensor:
        """The next number after `input` on the way to `other`."""

    def nextafter_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `nextafter`."""

    @overload
    def nonzero(self, *, as_tuple: Literal[False]=False) -> Tensor:
        """The indices of the elements that are not zero: a row each, or a vector per dimension."""
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
        """The indices of the elements that are not zero: a row each, or a vector per dimension."""

    def nonzero_static(self, *, size: _int, fill_value: _int=-1) -> Tensor:
        """Indices of the first `size` elements that are not zero, a row each; more rows hold `fill_value`."""

    def norm(self, p: _float | str='fro', dim: Dims | None=None, keepdim: _bool=False, dtype: _dtype | None=None) -> Tensor:
        """The p-norm over `dim` or of everything; "fro" is 2, "nuc" the nuclear norm of matrices."""

    def normal_(self, mean: _float=0.0, std: _float=1.0, *, generator: Generator | None=None) -> Tensor:
        """Fill with normal numbers of this mean and standard deviation."""

    def not_equal(self, other: TensorOrNumber) -> Tensor:
        """Whether elements differ."""

    def not_equal_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `not_equal`."""

    def numel(self) -> _int:
        """The number of elements."""

    def numpy(self, *, force: _bool=False) -> np.ndarray[Any, Any]:
        """This tensor's memory as a NumPy array; with `force` a tensor with history is detached."""

    def orgqr(self, input2: Tensor) -> Tensor:
        """`linalg.householder_product` by its old name."""

    def ormqr(self, input2: Tensor, input3: Any, left: _bool=True, transpose: _bool=False) -> Tensor:
        """`Q @ other`, or `other @ Q`, where Q is the whole product of the reflections; `transpose`: its adjoint."""

    def outer(self, vec2: Tensor) -> Tensor:
        """The matrix of all products of two vectors' elements."""

    @overload
    def permute(self, dims: Ints) -> Tensor:
        """A view with its dimensions in the given order."""
    @overload
    def permute(self, *dims: _int) -> Tensor:
        """A view with its dimensions in the given order."""

    def pin_memory(self, device: DeviceLike | None=None) -> Tensor:
        """A copy in page-locked memory, which a GPU can read while the CPU continues."""

    def pinverse(self, rcond: _float=1e-15) -> Tensor:
        """`linalg.pinv` by its old name."""

    def polygamma(self, n: _int) -> Tensor:
        """The n-th derivative of `digamma`."""

    def polygamma_(self, n: _int) -> Tensor:
        """In-place version of `polygamma`."""

    def positive(self) -> Tensor:
        """The tensor itself."""

    def pow(self, exponent: TensorOrNumber) -> Tensor:
        """`input ** exponent`; one of the two may be a number."""

    def pow_(self, exponent: TensorOrNumber) -> Tensor:
        """In-place version of `pow`."""

    def prelu(self, weight: Tensor) -> Tensor:
        """x, or `weight * x` below 0; the weight is one number, or one per channel (dimension 1)."""

    @overload
    def prod(self, *, dtype: _dtype | None=None) -> Tensor:
        """The product along `dim`, or of everything; integers and bools multiply in int64."""
    @overload
    def prod(self, dim: _int, keepdim: _bool=False, *, dtype: _dtype | None=None) -> Tensor:
        """The product along `dim`, or of everything; integers and bools multiply in int64."""

    def put(self, index: Tensor, source: Tensor, accumulate: _bool=False) -> Tensor:
        """Put (or add) the elements of `source` at flat positions."""

    def put_(self, index: Tensor, source: Tensor, accumulate: _bool=False) -> Tensor:
        """In-place version of `put`."""

    def qr(self, some: _bool=True) -> return_types.qr:
        """`linalg.qr` by its old name."""

    def quantile(self, q: TensorOrNumber, dim: _int | None=None, keepdim: _bool=False, *, interpolation: str='linear') -> Tensor:
        """The q-th quantiles along `dim`, or of everything."""

    def rad2deg(self) -> Tensor:
        """Radians to degrees."""

    def rad2deg_(self) -> Tensor:
        """In-place version of `rad2deg`."""

    @overload
    def random_(self, *, generator: Generator | None=None) -> Tensor:
        """Fill with integers: below `to`, in [from, to), or of the dtype's whole range."""
    @overload
    def random_(self, to: _int, *, generator: Generator | None=None) -> Tensor:
        """Fill with integers: below `to`, in [from, to), or of the dtype's whole range."""
    @overload
    def random_(self, from_: _int, to: _int | None, /, *, generator: Generator | None=None) -> Tensor:
        """Fill with integers: below `to`, in [from, to), or of the dtype's whole range."""

    def ravel(self) -> Tensor:
        """All elements in one dimension, copied only if they must be."""

    real: Tensor

    def reciprocal(self) -> Tensor:
        """One over each element."""

    def reciprocal_(self) -> Tensor:
        """In-place version of `reciprocal`."""

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook(grad)` each time a gradient for this tensor is computed."""

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> RemovableHandle:
        """Call `hook(tensor)` after this leaf's `.grad` has been updated."""

    def relu(self) -> Tensor:
        """Each element, or 0 if it is negative."""

    def relu_(self) -> Tensor:
        """In-place version of `relu`."""

    def remainder(self, other: TensorOrNumber) -> Tensor:
        """`input % other`: what division leaves when the quotient is rounded down."""

    def remainder_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `remainder`."""

    def renorm(self, p: _float | str, dim: _int, maxnorm: Number) -> Tensor:
        """The slices along `dim`, each scaled down to p-norm `maxnorm` if its own is larger."""

    def renorm_(self, p: _float | str, dim: _int, maxnorm: Number) -> Tensor:
        """In-place version of `renorm`."""

    @overload
    def repeat(self, repeats: Ints) -> Tensor:
        """A copy with the whole tensor repeated along each dimension; new ones come first."""
    @overload
    def repeat(self, *repeats: _int) -> Tensor:
        """A copy with the whole tensor repeated along each dimension; new ones come first."""

    def repeat_interleave(self, repeats: Tensor | _int, dim: _int | None=None, *, output_size: _int | None=None) -> Tensor:
        """Each element (or each index of `dim`) repeated so many times, one after the other."""

    def requires_grad_(self, requires_grad: _bool=True) -> Tensor:
        """Ask for a gradient of this leaf (or no longer)."""

    @overload
    def reshape(self, shape: Ints) -> Tensor:
        """The same elements in another shape: a view where memory allows, else a copy."""
    @overload
    def reshape(self, *shape: _int) -> Tensor:
        """The same elements in another shape: a view where memory allows, else a copy."""

    def reshape_as(self, other: TensorOrNumber) -> Tensor:
        """`reshape` to the shape of another tensor."""

    @overload
    def resize_(self, size: Ints, *, memory_format: _memory_format | None=None) -> Tensor:
        """Give this tensor another size; elements stay in memory order, new ones are not set."""
    @overload
    def resize_(self, *size: _int, memory_format: _memory_format | None=None) -> Tensor:
        """Give this tensor another size; elements stay in memory order, new ones are not set."""

    def resize_as_(self, the_template: Tensor, *, memory_format: _memory_format | None=None) -> Tensor:
        """Give this tensor the size of another."""

    def resolve_conj(self) -> Tensor:
        """The tensor itself: conjugates are never pending here."""

    def resolve_neg(self) -> Tensor:
        """The tensor itself: negations are never pending here."""

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf tensor in `.grad`."""

    def roll(self, shifts: Dims, dims: Dims=()) -> Tensor:
        """A copy with elements moved along dimensions (all as one if none is named), round the end."""

    def rot90(self, k: _int=1, dims: Ints=(0, 1)) -> Tensor:
        """A copy turned `k` quarters from the first of two dimensions towards the second."""

    def round(self, *, decimals: _int=0) -> Tensor:
        """Each element to the nearest integer (or decimal), halves to the even one."""

    def round_(self, *, decimals: _int=0) -> Tensor:
        """In-place version of `round`."""

    def row_indices(self) -> Tensor:
        """The rows of what a CSC matrix holds."""

    def rsqrt(self) -> Tensor:
        """One over the square root."""

    def rsqrt_(self) -> Tensor:
        """In-place version of `rsqrt`."""

    @overload
    def scatter(self, dim: _int, index: Tensor, src: Tensor, *, reduce: str | None=None) -> Tensor:
        """Write `src` (a tensor or a number) at the places `index` names along `dim`."""
    @overload
    def scatter(self, dim: _int, index: Tensor, value: Number, *, reduce: str | None=None) -> Tensor:
        """Write `src` (a tensor or a number) at the places `index` names along `dim`."""

    @overload
    def scatter_(self, dim: _int, index: Tensor, src: Tensor, *, reduce: str | None=None) -> Tensor:
        """In-place version of `scatter`."""
    @overload
    def scatter_(self, dim: _int, index: Tensor, value: Number, *, reduce: str | None=None) -> Tensor:
        """In-place version of `scatter`."""

    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """Add `src` at the places `index` names along `dim`; places may repeat."""

    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """In-place version of `scatter_add`."""

    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool=True) -> Tensor:
        """Reduce the values of `src` that `index` sends to one place: sum, prod, mean, amax or amin."""

    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool=True) -> Tensor:
        """In-place version of `scatter_reduce`."""

    def select(self, dim: _int, index: _int) -> Tensor:
        """A view at one index of a dimension, without that dimension."""

    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """A copy of `input` with one index of a dimension replaced by `src`."""

    def set_(self, source: Any=None, storage_offset: _int=0, size: Ints | None=None, stride: Ints | None=None) -> Tensor:
        """Let this tensor look into the memory of another tensor or storage, or into none."""

    def sgn(self) -> Tensor:
        """The direction of each element: its sign, or `z / |z|`."""

    def sgn_(self) -> Tensor:
        """In-place version of `sgn`."""

    def share_memory_(self) -> Tensor:
        """Move this tensor's elements to memory that child processes started from now on can see, too."""

    def short(self, *, memory_format: _memory_format | None=None) -> Tensor:
        """This tensor as `int16`."""

    def sigmoid(self) -> Tensor:
        """`1 / (1 + exp(-x))`."""

    def sigmoid_(self) -> Tensor:
        """In-place version of `sigmoid`."""

    def sign(self) -> Tensor:
        """-1, 0 or 1: the sign of each element."""

    def sign_(self) -> Tensor:
        """In-place version of `sign`."""

    def signbit(self) -> Tensor:
        """Whether the sign bit is set (-0.0 included)."""

    def sin(self) -> Tensor:
        """The sine."""

    def sin_(self) -> Tensor:
        """In-place version of `sin`."""

    def sinc(self) -> Tensor:
        """`sin(πx) / (πx)`, which is 1 at 0."""

    def sinc_(self) -> Tensor:
        """In-place version of `sinc`."""

    def sinh(self) -> Tensor:
        """The hyperbolic sine."""

    def sinh_(self) -> Tensor:
        """In-place version of `sinh`."""

    @overload
    def size(self, dim: None=None) -> Size:
        """The shape, or the extent of one dimension."""
    @overload
    def size(self, dim: _int) -> _int:
        """The shape, or the extent of one dimension."""

    def slice_scatter(self, src: Tensor, dim: _int=0, start: _int | None=None, end: _int | None=None, step: _int=1) -> Tensor:
        """A copy of `input` with a slice of a dimension replaced by `src`."""

    def slogdet(self) -> return_types.slogdet:
        """The sign of the determinant and the logarithm of its absolute value."""

    def smm(self, mat2: Tensor) -> Tensor:
        """The product with a dense matrix, as a sparse tensor."""

    def softmax(self, dim: _int, dtype: _dtype | None=None) -> Tensor:
        """`exp(x) / sum(exp(x))` along a dimension."""

    def sort(self, dim: _int=-1, descending: _bool=False, *, stable: _bool | None=None) -> return_types.sort:
        """Sorted values along `dim`, and where each came from."""

    def sparse_dim(self) -> _int:
        """How many dimensions a place fixes."""

    def sparse_mask(self, mask: Tensor) -> Tensor:
        """This tensor at the places of a sparse one."""

    def sparse_resize_(self, size: Ints, sparse_dim: _int, dense_dim: _int) -> Tensor:
        """Give a sparse tensor another size, in place; what it holds must fit."""

    def sparse_resize_and_clear_(self, size: Ints, sparse_dim: _int, dense_dim: _int) -> Tensor:
        """Give a sparse tensor another size, in place, with nothing held."""

    def split(self, split_size: Dims, dim: _int=0) -> tuple[Tensor, ...]:
        """Views of `split_size` indices each (the last may be smaller), or of the sizes listed."""

    def split_with_sizes(self, split_sizes: Ints, dim: _int=0) -> tuple[Tensor, ...]:
        """Views of the sizes listed, one after the other along a dimension."""

    def sqrt(self) -> Tensor:
        """The square root."""

    def sqrt_(self) -> Tensor:
        """In-place version of `sqrt`."""

    def square(self) -> Tensor:
        """`input ** 2`."""

    def square_(self) -> Tensor:
        """In-place version of `square`."""

    def squeeze(self, dim: Dims | None=None) -> Tensor:
        """A view without the dimensions of size one: all of them, or those named that are."""

    def squeeze_(self, dim: Dims | None=None) -> Tensor:
        """Drop this tensor's dimensions of size one: all of them, or those named that are."""

    def sspaddmm(self, mat1: Tensor, mat2: Tensor, *, beta: Number=1, alpha: Number=1) -> Tensor:
        """This sparse matrix plus the product of a sparse and a dense one, sparse."""

    @overload
    def std(self, dim: Dims | None=None, *, correction: _float | None=None, keepdim: _bool=False) -> Tensor:
        """The standard deviation over `dim`; squares are divided by n - `correction`, which is 1."""
    @overload
    def std(self, dim: Dims | None, unbiased: _bool, keepdim: _bool=False, out: Tensor | None=None) -> Tensor:
        """The standard deviation over `dim`; squares are divided by n - `correction`, which is 1."""
    @overload
    def std(self, unbiased: _bool) -> Tensor:
        """The standard deviation over `dim`; squares are divided by n - `correction`, which is 1."""

    def stft(self, *args: Any, **options: Any) -> Tensor:
        """The frequencies in a signal as time goes on."""

    def storage(self) -> TypedStorage:
        """The memory this tensor looks into, as elements of its dtype."""

    def storage_offset(self) -> _int:
        """How many elements after the start of its storage this tensor begins."""

    def storage_type(self) -> Tensor:
        """The type of this tensor's storage."""

    @overload
    def stride(self, dim: None=None) -> tuple[_int, ...]:
        """How many elements apart neighbours lie, for every dimension or for one."""
    @overload
    def stride(self, dim: _int) -> _int:
        """How many elements apart neighbours lie, for every dimension or for one."""

    def sub(self, other: TensorOrNumber, *others: Any, alpha: Number=1) -> Tensor:
        """`input - alpha * other`."""

    def sub_(self, other: TensorOrNumber, *others: Any, alpha: Number=1) -> Tensor:
        """In-place version of `sub`."""

    def subtract(self, other: TensorOrNumber, *others: Any, alpha: Number=1) -> Tensor:
        """`input - alpha * other`."""

    def subtract_(self, other: TensorOrNumber, *others: Any, alpha: Number=1) -> Tensor:
        """In-place version of `subtract`."""

    def sum(self, dim: Dims | None=None, keepdim: _bool=False, *, dtype: _dtype | None=None) -> Tensor:
        """The sum over `dim`, or of everything; integers and bools add up in int64."""

    @overload
    def sum_to_size(self, size: Ints) -> Tensor:
        """The sums that undo an `expand`: from this shape back to `size`, which must expand to it."""
    @overload
    def sum_to_size(self, *size: _int) -> Tensor:
        """The sums that undo an `expand`: from this shape back to `size`, which must expand to it."""

    def svd(self, some: _bool=True, compute_uv: _bool=True) -> return_types.svd:
        """`linalg.svd` by its old name, which gives V rather than its conjugate transpose."""

    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """A view with two dimensions exchanged; NumPy's name for `transpose`."""

    def swapaxes_(self, axis0: _int, axis1: _int) -> Tensor:
        """Exchange two dimensions of this tensor."""

    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """A view with two dimensions exchanged."""

    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor:
        """Exchange two dimensions of this tensor."""

    def t(self) -> Tensor:
        """A view of a matrix transposed; fewer than two dimensions stay as they are."""

    def t_(self) -> Tensor:
        """Transpose this matrix."""

    def take(self, index: Tensor) -> Tensor:
        """The elements at flat positions, in the shape of `index`."""

    def take_along_dim(self, indices: Tensor, dim: _int | None=None) -> Tensor:
        """Pick elements along `dim` with broadcasting; by flat position where `dim` is None."""

    def tan(self) -> Tensor:
        """The tangent."""

    def tan_(self) -> Tensor:
        """In-place version of `tan`."""

    def tanh(self) -> Tensor:
        """The hyperbolic tangent."""

    def tanh_(self) -> Tensor:
        """In-place version of `tanh`."""

    @overload
    def tensor_split(self, indices_or_sections: Dims | Tensor, dim: _int=0) -> tuple[Tensor, ...]:
        """Views between the indices listed, or in a number of nearly equal sections."""
    @overload
    def tensor_split(self, indices: Ints, dim: _int=0) -> tuple[Tensor, ...]:
        """Views between the indices listed, or in a number of nearly equal sections."""
    @overload
    def tensor_split(self, sections: _int, dim: _int=0) -> tuple[Tensor, ...]:
        """Views between the indices listed, or in a number of nearly equal sections."""

    @overload
    def tile(self, dims: Ints) -> Tensor:
        """`repeat`, with the counts for the last dimensions if there are fewer than dimensions."""
    @overload
    def tile(self, *dims: _int) -> Tensor:
        """`repeat`, with the counts for the last dimensions if there are fewer than dimensions."""

    @overload
    def to(self, dtype: _dtype, non_blocking: _bool=False, copy: _bool=False, *, memory_format: _memory_format | None=None) -> Tensor:
        """This tensor with another dtype or device; itself where nothing is to change."""
    @overload
    def to(self, device: DeviceLike | None=None, dtype: _dtype | None=None, non_blocking: _bool=False, copy: _bool=False, *, memory_format: _memory_format | None=None) -> Tensor:
        """This tensor with another dtype or device; itself where nothing is to change."""
    @overload
    def to(self, other: Tensor, non_blocking: _bool=False, copy: _bool=False, *, memory_format: _memory_format | None=None) -> Tensor:
        """This tensor with another dtype or device; itself where nothing is to change."""

    def to_dense(self, dtype: _dtype | None=None, *, masked_grad: _bool | None=None) -> Tensor:
        """All elements, the zeros too; a dense tensor is itself."""

    def to_sparse(self, sparse_dim: Any=None, *, layout: _layout | None=None, blocksize: Any=None, dense_dim: Any=None) -> Tensor:
        """A sparse copy: of coordinates, or in the layout that is named."""

    def to_sparse_coo(self) -> Tensor:
        """A sparse copy of coordinates."""

    def to_sparse_csc(self, dense_dim: Any=None) -> Tensor:
        """A copy compressed by columns."""

    def to_sparse_csr(self, dense_dim: Any=None) -> Tensor:
        """A copy compressed by rows."""

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; a number for a 0-dim tensor."""

    def topk(self, k: _int, dim: _int=-1, largest: _bool=True, sorted: _bool=True) -> return_types.topk:
        """The k largest (or smallest) values along `dim`, in order, and where they are."""

    def trace(self) -> Tensor:
        """The sum of a matrix's diagonal."""

    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """A view with two dimensions exchanged."""

    def transpose_(self, dim0: _int, dim1: _int) -> Tensor:
        """Exchange two dimensions of this tensor."""

    def triangular_solve(self, A: Tensor, upper: _bool=True, transpose: _bool=False, unitriangular: _bool=False) -> return_types.triangular_solve:
        """`linalg.solve_triangular` by its old name, with a copy of A beside the solution."""

    def tril(self, diagonal: _int=0) -> Tensor:
        """The lower triangle of matrices, zeros above the given diagonal."""

    def tril_(self, diagonal: _int=0) -> Tensor:
        """In-place version of `tril`."""

    def triu(self, diagonal: _int=0) -> Tensor:
        """The upper triangle of matrices, zeros below the given diagonal."""

    def triu_(self, diagonal: _int=0) -> Tensor:
        """In-place version of `triu`."""

    def true_divide(self, other: TensorOrNumber) -> Tensor:
        """`input / other`."""

    def true_divide_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `true_divide`."""

    def trunc(self) -> Tensor:
        """Each element without its fraction."""

    def trunc_(self) -> Tensor:
        """In-place version of `trunc`."""

    @overload
    def type(self, dtype: None=None, non_blocking: _bool=False) -> str:
        """The name of this tensor's type; or, given a dtype or such a name, the tensor cast to it."""
    @overload
    def type(self, dtype: _dtype | str | _type[Any], non_blocking: _bool=False) -> Tensor:
        """The name of this tensor's type; or, given a dtype or such a name, the tensor cast to it."""

    def type_as(self, other: TensorOrNumber) -> Tensor:
        """This tensor in the dtype of another."""

    def unbind(self, dim: _int=0) -> tuple[Tensor, ...]:
        """Views at every index of a dimension, as a tuple."""

    def unflatten(self, dim: _int, sizes: Ints) -> Tensor:
        """One dimension as several whose sizes multiply up to it; one of them may be -1."""

    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """A view of all windows of `size` along a dimension, `step` apart, as a new last one."""

    @overload
    def uniform_(self, from_: _float=0, to: _float=1, /, *, generator: Generator | None=None) -> Tensor:
        """Fill with uniform numbers in [from, to), by default [0, 1)."""
    @overload
    def uniform_(self, *, to: _float=1, generator: Generator | None=None) -> Tensor:
        """Fill with uniform numbers in [from, to), by default [0, 1)."""

    @overload
    def unique(self, sorted: _bool=True, return_inverse: Literal[False]=False, return_counts: Literal[False]=False, dim: _int | None=None) -> Tensor:
        """The distinct values in order; on request where each input went, and how often each came."""
    @overload
    def unique(self, sorted: _bool=True, return_inverse: _bool=False, return_counts: _bool=False, dim: _int | None=None) -> Any:
        """The distinct values in order; on request where each input went, and how often each came."""

    @overload
    def unique_consecutive(self, return_inverse: Literal[False]=False, return_counts: Literal[False]=False, dim: _int | None=None) -> Tensor:
        """The first of each run of equal values."""
    @overload
    def unique_consecutive(self, return_inverse: _bool=False, return_counts: _bool=False, dim: _int | None=None) -> Any:
        """The first of each run of equal values."""

    def unsafe_chunk(self, chunks: _int, dim: _int=0) -> tuple[Tensor, ...]:
        """`chunk` that does not watch the parts."""

    def unsafe_split(self, split_size: _int, dim: _int=0) -> tuple[Tensor, ...]:
        """`split` that does not watch the parts: changing one in place leaves the others' history."""

    def unsafe_split_with_sizes(self, split_sizes: Ints, dim: _int=0) -> tuple[Tensor, ...]:
        """`split_with_sizes` that does not watch the parts."""

    def unsqueeze(self, dim: _int) -> Tensor:
        """A view with a dimension of size one inserted before `dim`."""

    def unsqueeze_(self, dim: _int) -> Tensor:
        """Give this tensor a dimension of size one before `dim`."""

    def untyped_storage(self) -> UntypedStorage:
        """The memory this tensor looks into."""

    def values(self) -> Tensor:
        """The elements that are held."""

    @overload
    def var(self, dim: Dims | None=None, *, correction: _float | None=None, keepdim: _bool=False) -> Tensor:
        """The variance over `dim`; squares are divided by n - `correction`, which is 1."""
    @overload
    def var(self, dim: Dims | None, unbiased: _bool, keepdim: _bool=False, out: Tensor | None=None) -> Tensor:
        """The variance over `dim`; squares are divided by n - `correction`, which is 1."""
    @overload
    def var(self, unbiased: _bool) -> Tensor:
        """The variance over `dim`; squares are divided by n - `correction`, which is 1."""

    def vdot(self, other: TensorOrNumber) -> Tensor:
        """The inner product of two vectors, the first one conjugated."""

    @overload
    def view(self, size: Ints) -> Tensor:
        """The same memory in another shape, never a copy; or, given a dtype, as elements of it."""
    @overload
    def view(self, *size: _int) -> Tensor:
        """The same memory in another shape, never a copy; or, given a dtype, as elements of it."""
    @overload
    def view(self, dtype: _dtype) -> Tensor:
        """The same memory in another shape, never a copy; or, given a dtype, as elements of it."""

    def view_as(self, other: TensorOrNumber) -> Tensor:
        """`view` in the shape of another tensor."""

    @property
    def volatile(self) -> _bool: ...

    @overload
    def vsplit(self, indices_or_sections: Dims) -> tuple[Tensor, ...]:
        """Views cut along dimension 0."""
    @overload
    def vsplit(self, indices: Ints) -> tuple[Tensor, ...]:
        """Views cut along dimension 0."""
    @overload
    def vsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """Views cut along dimension 0."""

    def where(self, condition: Tensor, other: TensorOrNumber) -> Tensor:
        """This tensor where the condition holds, `other` elsewhere."""

    def xlogy(self, other: TensorOrNumber) -> Tensor:
        """`input * log(other)`, which is 0 where input is 0."""

    def xlogy_(self, other: TensorOrNumber) -> Tensor:
        """In-place version of `xlogy`."""

    def zero_(self) -> Tensor:
        """Set every element to zero."""
