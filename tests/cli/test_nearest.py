"""The nearest name: near enough to help, never a private one, and none when nothing is near."""

from __future__ import annotations

import doctest

import pytest

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
