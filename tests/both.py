"""One program, two engines: run it on PyTorch and on tautograd, and compare what came of it.

    @same
    def test_square(torch):
        x = torch.tensor(3.0, requires_grad=True)
        (x * x).backward()
        return x.grad

`torch` is PyTorch the first time and tautograd the second. What the test returns (tensors,
numbers, text, nests of them) must agree: tensors in dtype, shape, `requires_grad` and values.
Assertions inside, and `pytest.raises` with a key phrase, hold on each engine by themselves.
"""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.kernels import NO_KERNEL, REPEATS, without_onednn

ENGINES = ("torch", "tautograd")

# A few units in the last place: both engines round, in orders of their own.
_TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 4e-6, "complex64": 4e-6}
_DOUBLE = 1e-11


def shared_out(names: Any) -> list[Any]:
    """Parameters `("name", "engine")`: every case on both engines, half of them in the fast tests.

    Each case is fast on one engine and slow on the other, turn by turn, so that `make test` meets
    every case and both engines in half of the time.
    """
    return [
        pytest.param(name, engine, id=f"{name}-{engine}", marks=[pytest.mark.slow] * ((i + j) % 2))
        for i, name in enumerate(names)
        for j, engine in enumerate(ENGINES)
    ]


def same(test: Callable[..., Any]) -> Callable[..., Any]:
    """Make a test of a program that takes the engine, as `torch`, and must do the same on both."""

    @functools.wraps(test)
    def on_both(*args: Any, **kwargs: Any) -> None:
        expected, found = (_run(test, engine, args, kwargs) for engine in ENGINES)
        differences = list(_differences(found, expected, "result"))
        assert not differences, "tautograd and PyTorch differ:\n" + "\n".join(differences)

    parameters = list(inspect.signature(test).parameters.values())
    assert parameters[0].name == "torch", "the first parameter of a program is the engine, `torch`"
    on_both.__signature__ = inspect.Signature(parameters[1:])  # type: ignore[attr-defined]
    return on_both


def _run(test: Callable[..., Any], engine: str, args: Any, kwargs: Any) -> Any:
    torch = importlib.import_module(engine)
    torch.manual_seed(0)
    # Said once per process, to whichever test comes first.
    warnings.filterwarnings("ignore", message="`torch.jit.script` is deprecated")
    warnings.filterwarnings("ignore", message=r"Using backward\(\) with create_graph=True")
    try:
        return _plain(test(torch, *args, **kwargs))
    except BaseException as error:
        if engine == "torch" and NO_KERNEL in str(error):
            with without_onednn():
                return _run(test, engine, args, kwargs)
        error.add_note(f"(this was on {engine})")
        raise


def same_as_a_kernel(values: list[float]) -> Callable[..., Any]:
    """As `same`, for a program of numbers that treats each by itself, at `values`.

    PyTorch computes them one at a time, and each among many of its kind: by its scalar loop and its
    vectorised one, which are two implementations (`tests.kernels`). Each element of a result of
    tautograd's must be what one of them gives.
    """

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def on_both(*args: Any, **kwargs: Any) -> None:
            found = _run(test, "tautograd", (values, *args), kwargs)
            for place, value in enumerate(values):
                expected = [
                    _nth(_run(test, "torch", ([value] * count, *args), kwargs), 0)
                    for count in (1, REPEATS)
                ]
                ours = _nth(found, place)
                assert any(not [*_differences(ours, e, "result")] for e in expected), (
                    f"at {value} tautograd gives {ours}, PyTorch's kernels {expected}"
                )

        parameters = list(inspect.signature(test).parameters.values())
        assert [p.name for p in parameters[:2]] == ["torch", "values"]
        on_both.__signature__ = inspect.Signature(parameters[2:])  # type: ignore[attr-defined]
        return on_both

    return decorate


def _nth(results: Any, place: int) -> Any:
    """Tensors in results, reduced to what they hold at one place."""
    if isinstance(results, list):
        return [_nth(r, place) for r in results]
    found = copy.copy(results)
    found.shape, found.values = (), results.values[place]
    return found


class _Values:
    """What can be seen of a tensor."""

    def __init__(self, tensor: Any) -> None:
        self.dtype = str(tensor.dtype)
        self.shape = tuple(tensor.shape)
        self.requires_grad = tensor.requires_grad
        self.values = np.array(tensor.detach().tolist())

    def __repr__(self) -> str:
        wants = ", requires_grad" if self.requires_grad else ""
        return f"{self.dtype}{list(self.shape)}{wants} {self.values.tolist()}"


def _plain(value: Any) -> Any:
    """A result with tensors, nodes and sizes replaced by what both engines can show of them."""
    if hasattr(value, "requires_grad") and hasattr(value, "tolist"):
        return _Values(value)
    if hasattr(value, "next_functions"):
        return value.name()
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, (bool, int, float, complex, str, type)):
        return value
    return str(value)


def _differences(found: Any, expected: Any, where: str) -> Any:
    if type(found) is not type(expected):
        yield f"{where}: {found!r} is not {expected!r}"
    elif isinstance(found, list):
        if len(found) != len(expected):
            yield f"{where}: {len(found)} values, not {len(expected)}"
        for i, (one, other) in enumerate(zip(found, expected, strict=False)):
            yield from _differences(one, other, f"{where}[{i}]")
    elif isinstance(found, dict):
        if found.keys() != expected.keys():
            yield f"{where}: keys {list(found)}, not {list(expected)}"
        for key in found.keys() & expected.keys():
            yield from _differences(found[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(found, _Values):
        if not _equal(found, expected):
            yield f"{where}: {found}\n    is not {expected}"
    elif isinstance(found, float):
        if not (math.isclose(found, expected, rel_tol=4e-6) or found is expected):
            both_nan = math.isnan(found) and math.isnan(expected)
            if not both_nan:
                yield f"{where}: {found!r} is not {expected!r}"
    elif isinstance(found, type):
        if found.__name__ != expected.__name__:
            yield f"{where}: {found!r} is not {expected!r}"
    elif found != expected:
        yield f"{where}: {found!r} is not {expected!r}"


def _equal(found: _Values, expected: _Values) -> bool:
    kind = (found.dtype, found.shape, found.requires_grad)
    if kind != (expected.dtype, expected.shape, expected.requires_grad):
        return False
    tolerance = _TOLERANCE.get(found.dtype.removeprefix("torch."), _DOUBLE)
    largest = np.max(np.abs(expected.values), initial=0.0, where=np.isfinite(expected.values))
    return np.allclose(
        found.values, expected.values, rtol=tolerance, atol=tolerance * largest, equal_nan=True
    )
