"""Does every departure from PyTorch still hold? An entry of `departures` that PyTorch has outgrown,
or that tautograd no longer needs, is a failure here.
"""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import torch

from tautograd._ops.declare.samples import Sample

from .arrays import DIFFERENTIABLE, DTYPES, FLOATS
from .cases import TAUTOGRAD, TORCH, Call, Engine, altered, cases_of, function, record, tensors_in
from .compare import apart, has_key_phrase
from .departures import (
    EXTENSIONS,
    FATAL_IN_PYTORCH,
    MISSHAPEN_IN_PYTORCH,
    NOISE_IN_PYTORCH,
    OTHER_WORDS,
    STRIDES_VARY,
    WRONG_IN_PYTORCH,
    Extension,
    OtherWords,
    says_otherwise,
)
from .differences import directional
from .exact import EXACT, EXACT_ROWS
from .gradient_checks import inner, random_like
from .layouts import layouts_of
from .measure import Item, cotangent, flatten, measure, order_for
from .tolerance import Condition


@pytest.mark.parametrize("extension", EXTENSIONS, ids=lambda e: e.shown_by)
def test_pytorch_raises_and_tautograd_computes(extension: Extension) -> None:
    for _, sample in cases_of(extension.shown_by):
        sample = _of_dtypes(sample, extension.mixed)
        for dtype in extension.dtypes:
            want, got = (_outcome(e, extension, sample, dtype) for e in (TORCH, TAUTOGRAD))
            if want.error is not None and re.search(extension.error, str(want.error)):
                assert got.error is None, f"tautograd raises as well: {got.error}"
                return
    pytest.fail(f"PyTorch no longer raises {extension.error!r} for {extension.shown_by}")


def _of_dtypes(sample: Sample, dtypes: tuple[str, ...]) -> Sample:
    if not dtypes:
        return sample
    operands = zip(sample.args, dtypes, strict=False)
    return Sample(*(altered(t, t.shape, dtype=d) for t, d in operands), **sample.kwargs)


def _outcome(engine: Engine, extension: Extension, sample: Any, dtype: str) -> Any:
    op = record(extension.shown_by)
    fn = None
    if extension.form == "_":
        twin = function(engine, f"Tensor.{op.public_name.rpartition('.')[2]}_")

        def fn(x: Any, *rest: Any, **options: Any) -> Any:
            return twin(x.clone(), *rest, **options)

    return measure(Call(engine, op, sample, dtype, True), order_for(dtype), fn)


@pytest.mark.parametrize(
    ("words", "name"), [(words, name) for words in OTHER_WORDS for name in words.records]
)
def test_both_refuse_in_words_of_their_own(words: OtherWords, name: str) -> None:
    for _, sample in cases_of(name):
        for dtype in DTYPES:
            theirs, ours = (
                measure(Call(e, record(name), sample, dtype, dtype in DIFFERENTIABLE), 0).error
                for e in (TORCH, TAUTOGRAD)
            )
            if not (theirs and ours and says_otherwise(name, theirs, ours)):
                continue
            if not has_key_phrase(str(ours), str(theirs)):
                return
    pytest.fail(f"{name} says what PyTorch says by now")


@pytest.mark.parametrize(
    ("ours", "theirs", "is_there"),
    [
        ("\"a\" not implemented for 'Long'", "\"b\" not implemented for 'Long'", True),
        ("not implemented for 'Long'", "\"b\" not implemented for 'Long'", True),
        ("\"a\" not implemented for 'Long'", "\"b\" not implemented for 'Int'", True),
        ("add() was given arguments it cannot take", "\"b\" not implemented for 'Int'", False),
        ("expected scalar type Float", "value cannot be converted to type int", False),
        ("out of range", "index out of range in self", True),
        ("singular", "singular matrix", False),
        ("a singular matrix", "singular matrix", True),
    ],
)
def test_what_a_key_phrase_is(ours: str, theirs: str, is_there: bool) -> None:
    assert has_key_phrase(ours, theirs) is is_there


@pytest.mark.parametrize("name", WRONG_IN_PYTORCH)
def test_pytorch_contradicts_itself(name: str) -> None:
    """PyTorch's gradient is not the derivative of PyTorch's own forward; tautograd's is, in every
    sample that the entry leaves out of the comparison."""
    wrong = WRONG_IN_PYTORCH[name]
    samples = [s for _, s in cases_of(name) if wrong.where(s, "float64")]
    if all(item.startswith("second") for item in wrong.items):
        assert all(_second_order_holds(TAUTOGRAD, name, sample) for sample in samples)
        assert not all(_second_order_holds(TORCH, name, sample) for sample in samples)
        return
    shown = 0
    for sample in samples:
        theirs, ours = _distance(TORCH, name, sample), _distance(TAUTOGRAD, name, sample)
        if theirs is None or ours is None:
            continue
        assert ours[0] <= ours[1], f"{sample}: tautograd is off by {ours[0]:.1e}"
        shown += theirs[0] > theirs[1]
    assert shown, f"PyTorch's {name} is right by now"


def _second_order_holds(engine: Engine, name: str, sample: Any) -> bool:
    call = Call(engine, record(name), sample, "float64", True)
    check = engine.module.autograd.gradgradcheck
    return bool(check(lambda *leaves: call.run(), call.leaves, raise_exception=False))


