"""Every operation gives on the device meta what it gives on the CPU, but for the elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tautograd._arrays.meta.meta_array import MetaArray, on_meta
from tests.ops.cases import RECORDS
from tests.ops.gradient_checks import cotangents
from tests.ops.reporting import Problems
from tests.ops.rules import RecordCall, calls_of, run_vjp, why_silent
from tests.ops.test_seam import SHAPE_DEPENDS_ON_VALUES


def _there(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return on_meta(value)
    if type(value) in (tuple, list):
        return type(value)(_there(v) for v in value)
    if type(value) is dict:
        return {k: _there(v) for k, v in value.items()}
    return value


def _kinds(value: Any) -> Any:
    """What can be known without elements."""
    if isinstance(value, (tuple, list)):
        return [_kinds(v) for v in value]
    if isinstance(value, (np.ndarray, np.generic, MetaArray)):
        return tuple(value.shape), str(value.dtype)
    return value if value is None else type(value).__name__


def _elements(value: Any) -> bool:
    """Whether anything in a result has elements."""
    if isinstance(value, (tuple, list)):
        return any(map(_elements, value))
    return isinstance(value, (np.ndarray, np.generic))


def _problems(call: RecordCall) -> Any:
    plain = call.forward()
    meta = RecordCall(call.op, call.label, call.inputs, _there(call.parameters))
    inputs = _there(call.inputs)
    out = call.op.forward(*inputs, **meta.parameters)
    if _kinds(out) != _kinds(plain):
        yield f"forward: {_kinds(out)}, on the CPU {_kinds(plain)}"
    if any(isinstance(x, MetaArray) for x in inputs) and _elements(out):
        yield "forward: a result has elements"
    if not call.op.differentiable or not call.slots() or call.refuses():
        return
    g = cotangents(call, plain, 1)
    found = _kinds(run_vjp(meta, inputs, _there(plain), _there(g), fit=False))
    expected = _kinds(run_vjp(call, call.inputs, plain, g, fit=False))
    if found != expected:
        yield f"VJP: {found}, on the CPU {expected}"


# Decompositions by LAPACK and solutions by them, masks, and what brings elements to another device: the right
# shape, or an error that says why not.
MAY_REFUSE = ("cholesky", "linalg_", "triangular_solve", "index", "to_device")


@pytest.mark.parametrize("name", [n for n in RECORDS if n not in SHAPE_DEPENDS_ON_VALUES])
def test_shapes_and_dtypes(name: str) -> None:
    problems = Problems(name)
    checked = 0
    for dtype in ("float32", "complex64", "int64", "bool"):
        for call in calls_of(name, dtype):
            checked += 1
            try:
                for problem in _problems(call):
                    problems.add(call.label, problem, dtype)
            except Exception as error:
                refused = isinstance(error, (NotImplementedError, RuntimeError))
                if refused and "meta" in str(error) and name.startswith(MAY_REFUSE):
                    continue
                problems.add(call.label, f"{type(error).__name__}: {error}", dtype)
    if not checked:
        problems.add("samples", f"not reached: {why_silent(name)}")
    problems.fail_if_any()


@pytest.mark.parametrize("name", [n for n in SHAPE_DEPENDS_ON_VALUES if n in RECORDS])
def test_what_needs_elements_is_refused(name: str) -> None:
    call = calls_of(name, "int64")[0]
    with pytest.raises((NotImplementedError, RuntimeError), match="meta"):
        call.op.forward(*_there(call.inputs), **_there(call.parameters))
