"""Batches of parameters that are updated together, and the memory of their states.

Small parameters are concatenated and updated by one run of the program, with their states in one piece
of memory (each parameter's state is a view of its part), so that a step costs a handful of array
functions however many parameters there are. A large parameter is updated in blocks that stay in the
processor's cache, by several threads. Complex parameters are viewed as pairs of real numbers; half precision is
computed in float32 and rounded where PyTorch rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter, is_, itemgetter
from struct import Struct
from struct import error as StructError
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

from .._arrays.kernels import BLOCK as UNIT
from .._autograd.modes import modes
from .._ops.declare.elementwise_calls import check_broadcast
from .._ops.thread_pool import in_parallel
from .._tensor.tensor import Tensor
from ._program import Formula, Program, execute, program_of

SMALL = 8192  # elements: up to this size parameters are concatenated
BLOCK = 32768  # elements per block of a large one; a block's data stays in the cache
_ndarray = np.ndarray
_data_of = attrgetter("_data")


class Batch:
    """Parameters whose formula has the same constants, with their scalar states as arrays."""

    def __init__(
        self, owners: list[Tensor], scalars: list[list[Tensor]], states: list[list[Tensor]]
    ) -> None:
        self.owners = owners
        self.states = states  # a row per state, an entry per parameter
        self.scalars = [_in_one_piece(row) for row in scalars]

    def is_uniform(self) -> bool:
        """Whether all of its parameters are still at the same step."""
        if len(self.owners) == 1:
            return True
        for row in self.scalars:
            values = row.tolist()
            if values.count(values[0]) != len(values):
                return False
        return True

    def run(self, formula: Formula, flags: tuple[Any, ...], constants: dict[str, Any]) -> None:
        raise NotImplementedError

    # On a GPU: computes the constants of the next step, when a graph of the step is replayed.
    on_gpu = False
    recompute: Any = None


def _in_one_piece(tensors: list[Tensor]) -> Any:
    """0-dim tensors as one array, of which each becomes a view."""
    if len(tensors) == 1:
        return tensors[0]._data.reshape(1)
    row = np.array([t._data for t in tensors])
    for i, tensor in enumerate(tensors):
        tensor._data = row[i : i + 1].reshape(())
    return row


class SmallBatch(Batch):
    """Small contiguous parameters of one dtype, concatenated."""

    def __init__(
        self, owners: list[Tensor], scalars: list[list[Tensor]], states: list[list[Tensor]]
    ) -> None:
        super().__init__(owners, scalars, states)
        self.arrays = [p._data for p in owners]
        dtype = self.arrays[0].dtype
        self.flat = np.concatenate(self.arrays, axis=None)
        self.gradient = np.empty_like(self.flat)
        self.flat_bytes = _bytes(self.flat)
        self.gradient_bytes = _bytes(self.gradient)
        stops = np.cumsum([a.size for a in self.arrays]).tolist()
        spans = [slice(b - a.size, b) for a, b in zip(self.arrays, stops, strict=True)]
        # Copying bytes is several times faster than an assignment between arrays.
        self.bytes = [_bytes(a) for a in self.arrays]
        parts = [_bytes(self.flat[span]) for span in spans]
        self.copies = list(zip(self.bytes, parts, strict=True))
        self.rows = []
        for tensors in states:
            row = np.concatenate([t._data for t in tensors], axis=None)
            for tensor, span in zip(tensors, spans, strict=True):
                tensor._data = row[span].reshape(tensor._data.shape)
            self.rows.append(row)
        self.real, self.compute = _computed_in(dtype)
        self._bound: dict[Any, Any] = {}

    def run(self, formula: Formula, flags: tuple[Any, ...], constants: dict[str, Any]) -> None:
        key = formula, flags, len(constants)  # a variant of a formula may have more of them
        found = self._bound.get(key)
        if found is None:
            found = self._bound[key] = self._bind(formula, flags, tuple(constants))
        bound, write, row, program, places = found
        try:
            write(row, 0, *constants.values())
        except StructError:
            write(row, 0, *map(_real_number, constants.values()))
        self.flat_bytes[:] = b"".join(self.bytes)
        _gather([p._grad._data for p in self.owners], self.gradient, self.gradient_bytes)
        kernel = program.kernel(self.gradient.size)
        if kernel is None:
            modes.quietly(execute, bound)
        else:
            size = places[-1]
            kernel(-(-size // UNIT), size, *places)
        for memory, part in self.copies:
            memory[:] = part

    def _bind(self, formula: Formula, flags: Any, names: tuple[str, ...]) -> Any:
        program = program_of(formula, flags, names, len(self.rows), self.real, self.compute)
        row, constants = program.constants()
        # Writes numbers to the row as an assignment does, in half the time.
        write = Struct(f"{row.size}{row.dtype.char}").pack_into
        stored = [a.view(self.real) for a in (self.flat, self.gradient, *self.rows)]
        for array in stored:  # machine code uses the first one's size
            if array.size != stored[0].size:
                refuse_sizes(array, stored[0])
        memory = program.memory(stored[0].size)
        if self.real == self.compute:
            bound = program.bind([*stored, *constants, *memory])
            return bound, write, row.data, program, (*stored, row, stored[0].size)
        wide = [a.astype(self.compute) for a in stored]
        bound = [
            *((np.copyto, (w, a)) for w, a in zip(wide, stored, strict=True)),
            *program.bind([*wide, *constants, *memory]),
            *(
                (_narrow, (a, w))
                for i, (w, a) in enumerate(zip(wide, stored, strict=True))
                if i != 1
            ),
        ]
        return bound, write, row.data, program, ()


class LargeBatch(Batch):
    """One parameter of any size and layout, in blocks."""

    def run(self, formula: Formula, flags: tuple[Any, ...], constants: dict[str, Any]) -> None:
        (owner,) = self.owners
        # Read once: another thread may give a tensor other memory at any moment.
        targets = [owner._data, *(row[0]._data for row in self.states)]
        data, given = targets[0], owner._grad._data
        for state in targets[1:]:
            _require_fit(state, data)
        if given.shape != data.shape:
            refuse_sizes(given, data)
        real, compute = _computed_in(data.dtype)
        flats = [_flat(array, real) for array in targets]
        gradient, _ = _flat(given.astype(data.dtype, copy=False), real)
        arrays = [flats[0][0], gradient, *(flat for flat, _ in flats[1:])]
        program = program_of(formula, flags, tuple(constants), len(self.states), real, compute)
        row, values = program.constants()
        row[:] = list(map(_real_number, constants.values()))
        kernel = program.kernel(gradient.size)
        if kernel is not None and all(a.flags.writeable for a in arrays if a is not gradient):
            kernel(-(-gradient.size // UNIT), gradient.size, *arrays, row, gradient.size)
        else:
            _run_in_blocks(program, arrays, values, real == compute)
        for array, (flat, shared) in zip(targets, flats, strict=True):
            if not shared:
                np.copyto(array, flat.view(array.dtype).reshape(array.shape))


def _run_in_blocks(program: Program, arrays: list[Any], constants: list[Any], plain: bool) -> None:
    size = arrays[0].size

    def run(start: int, stop: int) -> None:
        """Update the part from `start` to `stop`, in one thread."""
        memory = program.memory(min(BLOCK, stop - start))
        wide = [] if plain else [np.empty(BLOCK, program.compute) for _ in arrays]
        places: list[Any] = []
        for begin in range(start, stop, BLOCK):
            end = min(begin + BLOCK, stop)
            parts = [a[begin:end] for a in arrays]
            if not places or end - begin != BLOCK:
                cut = [m if m.ndim == 0 else m[: end - begin] for m in memory]
                places = [*parts, *constants, *cut]
            if plain:
                places[: len(parts)] = parts
            else:
                work = [w[: end - begin] for w in wide]
                for w, part in zip(work, parts, strict=True):
                    np.copyto(w, part)
                places[: len(parts)] = work
            for function, at in program.instructions:
                function(*[places[i] for i in at])
            if not plain:
                for i, (w, part) in enumerate(zip(work, parts, strict=True)):
                    if i != 1:
                        np.copyto(part, w, casting="same_kind")

    in_parallel(lambda start, stop: modes.quietly(run, start, stop), size, BLOCK)


class ForeignBatch(Batch):
    """Arrays of another type: the formula itself, in one piece."""

    def run(self, formula: Formula, flags: tuple[Any, ...], constants: dict[str, Any]) -> None:
        (owner,) = self.owners
        states = [row[0]._data for row in self.states]
        new, news = formula(
            owner._data, owner._grad._data, tuple(states), SimpleNamespace(**constants), flags
        )
        np.copyto(owner._data, new)
        for state, value in zip(states, news, strict=True):
            np.copyto(state, value)


class Layout:
    """How those parameters of a group that have gradients are batched; reused as long as it is valid."""

    def __init__(
        self,
        members: list[Tensor],
        states: list[dict[str, Any]],
        scalars: int,
        names: Sequence[str],
    ) -> None:
        self.names = names
        self.getter = _several(names)
        found = [self.getter(state) for state in states]
        groups: dict[Any, list[int]] = {}
        repeated = len({id(p) for p in members}) != len(members)
        for i, (p, values) in enumerate(zip(members, found, strict=True)):
            data = p._data
            for state in values[scalars:]:
                _require_fit(state._data, data)
            if type(data) is not _ndarray:
                key: Any = i, ForeignBatch
                if not repeated and _on_gpu(data, values[scalars:]):
                    from ._on_gpu import GpuBatch

                    at = tuple((t._data.dtype, t._data.item()) for t in values[:scalars])
                    key = (data.dtype, at), GpuBatch
            elif data.size > SMALL or not data.flags.c_contiguous or repeated:
                key = i, LargeBatch
            else:
                at = tuple((t._data.dtype, t._data.item()) for t in values[:scalars])
                key = (data.dtype, *(t._data.dtype for t in values[scalars:])), at
            groups.setdefault(key, []).append(i)
        self.batches = []
        for (_, kind), indices in groups.items():
            rows = [[found[i][k] for i in indices] for k in range(len(names))]
            make = kind if isinstance(kind, type) else SmallBatch
            self.batches.append(make([members[i] for i in indices], rows[:scalars], rows[scalars:]))
        self.count = len(members)
        self.arrays = [t._data for t in chain(members, *found)]

    def holds(
        self, members: list[Tensor], states: list[dict[str, Any]], names: Sequence[str]
    ) -> bool:
        """Whether these parameters and their states are still where this layout put them."""
        if len(members) != self.count or names != self.names:
            return False
        tensors = chain(members, *map(self.getter, states))
        if not all(map(is_, map(_data_of, tensors), self.arrays)):
            return False
        for batch in self.batches:
            if not batch.is_uniform():
                return False
        return True


def _on_gpu(data: Any, states: Sequence[Tensor]) -> bool:
    """Whether a kernel can update this array together with others."""
    if not getattr(data, "has_kernels", False):
        return False
    from ._on_gpu import fits

    return fits(data, [t._data for t in states])


def _require_fit(state: Any, data: Any) -> None:
    """Require a state to have its parameter's shape and dtype; it may not if either was replaced or loaded."""
    if state.shape != data.shape:
        refuse_sizes(state, data)
    if state.dtype != data.dtype:
        raise RuntimeError(
            f"expected dtype {data.dtype} for the optimizer's state of a parameter of that dtype, but got "
            f"dtype {state.dtype}: the parameter was given memory of another dtype (`p.data = …`) after its "
            "first step; make the optimizer anew, or load its state, which converts it"
        )


