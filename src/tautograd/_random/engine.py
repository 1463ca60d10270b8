"""The generator: a Mersenne Twister whose words and saved states are those of PyTorch.

PyTorch's CPU generator is MT19937 seeded by the classic one-integer recurrence. NumPy's
`RandomState` holds the same recurrence in C, so it serves as the word pump; this module adds
what surrounds the words in PyTorch: 64-bit seeds, the cached second value of a Box-Muller pair,
and the 5056-byte state that `torch.Generator.get_state()` returns, in both directions.
"""

from __future__ import annotations

import math
import os
import weakref
from ctypes import string_at
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._arrays.kernels import BLOCK, kernel_for_work
from .._arrays.once import held_at_fork, making

if TYPE_CHECKING:
    import numpy.typing as npt

DEFAULT_SEED = 67280421310721
_WORDS = 624
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)

# The C struct behind get_state(); the gaps are alignment padding and stay zero.
_STATE_LAYOUT = np.dtype(
    {
        "names": [
            "seed",
            "left",
            "seeded",
            "next",
            "words",
            "double_normal",
            "double_normal_valid",
            "float_normal",
            "float_normal_valid",
        ],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", _WORDS), "<f8", "<i4", "<f4", "u1"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
        "itemsize": 5056,
    }
)


_pumping: weakref.WeakSet[Generator] = weakref.WeakSet()  # those with a pump; `making` guards it


class _Pumps:
    """The locks of all pumps as one, which a fork holds.

    NumPy holds a pump's lock while it draws. A child that was forked then would wait for it for ever.
    """

    def __init__(self) -> None:
        self._held: list[Any] = []

    def acquire(self) -> None:
        pumps = [generator._pump for generator in _pumping]
        for lock in [pump._bit_generator.lock for pump in pumps if pump is not None]:
            lock.acquire()
            self._held.append(lock)

    def release(self) -> None:
        while self._held:
            self._held.pop().release()


held_at_fork.append(_Pumps())


_spare: list[tuple[Any, int]] = []
"""Pumps of generators that are gone, and where their states are: one is made in the time that seeds fifty."""


def _pump_from(seed: int) -> tuple[Any, int]:
    """A pump that starts from a seed, and the address of its state."""
    try:
        pump, address = _spare.pop()
    except IndexError:
        pump = np.random.RandomState(seed)
        return pump, pump._bit_generator.ctypes.state_address
    pump.seed(seed)
    return pump, address


