"""Does each elementwise function give NumPy's bits, in every dtype, on ordinary and on special numbers?"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tautograd._compile.native import can_lower
from tests.compile.native.programs import Builder

FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["int64", "int32", "uint8", "int8", "int16"]
UNARY = [
    "negative",
    "absolute",
    "square",
    "reciprocal",
    "sqrt",
    "sign",
    "floor",
    "ceil",
    "trunc",
    "rint",
]
UNARY += ["isnan", "isinf", "isfinite", "logical_not", "signbit", "positive"]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "copysign",
    "heaviside",
]
BINARY += ["greater", "greater_equal", "less", "less_equal", "equal", "not_equal"]
BINARY += ["logical_and", "logical_or", "logical_xor", "floor_divide", "remainder", "fmod"]
WHOLE_UNARY = ["negative", "absolute", "square", "sign", "invert", "logical_not", "positive"]
WHOLE_BINARY = [
    "add",
    "subtract",
    "multiply",
    "maximum",
    "minimum",
    "floor_divide",
    "remainder",
    "fmod",
]
WHOLE_BINARY += [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "greater",
    "less_equal",
    "equal",
    "not_equal",
]
WHOLE_BINARY += ["left_shift", "right_shift", "power", "logical_and"]


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def numbers(dtype: np.dtype, n: int, seed: int = 0) -> np.ndarray:
    """Ordinary numbers with every special one among them."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        picked = rng.integers(-20 if info.min else 0, 20, n).astype(dtype)
        picked[:4] = [info.min, info.max, 0, 1]
        return rng.permutation(picked)
    info = ml_dtypes.finfo(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -2.5, 1.5, 3.0]
    special += [
        float(info.max),
        float(info.tiny),
        float(info.smallest_subnormal),
        -float(info.tiny) / 4,
    ]
    scale = rng.choice([1e-3, 1.0, 30.0], n)
    picked = (rng.standard_normal(n) * scale).astype(dtype)
    places = rng.permutation(n)[: 4 * len(special)]
    picked[places] = np.array(special * 4).astype(dtype)[: len(places)]
    return picked


def run(function: str, *arrays: np.ndarray) -> None:
    build = Builder()
    views = [build.view(a) for a in arrays]
    from tests.compile.native.programs import default_loop

    loop = default_loop(function, views, views[0])
    build.map(function, *views, out=build.scratch(arrays[0].shape, loop[-1]), loop=loop)
    assert can_lower(build.instructions[0]) is None
    build.check()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("function", UNARY)
def test_unary(function: str, dtype: str) -> None:
    run(function, numbers(dtype_of(dtype), 203))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("function", BINARY)
def test_binary(function: str, dtype: str) -> None:
    kind = dtype_of(dtype)
    run(function, numbers(kind, 1003, 1), numbers(kind, 1003, 2))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("function", WHOLE_UNARY)
def test_whole_unary(function: str, dtype: str) -> None:
    run(function, numbers(dtype_of(dtype), 203))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("function", WHOLE_BINARY)
def test_whole_binary(function: str, dtype: str) -> None:
    kind = dtype_of(dtype)
    x, y = numbers(kind, 203, 1), numbers(kind, 203, 2)
    if function in ("left_shift", "right_shift"):
        y = np.abs(y) % 70
    if function == "power":
        y = np.abs(y) % np.array([9, 70, np.iinfo(kind).max], np.uint64)[np.arange(203) % 3]
    run(function, x, y.astype(kind))


@pytest.mark.parametrize("to", [*FLOATS, *INTEGERS, "bool", "uint32", "uint64"])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "bool", "uint32", "uint64"])
def test_cast(dtype: str, to: str) -> None:
    build = Builder()
    x = numbers(dtype_of(dtype), 203)
    target = dtype_of(to)
    if dtype in FLOATS and to in (*INTEGERS, "uint32", "uint64"):
        # What does not fit is undefined in C
        info = np.iinfo(target)
        x = np.nan_to_num(np.clip(x.astype(np.float64), max(info.min, -1e4), min(info.max, 1e4)))
        x = np.abs(x).astype(dtype_of(dtype)) if not info.min else x.astype(dtype_of(dtype))
    build.map("cast", build.view(x), out=build.scratch(x.shape, target))
    with np.errstate(all="ignore"):
        build.check()


def test_where() -> None:
    build = Builder()
    x, y = numbers(np.dtype("f4"), 77, 1), numbers(np.dtype("f4"), 77, 2)
    c = build.view(x > 0)
    build.map("where", c, build.view(x), build.view(y), out=build.scratch((77,), np.float32))
    build.check()


@pytest.mark.parametrize("exponent", [1.0, 2.0, -1.0, 0.5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_power_by_a_number(dtype: str, exponent: float) -> None:
    from tautograd._compile.program.ir import Number

    build = Builder()
    x = numbers(np.dtype(dtype), 203)
    kind = np.dtype(dtype)
    build.map(
        "power",
        build.view(x),
        Number(kind.type(exponent)),
        out=build.scratch(x.shape, kind),
        loop=(kind, kind, kind),
    )
    build.check()


@pytest.mark.parametrize("exponent", [0, 1, 2, 5, 63, 64, 65, 127])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_power_by_a_whole_number(dtype: str, exponent: int) -> None:
    from tautograd._compile.program.ir import Number

    build = Builder()
    kind = dtype_of(dtype)
    x = numbers(kind, 203)
    loop, out = (kind, kind, kind), build.scratch(x.shape, kind)
    build.map("power", build.view(x), Number(kind.type(exponent)), out=out, loop=loop)
    build.check()
