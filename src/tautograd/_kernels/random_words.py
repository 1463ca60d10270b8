"""The Mersenne Twister's words, some at a time, from the state that NumPy keeps; and what is made of pairs of them."""

from __future__ import annotations

from typing import Any

from .._arrays.kernels import BLOCK
from .._compile.native.llvm.algebra import Term, where
from .._compile.native.llvm.types import FLOAT32, FLOAT64, INT32, INT64
from .writer import BEGIN, END, Writer

_WORDS, _SHIFT = 624, 397
_UPPER, _LOWER, _MATRIX = -0x80000000, 0x7FFFFFFF, 0x9908B0DF - (1 << 32)


def _signed(number: int) -> int:
    return number - (1 << 32) if number >= 1 << 31 else number


def _mixed(high: Term, low: Term, far: Term) -> Term:
    y = (high & _UPPER) | (low & _LOWER)
    odd = (y & 1).compare("ne", 0)
    return far ^ y.integer("lshr", 1) ^ where(odd, y.like(_MATRIX), y.like(0))


def _twist(w: Writer, key: str) -> None:
    """The next 624 words of the state, in place: each needs older ones ahead and newer ones behind."""

    def body(distance: int) -> Any:
        def each(index: str, mask: str | None) -> None:
            def at(offset: int) -> str:
                return w.at(key, w.plus(index, offset), INT32)

            terms = [w.load(at(offset), mask, INT32) for offset in (0, 1, distance)]
            w.store(_mixed(*terms), at(0), mask)

        return each

    w.vectors(str(_WORDS - _SHIFT), body(_SHIFT))
    w.vectors(str(_WORDS - 1), body(_SHIFT - _WORDS), str(_WORDS - _SHIFT))
    last, first, far = (
        w.load_one(w.at(key, str(i), INT32), INT32) for i in (_WORDS - 1, 0, _SHIFT - 1)
    )
    w.store_one(_mixed(last, first, far), w.at(key, str(_WORDS - 1), INT32))


def _tempered(y: Term) -> Term:
    y = y ^ y.integer("lshr", 11)
    y = y ^ (y.integer("shl", 7) & _signed(0x9D2C5680))
    y = y ^ (y.integer("shl", 15) & _signed(0xEFC60000))
    return y ^ y.integer("lshr", 18)


def words(w: Writer) -> None:
    """`(out, count, state)`; the state is NumPy's, by its address: 624 words and the number of those used."""
    out, count, state = w.arguments()
    key = w.code.new(f"inttoptr i64 {state} to ptr")
    place = w.at(key, str(_WORDS), INT32)
    made = w.code.variable("i64")
    w.code.do(f"store i64 0, ptr {made}")
    rounds = w.plus(w.over(count, _WORDS), 2)
    with w.each("0", rounds):
        have = w.code.new(f"load i64, ptr {made}")
        some = w.code.new(f"icmp slt i64 {have}, {count}")
        with w.code.when(some):
            used = w.code.new(f"load i32, ptr {place}")
            with w.code.when(w.code.new(f"icmp sge i32 {used}, {_WORDS}")):
                _twist(w, key)
                w.code.do(f"store i32 0, ptr {place}")
            used = w.code.new(f"load i32, ptr {place}")
            start = w.code.new(f"sext i32 {used} to i64")
            taken = w.least(w.minus(str(_WORDS), start), w.minus(count, have))
            source, target = w.at(key, start, INT32), w.at(out, have, INT32)

            def body(index: str, mask: str | None) -> None:
                term = _tempered(w.load(w.at(source, index, INT32), mask, INT32))
                w.store(term, w.at(target, index, INT32), mask)

            w.vectors(taken, body)
            w.code.do(f"store i64 {w.plus(have, taken)}, ptr {made}")
            end = w.code.new(f"trunc i64 {w.plus(start, taken)} to i32")
            w.code.do(f"store i32 {end}, ptr {place}")


def _uniform(w: Writer, source: str, index: str, mask: str | None) -> Term:
    """A number in [0, 1) from the low 53 bits of two words, of which the first is the high half."""
    pair = w.load(w.at(source, index, INT64), mask, INT64)
    turned = pair.integer("shl", 32) | pair.integer("lshr", 32)
    return (turned & ((1 << 53) - 1)).to(FLOAT64) * 2.0**-53


def uniform(w: Writer) -> None:
    """`(words, out, count)`: doubles in [0, 1)."""
    source, out, count = w.arguments()
    stop = w.least(w.times(END, BLOCK), count)

    def body(index: str, mask: str | None) -> None:
        w.store(_uniform(w, source, index, mask), w.at(out, index, FLOAT64), mask)

    w.vectors(stop, body, w.times(BEGIN, BLOCK))


def uniform_floats(w: Writer) -> None:
    """`(words, out, count)`: floats in [0, 1) from the low 24 bits of each word; both may be the same memory."""
    source, out, count = w.arguments()
    stop = w.least(w.times(END, BLOCK), count)

    def body(index: str, mask: str | None) -> None:
        word = w.load(w.at(source, index, INT32), mask, INT32)
        number = (word & ((1 << 24) - 1)).to(FLOAT32) * 2.0**-24
        w.store(number, w.at(out, index, FLOAT32), mask)

    w.vectors(stop, body, w.times(BEGIN, BLOCK))


def bernoulli(w: Writer) -> None:
    """`(words, out, count, p)`: 1 where a number in [0, 1) is below p, else 0."""
    source, out, count, p = w.arguments()
    stop = w.least(w.times(END, BLOCK), count)
    chance = w.splat(w.float64(p))

    def body(index: str, mask: str | None) -> None:
        below = _uniform(w, source, index, mask).compare("lt", chance)
        w.store(where(below, w.constant(1.0), 0.0), w.at(out, index), mask)

    w.vectors(stop, body, w.times(BEGIN, BLOCK))


def shuffle(w: Writer) -> None:
    """`(words, out, count)`: 0 to count - 1, entry i swapped with one at or after it, as word i says."""
    words, out, count = w.arguments()
    with w.each("0", count) as index:
        w.code.do(f"store i64 {index}, ptr {w.at(out, index, INT64)}")
    with w.each("0", w.minus(count, 1)) as index:
        word = w.code.new(f"load i32, ptr {w.at(words, index, INT32)}")
        left = w.code.new(f"trunc i64 {w.minus(count, index)} to i32")
        further = w.code.new(f"zext i32 {w.code.new(f'urem i32 {word}, {left}')} to i64")
        here, there = (w.at(out, place, INT64) for place in (index, w.plus(index, further)))
        values = [w.code.new(f"load i64, ptr {place}") for place in (here, there)]
        w.code.do(f"store i64 {values[1]}, ptr {here}")
        w.code.do(f"store i64 {values[0]}, ptr {there}")


RANDOM: dict[str, Any] = {
    "random_words": ("ann", words),
    "random_doubles": ("aan", uniform),
    "random_floats": ("aan", uniform_floats),
    "random_shuffle": ("aan", shuffle),
    "random_bernoulli": ("aanx", bernoulli),
}
