"""The Tensor: an array, and how it was computed.

The class here holds state and identity only. Everything a tensor can *do* is an operation, declared
in `_ops` and attached as a method by `_ops.declare.public`; autograd's methods come from `_autograd`.
"""

from __future__ import annotations

import operator
import sys
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays.devices import device, device_of
from .._arrays.dtypes import array_of_number, dtype, from_numpy_dtype
from .._arrays.formats import strided
from .._autograd.effects import put_off_no_longer, structure
from .._autograd.node import AccumulateGrad, Node
from .._user_code.owners import internal
from .attributes import SLOTS, Attributed, give_names, programs, set_programs

if TYPE_CHECKING:
    from .methods import TensorMethods  # what operations attach, as a stub (tools/make_stubs.py)
else:
    TensorMethods = object


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple that prints as PyTorch's does."""

    __slots__ = ()

    def __new__(cls, extents: Any = ()) -> Size:
        return _new_tuple(cls, [_extent(i, n) for i, n in enumerate(extents)])  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def numel(self) -> int:
        count = 1
        for extent in self:
            count *= extent
        return count

    def __add__(self, other: Any) -> Any:
        if isinstance(other, tuple):
            return _new_tuple(Size, tuple.__add__(self, other))
        if hasattr(other, "__radd__"):
            return NotImplemented
        raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")

    def __radd__(self, other: Any) -> Any:
        if isinstance(other, tuple):
            return _new_tuple(Size, tuple.__add__(other, self))
        return NotImplemented

    def __mul__(self, times: Any) -> Size:
        if not hasattr(times, "__index__"):
            kind = type(times).__name__
            raise TypeError(f"can't multiply sequence by non-int of type '{kind}'")
        return _new_tuple(Size, tuple.__mul__(self, times))  # type: ignore[no-any-return]

    __rmul__ = __mul__

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return _new_tuple(Size, found) if isinstance(index, slice) else found

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


_new_tuple: Any = tuple.__new__


def _extent(place: int, value: Any) -> int:
    if type(value) is int:
        return value
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {place} is '{type(value).__name__}')"
        ) from None


OWN_DTYPE = object()
"""`Tensor._grad_dtype` of a leaf whose gradients have the leaf's own dtype."""


class Tensor(Attributed, TensorMethods):
    """A multi-dimensional array that records what is done to it."""

    __module__ = "torch"
    __slots__ = SLOTS

    _data: Any
    _node: Node | None
    _output_nr: int  # which of the node's outputs this is
    _requires_grad: bool  # asked for by the user, on a leaf
    _version_box: list[Any]  # [version, mark of the last change]; shared by all views
    _base: Tensor | None  # the tensor this one is a view of
    _grad: Any

    # Rare attributes live in the tensor's dictionary (`attributes.RARE`); these are their defaults.
    _view: Any = ()  # the view operations that lead from the base to this tensor
    _grad_dtype: Any = OWN_DTYPE  # the dtype of gradients, if the user has set one
    _seen_version = 0  # the memory's version when this view's node was made
    _became_view = False  # this base is now another view of its memory (`t_()` and the like)
    _view_creation: str | None = None  # why an in-place change through this view is refused
    _watched = False  # whether a gradient that arrives here must be passed to any of these:
    _hooks: Any = None
    _post_hooks: Any = None
    _accumulator: Any = None
    _retains_grad = False
    _tangents: Any = None  # forward-mode level -> tangent
    _is_inference = False
    _name: str | None = None
    _pinned = False  # in memory that a GPU can copy from directly
    _of_transform = False  # created by a function transform, for one call of it
    is_leaf_edge = True
    # PyTorch's attributes that say what kind of tensor this is.
    is_cuda = False  # of the tensor's device: see `place`
    is_cpu = True
    is_sparse = is_quantized = is_mkldnn = is_meta = is_mps = is_nested = False
    is_sparse_csr = is_xpu = is_ipu = is_xla = is_maia = is_mtia = is_vulkan = False
    layout = strided
    __array_priority__ = 1000

    def __new__(cls, *args: Any, **options: Any) -> Any:
        from .creation import legacy_tensor

        return legacy_tensor(cls, *args, **options)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not internal[sys._getframe(1).f_code.co_filename]:
            give_names(cls)

    if not TYPE_CHECKING:
        __dict__ = property(programs, set_programs)

    # --- the array ---------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        found: Size = _new_tuple(Size, self._data.shape)
        return found

    @property
    def ndim(self) -> int:
        found: int = self._data.ndim
        return found

    @property
    def dtype(self) -> dtype:
        return from_numpy_dtype(self._data.dtype)

    @property
    def device(self) -> device:
        return device_of(self._data)

    @property
    def itemsize(self) -> int:
        return int(self._data.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        return int(self._data.size) * self.itemsize

    def __len__(self) -> int:
        if not self._data.shape:
            raise TypeError("len() of a 0-d tensor")
        return int(self._data.shape[0])

    __hash__ = object.__hash__  # by identity, although == compares elements

    # --- its place in the graph ----------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        if self._requires_grad or self._node is not None:
            return True
        return self._base is not None and self._base.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        set_requires_grad(self, value)

    @property
    def grad_fn(self) -> Any:
        """The node that computed this tensor, or None for a leaf."""
        node = current_node(self) if self._base is not None else self._node
        return None if node is None else node.shown()

    @property
    def is_leaf(self) -> bool:
        return self.grad_fn is None

    @property
    def output_nr(self) -> int:
        return self._output_nr

    @property
    def retains_grad(self) -> bool:
        return self._retains_grad

    @property
    def _version(self) -> int:
        put_off_no_longer("a tensor's version")
        if self._is_inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return int(self._version_box[0])

    def grad_accumulator(self) -> AccumulateGrad:
        """This leaf's `AccumulateGrad`, alive only as long as someone holds it."""
        found = self._accumulator and self._accumulator()
        if found is None:
            found = AccumulateGrad(self)
            self._accumulator = weakref.ref(found)
            self._watched = True
        return found  # type: ignore[no-any-return]


_new = object.__new__
_ndarray = np.ndarray


def make(array: Any) -> Tensor:
    """A fresh tensor around an array (or a NumPy scalar)."""
    if type(array) is not _ndarray and isinstance(array, np.generic):
        array = array_of_number(array)
    tensor = _new(Tensor)
    tensor._data = array
    tensor._node = None
    tensor._requires_grad = False
    tensor._version_box = [0]
    tensor._base = tensor._grad = None
    tensor._output_nr = 0
    return tensor


def current_node(tensor: Tensor) -> Node | None:
    """A view's node, rebuilt if an in-place change has rewritten its base's history."""
    base = tensor._base
    if base is not None and tensor._version_box[0] != tensor._seen_version:
        from .._autograd.views import replay_history

        replay_history(tensor, base)
    return tensor._node


def set_requires_grad(tensor: Tensor, value: bool) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}")
    if tensor._is_inference and value:
        from .._autograd.modes import modes

        if not modes.inference:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                "allowed."
            )
    if tensor.grad_fn is not None:
        raise RuntimeError(
            "you can only change requires_grad flags of leaf variables."
            + (
                ""
                if value
                else " If you want to use a computed variable in a subgraph that doesn't require "
                "differentiation use var_no_grad = var.detach()."
            )
        )
    if value and not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
    if tensor._requires_grad is not bool(value):
        put_off_no_longer("`requires_grad` is set")
        structure[0] += 1
        tensor._requires_grad = bool(value)
