"""Draws that are refused leave `out=` and the stream as they were."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tautograd

CALLS = {
    "bernoulli into complex": lambda m, x, o: m.bernoulli(x, out=o.to(m.complex64)),
    "bernoulli into float8": lambda m, x, o: m.bernoulli(x, out=o.to(m.float8_e4m3fn)),
    "bernoulli of float8": lambda m, x, o: x.to(m.float8_e5m2).bernoulli(),
    "bernoulli_ of too many": lambda m, x, o: o.bernoulli_(x),
    "bernoulli_ of more dimensions": lambda m, x, o: m.ones(()).bernoulli_(x),
    "multinomial into float32": lambda m, x, o: m.multinomial(x, 2, out=o),
    "multinomial into int32": lambda m, x, o: m.multinomial(x, 2, out=o.int()),
}


def attack(m: Any, name: str) -> tuple[type, str, bool, list[float]]:
    m.manual_seed(0)
    before = m.get_rng_state().tolist()
    held = m.ones(2)
    with pytest.raises(RuntimeError) as caught:
        CALLS[name](m, m.full((3,), 0.5), held)
    return caught.type, str(caught.value), m.get_rng_state().tolist() == before, held.tolist()


@pytest.mark.parametrize("name", CALLS)
def test_refused_as_in_pytorch(name: str) -> None:
    theirs, ours = attack(torch, name), attack(tautograd, name)
    assert ours[0] is theirs[0]
    assert ours[1].split(".")[0] == theirs[1].split(".")[0]
    assert ours[2:] == (True, [1.0, 1.0])


def test_an_out_of_another_shape_is_not_resized_by_a_draw_that_fails() -> None:
    held = tautograd.ones(5, dtype=tautograd.complex64)
    with pytest.raises(NotImplementedError):
        tautograd.bernoulli(tautograd.full((3,), 0.5), out=held)
    assert held.shape == (5,)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "uint8"])
def test_coins_into_another_dtype_are_the_same_coins(dtype: str) -> None:
    found = []
    for m in (torch, tautograd):
        m.manual_seed(3)
        out = m.empty(50, dtype=getattr(m, dtype))
        found.append(m.bernoulli(m.linspace(0, 1, 50), out=out).tolist())
    assert found[0] == found[1]
