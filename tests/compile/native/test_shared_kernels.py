"""Kernels are shared between programs: sizes and places are numbers that they are given, and code is kept once."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tautograd
from tautograd._compile.native import Native, functions
from tautograd._compile.native.disk_cache import store
from tautograd._compile.native.llvm import jit
from tautograd._compile.native.llvm.numbers import generalised
from tautograd._compile.program import ir
from tests.compile.native.kept_code import entries
from tests.compile.native.programs import Builder

F4 = np.dtype("f4")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """So that no size is shared out among threads."""
    before = tautograd.get_num_threads()
    tautograd.set_num_threads(1)
    yield
    tautograd.set_num_threads(before)


def layers(rows: int, width: int, depth: int = 2) -> Builder:
    """Products, rows that are summed and normalised, a gather with its check, a transposed read, a rest in each row."""
    build = Builder()
    rng = np.random.default_rng(rows * 1000 + width)
    x = build.view(rng.integers(-4, 5, (rows, width)).astype("f4"))
    for _ in range(depth):
        weight = build.view(rng.integers(-2, 3, (width, width)).astype("f4"))
        y = build.scratch((rows, width), F4)
        build.add(ir.Product(x, weight, y))
        top = build.scratch((rows, 1), F4)
        build.add(ir.Reduce("maximum", y, (1,), top, F4))
        z = build.map("subtract", y, top, out=build.scratch((rows, width), F4))
        across = ir.View(z.buffer, 0, (width, rows), z.strides[::-1], F4)
        turned = build.map("negative", across, out=build.scratch((width, rows), F4))
        build.add(ir.Reduce("maximum", turned, (0,), build.scratch((1, rows), F4), F4))
        x = z
    index = build.view(rng.integers(0, rows, 2 * rows))
    build.add(ir.Gather(x, index, 0, build.scratch((2 * rows, width), F4)))
    return build


def names(native: Native) -> set[str]:
    return {function.name for function in native.lowered.functions}


def test_another_size_needs_no_other_kernel() -> None:
    """Sizes of one kind: more than the lanes of any vector, and with a rest."""
    first = layers(130, 83).check()
    for rows, width in ((149, 101), (140, 93)):
        assert names(layers(rows, width).check()) == names(first)
    assert names(layers(130, 83, depth=5).check()) == names(first)


@pytest.mark.parametrize("seed", range(6))
def test_any_size_after_any_other(seed: int) -> None:
    """Whatever kernels are there already, each program gives NumPy's bits."""
    rng = random.Random(f"{seed} {random.SystemRandom().random()}")
    kept = []
    for _ in range(12):
        rows, width = rng.choice((1, 2, 7, 16, 33, 64, 100)), rng.randint(1, 70)
        kept.append(layers(rows, width, rng.randint(1, 3)).check())


def test_a_kernel_goes_with_the_last_program_that_has_it() -> None:
    one = layers(130, 83).check()
    (some, *_) = names(one)
    other = layers(149, 101).check()
    assert (
        functions.known(some)
        is other.lowered.functions[[f.name for f in other.lowered.functions].index(some)]
    )
    del one
    gc.collect()
    assert functions.known(some) is not None
    del other
    gc.collect()
    assert functions.known(some) is None


def test_an_entry_refers_to_the_code_of_another(place: Path) -> None:
    """The second program has no code of its own on disk; a fresh process would find the first one's."""
    first = layers(130, 83).check()
    (code,) = entries(place)
    second = layers(149, 101).check()
    (other,) = [path for path in entries(place) if path != code]
    assert len(code.read_bytes()) > 2 * len(other.read_bytes())
    del first, second
    gc.collect()
    again = layers(149, 101).check()  # all by itself
    assert again.cached
    del again
    gc.collect()
    code.write_bytes(code.read_bytes()[:-1])  # no longer what was signed
    assert store.load(code.name) is None
    made = layers(149, 101).check()
    assert not made.cached
    del made
    gc.collect()
    assert layers(149, 101).check().cached  # with its own code now


def test_a_second_thread_leaves_the_code_of_the_first(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two threads that lower one program, the second finds its kernels in memory: it has no code to keep."""
    first = layers(130, 83).check()
    (kept,) = entries(place)
    content = kept.read_bytes()
    with monkeypatch.context() as race:
        race.setattr(store, "load", lambda key: None)  # it has looked before the first one wrote
        second = layers(130, 83).check()
    assert not second.cached
    assert kept.read_bytes() == content
    del first, second
    gc.collect()
    assert layers(130, 83).check().cached


@pytest.mark.parametrize("code", [b"", "of another kernel"])
def test_an_entry_without_the_code_it_speaks_of_is_made_anew(
    place: Path, code: bytes | str
) -> None:
    layers(130, 83).check()
    (kept,) = entries(place)
    content = store.load(kept.name)
    assert content is not None
    stop = 8 + int.from_bytes(content[:8], "little")
    if isinstance(code, str):
        code = jit.assemble("define void @other() {\n ret void\n}")
    store.save(kept.name, content[:stop] + code)
    gc.collect()
    assert not layers(130, 83).check().cached
    gc.collect()
    assert layers(130, 83).check().cached


def test_numbers_are_those_of_the_text() -> None:
    """Put back where they are loaded, the text is what it was."""
    text = (
        "define internal void @NAME(ptr %args, i64 %begin, i64 %end) nounwind {\nentry:\n"
        "  %a0p = getelementptr ptr, ptr %args, i64 0\n"
        "  %a0 = load ptr, ptr %a0p\n"
        "  %v2 = phi i64 [ 48, %b ], [ %v2n, %n ]\n"
        "  %v3 = mul nsw i64 %v2, 4\n"
        "  %v4 = mul nsw i64 %v2, 400\n"
        "  %v5 = urem i64 %v2, 7\n"
        "  %v6 = udiv i64 %v2, 700\n"
        "  %v7 = load <4 x float>, ptr %v3, align 4\n"
        "  %v8 = select i1 %v6, i32 9, i32 %v7\n"
        "  %v9 = add i32 %v8, 127\n"
        "  %v2n = add nuw nsw i64 %v2, 16\n"
        "  %v10 = icmp ult i64 %v2n, 400\n"
        "  call void @taut.sgemm(ptr @c.i8.78, ptr @c.i64.400, ptr @c.i64.3)\n"
        "  call void @f(<4 x i1> <i1 true, i1 true, i1 false, i1 false>)\n"
        "  %v11 = getelementptr i8, ptr %a0, <4 x i64> <i64 0, i64 12, i64 24, i64 36>\n"
        "  %v12 = shufflevector <4 x i64> %x, <4 x i64> poison, <2 x i32> <i32 0, i32 1>\n"
        "  ret void\n}"
    )
    general, numbers = generalised(text, 1)
    assert numbers == [48, 400, 700, 9, 3, 2, 12]
    kept = (
        "%v2, 4\n",
        "%v2, 7\n",
        "align 4\n",
        "i32 %v8, 127\n",
        "%v2, 16\n",
        "@c.i8.78",
        "i32 0, i32 1>",
    )
    for part in kept:
        assert part in general
    for gone in ("[ 48,", "%v2, 400", "%v2, 700", "i32 9,", "@c.i64", "i1 true", "i64 24"):
        assert gone not in general
    loaded = [line for line in general.split("\n") if " = load i64, ptr %n" in line]
    assert len(loaded) == len(numbers) - 1  # Fortran reads 3 where it is
