"""Whether two numbers or two tensors are close, and what to say when they are not."""

from __future__ import annotations

import cmath
from typing import Any

import tautograd

from .._arrays.dtypes import promote_types
from .._autograd.grad_mode import no_grad
from ._disagreement import Disagreement
from ._tolerances import Tolerances

Path = tuple[Any, ...]


def judge_numbers(
    actual: Any,
    expected: Any,
    path: Path,
    allowed: Tolerances,
    equal_nan: bool,
    same_type: bool,
) -> None:
    """Compare Python numbers, which have the precision of a double."""
    if same_type and type(actual) is not type(expected):
        raise Disagreement(
            AssertionError,
            f"The (d)types do not match: {type(actual)} != {type(expected)}.",
            path,
        )
    if actual == expected or (equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return
    rtol, atol = allowed
    difference = abs(actual - expected)
    if cmath.isfinite(difference) and difference <= atol + rtol * abs(expected):
        return
    raise Disagreement(AssertionError, _about_numbers(actual, expected, allowed), path)


def judge_tensors(
    actual: Any,
    expected: Any,
    path: Path,
    allowed: Tolerances,
    equal_nan: bool,
    checks: dict[str, bool],
) -> None:
    """Compare tensors: first their metadata, then their values."""
    for attribute in ("shape", "layout", "stride()", "device", "dtype"):
        if checks.get(attribute, True):
            one, other = (_attribute(tensor, attribute) for tensor in (actual, expected))
            if one != other:
                raise Disagreement(
                    AssertionError,
                    f"The values for attribute '{attribute}' do not match: {one} != {other}.",
                    path,
                )
    if actual.dtype is not expected.dtype:
        common = promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(common), expected.to(common)
    with no_grad():
        rtol, atol = allowed
        close = tautograd.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
        if bool(close.all()):
            return
        if actual.ndim == 0:
            said = _about_numbers(actual.item(), expected.item(), allowed)
        else:
            said = _about_tensors(actual.detach(), expected.detach(), close, allowed)
    raise Disagreement(AssertionError, said, path)


def _attribute(tensor: Any, name: str) -> Any:
    found = getattr(tensor, name.removesuffix("()"))
    return found() if name.endswith("()") else found


# --- the messages ---------------------------------------------------------------------------------


def _about_numbers(actual: Any, expected: Any, allowed: Tolerances) -> str:
    absolute = abs(actual - expected)
    relative = float("inf") if expected == 0 else absolute / abs(expected)
    return _report(
        "Scalars",
        f"Expected {expected} but got {actual}.",
        allowed,
        f"Absolute difference: {absolute}",
        f"Relative difference: {relative}",
    )


def _about_tensors(actual: Any, expected: Any, close: Any, allowed: Tolerances) -> str:
    total = close.numel()
    wrong = total - int(close.sum())
    if not (actual.is_floating_point() or actual.is_complex()):
        # In the tensors' own dtype the difference could overflow.
        actual, expected = actual.to(tautograd.int64), expected.to(tautograd.int64)
    absolute = (actual - expected).abs()
    absolute[close] = 0
    relative = absolute / expected.abs()
    relative[close] = 0
    return _report(
        "Tensor-likes",
        f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})",
        allowed,
        f"Greatest absolute difference: {_largest(absolute)}",
        f"Greatest relative difference: {_largest(relative)}",
    )


def _largest(differences: Any) -> str:
    """The largest of the differences and where it is; a NaN counts as larger than all."""
    flat = differences.flatten()
    place = int(flat.argmax())
    index, rest = [], place
    for extent in reversed(differences.shape):
        rest, step = divmod(rest, extent)
        index.append(step)
    return f"{flat[place].item()} at index {tuple(reversed(index))}"


def _report(who: str, what: str, allowed: Tolerances, absolute: str, relative: str) -> str:
    rtol, atol = allowed
    if rtol == 0 and atol == 0:
        return f"{who} are not equal!\n\n{what}\n{absolute}\n{relative}"
    return (
        f"{who} are not close!\n\n{what}\n"
        f"{absolute} (up to {atol} allowed)\n{relative} (up to {rtol} allowed)"
    )
