"""Exporting in tests: a module written as ONNX, checked, and run by what runs ONNX.

Whoever runs a graph rounds once for each node and element that a result gathers, and an engine as often
in an order of its own. So results may lie apart by

    8 · eps · nodes · sqrt(n) · (1 + the largest number among inputs, weights and results)

with eps of the dtype and n the most elements that an input or weight has: rounding errors of a chain of
`nodes` sums of up to `n` terms, as a random walk. It is derived from the dtype and the graph, and the same
for everything.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tautograd

onnx = pytest.importorskip("onnx")
RUNTIMES = ("reference", "onnxruntime")


@functools.cache
def has_runtime() -> bool:
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        return False
    return True


def exported(model: Any, args: tuple[Any, ...], **options: Any) -> Any:
    """The program, without the warnings that an example may deserve."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tautograd.onnx.export(model, args, **options)


def run(program: Any, runtime: str, *args: Any, **kwargs: Any) -> list[np.ndarray]:
    """What a graph gives."""
    found = (
        program.call_reference(*args, **kwargs)
        if runtime == "reference"
        else program(*args, **kwargs)
    )
    return [t._data for t in found]


def room(program: Any, arrays: Iterable[Any], dtype: Any) -> float:
    """How far two correct results may lie apart."""
    graph = program.model_proto.graph
    weights = [np.asarray(onnx.numpy_helper.to_array(w)) for w in graph.initializer]
    all_ = [np.asarray(a) for a in (*arrays, *weights)]
    floats = [np.asarray(a, np.float64) for a in all_ if a.dtype.kind == "f" and a.size]
    numbers = [np.abs(a[np.isfinite(a)]) for a in floats]
    largest = max((float(a.max()) for a in numbers if a.size and a.max() < 1e30), default=0.0)
    terms = max((a.size for a in all_), default=1)
    eps = float(ml_dtypes.finfo(dtype).eps)
    return 8 * eps * max(len(graph.node), 1) * max(terms, 1) ** 0.5 * (1 + largest)


def assert_close(
    got: list[Any], want: list[Any], program: Any, inputs: Iterable[Any], what: str
) -> None:
    """Shapes, dtypes and values, one by one."""
    assert len(got) == len(want), f"{what}: {len(got)} results for {len(want)}"
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        b = np.asarray(b)
        assert a.dtype == b.dtype, f"{what}: result {i} is {a.dtype}, not {b.dtype}"
        assert a.shape == b.shape, f"{what}: result {i} has shape {a.shape}, not {b.shape}"
        if b.dtype.kind != "f":
            assert np.array_equal(a, b), f"{what}: result {i}:\n{a}\n{b}"
            continue
        allowed = room(program, (*inputs, *want), b.dtype)
        np.testing.assert_allclose(
            a.astype(np.float64),
            b.astype(np.float64),
            rtol=0,
            atol=allowed,
            err_msg=f"{what}: result {i}",
        )


def tensors_in(value: Any) -> list[Any]:
    """The tensors of a nest, in order."""
    if hasattr(value, "detach"):
        return [value]
    if isinstance(value, dict):
        return [t for v in value.values() for t in tensors_in(v)]
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in tensors_in(v)]
    return []


def arrays_of(value: Any) -> list[np.ndarray]:
    return [
        t._data
        if isinstance(t, tautograd.Tensor)
        else t.detach().float().numpy().astype(ml_dtypes.bfloat16)
        if "bfloat16" in str(t.dtype)
        else t.detach().numpy()
        for t in tensors_in(value)
    ]


def fresh(value: Any) -> Any:
    """The same with tensors of its own: a model may write into what it is given."""
    if isinstance(value, tautograd.Tensor):
        return value.clone()
    if isinstance(value, (tuple, list)):
        return type(value)(map(fresh, value))
    return {k: fresh(v) for k, v in value.items()} if isinstance(value, dict) else value


def holds(
    model: Any,
    args: tuple[Any, ...],
    others: Iterable[tuple[Any, ...]] = (),
    reference: Callable[..., Any] | None = None,
    runtimes: Iterable[str] = RUNTIMES,
    **options: Any,
) -> Any:
    """Export, check, and compare with our forward, on the example and on `others`.

    `reference`: PyTorch's forward of the same, taking NumPy arrays.
    """
    program = exported(model, fresh(args), **options)
    onnx.checker.check_model(program.model_proto, full_check=True)
    for given in (args, *others):
        with tautograd.no_grad():
            want = [np.array(a) for a in arrays_of(model(*fresh(given)))]
        theirs = None if reference is None else reference(*given)
        inputs = arrays_of(given)
        for runtime in runtimes:
            if runtime == "onnxruntime" and not has_runtime():
                continue
            got = run(program, runtime, *given)
            assert_close(got, want, program, inputs, f"{runtime}, ours")
            if theirs is not None:
                assert_close(got, theirs, program, inputs, f"{runtime}, PyTorch's")
    return program
