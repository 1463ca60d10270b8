"""Every sampler against PyTorch: the same seed gives the same bits and leaves the same state.

A sampler is a row of a table: its name, our call, PyTorch's call. A comparison runs several calls
on one generator, because what one call leaves behind (the position in the stream, half a pair of
normals) is input to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import ml_dtypes
import numpy as np
import pytest
import torch

import tautograd._random as ours

Ours = Callable[[ours.Generator, int], np.ndarray]
Theirs = Callable[[torch.Generator, int], torch.Tensor]

SEEDS = range(100)
SIZES = range(1, 1001)
LARGE_SIZES = (4096, 40000, 100003)

NUMPY = {name: np.dtype(name) for name in ("uint8", "int8", "int16", "int32", "int64", "bool")}
NUMPY |= {name: np.dtype(name) for name in ("float16", "float32", "float64")}
NUMPY |= {name: np.dtype(name) for name in ("uint16", "uint32", "uint64")}
NUMPY |= {name: np.dtype(name) for name in ("complex64", "complex128")}
NUMPY["bfloat16"] = np.dtype(ml_dtypes.bfloat16)

FLOATS = ("float32", "float64", "float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
SIGNED_AND_BYTE = ("uint8", "int8", "int16", "int32", "int64")
WIDE_UNSIGNED = ("uint16", "uint32", "uint64")


def fill(dtype: str, method: str, *arguments: float | None) -> Theirs:
    """PyTorch's in-place sampler `method` on a new tensor."""

    def call(generator: torch.Generator, n: int) -> torch.Tensor:
        target = torch.empty(n, dtype=getattr(torch, dtype))
        return getattr(target, method)(*arguments, generator=generator)

    return call


def strided_normal(dtype: str) -> Theirs:
    def call(generator: torch.Generator, n: int) -> torch.Tensor:
        target = torch.empty(n, 2, dtype=getattr(torch, dtype))[:, 0]
        # A single element counts as contiguous, but takes the same path.
        return target.normal_(0.5, 2.0, generator=generator)

    return call


def probabilities(n: int, dtype: str) -> np.ndarray:
    return (np.arange(n) % 97 / 96).astype(NUMPY[dtype])


def as_torch(array: np.ndarray) -> torch.Tensor:
    wide = torch.from_numpy(array.astype(np.float64))
    return wide.to(getattr(torch, array.dtype.name))


def sampler_rows() -> Iterable[tuple[str, Ours, Theirs]]:
    for d in FLOATS + COMPLEX:
        k = NUMPY[d]
        for low, high in ((0.0, 1.0), (-0.3, 0.9), (1000.0, 1000.5)):
            yield (
                f"uniform({low},{high})-{d}",
                lambda g, n, k=k, low=low, high=high: ours.uniform(g, n, low, high, k),
                fill(d, "uniform_", low, high),
            )
        for mean, std in ((0.0, 1.0), (3.0, 0.7)):
            yield (
                f"normal({mean},{std})-{d}",
                lambda g, n, k=k, m=mean, s=std: ours.normal(g, n, m, s, k),
                fill(d, "normal_", mean, std),
            )
    for d in FLOATS:
        k = NUMPY[d]
        yield (
            f"strided normal-{d}",
            lambda g, n, k=k: ours.normal(g, n, 0.5, 2.0, k, contiguous=False),
            strided_normal(d),
        )
        yield (
            f"log_normal-{d}",
            lambda g, n, k=k: ours.log_normal(g, n, 0.3, 0.4, k),
            fill(d, "log_normal_", 0.3, 0.4),
        )
        yield (
            f"cauchy-{d}",
            lambda g, n, k=k: ours.cauchy(g, n, 0.3, 0.4, k),
            fill(d, "cauchy_", 0.3, 0.4),
        )
        yield (
            f"exponential-{d}",
            lambda g, n, k=k: ours.exponential(g, n, 0.7, k),
            fill(d, "exponential_", 0.7),
        )
        yield (
            f"bernoulli_from-{d}",
            lambda g, n, d=d: ours.bernoulli_from(g, probabilities(n, d)),
            lambda g, n, d=d: torch.bernoulli(as_torch(probabilities(n, d)), generator=g),
        )
    for d in (*FLOATS, *SIGNED_AND_BYTE, "bool"):
        k = NUMPY[d]
        yield f"random-{d}", lambda g, n, k=k: ours.random(g, n, k), fill(d, "random_")
        yield (
            f"bernoulli-{d}",
            lambda g, n, k=k: ours.bernoulli(g, n, 0.3, k),
            fill(d, "bernoulli_", 0.3),
        )
    for d in FLOATS + SIGNED_AND_BYTE:
        k = NUMPY[d]
        yield (
            f"geometric-{d}",
            lambda g, n, k=k: ours.geometric(g, n, 0.2, k),
            fill(d, "geometric_", 0.2),
        )
    ranges = [(d, 0, 100) for d in (*FLOATS, *SIGNED_AND_BYTE, *WIDE_UNSIGNED)]
    ranges += [(d, -100, 27) for d in ("int8", "int16", "int32", "int64", "float32")]
    ranges += [("int32", -(2**31), 2**31), ("int64", 3, 2**28 + 2), ("int64", 3, 2**28 + 3)]
    ranges += [("int64", 0, 2**40), ("int64", -(2**62), 2**62), ("uint64", 0, 2**62)]
    ranges += [("int64", -(2**63), 2**63 - 1), ("int64", -(2**63), None), ("float32", 5, None)]
    ranges += [("float16", 0, 2048), ("bool", 0, 2), ("uint8", 5, None), ("int64", 5, None)]
    for d, low, high in ranges:
        yield (
            f"randint({low},{high})-{d}",
            lambda g, n, k=NUMPY[d], low=low, high=high: ours.randint(g, n, low, high, k),
            fill(d, "random_", low, high),
        )
    for d in ("int64", "int32", "float32", "bfloat16"):
        yield (
            f"randperm-{d}",
            lambda g, n, k=NUMPY[d]: ours.randperm(g, n, k),
            lambda g, n, d=d: torch.randperm(n, generator=g, dtype=getattr(torch, d)),
        )