def refuse_sizes(a: Any, b: Any) -> NoReturn:
    """The error for arrays of one parameter with different shapes, even if they would broadcast."""
    check_broadcast(a.shape, b.shape)
    raise RuntimeError(
        f"The size of tensor a {list(a.shape)} must match the size of tensor b {list(b.shape)}: a "
        "parameter, its gradient and its optimizer's states have one shape"
    )


def _gather(arrays: list[Any], flat: Any, flat_bytes: memoryview) -> None:
    """Concatenate arrays. Joining their bytes is several times faster than np.concatenate."""
    dtype = flat.dtype
    for array in arrays:
        if array.dtype is not dtype and array.dtype != dtype:
            break
    else:
        try:
            flat_bytes[:] = b"".join(arrays)
            return
        except (BufferError, TypeError, ValueError):  # a layout that a memoryview cannot express
            pass
    np.concatenate(arrays, None, flat, casting="unsafe")


def _bytes(array: Any) -> memoryview:
    """The memory of a contiguous array."""
    memory: memoryview = array.reshape(-1).view(np.uint8).data
    return memory


def _several(names: Sequence[str]) -> Any:
    """A function that returns these entries of a dictionary as a tuple."""
    if len(names) > 1:
        return itemgetter(*names)
    if not names:
        return lambda state: ()
    (name,) = names
    return lambda state: (state[name],)


def _computed_in(dtype: Any) -> tuple[Any, Any]:
    """The real dtype that an array is viewed as, and the one its formula is computed in."""
    if dtype.kind == "c":
        dtype = np.empty(0, dtype).real.dtype
    return dtype, np.dtype(np.float32) if dtype.itemsize == 2 else dtype


def _flat(array: Any, real: Any) -> tuple[Any, bool]:
    """An array as one row of real numbers, and whether it shares memory."""
    if array.flags.c_contiguous:
        return array.reshape(-1).view(real), True
    return array.flatten().view(real), False


def _real_number(value: Any) -> Any:
    """A setting as a real number; a complex one must have a zero imaginary part."""
    if isinstance(value, float):
        return value
    if np.iscomplexobj(value):
        if np.imag(value):
            raise RuntimeError(
                "For non-complex input tensors, argument alpha must not be a complex number."
            )
        value = np.real(value)
    return float(value)


def _narrow(out: Any, wide: Any) -> None:
    np.copyto(out, wide, casting="same_kind")
