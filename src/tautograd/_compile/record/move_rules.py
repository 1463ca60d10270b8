"""Rules for functions that move data: copies, assignments, joins, and what goes by an index."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program.ir import Gather, GatherAlong, Instruction, PutAlong, ScatterAdd, View, overlap
from .array_calls import Noted, Rule, chosen, copy, is_operand, operand_of
from .arrays import ARRAYS
from .recorded_array import _astype, _getitem, _sent, _setitem


def _triangle(tape: Any, call: Noted) -> list[Instruction] | None:
    """np.triu and np.tril: zeros by a mask that never changes."""
    options = call.named("m", "k")
    array = options["m"]
    if not isinstance(array, ARRAYS) or array.ndim < 2:
        return None
    mask = call.function(np.ones(array.shape[-2:], np.bool_), options.get("k", 0))
    target = call.result
    return chosen(tape, (tape.constant(mask), array, target.dtype.type(0)), target)


def _copied(tape: Any, call: Noted) -> list[Instruction] | None:
    source = call.args[0]
    if not isinstance(source, ARRAYS) or not call.outputs:
        return None
    return [copy(tape.view(source), call.result)]


def _reshaped(tape: Any, call: Noted) -> list[Instruction] | None:
    """A reshape that needed a copy: the elements in C order, one after the other."""
    source = call.args[0] if call.args else call.kwargs["a"]
    order = call.kwargs.get("order", "C")
    target = call.result
    if order != "C" or not target.is_contiguous():
        return None
    strides, step = [], target.dtype.itemsize
    for n in reversed(source.shape):
        strides.append(step)
        step *= n
    rows = View(target.buffer, target.offset, source.shape, tuple(reversed(strides)), target.dtype)
    return [copy(tape.view(source), rows)]


def _copyto(tape: Any, call: Noted) -> list[Instruction] | None:
    options = call.named("dst", "src", "casting", "where")
    where = options.get("where", True)
    target, source = call.targets[0], options["src"]
    if not is_operand(source):
        return None
    if where is not True:
        if not isinstance(where, ARRAYS):
            return None
        return chosen(tape, (where, source, options["dst"]), target)
    return _moved(tape, source, target)


def _moved(tape: Any, source: Any, target: View) -> list[Instruction] | None:
    """A copy, unless the two share memory: onto itself it is nothing, else NumPy's own affair."""
    operand = operand_of(tape, source, target.dtype, target.shape)
    if operand == target:  # x[i] += y ends so: what was added to in place is assigned to itself
        return []
    if isinstance(operand, View) and overlap(operand, target):
        return None
    return [copy(operand, target)]


def _assigned(tape: Any, call: Noted) -> list[Instruction] | None:
    array, index, value = call.args
    parts = index if isinstance(index, tuple) else (index,)
    if not all(map(_is_plain_index, parts)) or not is_operand(value):
        return None
    part = array[(*parts, ...)] if Ellipsis not in parts else array[parts]
    if isinstance(value, ARRAYS):
        while value.ndim > part.ndim:  # NumPy drops leading dimensions of size one
            value = value[0]
    return _moved(tape, value, tape.view(part))


def _is_plain_index(part: Any) -> bool:
    """Whether a part of an index shows memory as it lies."""
    if part is None or part is Ellipsis:
        return True
    return isinstance(part, (int, slice, np.integer)) and not isinstance(part, bool)


def _filled(tape: Any, call: Noted) -> list[Instruction] | None:
    value = {np.zeros_like: 0, np.ones_like: 1}.get(call.function)
    if value is None:
        value = call.args[1] if len(call.args) > 1 else call.kwargs["fill_value"]
    target = call.result
    if isinstance(value, ARRAYS):
        return [copy(tape.view(value), target)]
    return [copy(operand_of(tape, value, target.dtype, target.shape), target)]


def _where(tape: Any, call: Noted) -> list[Instruction] | None:
    if len(call.args) != 3 or not all(map(is_operand, call.args)):
        return None
    condition = call.args[0]
    if isinstance(condition, ARRAYS) and condition.dtype != np.bool_:
        return None
    return chosen(tape, call.args, call.result)


def _joined(tape: Any, call: Noted) -> list[Instruction] | None:
    """np.concatenate: each part is copied to its place."""
    parts = call.args[0]
    axis = call.args[1] if len(call.args) > 1 else call.kwargs.get("axis", 0)
    if axis is None or not all(isinstance(p, ARRAYS) for p in parts):
        return None
    target = call.result
    axis %= target.ndim
    found: list[Instruction] = []
    offset = target.offset
    for part in parts:
        room = View(target.buffer, offset, part.shape, target.strides, target.dtype)
        if part.size:
            found.append(copy(tape.view(part), room))
        offset += part.shape[axis] * target.strides[axis]
    return found


