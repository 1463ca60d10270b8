"""Do fused loops over views of every kind give what NumPy gives instruction by instruction?

The numbers are small integers stored as floats, so sums and products are exact in any order and every
comparison is of bits.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tautograd._compile.native.fusion import rematerialise
from tautograd._compile.native.llvm import jit
from tautograd._compile.program import ir
from tests.compile.native.programs import Builder

FLOAT = np.dtype(np.float32)


def some_view(
    build: Builder, rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype
) -> ir.View:
    """A view of that shape: in rows, transposed, with gaps, reversed, or repeated."""
    kind = rng.choice(["rows", "rows", "transposed", "gaps", "reversed", "repeated"])
    owner = ir.Kind.SCRATCH if rng.random() < 0.7 else ir.Kind.EXTERNAL

    def whole(shape: tuple[int, ...]) -> ir.View:
        return build.view(np.asarray(rng.integers(-4, 5, shape)).astype(dtype), owner)

    if kind == "repeated" and shape:
        axis = int(rng.integers(len(shape)))
        return whole(tuple(1 if a == axis else n for a, n in enumerate(shape))).broadcast(shape)
    if kind == "transposed" and len(shape) > 1:
        order = rng.permutation(len(shape))
        base = whole(tuple(shape[a] for a in order))
        back = np.argsort(order)
        return ir.View(base.buffer, 0, shape, tuple(base.strides[a] for a in back), dtype)
    if kind == "gaps" and shape:
        base = whole(tuple(2 * n + 1 for n in shape))
        strides = tuple(2 * s for s in base.strides)
        return ir.View(base.buffer, sum(base.strides), shape, strides, dtype)
    base = whole(shape)
    if kind == "reversed" and shape:
        offset = (shape[0] - 1) * base.strides[0]
        return ir.View(base.buffer, offset, shape, (-base.strides[0], *base.strides[1:]), dtype)
    return base


def target(
    build: Builder, rng: np.random.Generator, shape: tuple[int, ...], views: list[ir.View]
) -> ir.View:
    """A view to write to: new memory, or that of an earlier result of the shape."""
    earlier = [v for v in views if v.shape == shape and 0 not in _strides(v)]
    if earlier and rng.random() < 0.35:
        return earlier[int(rng.integers(len(earlier)))]
    while True:
        view = some_view(build, rng, shape, FLOAT)
        if 0 not in _strides(view):
            return view


def _strides(view: ir.View) -> list[int]:
    return [s for s, n in zip(view.strides, view.shape, strict=True) if n != 1]


def otherwise_shaped(view: ir.View, rng: np.random.Generator) -> ir.View:
    """The same elements in rows of another length, where they lie in rows."""
    if not view.is_contiguous() or not view.ndim or 1 in view.shape:
        return view
    at = int(rng.integers(1, view.ndim + 1))
    shape = (int(np.prod(view.shape[:at])), *view.shape[at:])
    strides = view.strides[at - 1 :]
    return ir.View(view.buffer, view.offset, shape, strides, view.dtype)


@pytest.mark.parametrize("seed", range(80))
def test_random_programs(seed: int) -> None:
    """Every other program is seen only in part, so that what is not seen need not be stored."""
    rng = np.random.default_rng(seed)
    build = Builder()
    ndim = int(rng.integers(0, 4))
    shape = tuple(int(rng.choice([1, 2, 3, 5, 16, 17, 33, 70])) for _ in range(ndim))
    views: list[ir.View] = [some_view(build, rng, shape, FLOAT) for _ in range(3)]
    for _ in range(int(rng.integers(3, 16))):
        what = rng.choice(["map", "map", "map", "reduce", "shifted", "product"])
        source = views[int(rng.integers(len(views)))]
        if what == "reduce" and source.ndim:
            axes = tuple(a for a in range(source.ndim) if rng.random() < 0.5) or (source.ndim - 1,)
            small = tuple(1 if a in axes else n for a, n in enumerate(source.shape))
            out = target(build, rng, small, views)
            function = str(rng.choice(["add", "maximum", "minimum"]))
            build.add(ir.Reduce(function, source, axes, out, FLOAT))
            signs = build.map("sign", out, out=target(build, rng, small, views))
            views.append(signs)
        elif what == "shifted" and source.ndim and source.shape[0] > 2:
            if 0 in _strides(source):
                continue
            shorter = (source.shape[0] - 1, *source.shape[1:])
            head = ir.View(source.buffer, source.offset, shorter, source.strides, FLOAT)
            after = source.offset + source.strides[0]
            build.map(
                "negative", head, out=ir.View(source.buffer, after, shorter, source.strides, FLOAT)
            )
            continue
        elif what == "product" and source.ndim > 1:
            signs = build.map("sign", source, out=build.scratch(source.shape, FLOAT))
            *stack, rows, columns = source.shape
            wide = int(rng.integers(1, 4))
            right = build.view(rng.integers(-1, 2, (*stack, columns, wide)).astype(FLOAT))
            out = build.scratch((*stack, rows, wide), FLOAT)
            build.add(ir.Product(signs, right, out))
            out = build.map("sign", out, out=build.scratch(out.shape, FLOAT))
        else:
            other = views[int(rng.integers(len(views)))]
            if rng.random() < 0.3:
                source = otherwise_shaped(source, rng)
            try:
                big = np.broadcast_shapes(source.shape, other.shape)
            except ValueError:
                big = ()
            if not big or np.prod(big) > 100_000:
                other, big = source, source.shape
            out = target(build, rng, big, views)
            function = str(rng.choice(["subtract", "maximum", "minimum", "sign"]))
            inputs = (source,) if function == "sign" else (source, other)
            build.map(function, *inputs, out=out)
            if function == "subtract":  # numbers stay small, and sums of them exact
                build.map("sign", out, out=out)
        views.append(out)
    seen = None
    if seed % 2:
        seen = {v.buffer for v in views if rng.random() < 0.3}
    # Which zero is the least of a positive and a negative one depends on the order, in NumPy too
    build.check(needed=seen, signed_zeros=False)


@pytest.mark.parametrize("vector_bytes", [16, 32])
@pytest.mark.parametrize("seed", range(100, 110))
def test_narrower_vectors(seed: int, vector_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on processors with less wide registers."""
    monkeypatch.setattr(jit.host(), "vector_bytes", vector_bytes)
    test_random_programs(seed)