class Generator:
    """A source of random words with the seeding and state rules of `torch.Generator`.

    `next_double_normal` and `next_float_normal` hold the unused half of the last Box-Muller pair
    (or None). They are part of the state: they survive between calls and travel in `get_state`.
    """

    on_gpu: Any = False  # whether its numbers are drawn on a GPU

    def __init__(self, device: Any = "cpu") -> None:
        if str(device).partition(":")[0] not in ("cpu", "cuda"):
            raise RuntimeError(f"Generator: no random numbers on device={device!s}")
        self.device = device
        self._pump: Any = None
        self._address = 0  # of the pump's state
        self._reseed(DEFAULT_SEED)

    @property
    def _core(self) -> Any:
        """The word pump, made at the first word: `numpy.random` is slow to load.

        There is one, however many threads ask first: with two of them, both threads would draw the same numbers.
        """
        if self._pump is None:
            with making:
                if self._pump is None:
                    _pumping.add(self)
                    pump, self._address = _pump_from(self._initial_seed & 0xFFFFFFFF)
                    self._pump = pump
        return self._pump

    def __del__(self) -> None:
        pump, spare = getattr(self, "_pump", None), globals().get("_spare")  # gone when Python ends
        if pump is not None and spare is not None and len(spare) < 16:
            spare.append((pump, self._address))

    def _reseed(self, seed: int) -> None:
        self._initial_seed = seed
        self.offset = 0
        if self._pump is not None:
            self._pump.seed(seed & 0xFFFFFFFF)
        # A fresh state and an exhausted one differ only in the `next` field that torch reports.
        self._untouched = True
        self.next_double_normal: float | None = None
        self.next_float_normal: float | None = None

    def next_draw(self, words: int) -> tuple[int, int]:
        """On a GPU: the seed, and the offset in each thread's stream of a draw of so many words."""
        offset = self.offset
        self.offset = offset + -(-words // 4) * 4  # a call gives four
        return self._initial_seed, offset

    def manual_seed(self, seed: int) -> Self:
        """Restart the stream from `seed`; negative seeds count back from 2**64, as in torch."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        value = int(seed)
        if not -(2**63) <= value < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._reseed(value % 2**64)
        return self

    def seed(self) -> int:
        """Seed from the operating system's entropy and return the seed."""
        value = int.from_bytes(os.urandom(8), "little")
        self._reseed(value)
        return value

    def initial_seed(self) -> int:
        """The seed last given, as an unsigned 64-bit integer."""
        return self._initial_seed

    def random32(self, count: int) -> npt.NDArray[np.uint32]:
        """The next `count` 32-bit words."""
        if count == 0:
            return np.empty(0, np.uint32)
        self._untouched = False
        pump = self._core
        words: npt.NDArray[np.uint32]
        run = kernel_for_work("random_words", _FLOAT32, count)
        if run is not None:
            words = np.empty(count, np.uint32)
            bits = pump._bit_generator
            with bits.lock:  # the state is NumPy's own, and so is who may change it
                run(1, 0, words, count, self._address)
            return words
        words = pump.randint(0, 2**32, size=count, dtype=np.uint32)
        return words

    def random64(self, count: int) -> npt.NDArray[np.uint64]:
        """The next `count` 64-bit words: two 32-bit words each, the first is the high half."""
        words = self.random32(2 * count)
        return (words[0::2].astype(np.uint64) << np.uint64(32)) | words[1::2]

    def get_state(self) -> npt.NDArray[np.uint8]:
        """The whole state as the 5056 bytes of `torch.Generator.get_state()`."""
        # NumPy's own `get_state` makes a dictionary and a tuple of the same 625 numbers, in ten times as long.
        pump = self._core
        with pump._bit_generator.lock:
            held = np.frombuffer(string_at(self._address, 4 * (_WORDS + 1)), np.uint32)
        words, position = held[:_WORDS], int(held[_WORDS])
        record = np.zeros(1, _STATE_LAYOUT)
        record["seed"] = self._initial_seed
        record["seeded"] = 1
        # `left` counts the calls until the next twist, that call included.
        record["left"] = _WORDS + 1 - position
        record["next"] = 0 if self._untouched else position
        record["words"] = words
        if self.next_double_normal is not None:
            record["double_normal"] = self.next_double_normal
            record["double_normal_valid"] = 1
        if self.next_float_normal is not None:
            record["float_normal"] = self.next_float_normal
            record["float_normal_valid"] = 1
        return record.view(np.uint8).copy()

    def set_state(self, new_state: npt.NDArray[np.uint8]) -> Generator:
        """Load a state that `get_state` (of this class or of torch) returned."""
        if not isinstance(new_state, np.ndarray):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        size = _STATE_LAYOUT.itemsize
        if new_state.size != size:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {size} but found the input RNG state "
                f"size to be {new_state.size}"
            )
        record = np.ascontiguousarray(new_state).reshape(size).view(_STATE_LAYOUT)[0]
        left, following = int(record["left"]), int(record["next"])
        untouched = left == 1 and following == 0
        # Every state that a real stream reaches has next + left == 625, but for the fresh one.
        consistent = untouched or left + following == _WORDS + 1
        if not record["seeded"] or not 0 < left <= _WORDS or not consistent:
            raise RuntimeError("Invalid mt19937 state")
        words = record["words"].astype(np.uint32)
        self._core.set_state(("MT19937", words, _WORDS + 1 - left, 0, 0.0))
        self._initial_seed = int(record["seed"])
        self._untouched = untouched
        double_valid, float_valid = record["double_normal_valid"], record["float_normal_valid"]
        self.next_double_normal = float(record["double_normal"]) if double_valid else None
        self.next_float_normal = float(record["float_normal"]) if float_valid else None
        return self

    def clone_state(self) -> Generator:
        """An independent generator that goes on with the same numbers."""
        return Generator(self.device).set_state(self.get_state())

    def get_offset(self) -> int:
        """A notion of counter-based generators; always an error here."""
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> None:
        """A notion of counter-based generators; always an error here."""
        raise RuntimeError("CPU Generator does not use offset")


