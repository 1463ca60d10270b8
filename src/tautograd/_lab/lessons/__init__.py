"""The lessons, in order. Each is a file in this folder; a name without a file does not exist yet."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator

from tautograd._lab.lesson import Lesson

NAMES = (
    "tensor-and-mean",
    "variables-and-gradients",
    "chain-rule",
    "dynamic-graph",
    "accumulation",
    "non-scalar-backward",
    "detach-and-no-grad",
    "training-step",
    "finite-differences",
    "exploding-and-vanishing",
    "in-place",
    "broadcasting",
    "softmax-and-cross-entropy",
    "custom-function",
    "second-order",
    "mixed-precision",
    "train-and-eval",
    "reproducibility-and-checkpoints",
    "cpu-and-accelerator",
    "your-own-engine",
)
"""`chain-rule` is in `chain_rule.py`."""


def lesson_called(name: str) -> Lesson:
    """The lesson with this name."""
    lesson = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").LESSON
    assert isinstance(lesson, Lesson)
    return lesson


def names() -> list[str]:
    """The names of the existing lessons, in order."""
    return [name for name in NAMES if _is_there(name)]


def all_lessons() -> Iterator[Lesson]:
    """All of them, in order."""
    return map(lesson_called, names())


def number_of(name: str) -> int:
    """A lesson's number, from 1."""
    return NAMES.index(name) + 1


def _is_there(name: str) -> bool:
    return importlib.util.find_spec(f"{__name__}.{name.replace('-', '_')}") is not None
