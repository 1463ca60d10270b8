"""Where the arrays of a recording lie: memory as buffers, known by the array that owns it.

The tape does not keep what the run computes on its way: when the owner of some memory goes, it is forgotten, and what
is made later in the same place is another buffer. So a recording needs hardly more memory than any other run.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arrays.cuda.cuda_array import CudaArray
from ..._arrays.strided import address
from ..program.ir import Buffer, Kind, Program, View
from .array_calls import copy
from .arrays import empty, held, key_of, may_pass, owner_of


@dataclass(slots=True, eq=False)
class _Home:
    """Memory by its owner: where it begins, how much it is, and which buffers lie where in it."""

    key: Any  # None if the tape does not keep it alive
    owner: Any  # an array of all of it
    start: int
    nbytes: int
    parts: list[tuple[int, int, int]]


class Memory:
    """The buffers of a program that is being recorded, and where arrays lie in them."""

    def __init__(self) -> None:
        self.program = Program()
        self._homes: dict[int, _Home] = {}  # by the id of what owns the memory
        self._placed: dict[int, View] = {}  # of arrays that are known to lie somewhere, by id
        # Owners that may go, by number of the buffer.
        self._passing: dict[int, weakref.ref[Any]] = {}

    def refuse(self, what: str, advice: str, where: Any = None) -> None:
        """Something cannot be recorded."""
        raise NotImplementedError

    def let_go(self) -> None:
        """After the recording: what it computed on its way, and nobody else sees, need not be kept any more."""
        buffers = self.program.buffers
        self._homes = {
            key: home
            for key, home in self._homes.items()
            if type(home.owner) is not CudaArray
            or any(buffers[number].kind is not Kind.SCRATCH for _, _, number in home.parts)
        }

    def view(self, array: Any, kind: Kind = Kind.CONSTANT) -> View:
        """An array as a part of its buffer, which is new to the tape if its memory is."""
        found = self._placed.get(id(array))
        if found is not None:
            return found
        key = key_of(array)
        home = self._homes.get(id(key))
        if home is None:
            if key is array and (array.flags.c_contiguous or array.flags.f_contiguous):
                return self._all_of(array, kind)
            home = self._new_home(key, array)
        low, high = span_of(array)
        if low == high and home.parts:  # nothing, which may begin beyond the end
            return View(home.parts[0][2], 0, array.shape, array.strides, array.dtype)
        for first, last, number in home.parts:
            if first <= low and high <= last:
                return View(number, address(array) - first, array.shape, array.strides, array.dtype)
        if any(low < last and first < high for first, last, _ in home.parts):
            self.refuse("an argument that shares memory with another tensor", "alias")
        start = home.start
        size = max(home.nbytes, high - start, 1)
        number = self._new_buffer(size, kind, home.owner)
        if kind is Kind.SCRATCH and may_pass(key, size):
            self._let_go(home, number)
        home.parts.append((start, start + size, number))
        return View(number, address(array) - start, array.shape, array.strides, array.dtype)

    def _all_of(self, array: Any, kind: Kind) -> View:
        """An array that owns its memory and lies in it without gaps, which is what most functions give."""
        start, size = address(array), max(array.nbytes, 1)
        number = self._new_buffer(size, kind, array)
        home = self._homes[id(array)] = _Home(
            array, array, start, array.nbytes, [(start, start + size, number)]
        )
        if kind is Kind.SCRATCH and may_pass(array, size):
            self._let_go(home, number)
        return View(number, 0, array.shape, array.strides, array.dtype)

    def argument(self, array: Any) -> View:
        """The memory of an argument: a buffer of its own, wherever it lies."""
        key = key_of(array)
        parts = (self._homes.get(id(key)) or self._new_home(key, array)).parts
        low, high = span_of(array)
        if any(low < last and first < high for first, last, _ in parts):
            self.refuse("an argument that shares memory with another argument", "alias")
        number = self._new_buffer(max(high - low, 1), Kind.ARGUMENT, array)
        parts.append((low, high, number))
        return View(number, address(array) - low, array.shape, array.strides, array.dtype)

    def _new_home(self, key: Any, array: Any) -> _Home:
        owner = owner_of(array)
        home = self._homes[id(key)] = _Home(key, owner, address(owner), owner.nbytes, [])
        return home

    def _let_go(self, home: _Home, number: int) -> None:
        """Do not keep memory that only the run itself needs; know when it goes."""
        key, homes = home.key, self._homes
        home.key = home.owner = self.program.buffers[number].array = None

        def forget(_: Any, number: int = id(key)) -> None:
            homes.pop(number, None)

        self._passing[number] = weakref.ref(key, forget)

    def keep(self, number: int) -> None:
        """Let the memory of a buffer stay after the run."""
        found = self._passing.get(number)
        if found is not None and (key := found()) is not None:
            self.program.buffers[number].array = held(key)

    def keep_all(self) -> None:
        """Let what is there now stay."""
        for number in self._passing:
            self.keep(number)

    def _new_buffer(self, size: int, kind: Kind, array: Any) -> int:
        buffers = self.program.buffers
        buffers.append(Buffer(len(buffers), size, kind, array))
        return len(buffers) - 1

    def knows(self, array: Any) -> bool:
        return id(key_of(array)) in self._homes

    def scratch(self, shape: tuple[int, ...], dtype: Any, like: Any) -> View:
        """Memory for a value in between, which the recording itself does not need."""
        if type(like) is CudaArray:
            array = empty(shape, dtype, like)
            return self.view(array, Kind.SCRATCH)
        strides, size = [], dtype.itemsize
        for n in reversed(shape):
            strides.append(size)
            size *= n
        number = self._new_buffer(max(size, 1), Kind.SCRATCH, None)
        return View(number, 0, tuple(shape), tuple(strides[::-1]), dtype)

    def constant(self, array: Any) -> Any:
        """An array that the program needs and nobody else knows."""
        self.view(array, Kind.CONSTANT)
        return array

    def _begin_from_content(self, array: Any) -> None:
        """Before memory that was a constant is written: the program has to begin from its content."""
        view = self.view(array)
        buffer = self.program.buffers[view.buffer]
        if buffer.kind is not Kind.CONSTANT:
            return
        owner = buffer.array
        source = self.view(np.copy(owner, order="K"))
        buffer.kind = Kind.SCRATCH
        whole = View(view.buffer, 0, owner.shape, owner.strides, owner.dtype)
        self.program.instructions.insert(0, copy(source, whole))
        self.program.sites.insert(0, None)


def span_of(array: Any) -> tuple[int, int]:
    """The addresses between which an array's elements lie."""
    low = high = address(array)
    if not array.size:
        return low, low
    if array.flags.c_contiguous:
        return low, low + array.nbytes
    for n, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0:
            low += (n - 1) * stride
        else:
            high += (n - 1) * stride
    return low, high + array.itemsize
