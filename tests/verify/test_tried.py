"""`try_inputs`: what each kind of input does, in a table, on both engines."""

from __future__ import annotations

import importlib
import json
import signal
import time

import numpy as np
import pytest

from tautograd._verify.behaviour.try_inputs import try_inputs
from tautograd._verify.subject.time_limit import TookTooLong, time_limit


def functional(torch):
    return importlib.import_module(f"{torch.__name__}.nn.functional")


def outcomes(tried):
    return {row.inputs: row.outcome for row in tried}


def test_a_linear_layer(torch):
    assert outcomes(try_inputs(torch.nn.Linear(4, 3), (torch.randn(5, 4),))) == {
        "normal": "fine",
        "zeros": "fine",
        "tiny": "fine",
        "subnormal": "fine",
        "huge": "fine",
        "ties (all equal)": "fine",
        "one row": "fine",
        "one element": "clear error",
        "empty": "fine",
        "non-contiguous": "fine",
        "broadcast (expanded)": "fine",
        "one NaN in input": "NaN passed on",
        "one infinity in input": "infinity passed on",
        "input: last dimension one more": "clear error",
        "input: a dimension missing": "fine",
        "input: a dimension too many": "fine",
        "input: 0-dimensional": "clear error",
        "input: int64 for float32": "clear error",
        "input: float64 for float32": "clear error",
    }


def test_indices(torch):
    found = try_inputs(torch.nn.Embedding(10, 3), (torch.tensor([1, 2, 9]),))
    assert found.ok
    assert found["input: past its largest number"].outcome == "clear error"
    assert found["input: negative numbers"].outcome == "clear error"
    assert found["input: float32 for int64"].outcome == "clear error"


def test_a_loss_with_targets(torch):
    target = torch.tensor([0, 1, 2, 3, 0])
    found = try_inputs(functional(torch).cross_entropy, (torch.randn(5, 4), target))
    assert found.ok
    assert found["empty"].outcome == "NaN output"
    assert found["huge"].outcome == "fine"


def double_where(torch, x):
    return torch.where(x < 30, torch.log1p(torch.exp(x)), x)


def wrong_at_zero(torch, x):
    class Cosine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.cos(x) + 2 * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * torch.where(x == 0, 5.0, 2 - torch.sin(x))

    return Cosine.apply(x)


def by_memory(torch, x):
    """Reads the memory of its input as if it were contiguous."""
    return x.as_strided(x.shape, torch.empty(x.shape).stride()) * 2


ALARMING = [
    (lambda torch, x: torch.sqrt(x * x), "zeros", "NaN gradient"),
    (double_where, "huge", "NaN gradient"),
    (lambda torch, x: x + 1 / x.shape[0], "empty", "obscure error"),
    (lambda torch, x: {5: x}[x.shape[0]], "one row", "obscure error"),
    (wrong_at_zero, "zeros", "wrong"),
    (by_memory, "non-contiguous", "wrong"),
    (by_memory, "broadcast (expanded)", "wrong"),
]


@pytest.mark.parametrize(("fn", "inputs", "outcome"), ALARMING)
def test_what_is_alarming(torch, fn, inputs, outcome):
    found = try_inputs(lambda x: fn(torch, x), (torch.randn(5, 4),))
    assert found[inputs].outcome == outcome
    assert not found.ok
    assert found["normal"].outcome == "fine"


def test_a_wrong_gradient_is_wrong_nearly_everywhere(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 3 * g

    found = try_inputs(lambda x: Double.apply(x) + 0, (torch.randn(5, 4),))
    wrong = {row.inputs for row in found if row.outcome == "wrong"}
    assert {"normal", "zeros", "tiny", "huge", "ties (all equal)", "one row"} <= wrong
    assert "differences give" in found["normal"].note
    unchecked = try_inputs(lambda x: Double.apply(x) + 0, (torch.randn(5, 4),), differences=False)
    assert unchecked.ok


@pytest.mark.parametrize(
    "fn",
    [
        lambda torch: torch.relu,
        lambda torch: lambda x: x.abs().amax(-1),
        lambda torch: lambda x: x.clamp(0, 1).median(),
        lambda torch: lambda x: torch.linalg.norm(x, dim=-1),
        lambda torch: torch.nn.Sequential(
            torch.nn.Linear(4, 8, bias=False), torch.nn.ReLU(), torch.nn.Linear(8, 2, bias=False)
        ),
        lambda torch: torch.nn.LayerNorm(4),
        lambda torch: torch.nn.BatchNorm1d(4),  # of equal rows, nothing but rounding
        lambda torch: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)),
        lambda torch: torch.nn.GELU(),
        lambda torch: lambda x: torch.logsumexp(x, -1),
        lambda torch: lambda x: torch.cumsum(x.sort(-1).values, 0),
    ],
)
def test_kinks_and_hard_functions_are_not_accused(torch, fn):
    found = try_inputs(fn(torch), (torch.randn(5, 4),))
    assert found.ok, str(found)


def test_a_loss_whose_target_has_no_gradient(torch):
    found = try_inputs(torch.nn.SoftMarginLoss(), (torch.randn(5, 4), torch.ones(5, 4)))
    assert found["normal"].outcome == "fine"
    assert found.ok, str(found)


