"""Running the same thing on both engines, and how far apart the numbers may be.

Both engines round, each in an order of its own. How much that matters depends on the formula: where
terms cancel, digits are lost. PyTorch itself shows how many: the distance between its results in
single and in double precision, in units of the single one, is what rounding does to the formula.
The two engines may be a few times as far apart, in units of the dtype at hand.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
import torch.distributions

import tautograd
import tautograd.distributions

ENGINES = (torch, tautograd)
DTYPES = ("float32", "float64")
_TIMES = 8  # engines apart, at most, for one unit of what rounding does to PyTorch's own result
_UNITS = 16  # and without any: a few operations, each to a unit or two in the last place


@contextlib.contextmanager
def default_dtype(name: str) -> Iterator[None]:
    """Numbers stand for parameters of this dtype."""
    try:
        for engine in ENGINES:
            engine.set_default_dtype(getattr(engine, name))
        yield
    finally:
        for engine in ENGINES:
            engine.set_default_dtype(engine.float32)


def seed(number: int) -> None:
    for engine in ENGINES:
        engine.manual_seed(number)


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, or the class and the text of its error, in PyTorch's names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except Exception as error:
            text = re.sub(" {8,}", " ", str(error))  # PyTorch continues strings over indented lines
            return type(error).__name__, text.replace("tautograd", "torch")


def array(value: Any) -> Any:
    return np.asarray(value.detach().numpy())


def both(call: Callable[[Any], Any]) -> tuple[Any, Any]:
    """The outcomes on PyTorch and on tautograd."""
    theirs, ours = (outcome(lambda engine=engine: call(engine)) for engine in ENGINES)
    return theirs, ours


def is_error(value: Any) -> bool:
    return isinstance(value, tuple) and isinstance(value[0], str)


def _scale(values: Any) -> Any:
    finite = np.abs(values[np.isfinite(values)])
    return max(1.0, finite.max(initial=0.0))


def lost_digits(single: Any, double: Any) -> float:
    """How far PyTorch's results in the two precisions are apart, in units of the single one."""
    if single.shape != double.shape or single.dtype != np.float32:
        return 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(single - double)
    return float(apart[np.isfinite(apart)].max(initial=0.0) / np.finfo(np.float32).eps)


def assert_alike(
    found: Any, wanted: Any, lost: float = 0.0, what: str = "", rtol: float = 0.0
) -> None:
    """Tensors agree in shape, dtype and values, or errors in class and text."""
    if is_error(wanted) or is_error(found):
        assert found == wanted, what
        return
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        assert len(found) == len(wanted), what
        for one, other in zip(found, wanted, strict=True):
            assert_alike(one, other, lost, what, rtol)
        return
    if not isinstance(wanted, torch.Tensor):
        assert found == wanted, what
        return
    ours, theirs = array(found), array(wanted)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), what
    if theirs.dtype.kind != "f":
        np.testing.assert_array_equal(ours, theirs, what)
        return
    allowed = (_TIMES * lost + _UNITS * _scale(theirs)) * np.finfo(theirs.dtype).eps
    allowed += rtol * _scale(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=allowed, err_msg=what)


def compare(
    case: Any, dtype: str, call: Callable[..., Any], what: str = "", rtol: float = 0.0
) -> None:
    """`call(engine, distribution, parameters)` on both engines, and how many digits it loses."""

    def run(engine: Any, kind: str) -> Any:
        with default_dtype(kind):
            distribution, parameters = case.build(engine, kind, grad=True)
            return call(engine, distribution, parameters)

    wanted = outcome(lambda: run(torch, dtype))
    found = outcome(lambda: run(tautograd, dtype))
    single, double = (outcome(lambda kind=kind: run(torch, kind)) for kind in DTYPES)
    assert_alike(found, wanted, _lost_in(single, double), what or repr(case), rtol)


def _lost_in(single: Any, double: Any) -> float:
    if isinstance(single, torch.Tensor) and isinstance(double, torch.Tensor):
        return lost_digits(array(single), array(double))
    if isinstance(single, Sequence) and isinstance(double, Sequence):
        if isinstance(single, str) or is_error(single) or is_error(double):
            return 0.0
        return max((_lost_in(*pair) for pair in zip(single, double, strict=True)), default=0.0)
    return 0.0
