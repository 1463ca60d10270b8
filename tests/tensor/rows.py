"""Expressions in `torch` and a few tensors, one a line, evaluated on PyTorch and on tautograd.

What comes of a row must agree: values, dtype, shape, the type of the result with the names of its
fields, or the class of the error and the sentence that it begins with.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tautograd

_NAN = float("nan")

# The tensors that rows speak of, made on each engine from the same numbers.
NUMBERS: dict[str, tuple[Any, str]] = {
    "x": ([[1.5, -2.0, 0.25], [3.0, 0.5, -1.0]], "float32"),
    "d": ([[1.5, -2.0, 0.25], [3.0, 0.5, -1.0]], "float64"),
    "h": ([[1.5, -2.0, 0.25], [3.0, 0.5, -1.0]], "float16"),
    "b": ([[1.5, -2.0, 0.25], [3.0, 0.5, -1.0]], "bfloat16"),
    "c": ([[1.5 + 1j, -2.0j, 0.25], [3.0, 0.5 - 2j, -1.0]], "complex64"),
    "i": ([[3, -1, 2], [0, 5, 2]], "int64"),
    "j": ([[3, -1, 2], [0, 5, 2]], "int32"),
    "u": ([[3, 200, 2], [0, 100, 2]], "uint8"),
    "t": ([[True, False, True], [True, True, False]], "bool"),
    "n": ([[1.0, _NAN, 3.0], [_NAN, 2.0, 2.0]], "float32"),
    "k": ([2.0, 1.0, 2.0, 3.0, 1.0, 2.0], "float32"),
    "s": (2.5, "float32"),
    "p": (7, "int64"),
    "y": (np.linspace(-1, 2, 24).reshape(2, 3, 4)[::-1].tolist(), "float64"),
    "v": ([1.0, 2.0, 4.0, 8.0, 16.0], "float32"),
    "m": ([[2.0, -1.0, 2.0], [-1.0, 2.0, 0.5]], "float64"),
    "o": ([[0.0, 1.0, -2.0], [3.0, 0.0, 0.0]], "float64"),
    "e": (np.zeros((0,)).tolist(), "float32"),
    "z": (np.zeros((2, 0)).tolist(), "float32"),
    "w": ([0.0, -0.0, _NAN, float("inf"), -float("inf"), 1.0], "float32"),
}


def environment(engine: Any) -> dict[str, Any]:
    made = {
        name: engine.tensor(values, dtype=getattr(engine, dtype))
        for name, (values, dtype) in NUMBERS.items()
    }
    return {"torch": engine, "inf": float("inf"), "nan": _NAN, **made}


def _outcome(engine: Any, row: str) -> Any:
    """What a row gives on an engine: a described result, or the error."""
    run: Callable[..., Any] = eval(f"lambda {', '.join(environment(engine))}: {row}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return described(run(**environment(engine)), engine)
        except Exception as error:
            return error


def described(value: Any, engine: Any) -> Any:
    if isinstance(value, engine.Tensor):
        array = np.array(value.detach().tolist())
        return "tensor", str(value.dtype), tuple(value.shape), array
    if isinstance(value, tuple) and hasattr(value, "n_fields"):
        parts = [described(part, engine) for part in value]
        named = [described(getattr(value, f), engine) for f in type(value).__match_args__]
        return "named", type(value).__name__, type(value).__match_args__, parts, named
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [described(part, engine) for part in value]
    return type(value).__name__, str(value)


def alike(have: Any, want: Any) -> bool:
    if isinstance(want, np.ndarray):
        return bool(np.allclose(have, want, rtol=_RTOL, atol=1e-6, equal_nan=True))
    if isinstance(want, (tuple, list)):
        return (
            isinstance(have, (tuple, list))
            and len(have) == len(want)
            and all(alike(a, b) for a, b in zip(have, want, strict=True))
        )
    return bool(have == want)


_RTOL = 2e-6  # a few roundings of float32, of which these small results are made


def _sentence(error: Exception) -> str:
    """The start of an error, as far as it speaks of the mistake and not of all overloads."""
    line = (str(error).strip().splitlines() or [""])[0]
    line = re.sub(r" \(position \d\)", "", line)
    return re.split(r" - got| but expected one of|\. (?=[A-Z])", line)[0]


def check(row: str) -> None:
    want, have = _outcome(torch, row), _outcome(tautograd, row)
    if isinstance(want, Exception):
        assert isinstance(have, Exception), f"computed {have}, where PyTorch raises {want!r}"
        assert type(have) is type(want), f"{have!r}, where PyTorch raises {want!r}"
        assert _sentence(have) == _sentence(want)
        return
    if isinstance(have, Exception):
        raise AssertionError(f"PyTorch gives {want}") from have
    assert alike(have, want), f"{have}\n is not {want}"


def rows(text: str) -> Any:
    """A test's table: one expression a line."""
    table = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return pytest.mark.parametrize("row", table)
