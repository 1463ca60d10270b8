"""Running an optimizer's update: its formula, once, over many parameters at a time.

An update is a *kernel*, a formula on flat arrays written with NumPy's functions and operators:

    new_parameter, new_states = kernel(parameter, gradient, states, constant)

`constant(number)` is the number as the arrays' dtype has it. Small parameters are laid end to end and
updated by one call, with their states in one piece of memory (each parameter's state is a view of its
part), so that a step costs a handful of array functions however many parameters there are. Large
ones are updated in blocks that stay in the processor's cache. With `differentiable=True` the same
kernel runs on tensors and is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._autograd.lifted import lift, lower
from .._autograd.modes import modes
from .._autograd.sites import mark
from .._tensor.tensor import Tensor

Kernel = Callable[..., tuple[Any, tuple[Any, ...]]]

SMALL = 8192  # elements: up to this many a parameter is laid end to end with others
BLOCK = 16384  # elements: what a large one is cut into
_ndarray = np.ndarray


class Constants(dict[float, Any]):
    """Numbers as 0-dim arrays of one dtype, which array functions take without a conversion."""

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        self.dtype = dtype

    def __missing__(self, number: float) -> Any:
        if len(self) > 256:  # numbers that change with every step
            self.clear()
        found = self[number] = np.array(number, self.dtype)
        return found


_constants: dict[Any, Constants] = {}


def constants_of(dtype: Any) -> Callable[[float], Any]:
    found = _constants.get(dtype)
    if found is None:
        found = _constants[dtype] = Constants(dtype)
    return found.__getitem__


def update(
    kernel: Kernel,
    parameters: Sequence[Tensor],
    gradients: Sequence[Tensor],
    states: Sequence[Sequence[Tensor]],
    buckets: dict[Any, Bucket],
) -> None:
    """Apply a kernel to parameters that are all at the same step; `states` has a row per state.

    `buckets` keeps the memory of small parameters' states between steps.
    """
    small: dict[Any, list[int]] = {}
    at: Any = None
    for i, (parameter, gradient) in enumerate(zip(parameters, gradients, strict=True)):
        data = parameter._data
        if type(data) is not _ndarray or type(gradient._data) is not _ndarray:
            _update_whole(kernel, parameter, gradient, [row[i] for row in states])
        elif data.size <= SMALL:
            small.setdefault(data.dtype, []).append(i)
        else:
            _update_in_blocks(kernel, parameter, gradient, [row[i] for row in states])
            at = at or mark(2)
            _bump(parameter, at)
    for dtype, members in small.items():
        key = dtype, len(states)
        bucket = buckets.get(key)
        if bucket is None:
            bucket = buckets[key] = Bucket()
        bucket.update(kernel, members, parameters, gradients, states)
        at = at or mark(2)
        for i in members:
            _bump(parameters[i], at)


def _bump(parameter: Tensor, at: Any) -> None:
    box = parameter._version_box
    box[:] = box[0] + 1, at


class Bucket:
    """Small parameters of one dtype, and their states end to end."""

    __slots__ = ("owners", "rows", "spans", "views")

    def __init__(self) -> None:
        self.owners: list[Tensor] = []
        self.spans: list[tuple[int, int]] = []
        self.rows: list[Any] = []  # one flat array per state
        self.views: list[list[Any]] = []  # per state, each parameter's part of it

    def update(
        self,
        kernel: Kernel,
        members: list[int],
        parameters: Sequence[Tensor],
        gradients: Sequence[Tensor],
        states: Sequence[Sequence[Tensor]],
    ) -> None:
        owners = [parameters[i] for i in members]
        if not self._holds(owners, members, states):
            self._take_in(owners, members, states)
        flat = np.concatenate([p._data.reshape(-1) for p in owners])
        grads = np.concatenate([gradients[i]._data.reshape(-1) for i in members])
        if grads.dtype != flat.dtype:
            grads = grads.astype(flat.dtype)
        rows = tuple(self.rows)
        new, new_rows = modes.quietly(kernel, flat, grads, rows, constants_of(flat.dtype))
        for row, new_row in zip(rows, new_rows, strict=True):
            np.copyto(row, new_row)
        for p, (start, stop) in zip(owners, self.spans, strict=True):
            data = p._data
            np.copyto(data, new[start:stop].reshape(data.shape))

    def _holds(
        self, owners: list[Tensor], members: list[int], states: Sequence[Sequence[Tensor]]
    ) -> bool:
        """Whether these parameters' states are where this bucket put them."""
        if len(owners) != len(self.owners):
            return False
        for a, b in zip(owners, self.owners, strict=True):
            if a is not b:
                return False
        for row, views in zip(states, self.views, strict=True):
            for i, view in zip(members, views, strict=True):
                if row[i]._data is not view:
                    return False
        return True

    def _take_in(
        self, owners: list[Tensor], members: list[int], states: Sequence[Sequence[Tensor]]
    ) -> None:
        """Lay the states of these parameters end to end."""
        self.owners = owners
        self.spans = []
        stop = 0
        for p in owners:
            start, stop = stop, stop + p._data.size
            self.spans.append((start, stop))
        self.rows, self.views = [], []
        for row in states:
            flat = np.concatenate([row[i]._data.reshape(-1) for i in members])
            views = []
            for i, (start, end) in zip(members, self.spans, strict=True):
                view = flat[start:end].reshape(row[i]._data.shape)
                row[i]._data = view
                views.append(view)
            self.rows.append(flat)
            self.views.append(views)


