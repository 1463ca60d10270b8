"""Tensors of one value: `zeros`, `ones`, `full`, `empty`, `eye`, and their `_like` forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays.batching.levels import batched_like, levels_of
from .._arrays.devices import as_device, is_meta, moved
from .._arrays.dtypes import LEGACY_NAMES, bool_, dtype, get_default_dtype, int64
from .._arrays.formats import (
    contiguous_format,
    empty_in_order,
    empty_preserving,
    order_of,
    preserve_format,
)
from .._arrays.strided import strided
from .._autograd.modes import modes
from .._autograd.views import bump
from .._ops.declare.out_dtypes import check_layout
from .._ops.declare.public import FUNCTIONS
from .arguments import (
    as_element,
    as_size,
    checked_size,
    finish,
    number,
    place,
    put,
    refuse_pinned,
    require_strided,
    size_argument,
    type_name,
    wanted_dtype,
)
from .tensor import Tensor, make


def unset(array: Any) -> Any:
    """Memory whose values are not set: while a run is recorded or followed, always the same."""
    if (modes.recorder is not None or modes.deferred is not None) and type(array) is np.ndarray:
        array[...] = 0
    return array


def function(fn: Any) -> Any:
    """Export a function as `tautograd.<name>`, with PyTorch's errors for wrong keywords."""
    FUNCTIONS[fn.__name__] = fn
    return fn


def check_kind_of_out(out: Any, kind: Any) -> None:
    """Refuse a `dtype` that differs from that of `out=`."""
    if isinstance(out, Tensor) and kind is not None and out.dtype is not kind:
        raise RuntimeError(
            f"dtype {LEGACY_NAMES[kind]} does not match dtype of out parameter "
            f"({LEGACY_NAMES[out.dtype]})"
        )


def into(out: Tensor, shape: tuple[int, ...], name: str) -> Any:
    """The array of an `out=` tensor, resized to `shape`."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type_name(out)}")
    if modes.grad and out.requires_grad:
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but "
            "one of the arguments requires grad."
        )
    if out._data.shape != shape:
        check_layout(name, out._data)
        out._data = np.empty_like(out._data, shape=shape, order="C")
    bump(out, 3)
    return out._data


def new_filled(
    name: str,
    shape: tuple[int, ...],
    value: Any,
    kind: dtype,
    device: Any,
    requires_grad: bool,
    out: Any = None,
    memory_format: Any = None,
) -> Tensor:
    """A new tensor of one value (None: uninitialised), or `out` filled with it."""
    if out is not None and out.layout is not None and str(out.layout) in SPARSE_LAYOUTS:
        out._data = sparse_zeros(
            "zeros" if not value else "ones", shape, out.dtype, out.layout, out.device, False
        )._data
        bump(out)
        return out  # type: ignore[no-any-return]
    if out is not None:
        element = None if value is None else as_element(value, out.dtype)  # before it is resized
        array = into(out, shape, name)
        if value is not None:
            array[...] = element
        return out  # type: ignore[no-any-return]
    arrays = place(device)
    if memory_format is not None and memory_format is not contiguous_format:
        array = empty_in_order(arrays.empty(0), shape, order_of(shape, memory_format), kind.numpy)
        if value is None:
            unset(array)
        else:
            array[...] = value
    elif value is None:
        array = unset(arrays.empty(shape, kind.numpy))
    elif value == 0 and value is not True:
        array = arrays.zeros(shape, kind.numpy)
    else:
        element = as_element(value, kind)
        # A `Symbol`, while a function is being compiled.
        if hasattr(element, "as_array"):
            array = np.copy(np.broadcast_to(element.as_array(), shape))
        else:
            array = arrays.full(shape, element, kind.numpy)
    return finish(array, requires_grad)


SPARSE_LAYOUTS = ("torch.sparse_coo", "torch.sparse_csr", "torch.sparse_csc")


def sparse_zeros(
    name: str, shape: tuple[int, ...], kind: Any, layout: Any, where: Any, requires_grad: bool
) -> Tensor:
    """A sparse tensor of zeros, none of which is stored."""
    from .._arrays.sparse.coo import empty
    from .._ops.sparse.methods import to_sparse

    if name == "ones" or str(layout) not in SPARSE_LAYOUTS:
        require_strided(name, layout)
    out = make(empty(shape, kind.numpy))
    return finish(moved(to_sparse(out, layout=layout)._data, where), requires_grad)


def _variadic(name: str, value: Any, doc: str) -> Any:
    def create(
        *size: Any,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        memory_format: Any = None,
        **options: Any,
    ) -> Tensor:
        size = size_argument(name, size, options)
        if memory_format is not None and value is not None:
            options["memory_format"] = memory_format
        if options:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(options))}'")
        kind = wanted_dtype(name, dtype) or get_default_dtype()
        shape = checked_size(name, size)
        if layout is not None and str(layout) != "torch.strided":
            return sparse_zeros(name, shape, kind, layout, as_device(device), requires_grad)
        if pin_memory:
            refuse_pinned()
        check_kind_of_out(out, None if dtype is None else kind)
        return new_filled(name, shape, value, kind, device, requires_grad, out, memory_format)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = doc
    return function(create)


zeros = _variadic("zeros", 0, "A tensor of zeros of the given size.")
ones = _variadic("ones", 1, "A tensor of ones of the given size.")
empty = _variadic("empty", None, "A tensor of the given size whose values are not set.")


@function
def full(
    size: Any,
    fill_value: Any,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of the given size with every element `fill_value`, whose type gives the dtype."""
    require_strided("full", layout)
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"full(): argument 'size' (position 1) must be tuple of ints, not {type_name(size)}"
        )
    value = number("full", fill_value, "fill_value", 2)
    kind = wanted_dtype("full", dtype)
    check_kind_of_out(out, kind)
    if kind is None:
        kind = _dtype_of_number(value)
    return new_filled(
        "full", checked_size("full", size, False), value, kind, device, requires_grad, out
    )