ROWS = list(sampler_rows())
every_sampler = pytest.mark.parametrize(
    ("mine", "theirs"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)


def bits(values: np.ndarray | torch.Tensor) -> np.ndarray:
    if isinstance(values, torch.Tensor):
        # cat copies; contiguous() would keep the odd stride of a single element
        return torch.cat([values.reshape(-1)]).view(torch.uint8).numpy()
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


def compare(mine: Ours, theirs: Theirs, seed: int, sizes: Iterable[int]) -> None:
    """Run the calls on two generators of one seed; values and states must stay equal."""
    generator, oracle = ours.Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
    for size in sizes:
        found, expected = mine(generator, size), theirs(oracle, size)
        assert found.shape == tuple(expected.shape), (seed, size)
        assert found.dtype.name == str(expected.dtype).removeprefix("torch."), (seed, size)
        assert np.array_equal(bits(found), bits(expected)), (seed, size, found, expected)
        assert np.array_equal(generator.get_state(), oracle.get_state().numpy()), (seed, size)


CORE = {"normal(0.0,1.0)-float32", "normal(0.0,1.0)-float64", "randperm-int64"}
CORE |= {"uniform(0.0,1.0)-float32", "uniform(0.0,1.0)-float64", "randint(0,100)-int64"}
core_samplers = pytest.mark.parametrize(
    ("mine", "theirs"),
    [row[1:] for row in ROWS if row[0] in CORE],
    ids=[row[0] for row in ROWS if row[0] in CORE],
)


def spread(seed: int) -> list[int]:
    """Sizes for a seed: over all seeds every size once, then two small ones.

    The small ones meet whatever half of a pair the sizes before them left.
    """
    return [*range(seed + 1, 1001, 100), seed % 17 + 1, seed % 5 + 1]


@core_samplers
def test_each_seed_and_each_size(mine: Ours, theirs: Theirs) -> None:
    for seed in SEEDS:
        compare(mine, theirs, seed, spread(seed))


@every_sampler
def test_some_seeds_and_sizes(mine: Ours, theirs: Theirs) -> None:
    for seed in SEEDS[::9]:
        compare(mine, theirs, seed, spread(seed))


@every_sampler
def test_large_arrays(mine: Ours, theirs: Theirs) -> None:
    compare(mine, theirs, 7, LARGE_SIZES)


@pytest.mark.slow
@core_samplers
def test_every_seed_with_every_size(mine: Ours, theirs: Theirs) -> None:
    for seed in SEEDS:
        for size in SIZES:
            compare(mine, theirs, seed, [size])


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_scalar_bernoulli_does_not_depend_on_threads(threads: int) -> None:
    """Older PyTorch split this one into chunks by thread; a change back would show here."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for size in (799, 800, 801, 32769, 100003):
            theirs = fill("float32", "bernoulli_", 0.4)
            compare(lambda g, n: ours.bernoulli(g, n, 0.4), theirs, 3, [size])
    finally:
        torch.set_num_threads(before)


MULTINOMIAL = [
    ((5,), 1, True),
    ((5,), 1, False),
    ((5,), 5, False),
    ((100,), 50, False),
    ((100,), 500, True),
    ((7, 20), 4, True),
    ((7, 20), 4, False),
    ((3, 1000), 1, False),
    ((2, 5000), 30, False),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "samples", "replacement"), MULTINOMIAL)
def test_multinomial(shape: tuple[int, ...], samples: int, replacement: bool, dtype: str) -> None:
    weights = np.random.default_rng(1).random(shape).astype(dtype)
    for seed in range(20):
        compare(
            lambda g, n: ours.multinomial(g, weights, n, replacement),
            lambda g, n: torch.multinomial(torch.from_numpy(weights), n, replacement, generator=g),
            seed,
            [samples, samples],
        )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("largest", [1.0, 9.0, 30.0, 1e4])
def test_poisson(largest: float, dtype: str) -> None:
    rates = (np.random.default_rng(1).random((4, 250)) * largest).astype(NUMPY[dtype])
    rates[0, :3] = (0, 0, largest)
    for seed in range(4):
        compare(
            lambda g, _: ours.poisson(g, rates),
            lambda g, _: torch.poisson(as_torch(rates), generator=g),
            seed,
            [1, 2],
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("largest", [1.0, 15.0, 100.0, 1e5])
def test_binomial(largest: float, dtype: str) -> None:
    rng = np.random.default_rng(1)
    count = np.floor(rng.random((4, 250)) * largest + 1).astype(dtype)
    prob = rng.random((4, 250)).astype(dtype)
    count[0, 0], prob[0, 1:4] = 0, (0, 1, np.nan)
    for seed in range(4):
        compare(
            lambda g, _: ours.binomial(g, count, prob),
            lambda g, _: torch.binomial(
                torch.from_numpy(count), torch.from_numpy(prob), generator=g
            ),
            seed,
            [1, 2],
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("largest", [0.1, 1.0, 5.0, 1e4])
def test_standard_gamma(largest: float, dtype: str) -> None:
    shape_parameter = (np.random.default_rng(1).random((4, 250)) * largest).astype(dtype)
    shape_parameter[0, :2] = (0, 1)
    for seed in range(4):
        compare(
            lambda g, _: ours.standard_gamma(g, shape_parameter),
            lambda g, _: torch._standard_gamma(torch.from_numpy(shape_parameter), generator=g),
            seed,
            [1, 2],
        )


LAYOUTS = [
    ((4, 6), (1, 0), 1),
    ((2, 3, 4), (2, 0, 1), 1),
    ((2, 3, 4), (1, 2, 0), 1),
    ((5, 1, 4), (2, 1, 0), 1),
    ((4, 6), (0, 1), 2),
    ((2, 3, 4), (2, 1, 0), 2),
]


@pytest.mark.parametrize(("base", "order", "step"), LAYOUTS)
@pytest.mark.parametrize("method", ["normal_", "uniform_", "bernoulli_"])
def test_other_layouts(
    base: tuple[int, ...], order: tuple[int, ...], step: int, method: str
) -> None:
    whole = torch.empty([size * step for size in base])
    target = whole[tuple(slice(None, None, step) for _ in base)].permute(order)
    assert not target.is_contiguous()
    getattr(target, method)(generator=torch.Generator().manual_seed(5))
    generator, n = ours.Generator().manual_seed(5), target.numel()
    run = {
        "normal_": lambda: ours.normal(generator, n, contiguous=False),
        "uniform_": lambda: ours.uniform(generator, n),
        "bernoulli_": lambda: ours.bernoulli(generator, n),
    }[method]()
    assert np.array_equal(ours.lay_out(run, target.shape, target.stride()), target.numpy())