@pytest.mark.parametrize("seed", [683, 1399, *range(200, 212)])
def test_values_computed_again(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a large program, in which what was stored long ago is made once more for a late reader."""
    monkeypatch.setattr(rematerialise, "LARGE", 0)
    monkeypatch.setattr(rematerialise, "FAR", 0)
    test_random_programs(seed)


@pytest.mark.parametrize("late", [False, True])
def test_a_value_that_waits_is_made_of_what_was_there(late: bool) -> None:
    """Its source is overwritten before it is read, or after."""
    build = Builder()
    x = build.view(np.arange(12, dtype=FLOAT))
    double = build.map("add", x, x, out=build.scratch((12,), FLOAT))
    if late:
        build.map("sqrt", double, out=build.view(np.zeros(12, FLOAT)))
    build.map("negative", x, out=x)
    build.map("sqrt", double, out=build.view(np.zeros(12, FLOAT)))
    build.check(needed=())


def test_half_of_a_buffer_does_not_wait() -> None:
    """The other half was there before, and is read as well."""
    build = Builder()
    whole = build.scratch((2, 12), FLOAT)
    half = ir.View(whole.buffer, 48, (1, 12), whole.strides, FLOAT)
    other = ir.View(whole.buffer, 0, (1, 12), whole.strides, FLOAT)
    build.map("negative", build.view(np.ones((1, 12), FLOAT)), out=half)
    build.map("sqrt", other, out=build.view(np.zeros((1, 12), FLOAT)))
    build.check(needed=())


def test_what_is_cheap_is_not_stored() -> None:
    """Two rows of sums need the same difference: each loop computes it, and no memory holds it."""
    build = Builder()
    x = build.view(np.random.default_rng(0).integers(0, 9, (40, 50)).astype(FLOAT))
    mean = build.view(np.ones((40, 1), FLOAT))
    gap = build.map("subtract", x, mean, out=build.scratch((40, 50), FLOAT))
    down = build.view(np.zeros((1, 50), FLOAT))
    along = build.view(np.zeros((40, 1), FLOAT))
    build.add(ir.Reduce("add", gap, (0,), down, FLOAT))
    build.add(ir.Reduce("add", gap, (1,), along, FLOAT))
    native = build.check(needed=())
    assert all(gap.buffer not in kernel.writes for kernel in native.kernels)


def test_steps_of_other_shapes_share_a_nest() -> None:
    """A bias added to (24, 10), then a function of the same elements as (4, 6, 10)."""
    build = Builder()
    x, bias = build.view(np.ones((24, 10), "f4")), build.view(np.arange(10, dtype="f4"))
    moved = build.map("add", x, bias, out=build.scratch((24, 10), FLOAT))
    seen = ir.View(moved.buffer, 0, (4, 6, 10), (240, 40, 4), FLOAT)
    build.map("negative", seen, out=build.view(np.zeros((4, 6, 10), "f4"), ir.Kind.KEPT))
    native = build.check(needed=())
    assert len(native.kernels) == 1
    assert native.kernels[0].bytes_written == 24 * 10 * 4


def test_a_softmax_is_one_kernel() -> None:
    rng = np.random.default_rng(0)
    build = Builder()
    x = build.view(rng.standard_normal((37, 65)).astype("f4"))
    top, total = build.scratch((37, 1), FLOAT), build.scratch((37, 1), FLOAT)
    build.add(ir.Reduce("maximum", x, (1,), top, FLOAT))
    moved = build.map("subtract", x, top, out=build.scratch((37, 65), FLOAT))
    powers = build.map("exp", moved, out=build.scratch((37, 65), FLOAT))
    build.add(ir.Reduce("add", powers, (1,), total, FLOAT))
    y = build.map("divide", powers, total, out=build.view(np.zeros((37, 65), "f4"), ir.Kind.KEPT))
    native = build.check(bits=False, needed=())
    assert len(native.kernels) == 1
    assert native.kernels[0].passes == 3
    mine, theirs = (ir.array_of(y, b[y.buffer]) for b in (build.mine, build.theirs))
    np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    untouched = ir.array_of(moved, build.mine[moved.buffer])
    assert np.array_equal(untouched, build.array(moved)), "a value of registers was stored"


@pytest.mark.parametrize("shape", [(5,), (64,), (1000,), (100_003,), (300, 77), (3, 40_000)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_sums_are_as_good_as_pairwise(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(3)
    x = (rng.standard_normal(shape) + 0.5).astype(dtype)
    for axis in range(len(shape)):
        build = Builder()
        small = tuple(1 if a == axis else n for a, n in enumerate(shape))
        out = build.scratch(small, np.dtype(dtype))
        build.add(ir.Reduce("add", build.view(x), (axis,), out, np.dtype(dtype)))
        build.check(bits=False)
        mine = ir.array_of(out, build.mine[out.buffer])
        exact = np.add.reduce(x.astype(np.longdouble), axis=axis, keepdims=True)
        size = np.add.reduce(np.abs(x).astype(np.longdouble), axis=axis, keepdims=True)
        assert (np.abs(mine - exact) <= 16 * np.finfo(dtype).eps * size).all()
        # and much better than that on the whole: rounding errors cancel
        assert np.mean(np.abs(mine - exact) / size) <= 2 * np.finfo(dtype).eps


@pytest.mark.parametrize(
    "function", ["add", "multiply", "maximum", "minimum", "logical_and", "logical_or"]
)
@pytest.mark.parametrize("dtype", ["int64", "int32", "bool", "float32", "uint8"])
def test_reductions_of_other_dtypes(function: str, dtype: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 3, (19, 45)).astype(dtype)
    if dtype == "float32":
        x[3, 4] = np.nan
    kind = np.dtype(dtype)
    if function in ("add", "multiply") and dtype in ("bool", "uint8"):
        kind = np.dtype(np.int64)
    if function.startswith("logical"):
        kind = np.dtype(bool)
    for axes in ((0,), (1,), (0, 1)):
        build = Builder()
        small = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
        build.add(ir.Reduce(function, build.view(x), axes, build.scratch(small, kind), kind))
        build.check()


@pytest.mark.parametrize("function", ["add", "maximum", "minimum"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_reductions_in_half_precision(function: str, dtype: type) -> None:
    """Whole numbers, whose sums are exact in every order."""
    kind = np.dtype(dtype)
    x = np.random.default_rng(1).integers(-3, 3, (19, 45)).astype(kind)
    for axes in ((0,), (1,)):
        build = Builder()
        small = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
        build.add(ir.Reduce(function, build.view(x), axes, build.scratch(small, kind), kind))
        build.check()
