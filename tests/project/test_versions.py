"""Versions that are compared: with text and tuples, as PyTorch's own."""

from __future__ import annotations

import importlib
import itertools

import pytest

from tests.both import same

VERSIONS = [
    "2.13.0+tautograd",
    "2.13.0",
    "2.13",
    "1.0.0a0",
    "2.9.1",
    "2.13.1.dev3",
    "2.13.0rc1",
    "2.13.0.post1",
]


@pytest.mark.parametrize(("one", "other"), list(itertools.product(VERSIONS, VERSIONS)))
@same
def test_order(torch, one, other):
    kind = importlib.import_module(f"{torch.__name__}.torch_version").TorchVersion
    a = kind(one)
    return [a < other, a <= other, a > other, a >= other, a == other, a != other, str(a)]


@same
def test_other_kinds(torch):
    kind = importlib.import_module(f"{torch.__name__}.torch_version").TorchVersion
    a = kind("2.13.0+tautograd")
    with pytest.raises(TypeError):
        assert a > 3
    return [
        a >= (2, 0),
        a > (2, 13, 0),
        a < (3,),
        a >= [1, 12],
        a == "parrot",
        a == 3,
        a > "parrot",
        a.split("."),
    ]


@same
def test_handles_know_their_hooks(torch):
    x = torch.nn.Linear(1, 1)
    handle = x.register_forward_hook(lambda *_: None)
    before = [handle.id in handle.hooks_dict_ref(), len(handle.hooks_dict_ref())]
    handle.remove()
    return [before, handle.id in handle.hooks_dict_ref()]
