"""Optimizers that were there before the doctor are found, without a search where there can be none."""

from __future__ import annotations

import copy
import gc
import importlib
import pickle
from types import SimpleNamespace

import pytest

from tautograd._doctor.watch.living import living_optimizers
from tests.both import ENGINES


@pytest.fixture(params=ENGINES)
def engine(request):
    importlib.import_module(f"{request.param}.optim")
    return importlib.import_module(request.param)


def weights(engine):
    return [engine.ones(2, requires_grad=True)]


@pytest.mark.parametrize("made", ["called", "copied", "unpickled", "of a subclass"])
def test_those_of_an_engine_are_found(engine, made):
    kind = engine.optim.Adagrad
    if made == "of a subclass":
        kind = type("Mine", (kind,), {})
    optimizer = kind(weights(engine), lr=0.5)
    if made == "copied":
        optimizer = copy.deepcopy(optimizer)
    elif made == "unpickled":
        optimizer = pickle.loads(pickle.dumps(optimizer))
    assert any(found is optimizer for found in living_optimizers([engine]))


def never_used_by_pytorch():
    return type("Optimizer", (), {"step": lambda self: None})


def never_used_by_us():
    return type("Optimizer", (), {"step": lambda self: None, "_any_made": False})


@pytest.mark.parametrize("make", [never_used_by_pytorch, never_used_by_us])
def test_a_class_that_was_never_used_costs_no_search(monkeypatch, make):
    kind = make()
    engine = SimpleNamespace(optim=SimpleNamespace(Optimizer=kind))
    with monkeypatch.context() as patch:
        patch.setattr(gc, "get_referrers", lambda *kinds: pytest.fail("searched"))
        assert living_optimizers([engine]) == []
    optimizer = kind()
    if hasattr(kind, "_any_made"):
        kind._any_made = True
    else:
        kind.step.hooked = True
    assert living_optimizers([engine]) == [optimizer]


def test_every_optimizer_that_is_made_is_noted(engine):
    optimizer = engine.optim.SGD(weights(engine), lr=0.5)
    assert getattr(type(optimizer), "_any_made", False) or type(optimizer).step.hooked
