"""Pools over sliding windows: the largest element, the mean, or a norm of each window."""

from __future__ import annotations

from typing import Any

from ...._arrays.dtypes import LEGACY_NAMES
from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import refuse, require_tensor
from ...declare.public import FUNCTIONS, NN_FUNCTIONAL, public
from ...declare.signature_line import declared
from ..convolution.windows import int_of
from .average import AVERAGE_POOLS
from .maximum import MAX_POOLS
from .windows import make_window


def _check_rank(input: Tensor, rank: int) -> None:
    if input._data.ndim not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"non-empty {rank + 1}D or {rank + 2}D (batch mode) tensor expected for input"
        )


def _max_pool(
    rank: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    name = f"max_pool{rank}d"
    require_tensor(name, input)
    plain, indexed = MAX_POOLS[rank]
    shape = tuple(input._data.shape)
    _check_rank(input, rank)
    window = make_window(name, shape, kernel_size, stride, padding, dilation, ceil_mode, rank)
    refuse(plain, input._data.dtype)
    return apply(indexed if return_indices else plain, (input,), {"window": window})


def _one(argument: str, value: Any) -> int:
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(given) != 1:
        raise RuntimeError(
            f"max_pool1d() {argument} must be an int, list of ints or tuple of ints of size 1 but "
            f"got size {len(given)}"
        )
    return int_of(given[0])


def _max_pool_line(
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    """A line as an image of height one."""
    require_tensor("max_pool1d", input)
    shape = tuple(input._data.shape)
    if len(shape) not in (2, 3) or 0 in shape[len(shape) - 2 :]:
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got:{list(shape)}"
        )
    kernel = _one("kernel_size", kernel_size)
    empty = stride is None or (isinstance(stride, (tuple, list)) and not stride)
    step = kernel if empty else _one("stride", stride)
    sides, spacing = _one("padding", padding), _one("dilation", dilation)
    if not return_indices:  # with them PyTorch goes by way of images, which check for themselves
        _check_line(shape[-1], kernel, step, sides, spacing, ceil_mode)
    kind = input._data.dtype.kind
    if kind in "iub" and not return_indices:
        raise NotImplementedError(
            f"\"max_pool1d_impl\" not implemented for '{LEGACY_NAMES[input.dtype]}'"
        )
    dim = len(shape) - 1
    found = _max_pool(
        2,
        input.unsqueeze(dim),
        (1, kernel),
        (1, step),
        (0, sides),
        (1, spacing),
        ceil_mode,
        return_indices,
    )
    if return_indices:
        return found[0].squeeze(dim), found[1].squeeze(dim)
    return found.squeeze(dim)


def _check_line(
    size: int, kernel: int, step: int, sides: int, spacing: int, ceil_mode: bool
) -> None:
    from .windows import Window

    for what, value in (("kernel_size", kernel), ("stride", step)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {what} must be greater than zero, but got {value}")
    if sides < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {sides}")
    if sides > kernel // 2:
        raise RuntimeError(
            "max_pool1d() padding should be at most half of kernel size, but got "
            f"padding={sides} and kernel_size={kernel}"
        )
    if spacing <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {spacing}")
    count = Window((size,), (kernel,), (step,), (sides,), (spacing,), ceil_mode).count[0]
    if count <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {count}")


def _max_pool_of_rank(rank: int, *given: Any) -> Any:
    return _max_pool_line(*given) if rank == 1 else _max_pool(rank, *given)


def _with_indices(rank: int, *given: Any) -> Any:
    return _max_pool_of_rank(rank, *given[:6], True)


def _without_indices(rank: int, *given: Any) -> Any:
    return _max_pool_of_rank(rank, *given, False)


def _declare_max_pools(rank: int, where: str) -> None:
    """`nn.functional` gives indices where they are asked for, the top level by names of their own."""
    ints = f"int[{rank}]"
    window = f"{ints} padding=0, {ints} dilation=1, bool ceil_mode=False"
    schema = f"Tensor input, {ints} kernel_size, {ints} stride=(), {window}"
    python = f"Tensor input, {ints} kernel_size, {ints}? stride=None, {window}, bool return_indices=False"
    name, indexed = f"max_pool{rank}d", f"max_pool{rank}d_with_indices"
    largest = f"The largest element of every window {where}."
    places = f"`{name}` and the flat position of every maximum."

    def declare(line: str, pool: Any, doc: str, namespace: Any = None) -> None:
        made = declared(line, pool, rank, doc=doc)
        public(namespace=namespace, method=False, out=False)(made)

    declare(f"{name}({python}) -> Any", _max_pool_of_rank, largest, NN_FUNCTIONAL)
    declare(f"{indexed}({python}) -> Any", _with_indices, places, NN_FUNCTIONAL)
    declare(f"{name}({schema}) -> Tensor", _without_indices, largest)
    if rank == 1:
        declare(f"{indexed}({schema}) -> Any", _with_indices, places)


_declare_max_pools(1, "along the last dimension")
_declare_max_pools(2, "of an image")
_declare_max_pools(3, "of a volume")


def _average(
    rank: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Any,
) -> Tensor:
    name = f"avg_pool{rank}d"
    require_tensor(name, input)
    shape = tuple(input._data.shape)
    if rank == 3:
        _check_rank(input, rank)
    elif len(shape) < 3:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [-{len(shape)}, "
            f"{len(shape) - 1}], but got -3)"
        )
    window = make_window(name, shape, kernel_size, stride, padding, 1, ceil_mode, rank)
    if divisor_override == 0 and divisor_override is not None:
        raise RuntimeError("divisor must be not zero")
    op = AVERAGE_POOLS[rank]
    refuse(op, input._data.dtype)
    parameters = {
        "window": window,
        "count_include_pad": bool(count_include_pad),
        "divisor": divisor_override,
    }
    result: Tensor = apply(op, (input,), parameters)
    return result


@public(method=False, out=False)
def avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of every window along the last dimension."""
    require_tensor("avg_pool1d", input)
    ndim = input._data.ndim
    if ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {ndim}-dimensional tensor for argument #1 "
            "'self' (while checking arguments for avg_pool1d)"
        )

    def pair(argument: str, value: Any, first: int) -> tuple[int, int]:
        given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
        if len(given) != 1:
            raise RuntimeError(
                f"avg_pool1d() argument '{argument}' should contain one int (got {len(given)})"
            )
        return first, int_of(given[0])

    empty = stride is None or (isinstance(stride, (tuple, list)) and not stride)
    kernel = pair("kernel_size", kernel_size, 1)
    step = None if empty else pair("stride", stride, 1)
    sides = pair("padding", padding, 0)
    found: Any = _average(
        2, input.unsqueeze(ndim - 1), kernel, step, sides, ceil_mode, count_include_pad, None
    )
    return found.squeeze(ndim - 1)  # type: ignore[no-any-return]


for _rank, _what in ((2, "an image"), (3, "a volume")):
    _ints = f"int[{_rank}]"
    public(namespace=NN_FUNCTIONAL, method=False)(
        declared(
            f"avg_pool{_rank}d(Tensor input, {_ints} kernel_size, {_ints}? stride=None, "
            f"{_ints} padding=0, bool ceil_mode=False, bool count_include_pad=True, "
            "int? divisor_override=None) -> Tensor",
            _average,
            _rank,
            doc=f"The mean of every window of {_what}.",
        )
    )

NN_FUNCTIONAL["avg_pool1d"] = FUNCTIONS["avg_pool1d"]
