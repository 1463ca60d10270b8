"""Where no number is drawn (on the device meta, in an empty tensor), parameters are checked as by PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tautograd

CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("normal_", ("x", 1.0)),
    ("normal_", (0.0, -1.0)),
    ("normal_", (None,)),
    ("uniform_", ("x",)),
    ("uniform_", (2.0, 1.0)),
    ("uniform_", (0, float("nan"))),
    ("log_normal_", (0, -1)),
    ("log_normal_", ("x",)),
    ("exponential_", (-1.0,)),
    ("exponential_", ("x",)),
    ("cauchy_", (0, -1)),
    ("cauchy_", ("x",)),
    ("geometric_", (2.0,)),
    ("geometric_", ("x",)),
    ("random_", (5, 1)),
    ("random_", ("x",)),
    ("bernoulli_", (2.0,)),
    ("bernoulli_", ("x",)),
    ("bernoulli_", (0.5,)),
    ("normal_", (1.0, 2.0)),
    ("random_", (1, 5)),
]


def _outcome(m: Any, shape: tuple[int, ...], device: str, name: str, args: Any) -> Any:
    try:
        return tuple(getattr(m.ones(shape, device=device), name)(*args).shape)
    except Exception as error:
        words = str(error).splitlines()[0].split()
        return type(error).__name__, words[:6]


@pytest.mark.parametrize(("name", "args"), CALLS)
@pytest.mark.parametrize(("shape", "device"), [((2,), "meta"), ((0,), "meta"), ((0,), "cpu")])
def test_parameters(shape: tuple[int, ...], device: str, name: str, args: tuple[Any, ...]) -> None:
    assert _outcome(tautograd, shape, device, name, args) == _outcome(
        torch, shape, device, name, args
    )


def test_a_check_draws_nothing() -> None:
    tautograd.manual_seed(0)
    before = tautograd.get_rng_state()
    tautograd.empty(0).normal_(1.0, 2.0)
    tautograd.empty(3, device="meta").uniform_(0, 1)
    assert tautograd.equal(tautograd.get_rng_state(), before)


@pytest.mark.parametrize("m", [torch, tautograd])
def test_a_generator_of_the_cpu_on_meta(m: Any) -> None:
    generator = m.Generator()
    before = generator.get_state()
    assert m.empty(3, device="meta").normal_(generator=generator).is_meta
    assert m.equal(generator.get_state(), before)


@pytest.mark.parametrize("name", ["sparse_", "orthogonal_", "trunc_normal_"])
@pytest.mark.parametrize("m", [torch, tautograd])
def test_initialisers_leave_meta_as_it_is(m: Any, name: str) -> None:
    weight = m.empty(3, 2, device="meta")
    assert getattr(m.nn.init, name)(weight, m.device("cpu")) is weight


@pytest.mark.parametrize("m", [torch, tautograd])
def test_nothing_is_repeated_for_an_empty_result(m: Any) -> None:
    assert m.ones(4, 3).repeat(2**40, 0).shape == (2**42, 0)
    assert m.ones(4, 3, requires_grad=True).tile(0, 2**40).shape == (0, 3 * 2**40)
