"""The class of masked tensors, how they are checked and printed, and which handler gets a call on them."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import tautograd as torch

from ..._ops.declare.python_surface import speak
from ..._ops.declare.subclasses import DisableTorchFunctionSubclass
from ..._tensor.creation import leaf_of, subclass_of
from ..._tensor.tensor import Tensor
from ..._user_code.sites import warning_level

__all__ = ["MaskedTensor", "is_masked_tensor"]

Answer = Callable[[str, Any, tuple[Any, ...], dict[str, Any]], Any]
ANSWERS: dict[str, Answer] = {}
"""Handlers for masked tensors by a public function's name: `answer(name, function, args, kwargs)`."""

_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "float16", "float32", "float64"),
)  # fmt: skip
_QUESTIONS = frozenset(
    (
        *("size", "dim", "ndimension", "numel", "nelement", "stride", "storage_offset", "__len__"),
        *("element_size", "data_ptr", "is_floating_point", "is_complex", "is_signed", "get_device"),
        *("is_nonzero", "is_inference", "is_same_size", "untyped_storage", "item", "__bool__"),
        *("__int__", "__float__", "__complex__", "__index__", "__format__", "__hash__", "__dir__"),
        *("backward", "register_hook", "register_post_accumulate_grad_hook", "retain_grad"),
        *("requires_grad_", "is_shared", "is_pinned", "is_tensor", "_is_view", "__deepcopy__"),
        *("is_same", "autograd.backward", "__copy__", "__reduce_ex__", "as_subclass"),
    )
)
"""Functions that query the data or its history, and return no tensor of elements."""


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether an object is a masked tensor."""
    return isinstance(obj, MaskedTensor)


class MaskedTensor(Tensor):
    """Data and a mask of the same shape, which is true where an element is valid.

    Created by `masked_tensor(data, mask)`, as a leaf, or by `as_masked_tensor(data, mask)`, through which gradients
    flow to the data.
    """

    __module__ = "torch.masked.maskedtensor.core"
    _masked_mask: Tensor

    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> Any:
        _check_are_tensors(data, mask)
        if data.requires_grad:
            warnings.warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. "
                "To avoid this, you can use data.detach().clone()",
                UserWarning,
                stacklevel=warning_level(),
            )
        data, mask = checked(data.detach(), mask)
        made = leaf_of(cls, data.clone(), requires_grad)
        made._masked_mask = mask.clone()
        return made

    def __init__(self, data: Any, mask: Any, requires_grad: bool = False) -> None:
        pass

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        with DisableTorchFunctionSubclass():
            attribute = _attributes().get(func)
            if attribute is not None:
                return _attribute(attribute, func, args)
            name = getattr(func, "__name__", "")
            if name in _QUESTIONS:
                return func(*args, **kwargs)
            answer = ANSWERS.get(name)
            if answer is not None:
                return answer(name, func, args, kwargs)
        raise TypeError(
            f"Multiple dispatch failed for 'torch._ops.aten.{name}.default'; all __torch_dispatch__ "
            f"handlers returned NotImplemented:\n\n  - tensor subclass {cls}"
        )

    def get_data(self) -> Tensor:
        """The data, including masked-out elements; gradients flow through it."""
        with DisableTorchFunctionSubclass():
            data: Tensor = plain(self)
        return data

    def get_mask(self) -> Tensor:
        """The mask."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Tensor:
        """A plain tensor with masked-out elements replaced by this value."""
        data, mask = self.get_data(), dense(self.get_mask())
        filled: Tensor = dense(data).masked_fill(~mask, value)
        return filled

    def is_sparse_coo(self) -> bool:
        """Whether data and mask are sparse COO tensors."""
        return bool(self.layout == torch.sparse_coo)

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether data and mask are compressed sparse tensors."""
        return bool(self.layout == torch.sparse_csr)

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]
        return self.is_sparse_coo() or self.is_sparse_csr()

    def _is_any_true(self) -> Any:
        if self.dtype != torch.bool:
            raise ValueError("__torch_dispatch__, aten._is_any_true: expected a boolean tensor")
        return wrapped((self.get_data() & self.get_mask()).any(), torch.tensor(True))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        data, mask = dense(self.get_data().detach()), dense(self.get_mask())
        if not data.dim():
            return f"MaskedTensor({_number(data) if mask else '--'}, {bool(mask)})"
        lines = _lines(data, mask).split("\n")
        return "MaskedTensor(\n" + "\n".join("  " + line for line in lines) + "\n)"


# ---- making them -----------------------------------------------------------------------------------


def _check_are_tensors(data: Any, mask: Any) -> None:
    for name, value in (("data", data), ("mask", mask)):
        if not isinstance(value, Tensor) or is_masked_tensor(value):
            raise TypeError(f"{name} must be a Tensor")


def checked(data: Any, mask: Any) -> tuple[Any, Any]:
    """Data and mask, if they can form a masked tensor."""
    if data.layout != mask.layout:
        raise TypeError("data and mask must have the same layout.")
    if data.layout not in (torch.strided, torch.sparse_coo, torch.sparse_csr):
        raise TypeError(f"data layout of {data.layout} is not supported.")
    if data.layout != torch.strided:
        if data.layout == torch.sparse_coo:
            data, mask = data.coalesce(), mask.coalesce()
        if data._nnz() != mask._nnz():
            data = data.sparse_mask(mask)
    if data.layout == torch.sparse_coo:
        if not _same(data.indices(), mask.indices()):
            raise ValueError(
                "data and mask are both sparse COO tensors but do not have the same indices."
            )
    elif data.layout == torch.sparse_csr and not (
        _same(data.crow_indices(), mask.crow_indices())
        and _same(data.col_indices(), mask.col_indices())
    ):
        raise ValueError(
            "data and mask are both sparse CSR tensors but do not share either crow or col indices."
        )
    if mask.dtype != torch.bool:
        raise TypeError("mask must have dtype bool.")
    if data.dtype not in [getattr(torch, name) for name in _DTYPES]:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.size() != mask.size():
        raise ValueError("data.size() must equal mask.size()")
    return data, mask


def wrapped(data: Any, mask: Any) -> Any:
    """A masked tensor around results, with their history."""
    if is_masked_tensor(data):
        return data
    with DisableTorchFunctionSubclass():
        made = data.as_subclass(MaskedTensor)
    made._masked_mask = mask
    return made


def as_masked_tensor(data: Any, mask: Any) -> Any:
    """A masked tensor around data, to which gradients flow."""
    _check_are_tensors(data, mask)
    return wrapped(*checked(data, mask))


# ---- their parts -----------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """The data of a masked tensor, any other value unchanged; call it with subclass dispatch disabled."""
    return value.as_subclass(Tensor) if is_masked_tensor(value) else value


def mask_of(value: Any) -> Any:
    """The mask of a masked tensor, or None."""
    return value._masked_mask if is_masked_tensor(value) else None


def dense(tensor: Any) -> Any:
    """A tensor converted to dense."""
    return tensor if tensor.layout == torch.strided else tensor.to_dense()


@functools.cache
def _attributes() -> dict[Any, str]:
    """The functions that read attributes."""
    return {
        member.__get__: name
        for name, member in vars(Tensor).items()
        if isinstance(member, property)
    }


def _attribute(name: str, read: Any, args: tuple[Any, ...]) -> Any:
    found = read(*args)
    if not isinstance(found, Tensor):
        return found
    if name in ("grad", "data", "_grad"):
        own = subclass_of(MaskedTensor, found)
        own._masked_mask = args[0]._masked_mask
        return own
    raise TypeError(
        f"Multiple dispatch failed for 'torch._ops.aten.{name}.default'; all __torch_dispatch__ "
        f"handlers returned NotImplemented:\n\n  - tensor subclass {MaskedTensor}"
    )


# ---- comparing and showing -------------------------------------------------------------------------


def _same(a: Any, b: Any) -> bool:
    return a.shape == b.shape and bool((a == b).all())


def _tensors_match(
    a: Any, b: Any, exact: bool = True, rtol: float = 1e-05, atol: float = 1e-08
) -> bool:
    """Whether two plain tensors have equal elements, or nearly so."""
    if is_masked_tensor(a) or is_masked_tensor(b):
        raise ValueError("Neither `a` nor `b` can be a MaskedTensor.")
    if a.layout != b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    if a.dtype != b.dtype:
        b = b.type(a.dtype)
    if a.layout == torch.sparse_coo:
        a, b = a.coalesce(), b.coalesce()
        return _same(a.indices(), b.indices()) and _tensors_match(
            a.values(), b.values(), exact, rtol, atol
        )
    if a.layout == torch.sparse_csr:
        return (
            _same(a.crow_indices(), b.crow_indices())
            and _same(a.col_indices(), b.col_indices())
            and _tensors_match(a.values(), b.values(), exact, rtol, atol)
        )
    if a.dim() != b.dim():
        return False
    return _same(a, b) if exact else bool(torch.allclose(a, b, rtol=rtol, atol=atol))


def _masks_match(a: Any, b: Any) -> bool:
    """Whether the masks of two masked tensors are equal; true for any others."""
    if is_masked_tensor(a) and is_masked_tensor(b):
        return _tensors_match(a.get_mask(), b.get_mask(), exact=True)
    return True


def _number(element: Any) -> str:
    value = element.item()
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _lines(data: Any, mask: Any) -> str:
    if data.dim() == 1:
        shown = [_number(x) if on else None for x, on in zip(data, mask, strict=True)]
        width = max((8 if text is None else len(text) for text in shown), default=0)
        return "[" + ", ".join("--".rjust(width) if t is None else t for t in shown) + "]"
    parts = [_lines(x, on).split("\n") for x, on in zip(data, mask, strict=True)]
    blocks = ["\n".join("  " + line for line in part) for part in parts]
    return "[\n" + ",\n".join(blocks) + "\n]"


speak(globals(), ["as_masked_tensor", "is_masked_tensor"])
