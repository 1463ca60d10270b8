"""Tensors with elements beside tensors without: refused as in PyTorch, wherever operations are applied."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tautograd

CALLS = {
    "x + y": lambda m, x, y: x + y,
    "mul": lambda m, x, y: x.mul(y),
    "sub, scaled": lambda m, x, y: m.sub(x, y, alpha=2),
    "x == y": lambda m, x, y: x == y,
    "maximum": lambda m, x, y: m.maximum(x, y),
    "x ** y": lambda m, x, y: x**y,
    "atan2": lambda m, x, y: m.atan2(x, y),
    "where": lambda m, x, y: m.where(x > 0, x, y),
    "cat": lambda m, x, y: m.cat([x, y]),
    "stack": lambda m, x, y: m.stack([x, y]),
    "lerp": lambda m, x, y: m.lerp(x, y, 0.5),
    "addcmul": lambda m, x, y: m.addcmul(x, x, y),
    "clamp": lambda m, x, y: m.clamp(x, y),
    "dot": lambda m, x, y: x.dot(y),
    "mse_loss": lambda m, x, y: m.nn.functional.mse_loss(x, y),
    "layer_norm": lambda m, x, y: m.nn.functional.layer_norm(x, (3,), y),
    "another dtype": lambda m, x, y: x + y.double(),
}


def said(m: Any, call: Any, x: Any, y: Any) -> str:
    with pytest.raises(RuntimeError) as caught:
        call(m, x, y)
    return str(caught.value)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("places", [("cpu", "meta"), ("meta", "cpu")])
def test_refused_in_the_same_words(name: str, places: tuple[str, str]) -> None:
    words = []
    for m in (torch, tautograd):
        x, y = (m.ones(3, device=place) for place in places)
        words.append(said(m, CALLS[name], x, y))
    assert words[0] == words[1]


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("call", ["x + y", "mul", "cat"])
def test_refused_with_a_history_too(call: str, tracked: bool) -> None:
    x = tautograd.ones(3, requires_grad=tracked)
    y = tautograd.ones(3, device="meta")
    assert "expected device cpu" in said(tautograd, CALLS[call], x, y)


@pytest.mark.parametrize("m", [torch, tautograd], ids=["pytorch", "tautograd"])
def test_single_numbers_and_indices_may_be_in_main_memory(m: Any) -> None:
    ghost = m.ones(3, device="meta")
    number, places = m.tensor(2.0), m.tensor([0, 2])
    for found in (ghost + number, number * ghost, m.where(ghost > 0, ghost, number)):
        assert found.is_meta
        assert found.shape == (3,)
    assert ghost[places].shape == (2,)
    assert ghost.index_select(0, places).is_meta
    weight = m.ones(5, 4, device="meta")
    assert m.nn.functional.embedding(places, weight).shape == (2, 4)


@pytest.mark.parametrize("m", [torch, tautograd], ids=["pytorch", "tautograd"])
def test_a_single_number_without_a_value_may_not(m: Any) -> None:
    with pytest.raises(RuntimeError, match="not on the expected device"):
        m.ones(3) + m.ones((), device="meta")


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_indices_of_a_triangle_are_made_where_asked(name: str) -> None:
    theirs, ours = (getattr(m, name)(3, 4, 1, device="meta") for m in (torch, tautograd))
    assert ours.is_meta
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype) == str(theirs.dtype)


OUTS = {
    "add": lambda m, x, out: m.add(x, x, out=out),
    "sin": lambda m, x, out: m.sin(x, out=out),
    "cat, resized": lambda m, x, out: m.cat([x, x], out=out),
    "cumsum": lambda m, x, out: m.cumsum(x, 0, out=out),
    "sort": lambda m, x, out: m.sort(x, out=(out, out.long())),
}


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("name", OUTS)
@pytest.mark.parametrize("places", [("cpu", "meta"), ("meta", "cpu")])
def test_results_are_not_written_elsewhere(name: str, places: tuple[str, str]) -> None:
    words = []
    for m in (torch, tautograd):
        x, out = m.zeros(3, device=places[0]), m.ones(3, device=places[1])
        words.append(said(m, OUTS[name], x, out))
    assert words[0] == words[1]
    assert out.shape == (3,)
    assert str(out.device) == places[1]


def test_no_out_is_written_if_one_of_several_cannot_be() -> None:
    values, places = tautograd.zeros(3), tautograd.zeros(3, dtype=tautograd.int32)
    with pytest.raises(RuntimeError):
        tautograd.sort(tautograd.tensor([3.0, 1.0, 2.0]), out=(values, places))
    assert values.tolist() == [0.0, 0.0, 0.0]
    assert places.tolist() == [0, 0, 0]
