"""Instructions as calls of array functions on the GPU's arrays: what is not made into a kernel.

They ask CuPy for what the plain function asked it for, in the same order on the same stream.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.cuda_array import CudaArray
from ..calls import as_call, filled_in, ufunc_named
from ..ir import Call, Instruction, Map, Number, Product, Reduce
from .memory import DeviceMemory

Run = Callable[[], None]


def run_of(instruction: Instruction, memory: DeviceMemory) -> Run:
    """A function that does what the instruction says; arrays are looked up when it runs."""
    if isinstance(instruction, Call):
        return lambda: _call(instruction, memory)
    if isinstance(instruction, Map):
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
    for view, result in zip(i.outputs, _arrays_of(found), strict=True):
        if view.buffer in memory.lent and _fits(view, result):
            memory.lend(view.buffer, result)
            continue
        if view.buffer in memory.lent:
            room = memory.device.allocate(memory.program.buffers[view.buffer].nbytes)
            memory.lend(view.buffer, memory.device.placed(room, (1,), np.dtype(np.uint8), 0, (1,)))
        np.copyto(memory.array(view), result, casting="unsafe")


def _fits(view: Any, result: Any) -> bool:
    return (
        type(result) is CudaArray
        and view.offset == 0
        and result.dtype == view.dtype
        and result.shape == view.shape
        and (result.strides == view.strides or (view.is_contiguous() and result.flags.c_contiguous))
    )


def _arrays_of(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [x for part in value for x in _arrays_of(part)]
    return [value] if isinstance(value, (CudaArray, np.ndarray, np.generic)) else []


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