def _distance(engine: Engine, name: str, sample: Any) -> tuple[float, float] | None:
    """How far the gradient of the outputs is from differences of them, along one direction, and how
    far off those may be; None where there is nothing to differ."""
    if any(t.layout == "expanded" for t in tensors_in(sample)):
        return None  # its elements cannot be moved one by one
    call = Call(engine, record(name), sample, "float64", True)
    outcome = measure(call, 1)
    if outcome.error is not None or not any(x.shape.numel() for x in call.leaves):
        return None
    starts = [np.array(engine.array(x)) for x in call.leaves]
    moves = [random_like(x, 5 + i) for i, x in enumerate(starts)]

    def along(h: float) -> tuple[Any, ...]:
        moved = Call(engine, record(name), sample, "float64", False)
        tensors = [t for t in moved.tensors if "float64" in str(t.dtype)]
        for tensor, start, t in zip(tensors, starts, moves, strict=True):
            engine.array(tensor)[...] = start + h * t
        return tuple(engine.array(o) for o in flatten(moved.run(), engine))

    outs = flatten(call.run(), engine)
    gs = [engine.array(cotangent(call, o, i, False)) for i, o in enumerate(outs)]
    differences = directional(along)
    want = inner(gs, differences.values)
    grads = [outcome.items[f"grad{i}"] for i in range(len(starts))]
    found = [
        g.array if isinstance(g, Item) else np.zeros_like(t)
        for g, t in zip(grads, moves, strict=True)
    ]
    doubt = 4 * differences.error * sum(float(np.sum(np.abs(g))) for g in gs)
    return abs(inner(found, moves) - want), doubt


@pytest.mark.parametrize("name", NOISE_IN_PYTORCH)
def test_pytorch_gives_nan(name: str) -> None:
    """PyTorch's result is NaN where tautograd's is the double-precision one, rounded."""
    sample = cases_of(name)[0][1]
    for dtype in NOISE_IN_PYTORCH[name][0]:
        wide, want, got = (
            measure(Call(e, record(name), sample, d, False), 0).items["out0"].array
            for e, d in ((TORCH, "float64"), (TORCH, dtype), (TAUTOGRAD, dtype))
        )
        assert np.isnan(want).any()
        np.testing.assert_allclose(got.astype(np.float64), wide, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("name", MISSHAPEN_IN_PYTORCH)
def test_pytorch_misshapes_what_is_empty(name: str) -> None:
    """PyTorch's shape is not the one that PyTorch finds without data; tautograd's is."""
    shown = 0
    for _, sample in cases_of(name):
        if 0 in sample.args[0].shape:
            shapes = [
                tuple(Call(e, record(name), sample, "float32", False).run().shape)
                for e in (TORCH, TAUTOGRAD)
            ]
            call = Call(TORCH, record(name), sample, "float32", False)
            call.args[0] = call.args[0].to("meta")
            right = tuple(call.run().shape)
            assert shapes[1] == right
            shown += shapes[0] != right
    assert shown, f"PyTorch's {name} is right by now"


@pytest.mark.parametrize("name", STRIDES_VARY)
def test_pytorch_leaves_strides_to_the_kernel(name: str) -> None:
    """The same call in single precision, with and without oneDNN, lies in memory differently."""
    for _, sample in layouts_of(name):
        if max(len(t.shape) for t in tensors_in(sample)) != STRIDES_VARY[name].ndim:
            continue
        call = Call(TORCH, record(name), sample, "float32", False)
        some = measure(call, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with torch.backends.mkldnn.flags(enabled=False):
                others = measure(call, 0)
        if some.error is None and some.items["out0"].strides != others.items["out0"].strides:
            return
    pytest.fail(f"PyTorch's {name} lies in memory one way by now")


@pytest.mark.parametrize("name", FATAL_IN_PYTORCH)
def test_pytorch_ends_the_process(name: str) -> None:
    program = (
        "import torch; smallest = torch.tensor([torch.iinfo(torch.int64).min]);"
        f"print({FATAL_IN_PYTORCH[name]})"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert ended.returncode < 0, ended.stdout.decode()


@pytest.mark.slow
@pytest.mark.parametrize("name", [*EXACT, *EXACT_ROWS])
def test_pytorch_misses_the_exact_value(name: str) -> None:
    """Somewhere PyTorch's value is further from the exact one than rounding explains."""
    op = record(name)
    for _, sample in cases_of(name):
        for dtype in (*FLOATS, "int64"):
            calls = [Call(e, op, sample, dtype, True) for e in (TORCH, TAUTOGRAD)]
            want, got = (measure(call, order_for(dtype)) for call in calls)
            # What came before an error counts: PyTorch lacks the second derivative of some.
            if _misses(calls[1], want, got, dtype):
                return
    pytest.fail(f"PyTorch's {name} is accurate by now")


def _misses(call: Call, want: Any, got: Any, dtype: str) -> bool:
    condition = Condition(call.op, call.sample, dtype)
    for key in want.items:
        a, b = want.items[key], got.items.get(key)
        if isinstance(a, Item) and isinstance(b, Item):
            arrays = np.asarray(a.array, np.float64), np.asarray(b.array, np.float64)
            exactly = a.dtype not in FLOATS
            if np.any(
                arrays[0] != arrays[1] if exactly else apart(call, key, a.dtype, *arrays, condition)
            ):
                return True
    return False
