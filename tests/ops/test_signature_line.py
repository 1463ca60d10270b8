"""Functions that are made from a signature line: what a caller may write, and what the body is given."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import pytest

import tautograd
from tautograd._ops.declare.signature_line import annotation, declared
from tautograd._ops.declare.wrong_argument import WrongArgument


def given(*values: Any) -> tuple[Any, ...]:
    return values


LINE = "pool(Tensor input, int[2] size, int[2]? stride=None, *, bool ceil=False) -> Tensor"


def test_the_body_gets_all_arguments_in_order() -> None:
    pool = declared(LINE, given, 2, doc="A pool.")
    assert pool("x", 3) == (2, "x", 3, None, False)
    assert pool("x", size=3, ceil=True, stride=1) == (2, "x", 3, 1, True)
    assert (pool.__name__, pool.__doc__, pool.__module__) == ("pool", "A pool.", __name__)
    with pytest.raises(TypeError, match=r"pool\(\) takes from 2 to 3 positional arguments"):
        pool("x", 3, 1, True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sise'"):
        pool("x", sise=3)


def test_the_signature_shows_the_kinds() -> None:
    shown = inspect.signature(declared(LINE, given, doc=""))
    assert str(shown).replace("'", "") == (
        "(input: Tensor, size: Dims, stride: Dims | None = None, *, ceil: bool = False) -> Tensor"
    )


@pytest.mark.parametrize(
    ("kind", "python"),
    [
        ("Tensor?", "Tensor | None"),
        ("Tensor[]", "Tensors"),
        ("SymInt", "int"),
        ("Scalar", "Number"),
        ("int[]", "Ints"),
        ("int[3]|str", "Dims | str"),
        ("int?[2]", "int | None | Sequence[int | None]"),
        ("float[2]?", "float | Sequence[float] | None"),
    ],
)
def test_kinds_in_pythons_words(kind: str, python: str) -> None:
    assert annotation(kind) == python


@pytest.mark.parametrize(
    "line", ["pool", "pool(Tensor input)", "pool(input) -> Tensor", "(int a) -> a"]
)
def test_what_is_no_line_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        declared(line, given, doc="")


def test_a_check_of_ours_gives_way_to_the_signature() -> None:
    """Whatever the check says, the sentence is that of the overloads, and the class Python's own."""
    with pytest.raises(TypeError, match=r"where\(\) received an invalid combination") as caught:
        tautograd.where(tautograd.ones(2) > 0, "a", tautograd.ones(2))  # type: ignore[call-overload]
    assert type(caught.value) is TypeError
    copied = pickle.loads(pickle.dumps(WrongArgument("a", "b")))
    assert (type(copied), copied.args) == (TypeError, ("a", "b"))
