"""Random tensors, new or filled, also under `vmap`: PyTorch's numbers for PyTorch's seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.both import same

NEW: dict[str, Callable[[Any], Any]] = {
    "rand": lambda t: t.rand(3, 2),
    "randn": lambda t: t.randn(20),
    "randint-to": lambda t: t.randint(5, (4,)),
    "randint-from-to": lambda t: t.randint(-2, 5, (4,), dtype=t.int32),
    "randint-named": lambda t: t.randint(low=-2, high=5, size=(4,)),
    "randint-half-named": lambda t: t.randint(3, high=9, size=(4,)),
    "randperm": lambda t: t.randperm(9),
    "rand-like-transposed": lambda t: t.rand_like(t.zeros(3, 4).t()),
    "randn-like-transposed": lambda t: t.randn_like(t.zeros(5, 4, dtype=t.float64).t()),
    "randint-like": lambda t: t.randint_like(t.zeros(3, 4), 2, 9),
    "normal-numbers": lambda t: t.normal(2.0, 3.0, (3,)),
    "normal-means": lambda t: t.normal(t.arange(20.0)),
    "normal-deviations": lambda t: t.normal(1.0, t.arange(3.0)),
    "normal-both": lambda t: t.normal(t.arange(3.0), t.ones(2, 1)),
    "bernoulli": lambda t: t.bernoulli(t.full((5,), 0.3)),
    "bernoulli-method": lambda t: t.full((5,), 0.3).bernoulli(),
    "multinomial": lambda t: t.multinomial(t.tensor([[0.1, 0.5, 0.4], [1, 0, 2]]), 2),
    "poisson": lambda t: t.poisson(t.full((5,), 3.0)),
    "binomial": lambda t: t.binomial(t.full((5,), 3.0), t.full((5,), 0.4)),
    "complex": lambda t: (t.rand(2, dtype=t.complex64), t.randn(2, dtype=t.complex128)),
    "own generator": lambda t: t.rand(3, generator=t.Generator().manual_seed(5)),
    "out": lambda t: t.rand(2, out=t.zeros(5, dtype=t.float64)[:2]),
    "state": lambda t: (t.get_rng_state()[:40], t.initial_seed()),
}


@pytest.mark.parametrize("name", NEW)
@same
def test_new_tensors(torch: Any, name: str) -> Any:
    return NEW[name](torch), torch.rand(2)


FILLS: dict[str, tuple[Any, ...]] = {
    "uniform_": (2, 3),
    "normal_": (1.0, 2.0),
    "log_normal_": (),
    "exponential_": (2.0,),
    "cauchy_": (),
    "geometric_": (0.3,),
    "random_": (10,),
    "bernoulli_": (0.4,),
}
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda t: t.zeros(4, 5),
    "transposed": lambda t: t.zeros(5, 4).t(),
    "every second": lambda t: t.zeros(10, 8)[::2, 1::2],
    "double": lambda t: t.zeros(3, 7, dtype=t.float64),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FILLS)
@same
def test_filling(torch: Any, name: str, layout: str) -> Any:
    x = LAYOUTS[layout](torch)
    assert getattr(x, name)(*FILLS[name]) is x
    return x, x._version


@same
def test_integers_and_probabilities_in_place(torch: Any) -> Any:
    x = torch.zeros(6, dtype=torch.int16)
    return [
        x.random_().clone(),
        x.random_(2, 5).clone(),
        x.bernoulli_(torch.tensor([0, 1, 0.5, 0.5, 0.1, 1])).clone(),
    ]


@same
def test_states_can_be_kept(torch: Any) -> Any:
    state = torch.get_rng_state()
    first = torch.rand(2)
    torch.set_rng_state(state)
    generator = torch.Generator()
    generator.set_state(state)
    return first, torch.rand(2), torch.rand(2, generator=generator), generator.device.type


@same
def test_leaves_are_not_filled(torch: Any) -> Any:
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        torch.zeros(2, requires_grad=True).uniform_()
    x = torch.ones(3, requires_grad=True)
    (x * 2).uniform_().sum().backward()
    return x.grad


UNDER_VMAP: dict[str, Callable[[Any, Any], Any]] = {
    "new": lambda t, x: x + t.randn(2),
    "permutation": lambda t, x: x + t.randperm(2),
    "fill": lambda t, x: x.clone().uniform_(),
    "from values": lambda t, x: t.bernoulli(x),
}


@pytest.mark.parametrize("randomness", ["error", "same", "different"])
@pytest.mark.parametrize("name", UNDER_VMAP)
@same
def test_under_vmap(torch: Any, name: str, randomness: str) -> Any:
    examples = torch.full((3, 2), 0.5)
    mapped = torch.func.vmap(lambda x: UNDER_VMAP[name](torch, x), randomness=randomness)
    if randomness == "error" or (name == "from values" and randomness == "same"):
        with pytest.raises(RuntimeError, match=r"randomness error mode|same randomness with a"):
            mapped(examples)
        return None
    return mapped(examples)
