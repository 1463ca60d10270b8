"""The nearest name: near enough to help, never a private one, and none when nothing is near."""

from __future__ import annotations

import copy
import doctest
import pickle
import types

import pytest

import tautograd
from tautograd import _nearest
from tautograd._nearest import missing_name, nearest


@pytest.mark.parametrize(
    ("name", "candidates", "expected"),
    [
        ("functionl", ["functional", "init"], "functional"),
        ("linear", ["Linear", "lerp"], "Linear"),
        ("tensr", ["Tensor", "tensor"], "tensor"),
        ("Tensr", ["Tensor", "tensor"], "Tensor"),
        ("relu", ["relu6", "relu_", "prelu"], "relu_"),
        ("qqqq", ["functional", "init"], None),
        ("anything", [], None),
    ],
)
def test_nearest(name, candidates, expected):
    assert nearest(name, candidates) == expected


def test_a_private_name_is_never_suggested():
    assert missing_name("torch", "conv", ["_conv"]) == "tautograd has no 'torch.conv'"


def test_the_examples_in_its_docstrings():
    assert doctest.testmod(_nearest).failed == 0


MODULES = [
    tautograd, tautograd.nn, tautograd.nn.functional, tautograd.optim, tautograd.autograd, tautograd.func,
    tautograd.linalg, tautograd.special, tautograd.fft, tautograd.sparse, tautograd.cuda, tautograd.testing,
]  # fmt: skip


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_who_only_asks_whether_a_name_is_there_waits_for_no_search(
    module: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = []
    monkeypatch.setattr(_nearest, "missing_name", lambda *given: searches.append(given) or "told")
    assert not hasattr(module, "a_name_of_nobody")
    assert getattr(module, "a_name_of_nobody", None) is None
    assert searches == []
    with pytest.raises(AttributeError) as caught:
        _ = module.a_name_of_nobody
    assert str(caught.value) == "told"
    assert [given[:2] for given in searches] == [(module.__name__, "a_name_of_nobody")]


@pytest.mark.parametrize(
    "sent", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))]
)
def test_the_message_goes_with_the_error_wherever_it_is_sent(sent) -> None:
    with pytest.raises(AttributeError) as caught:
        _ = tautograd.compil
    error = sent(caught.value)
    assert type(error) is AttributeError
    assert str(error) == "tautograd has no 'tautograd.compil'; did you mean 'tautograd.compile'?"