def _stacked(tape: Any, call: Noted) -> list[Instruction] | None:
    parts = call.args[0]
    axis = call.args[1] if len(call.args) > 1 else call.kwargs.get("axis", 0)
    if not all(isinstance(p, ARRAYS) for p in parts):
        return None
    target = call.result
    axis %= target.ndim
    found: list[Instruction] = []
    rest = (*target.shape[:axis], *target.shape[axis + 1 :])
    strides = (*target.strides[:axis], *target.strides[axis + 1 :])
    for i, part in enumerate(parts):
        room = View(
            target.buffer, target.offset + i * target.strides[axis], rest, strides, target.dtype
        )
        found.append(copy(tape.view(part), room))
    return found


# --- by index -------------------------------------------------------------------------------------------


def _is_index(value: Any) -> bool:
    return isinstance(value, ARRAYS) and value.dtype in (np.int64, np.int32)


def _taken(tape: Any, call: Noted) -> list[Instruction] | None:
    options = call.named("a", "indices", "axis", "out", "mode")
    array, index, axis = options["a"], options["indices"], options.get("axis")
    if not isinstance(array, ARRAYS) or not _is_index(index):
        return None
    if options.get("mode", "raise") != "raise":
        return None
    if axis is None:
        if array.ndim != 1:
            return None
        axis = 0
    return [Gather(tape.view(array), tape.view(index), axis % array.ndim, call.result)]


def _indexed(tape: Any, call: Noted) -> list[Instruction] | None:
    array, index = call.args
    parts = index if isinstance(index, tuple) else (index,)
    arrays = [i for i, part in enumerate(parts) if isinstance(part, ARRAYS)]
    if len(arrays) != 1 or not _is_index(parts[arrays[0]]):
        return None
    if any(i != arrays[0] and part != slice(None) for i, part in enumerate(parts)):
        return None
    return [Gather(tape.view(array), tape.view(parts[arrays[0]]), arrays[0], call.result)]


def _taken_along(tape: Any, call: Noted) -> list[Instruction] | None:
    options = call.named("arr", "indices", "axis")
    array, index, axis = options["arr"], options["indices"], options.get("axis", -1)
    if axis is None or not _is_index(index) or not isinstance(array, ARRAYS):
        return None
    axis %= array.ndim
    shape = call.result.shape
    source = tape.view(array).broadcast((*shape[:axis], array.shape[axis], *shape[axis + 1 :]))
    return [GatherAlong(source, tape.view(index).broadcast(shape), axis, call.result)]


def _put_along(tape: Any, call: Noted) -> list[Instruction] | None:
    options = call.named("arr", "indices", "values", "axis")
    array, index, axis = options["arr"], options["indices"], options.get("axis")
    if axis is None or not _is_index(index):
        return None
    axis %= array.ndim
    shape = tuple(index.shape[d] if d == axis else array.shape[d] for d in range(array.ndim))
    if not is_operand(options["values"]):
        return None
    values = operand_of(tape, options["values"], array.dtype, shape)
    return [PutAlong(call.targets[0], tape.view(index).broadcast(shape), values, axis)]


def _at(tape: Any, call: Noted) -> list[Instruction] | None:
    """np.add.at(target, index, values)"""
    if call.ufunc is not np.add or len(call.args) != 3:
        return None
    array, index, values = call.args
    if isinstance(index, tuple):
        index = index[0] if len(index) == 1 else None
    if not _is_index(index) or index.ndim != 1 or not isinstance(values, ARRAYS):
        return None
    if values.dtype != array.dtype or array.dtype.char not in "fd":
        return None
    shape = (index.size, *array.shape[1:])
    return [ScatterAdd(call.targets[0], tape.view(index), tape.view(values).broadcast(shape))]


METHODS: dict[str, Rule] = {"at": _at}
RULES: dict[Any, Rule] = {
    np.copy: _copied,
    np.astype: _copied,
    np.ascontiguousarray: _copied,
    _astype: _copied,
    _sent: _copied,
    np.reshape: _reshaped,
    np.ravel: _reshaped,
    np.copyto: _copyto,
    _setitem: _assigned,
    np.zeros_like: _filled,
    np.ones_like: _filled,
    np.full_like: _filled,
    np.where: _where,
    np.triu: _triangle,
    np.tril: _triangle,
    np.concatenate: _joined,
    np.stack: _stacked,
    np.take: _taken,
    _getitem: _indexed,
    np.take_along_axis: _taken_along,
    np.put_along_axis: _put_along,
}