def _dtype_of_number(value: Any) -> dtype:
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    default = get_default_dtype()
    return default.to_complex() if isinstance(value, complex) else default


@function
def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """An uninitialised tensor with these strides (counted in elements)."""
    require_strided("empty_strided", layout)
    shape = checked_size("empty_strided", size, False)
    strides = as_size("empty_strided", stride, "stride", False)
    kind = wanted_dtype("empty_strided", dtype) or get_default_dtype()
    return finish(strided_array(shape, strides, kind, device), requires_grad)


def strided_array(
    shape: tuple[int, ...], strides: tuple[int, ...], kind: dtype, device: Any = None
) -> Any:
    if len(shape) != len(strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides "
            f"({len(strides)})"
        )
    if any(s < 0 for s in strides) and 0 not in shape:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(shape)} and strides="
            f"{list(strides)}"
        )
    extent = (
        1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if 0 not in shape else 0
    )
    flat = unset(place(device).empty(extent, kind.numpy))
    return strided(flat, shape, [s * kind.itemsize for s in strides])


@function
def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """An uninitialised dense tensor with its dimensions in this memory order, slowest first."""
    require_strided("empty_permuted", layout)
    shape = checked_size("empty_permuted", size, False)
    order = as_size("empty_permuted", physical_layout, "physical_layout", False)
    if len(order) != len(shape):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(shape)} is not equal to len(physical_layout) = {len(order)}"
        )
    if sorted(order) != list(range(len(shape))):
        raise RuntimeError(f"Dimension out of range or repeated in {list(order)}")
    kind = wanted_dtype("empty_permuted", dtype) or get_default_dtype()
    array = unset(empty_in_order(place(device).empty(0), shape, order, kind.numpy))
    return finish(array, requires_grad)


@function
def scalar_tensor(
    s: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A 0-dim tensor; floating-point unless a dtype is given."""
    require_strided("scalar_tensor", layout)
    kind = wanted_dtype("scalar_tensor", dtype) or get_default_dtype()
    value = number("scalar_tensor", s, "s", 1)
    return new_filled("scalar_tensor", (), value, kind, device, requires_grad)


@function
def eye(
    n: Any,
    m: Any = None,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere."""
    require_strided("eye", layout)
    rows = _count("eye", n, "n", 1)
    columns = rows if m is None else _count("eye", m, "m", 2)
    kind = wanted_dtype("eye", dtype)
    check_kind_of_out(out, kind)
    kind = kind or get_default_dtype()
    if out is not None:
        into(out, (rows, columns), "eye")[...] = np.eye(rows, columns)
        return out  # type: ignore[no-any-return]
    return finish(place(device).eye(rows, columns, dtype=kind.numpy), requires_grad)


def _count(name: str, value: Any, argument: str, position: int) -> int:
    try:
        found = as_size(name, (value,))[0]
    except TypeError:
        raise TypeError(
            f"{name}(): argument '{argument}' (position {position}) must be int, not "
            f"{type_name(value)}"
        ) from None
    if found < 0:
        raise RuntimeError(f"{argument} must be greater or equal to 0, got {found}")
    return found


# --- with the shape of another tensor ------------------------------------------------------------


def like(
    name: str,
    input: Any,
    value: Any,
    dtype: Any,
    device: Any,
    requires_grad: bool,
    memory_format: Any,
) -> Tensor:
    """A tensor of one value with the shape, dtype and memory order of another."""
    if not isinstance(input, Tensor):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type_name(input)}"
        )
    kind = wanted_dtype(name, dtype) or input.dtype
    if modes.vmap_levels and levels_of(input._data):
        plain = np.empty(tuple(input.shape), kind.numpy)
        array = batched_like(plain, input._data.shape)
    elif device is not None and is_meta(input._data):
        array = place(device).empty(input._data.shape, kind.numpy)
    else:
        array = empty_preserving(input._data, kind.numpy, memory_format or preserve_format)
    if value is not None:
        array[...] = as_element(value, kind)
    return finish(array if device is None else put(array, device), requires_grad)


def _like(name: str, value: Any) -> Any:
    def create(
        input: Any,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        if layout is not None and isinstance(input, Tensor) and layout is not input.layout:
            kind = wanted_dtype(name, dtype) or input.dtype
            shape, plain = tuple(input.shape), name.removesuffix("_like")
            if str(layout) != "torch.strided":
                where = as_device(device or input.device)
                return sparse_zeros(plain, shape, kind, layout, where, requires_grad)
            return new_filled(plain, shape, value, kind, device or input.device, requires_grad)
        return like(name, input, value, dtype, device, requires_grad, memory_format)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"`{name[:-5]}` with the shape and dtype of `input`."
    return function(create)


zeros_like = _like("zeros_like", 0)
ones_like = _like("ones_like", 1)
empty_like = _like("empty_like", None)


@function
def full_like(
    input: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """`full` with the shape and dtype of `input`."""
    require_strided("full_like", layout)
    value = number("full_like", fill_value, "fill_value", 2)
    return like("full_like", input, value, dtype, device, requires_grad, memory_format)
