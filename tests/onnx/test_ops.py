"""Every record that has a lowering, on its own samples: the graph beside our forward and PyTorch's."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import pytest

import tautograd
from tautograd.onnx import UnsupportedOperatorError
from tautograd.onnx._export import lowerings  # noqa: F401  (fills the table)
from tautograd.onnx._export.lowering import LOWERINGS
from tests.onnx.exported import (
    RUNTIMES,
    arrays_of,
    assert_close,
    exported,
    has_runtime,
    run,
    tensors_in,
)
from tests.ops.cases import RECORDS, TAUTOGRAD, TORCH, Call, program_of, record, samples_of
from tests.ops.departures import MISSHAPEN_IN_PYTORCH

COVERED = sorted(set(RECORDS) & set(LOWERINGS))

# Samples (by number) that a graph cannot be, or not here, with what the error must say.
REFUSED: dict[str, tuple[set[int] | None, str]] = {
    "as_strided": (None, "memory in another order"),
    "adaptive_max_pool2d": (None, "with indices"),
    "adaptive_max_pool3d": (None, "with indices"),
    "max_pool2d_with_indices": ({2}, "with indices and padding"),
    "max_pool3d_with_indices": ({2}, "with indices and padding"),
    "index": ({7}, "something other than the library's operations|in a way that was not found"),
    "linalg_vector_norm": (None, "of the order NaN"),
    "lstm_layer": (None, "proj_size|converted to a list"),
    "gru_layer": (None, "converted to a list"),
    "rnn_tanh_layer": (None, "converted to a list"),
    "rnn_relu_layer": (None, "converted to a list"),
    "pow_scalar": ({13}, "complex numbers"),
}
# What onnx's own evaluator does not do, or does otherwise than ONNX's text says (onnxruntime does).
ONLY_RUNTIME: dict[str, str] = {
    "gather": "wants an index of the data's size in the other dimensions",
    "grid_sampler_2d": "is off at the border with cubic interpolation, and fails without images",
    "grid_sampler_3d": "fails without images",
    "log_softmax": "takes the logarithm of what has become zero",
    "rnn_relu_layer": "does not know the activation Relu",
    "transposed_convolution": "does not know groups",
}
# Where onnxruntime has no kernel for a dtype.
NO_KERNEL = "NOT_IMPLEMENTED"


class Applied(tautograd.nn.Module):
    """A sample's call, as a module of its tensors."""

    def __init__(self, function: Any, call: Call) -> None:
        super().__init__()
        self.function, self.args, self.kwargs = function, call.args, call.kwargs

    def forward(self, *tensors: Any) -> Any:
        left = iter(tensors)

        def put(value: Any) -> Any:
            if isinstance(value, tautograd.Tensor):
                return next(left)
            if type(value) in (list, tuple):
                return type(value)(put(v) for v in value)
            if isinstance(value, slice):
                return slice(*(put(v) for v in (value.start, value.stop, value.step)))
            return {k: put(v) for k, v in value.items()} if isinstance(value, dict) else value

        args = [put(a) for a in self.args]
        return self.function(*args, **{k: put(v) for k, v in self.kwargs.items()})


def _outcome(call: Call) -> Any:
    try:
        return arrays_of(call.run())
    except Exception:
        return None


def check(name: str, number: int) -> bool:
    """One sample; whether a graph was made of it."""
    op, sample = record(name), samples_of(name)[number]
    kind = "float32"
    want = _outcome(Call(TAUTOGRAD, op, sample, kind, False))
    if want is None:
        kind = "int64"
        want = _outcome(Call(TAUTOGRAD, op, sample, kind, False))
    call = Call(TAUTOGRAD, op, sample, kind, False)
    if want is None or not tensors_in([call.args, call.kwargs]):
        return False
    model = Applied(program_of(TAUTOGRAD, op), Call(TAUTOGRAD, op, sample, kind, False)).eval()
    fresh = tuple(Call(TAUTOGRAD, op, sample, kind, False).tensors)
    numbers, said = REFUSED.get(name, (set(), ""))
    if numbers is None or number in numbers:
        program = None
        with contextlib.suppress(tautograd.onnx.OnnxExporterError):
            program = exported(model, fresh)
        if program is None:
            with pytest.raises(tautograd.onnx.OnnxExporterError, match=said):
                exported(model, fresh)
            return False
    else:
        program = exported(model, fresh)
    theirs = (
        None if name in MISSHAPEN_IN_PYTORCH else _outcome(Call(TORCH, op, sample, kind, False))
    )
    for runtime in RUNTIMES:
        if runtime == "reference" and name in ONLY_RUNTIME:
            continue
        if runtime == "onnxruntime" and not has_runtime():
            continue
        try:
            got = run(program, runtime, *fresh)
        except Exception as error:
            if NO_KERNEL in str(error):
                continue
            raise
        inputs = arrays_of(fresh)
        assert_close(got, want, program, inputs, f"{name}[{number}] by {runtime}, ours")
        if theirs is not None:
            assert_close(got, theirs, program, inputs, f"{name}[{number}] by {runtime}, PyTorch's")
    return True


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (i % 4 > 0)) for i, n in enumerate(COVERED)]
)
def test_the_first_sample(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (
            any(check(name, i) for i in range(len(samples_of(name))))
            or name in REFUSED
            or not samples_of(name)
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", COVERED)
def test_all_samples(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(len(samples_of(name))):
            check(name, i)


def test_an_operation_without_a_form_in_onnx_is_named_with_its_line() -> None:
    class Model(tautograd.nn.Module):
        def forward(self, x: Any) -> Any:
            return tautograd.special.bessel_j0(x)

    with pytest.raises(
        UnsupportedOperatorError, match=r"'special.bessel_j0' .*\n.*test_ops\.py:\d+ in forward"
    ):
        tautograd.onnx.export(Model().eval(), (tautograd.ones(2),))