class Lookahead:
    """Uniform doubles one at a time, for samplers that cannot tell how many they will need.

    Words are drawn in blocks for speed; leaving the `with` block rewinds the generator and
    advances it by exactly the words that were used.
    """

    def __init__(self, generator: Generator, block: int) -> None:
        self._generator = generator
        self._block = max(block, 16)

    def __enter__(self) -> Lookahead:
        self._start = self._generator._core.get_state(legacy=True)
        self._was_untouched = self._generator._untouched
        self._values: list[float] = []
        self._taken = 0  # of the current block
        self._finished = 0  # in earlier blocks
        return self

    def uniform(self) -> float:
        """The next double in [0, 1)."""
        if self._taken == len(self._values):
            self._finished += self._taken
            self._taken = 0
            self._values = unit_doubles(self._generator, self._block).tolist()
        value = self._values[self._taken]
        self._taken += 1
        return value

    def normal(self) -> float:
        """The next standard normal of the scalar Box-Muller path, cached second value included."""
        cached = self._generator.next_double_normal
        if cached is not None:
            self._generator.next_double_normal = None
            return cached
        angle = 2.0 * math.pi * self.uniform()
        radius = math.sqrt(-2.0 * math.log1p(-self.uniform()))
        self._generator.next_double_normal = radius * math.sin(angle)
        return radius * math.cos(angle)

    def __exit__(self, *exception: object) -> None:
        self._generator._core.set_state(self._start)
        self._generator._untouched = self._was_untouched
        self._generator.random64(self._finished + self._taken)


def unit_doubles(generator: Generator, count: int) -> npt.NDArray[np.float64]:
    """`count` doubles in [0, 1): the low 53 bits of each 64-bit word."""
    run = kernel_for_work("random_doubles", _FLOAT64, count)
    if run is not None:
        found = np.empty(count)
        run(-(-count // BLOCK), count, generator.random32(2 * count), found, count)
        return found
    words = generator.random64(count)
    words &= np.uint64(2**53 - 1)
    # As int64 the conversion to double is one machine instruction per value; it is exact.
    return words.view(np.int64).astype(np.float64) * 2.0**-53


def coins(generator: Generator, count: int, p: float, dtype: Any) -> npt.NDArray[Any] | None:
    """Ones of probability `p` and zeros, in one pass; None where there is no kernel for that."""
    run = kernel_for_work("random_bernoulli", dtype, count)
    if run is None:
        return None
    found: npt.NDArray[Any] = np.empty(count, dtype)
    run(-(-count // BLOCK), count, generator.random32(2 * count), found, count, float(p))
    return found


def unit_floats(generator: Generator, count: int) -> npt.NDArray[np.float32]:
    """`count` floats in [0, 1): the low 24 bits of each 32-bit word."""
    return floats_of(generator.random32(count))


def floats_of(words: npt.NDArray[np.uint32]) -> npt.NDArray[np.float32]:
    """Floats in [0, 1) from words, which are lost."""
    run = kernel_for_work("random_floats", _FLOAT32, len(words))
    if run is not None:
        found = words.view(np.float32)
        run(-(-len(words) // BLOCK), len(words), words, found, len(words))
        return found
    words &= np.uint32(2**24 - 1)
    return words.view(np.int32).astype(np.float32) * np.float32(2.0**-24)


def _default() -> Generator:
    generator = Generator()
    generator.seed()
    return generator


default_generator = _default()
