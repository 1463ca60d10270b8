"""`assert_close`: checks that two results agree, number by number, within the precision of their dtypes.

Both results are traversed side by side (sequences by index, mappings by key) into pairs of
leaves. A different structure is an error at once; then each pair is judged by its type: None,
a boolean, a number or a tensor. The first disagreement is raised, with PyTorch's message.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import tautograd

from .._tensor.creation import tensor
from .._tensor.tensor import Tensor
from ._disagreement import Disagreement
from ._judges import judge_numbers, judge_tensors
from ._tolerances import default_tolerances, tolerances

Message = str | Callable[[str], str] | None


class _Options(NamedTuple):
    """How strictly leaves are compared."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    allow_subclasses: bool
    check: dict[str, bool]


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Raise an `AssertionError` unless `|actual - expected| <= atol + rtol * |expected|` everywhere.

    Tensors, numbers, and sequences and mappings of them can be compared. Without `rtol` and `atol`
    (give both or neither) the tolerances are those of the dtype. `msg` replaces the message, or
    is a function that transforms it.
    """
    __tracebackhide__ = True
    checks = {
        "device": check_device,
        "dtype": check_dtype,
        "layout": check_layout,
        "stride()": check_stride,
    }
    options = _Options(rtol, atol, equal_nan, allow_subclasses, checks)
    try:
        judgements = list(_leaves(actual, expected, (), options))
    except Disagreement as found:  # a structural difference: `msg` is about values
        raise found.error() from None
    for judgement in judgements:
        try:
            judgement()
        except Disagreement as found:
            raise found.error(msg) from None


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The predecessor of `assert_close`, with wider tolerances; dtypes may differ."""
    __tracebackhide__ = True
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a "
        "future release. Please use `torch.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    if not isinstance(actual, Tensor):
        actual = tensor(actual)
    if not isinstance(expected, Tensor):
        expected = tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = default_tolerances(actual.dtype, expected.dtype, wide=True)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_dtype=False,
        msg=msg or None,
    )


# --- traversing results ---------------------------------------------------------------------------

Judgement = Callable[[], None]
Path = tuple[Any, ...]


def _leaves(actual: Any, expected: Any, path: Path, options: _Options) -> Iterator[Judgement]:
    """One pending judgement for each pair of leaves."""
    both = (actual, expected)
    if all(isinstance(one, Sequence) and not isinstance(one, str) for one in both):
        if len(actual) != len(expected):
            raise Disagreement(
                AssertionError,
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}",
                path,
            )
        for place, (one, other) in enumerate(zip(actual, expected, strict=True)):
            yield from _leaves(one, other, (*path, place), options)
    elif all(isinstance(one, Mapping) for one in both):
        for key in _shared_keys(actual, expected, path):
            yield from _leaves(actual[key], expected[key], (*path, key), options)
    else:
        yield _judgement(actual, expected, path, options)


def _shared_keys(actual: Any, expected: Any, path: Path) -> list[Any]:
    if actual.keys() != expected.keys():
        raise Disagreement(
            AssertionError,
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {sorted(expected.keys() - actual.keys())}\n"
            f"Additional keys in the actual mapping: {sorted(actual.keys() - expected.keys())}",
            path,
        )
    try:
        return sorted(actual)
    except TypeError:
        return list(actual)


def _judgement(actual: Any, expected: Any, path: Path, options: _Options) -> Judgement:
    """How to judge this pair of leaves, depending on their types."""
    both = (actual, expected)
    if actual is None or expected is None:
        return lambda: _judge_none(actual, expected, path)
    if all(isinstance(one, (bool, np.bool_)) for one in both):
        return lambda: _judge_booleans(bool(actual), bool(expected), path)
    if all(isinstance(one, (int, float, complex, np.number)) for one in both):
        one, other = (v.item() if isinstance(v, np.number) else v for v in both)
        found = tolerances(options.rtol, options.atol, path, type(one), type(other))
        exact = options.check["dtype"]
        return lambda: judge_numbers(one, other, path, found, options.equal_nan, exact)
    one, other = _as_tensors(actual, expected, path, options.allow_subclasses)
    found = tolerances(options.rtol, options.atol, path, one.dtype, other.dtype)
    return lambda: judge_tensors(one, other, path, found, options.equal_nan, options.check)


def _as_tensors(actual: Any, expected: Any, path: Path, allow_subclasses: bool) -> tuple[Any, Any]:
    """The two as tensors, if they are of one kind and convertible to tensors."""
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if related and (allow_subclasses or type(actual) is type(expected)):
        try:
            return tautograd.as_tensor(actual), tautograd.as_tensor(expected)
        except Exception:  # whatever the error, it is not tensor-like
            pass
    raise Disagreement(
        TypeError,
        "No comparison pair was able to handle inputs of type "
        f"{type(actual)} and {type(expected)}.",
        path,
    )


def _judge_none(actual: Any, expected: Any, path: Path) -> None:
    if actual is not expected:
        raise Disagreement(AssertionError, f"None mismatch: {actual} is not {expected}", path)


def _judge_booleans(actual: bool, expected: bool, path: Path) -> None:
    if actual is not expected:
        raise Disagreement(AssertionError, f"Booleans mismatch: {actual} is not {expected}", path)
