"""Is work that is split over threads the same as undivided, also from several threads and in a child?"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import tautograd
from tautograd._compile.native import Native
from tautograd._compile.native.fusion import parallel_loop
from tautograd._compile.native.llvm import thread_pool
from tautograd._compile.program import ir
from tests.compile.native.programs import Builder

FLOAT = np.dtype(np.float32)


@pytest.fixture(autouse=True)
def three_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Also on a machine with fewer processors."""
    before = tautograd.get_num_threads()
    monkeypatch.setattr(thread_pool, "processors", lambda: 3)
    tautograd.set_num_threads(3)
    yield
    tautograd.set_num_threads(before)
    monkeypatch.undo()
    thread_pool.use_threads(before)


def whole_numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-4, 5, shape).astype(FLOAT)


def large_program() -> Builder:
    """A flat loop, rows, a sum over rows, stacked and large products: each split in its own way."""
    build = Builder()
    flat = build.view(whole_numbers(300_007))
    build.map("negative", flat, out=build.scratch((300_007,), FLOAT))
    rows = build.view(whole_numbers(700, 333))
    top = build.scratch((700, 1), FLOAT)
    build.add(ir.Reduce("maximum", rows, (1,), top, FLOAT))
    build.map("subtract", rows, top, out=build.scratch((700, 333), FLOAT))
    build.add(ir.Reduce("add", rows, (0,), build.scratch((1, 333), FLOAT), FLOAT))
    few = build.view(whole_numbers(3, 200_000))
    build.map("square", few, out=build.scratch((3, 200_000), FLOAT))
    left, right = build.view(whole_numbers(6, 80, 70)), build.view(whole_numbers(6, 70, 90))
    build.add(ir.Product(left, right, build.scratch((6, 80, 90), FLOAT)))
    for m, n in ((300, 90), (70, 333), (257, 129)):
        left, right = build.view(whole_numbers(m, 100)), build.view(whole_numbers(100, n))
        build.add(ir.Product(left, right, build.scratch((m, n), FLOAT)))
    return build


def test_split_work_is_the_same() -> None:
    native = large_program().check()
    assert " shares " in native.text


def test_every_size_around_the_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_loop, "WORTH_SHARING", 1)
    for size in (17, 511, 512, 513, 1023, 1024, 1040, 5000):
        build = Builder()
        x = build.view(whole_numbers(size))
        build.map("negative", x, out=build.scratch((size,), FLOAT))
        wide = build.view(whole_numbers(5, size))
        build.add(ir.Reduce("add", wide, (0,), build.scratch((1, size), FLOAT), FLOAT))
        build.check()


def test_a_thousand_runs() -> None:
    build = Builder()
    x = build.view(whole_numbers(40_000))
    build.map("add", x, ir.Number(np.float32(1)), out=x)
    build.map("exp", x, out=build.scratch((40_000,), FLOAT))
    native = build.lower()
    start = build.array(x).copy()
    for _ in range(1000):
        build.run(native)
    assert np.array_equal(build.array(x), start + 1000)


def test_from_several_threads_of_python() -> None:
    wrong: list[object] = []

    def work() -> None:
        try:
            large_program().check()
        except BaseException as error:
            wrong.append(error)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # that it has threads
def test_in_a_child_process() -> None:
    build = large_program()
    native: Native = build.check()
    for _ in range(3):
        child = os.fork()
        if not child:
            status = 1
            try:
                build.check()
                build.run(native)
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        assert status == 0
    build.run(native)


def test_one_thread_when_asked() -> None:
    tautograd.set_num_threads(1)
    native = large_program().check()
    assert " shares " not in native.text


def test_blas_has_its_threads_back() -> None:
    import ctypes

    from tautograd._compile.native.products import blas

    found = blas()
    if found is None or not found.obeys:
        pytest.skip("this BLAS has no such setting")
    get = ctypes.CFUNCTYPE(ctypes.c_int)(found.addresses["get_threads"])
    before = get()
    build = large_program()
    build.run(build.lower())
    assert get() == before
