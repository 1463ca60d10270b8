"""Instructions as calls of array functions on the GPU's arrays: what is not made into a kernel.

They ask CuPy for what the plain function asked it for, in the same order on the same stream.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.cuda import cuda_array
from ..._arrays.cuda.cuda_array import CudaArray
from ..program.ir import Call, Check, Instruction, Map, Number, Product, Reduce, View
from ..record.arrays import arrays_of
from ..run.numpy_calls import as_call, filled_in, ufunc_named
from .memory import DeviceMemory

Run = Callable[[], None]


def run_of(instruction: Instruction, memory: DeviceMemory) -> Run:
    """A function that does what the instruction says; arrays are looked up when it runs."""
    if isinstance(instruction, Call):
        return lambda: _call(instruction, memory)
    if isinstance(instruction, Map) and not isinstance(instruction, Check):
        return lambda: _map(instruction, memory)
    if isinstance(instruction, Reduce):
        return lambda: _reduce(instruction, memory)
    if isinstance(instruction, Product):
        return lambda: _product(instruction, memory)
    return lambda: _other(instruction, memory)


def _other(instruction: Instruction, memory: DeviceMemory) -> None:
    as_call(instruction, memory.array)()


def _call(i: Call, memory: DeviceMemory) -> None:
    args, kwargs = filled_in(i.args, memory.array), filled_in(i.kwargs, memory.array)
    found = i.function(*args, **kwargs)
    if not i.outputs:
        return
    pairs = list(zip(i.outputs, arrays_of(found), strict=True))
    for number in {view.buffer for view in i.outputs} & memory.lent:
        _place(number, [pair for pair in pairs if pair[0].buffer == number], memory)
    for view, result in pairs:
        place = memory.array(view)
        if type(result) is not CudaArray or result.address != place.address:
            np.copyto(place, result, casting="unsafe")


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
    turned = not i.output.is_contiguous()
    if turned:  # a result that lies by columns is the product the other way round
        left, right, out = (_turned(x) for x in (right, left, out))
    if memory.device.product(left, right, out, i.adds):
        return
    found = np.matmul(left, right)
    np.copyto(out, np.add(out, found) if i.adds else found)


def _turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)