def _update_in_blocks(
    kernel: Kernel, parameter: Tensor, gradient: Tensor, states: list[Tensor]
) -> None:
    data = parameter._data
    pieces = [_flat(data), _flat(gradient._data), *(_flat(s._data) for s in states)]
    (flat, own), (grads, _), *rows = pieces
    if grads.dtype != flat.dtype:
        grads = grads.astype(flat.dtype)
    constant = constants_of(flat.dtype)
    quietly = modes.quietly
    for start in range(0, flat.size, BLOCK):
        part = slice(start, start + BLOCK)
        olds = tuple([row[part] for row, _ in rows])
        new, news = quietly(kernel, flat[part], grads[part], olds, constant)
        for old, value in zip(olds, news, strict=True):
            np.copyto(old, value)
        np.copyto(flat[part], new)
    if not own:
        np.copyto(data, flat.reshape(data.shape))
    for state, (row, shared) in zip(states, rows, strict=True):
        if not shared:
            np.copyto(state._data, row.reshape(state._data.shape))


def _flat(array: Any) -> tuple[Any, bool]:
    """An array as one row, and whether it is the same memory."""
    if array.flags.c_contiguous:
        return array.reshape(-1), True
    return array.flatten(), False


def _update_whole(
    kernel: Kernel, parameter: Tensor, gradient: Tensor, states: list[Tensor]
) -> None:
    """The update of an array of another kind, in one piece."""
    new, news = kernel(
        parameter._data, gradient._data, tuple(s._data for s in states), lambda number: number
    )
    np.copyto(parameter._data, new)
    for state, value in zip(states, news, strict=True):
        np.copyto(state._data, value)
    _bump(parameter, mark(3))


def update_differentiably(
    kernel: Kernel,
    parameters: Sequence[Tensor],
    gradients: Sequence[Tensor],
    states: Sequence[Sequence[Tensor]],
) -> None:
    """The same update as recorded operations on tensors."""
    for i, (parameter, gradient) in enumerate(zip(parameters, gradients, strict=True)):
        olds = tuple(lift(row[i]) for row in states)
        new, news = kernel(lift(parameter), lift(gradient), olds, lambda number: number)
        for row, value in zip(states, news, strict=True):
            row[i].copy_(lower(value))
        parameter.copy_(lower(new))
