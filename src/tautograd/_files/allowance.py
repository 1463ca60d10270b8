"""Limits on what loading one file may cost beyond its tensors: memory is counted, keys are bounded.

A few bytes of a pickle can ask for a lot: a container, a copy of a long text that was read once, a
key whose hash traverses nested tuples, a thousand keys with the same hash. Each
object is charged for here before it is created, and inserting keys into a table is timed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from time import perf_counter, thread_time  # before a program can replace the clocks
from typing import Any

from .refusals import DamagedFile, UnsafeFile

MEMORY = 32 << 20
"""Bytes that objects may take, whatever the size of the file."""
MEMORY_PER_BYTE = 48
"""Additional bytes for each byte of the pickle in the file."""
HASHING = 0.3
"""Seconds of processor time that inserting keys into tables may take, whatever their number."""
HASHING_PER_KEY = 3e-6
"""Additional seconds for each key: some twenty times what one takes without collisions."""
KEY_PARTS = 256
"""The most values in a key (nested tuples), and the most 64-bit words in an integer."""

DICT, FIRST_ITEM, ITEM, SET, ELEMENT, LIST, TUPLE = 80, 150, 80, 240, 80, 80, 64
ORDERED_DICT, ORDERED_ITEM, COUNTER = 500, 170, 300

_BATCH = 1000  # keys without parts between two clock readings
_FEW, _TEXT = 16, frozenset((str,))  # Python's text hashes are randomised
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1  # integers that need no further check
_ATOMS: frozenset[type] = frozenset((str, bytes, float, bool, type(None), complex, type))


class Allowance:
    """What is left of the limits. `identified` are the types of objects hashed by identity."""

    def __init__(self, stored: int, identified: Iterable[type] = ()) -> None:
        self._room = MEMORY + MEMORY_PER_BYTE * stored
        self._seconds = HASHING
        self._clock = perf_counter  # cheaper to read; changed below
        self._atoms = _ATOMS.union(identified)

    def take(self, count: int) -> None:
        """Charge for so many bytes."""
        self._room -= count
        if self._room < 0:
            raise UnsafeFile(
                "the file asks for much more memory than it has data: its pickle would make objects "
                f"of more than {MEMORY >> 20} MB and {MEMORY_PER_BYTE} bytes for each of its bytes"
            )

    def put(self, target: dict[Any, Any], keys: Sequence[Any], values: Sequence[Any]) -> None:
        """`target[key] = value` for each pair."""
        count = len(keys)
        if count != len(values):
            raise DamagedFile("a dictionary in the file has a key without a value")
        first = 0 if target else FIRST_ITEM
        if type(target) is dict and count <= _FEW and _TEXT.issuperset(map(type, keys)):
            self.take(ITEM * count + first)  # frequent, and fast
            target.update(zip(keys, values, strict=True))
            return
        ordered = type(target) is OrderedDict
        self.take((ORDERED_ITEM if ordered else ITEM) * count + first)
        write: Any = OrderedDict.update if ordered else dict.update  # Counter.update would add
        for batch in self._batches(keys):
            began = self._clock()
            write(target, zip(keys[batch], values[batch], strict=True))
            self._hashed(batch.stop - batch.start, began)

    def add(self, target: set[Any], elements: Sequence[Any]) -> None:
        """`target.add(element)` for each."""
        self.take(ELEMENT * len(elements))
        for batch in self._batches(elements):
            began = self._clock()
            target.update(elements[batch])
            self._hashed(batch.stop - batch.start, began)

    def _batches(self, keys: Sequence[Any]) -> Iterator[slice]:
        """Split keys, once checked, into batches that can be inserted without a clock reading in between.

        Comparing keys with parts can be quadratic in their number (sets whose elements
        collide), so that a thousand of them would take half a minute.
        """
        for start in range(0, len(keys), _BATCH):
            stop = min(start + _BATCH, len(keys))
            began = self._clock()
            step = _BATCH if self._check_keys(keys[start:stop]) else 1
            self._hashed(0, began)  # checking long keys takes time as well
            for first in range(start, stop, step):
                yield slice(first, min(first + step, stop))

    def _hashed(self, count: int, began: float) -> None:
        self._seconds += HASHING_PER_KEY * count - (self._clock() - began)
        if self._seconds >= 0:
            return
        if self._clock is perf_counter:  # another process may have taken the time
            self._clock, self._seconds = thread_time, HASHING
        else:
            raise UnsafeFile(
                "the file has keys that are made to collide: putting them into a dictionary or set "
                "takes far longer than other keys do"
            )

    def _check_keys(self, keys: Sequence[Any]) -> bool:
        """Whether all of them compare in constant time, having no parts."""
        if self._atoms.issuperset(map(type, keys)):
            return True
        atoms = True
        for key in keys:
            if type(key) is not int or not _SMALLEST <= key <= _LARGEST:
                self._check_key(key)
                atoms = atoms and type(key) in self._atoms
        return atoms

    def _check_key(self, key: Any) -> None:
        """Require a key to hash and compare quickly, using only types of plain data."""
        parts, waiting = 1, [key]
        while waiting:
            part = waiting.pop()
            kind = type(part)
            if kind is int:
                parts += int.bit_length(part) >> 6
            elif isinstance(part, (tuple, frozenset)):
                parts += len(part)
            elif kind not in self._atoms:
                raise DamagedFile(f"a key in the file is a {kind.__name__}, which is unhashable")
            if parts > KEY_PARTS:
                raise UnsafeFile(f"a key in the file consists of more than {KEY_PARTS} values")
            if isinstance(part, (tuple, frozenset)):
                waiting.extend(part)