def test_nan_that_does_not_come_through(torch):
    found = try_inputs(lambda x: torch.where(x.isnan(), 0.0, x).clamp(0, 1), (torch.randn(4),))
    assert found["one NaN in x"].outcome == "swallowed"


def test_warnings_are_caught_and_told(torch):
    import warnings

    def warns(x):
        if x.shape[0] == 1:
            warnings.warn("only one row", UserWarning, stacklevel=2)
        return x * 2

    found = try_inputs(warns, (torch.randn(5, 4),))
    assert found["one row"].outcome == "warning"
    assert found["one row"].note == "UserWarning: only one row"
    assert found["normal"].outcome == "fine"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ValueError("x must have 2 dimensions, got 1"), "clear error"),
        (TypeError("weight: a number is needed"), "clear error"),
        (AssertionError(), "obscure error"),
        (AssertionError("x and y have different shapes"), "clear error"),
        (AttributeError("'NoneType' object has no attribute 'shape'"), "obscure error"),
        (RuntimeError("something went wrong"), "obscure error"),
        (SystemExit(3), "obscure error"),
    ],
)
def test_which_errors_are_clear(torch, error, outcome):
    def fn(x, weight=1.0):
        if x.shape[0] == 1:
            raise error
        return x * weight

    found = try_inputs(fn, (torch.randn(5, 4),))
    assert found["one row"].outcome == outcome
    assert found["one row"].note.startswith(type(error).__name__)


def test_an_error_in_backward(torch):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError("nothing")

    found = try_inputs(lambda x: Fails.apply(x) + 0, (torch.randn(2, 2),))
    assert found["normal"].outcome == "obscure error"
    assert found["normal"].note.startswith("in backward: KeyError")


def test_an_import_is_not_stopped_in_its_middle(tmp_path, monkeypatch):
    """What is half imported stays so for the rest of the process."""
    (tmp_path / "takes_long.py").write_text("import time\ntime.sleep(0.3)\nwhole = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(TookTooLong), time_limit(0.05):
        import takes_long  # type: ignore[import-not-found]

        time.sleep(60)
    assert takes_long.whole


def test_too_slow_a_case_is_stopped(torch):
    def fn(x):
        if x.shape[0] == 1:
            time.sleep(60)
        return x * 2

    began = time.perf_counter()
    found = try_inputs(fn, (torch.randn(5, 4),), seconds=0.5)
    assert found["one row"].outcome == "too slow"
    assert found["empty"].outcome == "fine"
    assert time.perf_counter() - began < 30


def test_a_timer_that_ran_before_goes_on():
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        signal.setitimer(signal.ITIMER_REAL, 100.0)
        with pytest.raises(TookTooLong), time_limit(0.01):
            time.sleep(1)
        assert signal.getsignal(signal.SIGALRM) == signal.SIG_IGN
        assert 90 < signal.getitimer(signal.ITIMER_REAL)[0] < 100
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_everything_is_as_before(torch):
    layers = [torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5)]
    model = torch.nn.Sequential(*layers)
    model[0].weight.grad = torch.ones(4, 4)
    x = torch.randn(5, 4, requires_grad=True)
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    stream, numbers = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    try_inputs(model, (x,))
    for name, tensor in model.state_dict().items():
        assert tensor.numpy().tobytes() == state[name].numpy().tobytes(), name
    assert bool((torch.get_rng_state() == stream).all())
    assert (np.random.get_state()[1] == numbers).all()  # noqa: NPY002
    assert model[0].weight.grad.tolist() == [[1.0] * 4] * 4
    assert (model[0].bias.grad, x.grad, model.training) == (None, None, True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex64"])
def test_dtypes(torch, dtype):
    x = torch.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=getattr(torch, dtype), requires_grad=True)
    found = try_inputs(lambda x: x * x.sum(), (x,))
    assert found.ok, str(found)
    assert found["normal"].outcome == found["zeros"].outcome == "fine"


def test_nests_and_keywords(torch):
    pair = (torch.randn(3), torch.randn(3))
    found = try_inputs(
        lambda pair, *, scale: pair[0] * pair[1] * scale, (pair,), {"scale": pair[0]}
    )
    assert found.ok
    assert "one NaN in pair[1]" in outcomes(found)
    assert "scale: int64 for float32" in outcomes(found)


def test_text_html_and_plain_data(torch):
    found = try_inputs(torch.nn.Linear(4, 3), (torch.randn(5, 4),))
    lines = str(found).splitlines()
    assert lines[0] == "Linear"
    assert lines[2].split() == ["normal", "fine", "output", "(5,", "3)"]
    assert lines[-1].startswith("19 kinds of input: 12 fine, 5 clear error, ")
    assert json.loads(json.dumps(found.to_dict()))["rows"][0]["outcome"] == "fine"
    bad = try_inputs(lambda x: torch.sqrt(x * x), (torch.randn(3),))
    assert bad._repr_html_().count("box-shadow") == 1


def test_errors_name_the_argument(torch):
    with pytest.raises(TypeError, match=r"^subject: "):
        try_inputs(3, (torch.ones(2),))
    with pytest.raises(ValueError, match=r"^seconds: "):
        try_inputs(torch.relu, (torch.ones(2),), seconds=0)
