"""Do products and indexed reads and writes give what NumPy gives, for every way matrices lie in memory?"""

from __future__ import annotations

import numpy as np
import pytest

from tautograd._compile.program import ir
from tests.compile.native.programs import Builder

FLOAT = np.dtype(np.float32)
SIZES = [
    (32, 10, 1),
    (1, 7, 5),
    (3, 4, 5),
    (40, 50, 60),
    (64, 64, 64),
    (1, 300, 200),
    (300, 200, 1),
    (33, 1, 40),
    (128, 1, 256),
]


def matrix(
    build: Builder,
    rng: np.random.Generator,
    stack: tuple[int, ...],
    rows: int,
    columns: int,
    how: str,
    dtype: np.dtype,
) -> ir.View:
    def whole(*shape: int) -> ir.View:
        return build.view(rng.integers(-3, 4, shape).astype(dtype))

    if how == "transposed":
        v = whole(*stack, columns, rows)
        return ir.View(
            v.buffer,
            0,
            (*stack, rows, columns),
            (*v.strides[:-2], v.strides[-1], v.strides[-2]),
            dtype,
        )
    if how == "gaps":
        v = whole(*stack, rows, 2 * columns)
        return ir.View(
            v.buffer, 0, (*stack, rows, columns), (*v.strides[:-1], 2 * v.strides[-1]), dtype
        )
    if how == "part":
        v = whole(*stack, rows + 2, columns + 3)
        return ir.View(v.buffer, v.strides[-1], (*stack, rows, columns), v.strides, dtype)
    if how == "heads" and stack:  # (rows, stack, columns) seen as (stack, rows, columns)
        v = whole(rows, *stack, columns)
        strides = (*v.strides[1:-1], v.strides[0], v.strides[-1])
        return ir.View(v.buffer, 0, (*stack, rows, columns), strides, dtype)
    if how == "repeated" and stack:
        return whole(rows, columns).broadcast((*stack, rows, columns))
    return whole(*stack, rows, columns)


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("seed", range(4))
def test_product(sizes: tuple[int, int, int], adds: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, k, n = sizes
    ways = ["rows", "transposed", "gaps", "part", "heads", "repeated"]
    build = Builder()
    stack = [(), (3,), (2, 3)][int(rng.integers(3))]
    dtype = np.dtype(rng.choice(["f4", "f8"]))
    left = matrix(build, rng, stack, m, k, str(rng.choice(ways)), dtype)
    right = matrix(build, rng, stack, k, n, str(rng.choice(ways)), dtype)
    out = matrix(build, rng, stack, m, n, str(rng.choice(ways[:5])), dtype)
    build.add(ir.Product(left, right, out, adds))
    build.check()


def test_a_product_into_its_own_operand() -> None:
    build = Builder()
    x = build.view(np.arange(9.0, dtype="f4").reshape(3, 3))
    build.add(ir.Product(x, x, x))
    build.check()


def test_a_sum_over_nothing() -> None:
    build = Builder()
    left, right = build.view(np.zeros((3, 0), "f4")), build.view(np.zeros((0, 4), "f4"))
    build.add(ir.Product(left, right, build.scratch((3, 4), FLOAT)))
    build.add(ir.Product(left, right, build.view(np.ones((3, 4), "f4")), adds=True))
    build.add(ir.Reduce("add", left, (1,), build.scratch((3, 1), FLOAT), FLOAT))
    build.check()


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(), (4,), (3, 20)])
def test_gather(axis: int, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(axis)
    build = Builder()
    source = build.view(rng.standard_normal((6, 7, 33)).astype("f4"))
    size = source.shape[axis]
    index = build.view(rng.integers(-size, size, shape))
    out = build.scratch((*source.shape[:axis], *shape, *source.shape[axis + 1 :]), FLOAT)
    build.add(ir.Gather(source, index, axis, out))
    build.map("negative", out, out=build.scratch(out.shape, FLOAT))
    native = build.check()
    assert len(native.kernels) == 1


@pytest.mark.parametrize("dtype", ["int64", "int32"])
@pytest.mark.parametrize("axis", [0, 1])
def test_along(axis: int, dtype: str) -> None:
    rng = np.random.default_rng(axis)
    build = Builder()
    source = build.view(rng.standard_normal((23, 19)).astype("f4"))
    shape = (5, 19) if axis == 0 else (23, 5)
    index = build.view(rng.integers(-19, 19, shape).astype(dtype))
    build.add(ir.GatherAlong(source, index, axis, build.scratch(shape, FLOAT)))
    target = build.view(np.zeros((23, 19), "f4"))
    build.add(ir.PutAlong(target, index, build.view(rng.standard_normal(shape).astype("f4")), axis))
    build.add(ir.PutAlong(target, index, ir.Number(np.float32(7)), axis))
    build.check()


@pytest.mark.parametrize("rest", [(), (1,), (5,), (64,), (3, 17)])
def test_scatter_add(rest: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    build = Builder()
    target = build.view(rng.integers(-4, 4, (6, *rest)).astype("f4"))
    index = build.view(rng.integers(-6, 6, 50))
    source = build.view(rng.standard_normal((50, *rest)).astype("f4"))
    build.add(ir.ScatterAdd(target, index, source))
    build.check()


@pytest.mark.parametrize("bad", [6, -7, 2**40])
def test_an_index_outside_is_an_error(bad: int) -> None:
    build = Builder()
    source = build.view(np.arange(6.0, dtype="f4"))
    index = build.view(np.array([0, 1, bad]))
    build.map("negative", source, out=build.scratch((6,), FLOAT))
    build.add(ir.Gather(source, index, 0, build.scratch((3,), FLOAT)))
    native = build.lower(range(4))
    with pytest.raises(IndexError, match="instruction 1"):
        build.run(native)


@pytest.mark.parametrize(
    "between", ["nothing", "a reader of the target", "another use of the product"]
)
def test_a_factor_goes_into_the_product(between: str) -> None:
    """Only if nobody sees the product itself, or the target before it is written."""
    rng = np.random.default_rng(0)
    build = Builder()
    left, right = (build.view(rng.integers(-3, 4, (4, 40, 40)).astype(FLOAT)) for _ in range(2))
    target = build.view(np.ones((4, 40, 40), FLOAT))
    product = build.scratch((4, 40, 40), FLOAT)
    build.add(ir.Product(left, right, product))
    if between == "a reader of the target":
        build.map("sqrt", target, out=build.view(np.zeros((4, 40, 40), FLOAT)))
    build.map("multiply", product, ir.Number(np.float32(0.25)), out=target)
    if between == "another use of the product":
        build.map("sign", product, out=build.view(np.zeros((4, 40, 40), FLOAT)))
    native = build.check(needed=())
    loops = [k for k in native.kernels if k.kind == "loop" and "multiply" in k.names]
    assert bool(loops) == (between != "nothing")
