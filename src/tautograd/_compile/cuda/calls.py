"""Instructions as calls of array functions on the GPU's arrays: what is not made into a kernel.

They ask CuPy for what the plain function asked it for, in the same order on the same stream.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.cuda import cuda_array
from ..._arrays.cuda.cuda_array import CudaArray
from ..._arrays.cuda.products import add_row
from ..program.ir import Call, Check, Instruction, Map, Number, Product, Reduce, View
from ..record.arrays import arrays_of
from ..run.numpy_calls import as_call, filled_in, ufunc_named
from .memory import DeviceMemory

_KERNELS = "tautograd._ops.on_gpu"
Run = Callable[[], None]


def run_of(instruction: Instruction, memory: DeviceMemory, step: int = -1) -> Run:
    """A function that does what the instruction says; arrays are looked up when it runs.

    `step` is when it runs: what our kernels need for a call alone may lie where nothing else does then.
    """
    if isinstance(instruction, Call):
        return lambda: _call(instruction, memory, step)
    if isinstance(instruction, Map) and not isinstance(instruction, Check):
        return lambda: _map(instruction, memory)
    if isinstance(instruction, Reduce):
        return lambda: _reduce(instruction, memory)
    if isinstance(instruction, Product):
        return lambda: _product(instruction, memory)
    return lambda: _other(instruction, memory)


def _other(instruction: Instruction, memory: DeviceMemory) -> None:
    as_call(instruction, memory.array)()


def _call(i: Call, memory: DeviceMemory, step: int) -> None:
    args, kwargs = filled_in(i.args, memory.array), filled_in(i.kwargs, memory.array)
    if takes_out(i):
        kwargs["out"] = memory.array(i.outputs[0])
    slots: dict[int, tuple[int, Any]] = {}
    if is_placed(i):
        slots = {} if takes_out(i) else memory.slots_of(i)
        with cuda_array.placing(slots, memory.room_at(step)):
            found = i.function(*args, **kwargs)
    else:
        found = i.function(*args, **kwargs)
    if not i.outputs:
        return
    pairs = list(zip(i.outputs, arrays_of(found), strict=True))
    for number in {view.buffer for view in i.outputs} & memory.lent:
        _place(number, [pair for pair in pairs if pair[0].buffer == number], memory)
    elsewhere = [
        (memory.array(view), result) for view, result in pairs if not _is_at(view, result, memory)
    ]
    if any(_is_in(result, slots) for _, result in elsewhere):  # where another one belongs
        elsewhere = [(place, np.copy(result)) for place, result in elsewhere]
    for place, result in elsewhere:
        np.copyto(place, result, casting="unsafe")


def _is_in(result: Any, slots: dict[int, tuple[int, Any]]) -> bool:
    """Whether a result lies in the place of one."""
    start = result.address if type(result) is CudaArray else 0
    return any(int(place.ptr) <= start < int(place.ptr) + size for size, place in slots.values())


def _is_at(view: View, result: Any, memory: DeviceMemory) -> bool:
    """Whether a result lies in its place already."""
    return (
        type(result) is CudaArray
        and result.address == memory.array(view).address
        and result.shape == view.shape
        and all(
            n == 1 or a == b
            for n, a, b in zip(view.shape, result.strides, view.strides, strict=True)
        )
    )


def takes_out(i: Call) -> bool:
    """Whether the function of a call can write where it is told to."""
    return getattr(i.function, "takes_out", False) and len(i.outputs) == 1


def is_placed(i: Call) -> bool:
    """Whether a call's results can be put where memory was planned for them: they are made by our kernels."""
    return (getattr(i.function, "__module__", None) or "").startswith(_KERNELS)


def _place(number: int, pairs: list[tuple[View, Any]], memory: DeviceMemory) -> None:
    """Let a buffer be where its results are, if they lie there as they did; else memory is made for it."""
    first = pairs[0][1]
    if all(type(result) is CudaArray for _, result in pairs):
        whole = cuda_array.backend.whole(first.raw)
        start = memory.device.address(whole)
        if all(_fits(view, result, start) for view, result in pairs):
            memory.lend(number, whole)
            return
    memory.lend(number, memory.device.allocate(memory.program.buffers[number].nbytes))


def _fits(view: View, result: Any, start: int) -> bool:
    """Whether a result lies in its memory as it did when it was recorded."""
    alike = result.dtype == view.dtype and result.shape == view.shape
    steps = zip(view.shape, result.strides, view.strides, strict=True)
    same = alike and all(n == 1 or a == b for n, a, b in steps)
    return not view.size or (same and result.address - start == view.offset)


def _map(i: Map, memory: DeviceMemory) -> None:
    out = memory.array(i.output)
    values: list[Any] = []
    for x, dtype in zip(i.inputs, i.loop, strict=False):
        if isinstance(x, Number):
            values.append(x.value.astype(dtype))
        else:
            array = memory.array(x)
            values.append(array if array.dtype == dtype else np.astype(array, dtype))
    if i.function == "cast":
        np.copyto(out, values[0], casting="unsafe")
        return
    function = np.where if i.function == "where" else ufunc_named(i.function)
    if not any(isinstance(v, CudaArray) for v in values):
        with np.errstate(all="ignore"):
            np.copyto(out, function(*values), casting="unsafe")
        return
    np.copyto(out, function(*values), casting="unsafe")


def _reduce(i: Reduce, memory: DeviceMemory) -> None:
    reduce = getattr(np, i.function).reduce
    found = reduce(memory.array(i.input), axis=i.axes, dtype=i.dtype, keepdims=True)
    np.copyto(memory.array(i.output), found, casting="unsafe")


def _product(i: Product, memory: DeviceMemory) -> None:
    left, right, out = (memory.array(v) for v in (i.left, i.right, i.output))
    if i.bias is not None:
        bias = memory.array(i.bias)
        if not memory.device.affine(left, right, bias, out):
            _multiply(left, right, out, False, memory)
            add_row(out, bias)
        return
    if lies_by_columns(i.output):  # the product the other way round
        left, right, out = (_turned(x) for x in (right, left, out))
    _multiply(left, right, out, i.adds, memory)


def _multiply(left: Any, right: Any, out: Any, adds: bool, memory: DeviceMemory) -> None:
    if not memory.device.product(left, right, out, adds):
        found = np.matmul(left, right)
        np.copyto(out, np.add(out, found) if adds else found)


def lies_by_columns(matrix: View) -> bool:
    """Whether the elements of a column lie side by side, and not those of a row."""
    down, along = matrix.strides[-2:]
    rows, columns = matrix.shape[-2:]
    size = matrix.dtype.itemsize
    return not (along == size or columns == 1) and (down == size or rows == 1)


def _turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)
