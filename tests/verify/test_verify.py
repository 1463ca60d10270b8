"""`verify` as a user meets it: arguments, modes, behaviour, errors; on both engines."""

from __future__ import annotations

import itertools
import json
import os
import random

import numpy as np
import pytest

import tautograd
from tautograd import verify


def tripled(torch):
    """A Function whose gradient is 3x², but for one entry."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            gradient = 3 * x**2 * g
            gradient[0, 1] *= 1.001
            return gradient

    return Cube


def test_a_right_gradient(torch):
    x = torch.randn(3, 4, dtype=torch.float64)
    report = verify(lambda x: torch.sin(x).sum(), x)
    assert report.ok
    assert report.verdict == "correct"
    assert bool(report) is True
    assert report.raise_if_wrong() is report
    references = {check.reference: check.verdict for check in report.checks}
    assert references == dict.fromkeys(
        (
            *("central differences", "forward mode", "complex step", "Taylor remainder"),
            *("linearity", "incoming gradients", "kinds of inputs"),
        ),
        "agrees",
    )
    assert "sin" not in [s.operation for s in report.suspects]


@pytest.mark.parametrize("mode", ["full", "fast", "auto"])
def test_a_wrong_one_is_located(torch, mode):
    cube = tripled(torch)
    x = torch.randn(3, 4, dtype=torch.float64)
    report = verify(lambda x: cube.apply(x).exp(), x, mode=mode)
    assert not report.ok
    (suspect, *_) = report.suspects
    assert suspect.operation == "Cube"
    assert suspect.site.file == __file__
    assert "cube.apply(x).exp()" in suspect.site.text
    assert suspect.entries[0].index == (0, 1)
    with pytest.raises(AssertionError, match="Cube"):
        report.raise_if_wrong()
    if mode != "fast":
        assert report.wrong_entries == 1
        assert report.entries[0].index == (0, 1)


def test_second_order(torch):
    class Wrong(torch.autograd.Function):
        """First order right; the gradient forgets that it depends on x."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x.detach() * g

    x = torch.randn(3, dtype=torch.float64)
    assert verify(Wrong.apply, x).ok
    report = verify(Wrong.apply, x, order=2)
    assert not report.ok
    assert report.suspects[0].operation == "Wrong"
    assert verify(lambda x: (x**3).sum(), x, order=2).ok


def test_modules_are_checked_with_their_parameters(torch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    report = verify(model, torch.randn(3, 4))
    assert report.ok, str(report)
    assert report.settings["wrt"] == ["input", "0.weight", "0.bias", "2.weight", "2.bias"]
    assert any(c.reference == "float64 gradient, for float32" for c in report.checks)
    for name, p in model.named_parameters():
        assert p.grad is None
        assert p.dtype == torch.float32
        assert bool((p == before[name]).all())
    assert verify(model, torch.randn(3, 4), parameters=False).settings["wrt"] == ["input"]


def test_dropout_and_batch_norm_in_training(torch):
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.Dropout(0.5), torch.nn.Linear(6, 1)
    )
    x, mean = torch.randn(5, 4), model[1].running_mean.clone()
    state = torch.get_rng_state()
    report = verify(model, x)
    assert report.ok, str(report)
    assert report.behaviour["random"] is True
    assert report.behaviour["moves_buffers"] == [
        "1.running_mean",
        "1.running_var",
        "1.num_batches_tracked",
    ]
    assert bool((torch.get_rng_state() == state).all())
    assert bool((model[1].running_mean == mean).all())


def test_complex_and_nested_inputs_and_outputs(torch):
    z = torch.randn(3, dtype=torch.complex128)
    assert verify(lambda z: (z * z.conj()).real.sqrt(), z).ok
    data = {"a": torch.randn(2, dtype=torch.float64), "b": [torch.randn(2, dtype=torch.float64)]}

    def f(data, scale=1.0):
        return {"sum": (data["a"] * data["b"][0]).sum() * scale, "count": 3, "a": data["a"] ** 2}

    report = verify(f, (data,), kwargs={"scale": 2.0})
    assert report.ok
    assert report.settings["wrt"] == ["data['a']", "data['b'][0]"]
    assert verify(f, (data,), wrt=["data['a']"]).settings["wrt"] == ["data['a']"]


def test_kinks_are_reported_not_accused(torch):
    x = torch.tensor([0.0, 1.0, -1.0], dtype=torch.float64)
    report = verify(torch.relu, x)
    assert report.ok
    (kink,) = report.kinks
    assert kink.index == (0,)
    assert (round(kink.left, 2), round(kink.right, 2), kink.side) == (0, 1, "left")
    wrong = verify(lambda x: torch.where(x >= 0, 2 * x, x).detach() * 0 + x.relu() * 1.1, x)
    assert wrong.ok


def test_a_cut_graph(torch):
    x = torch.randn(3, dtype=torch.float64)

    def f(x):
        scale = x.detach().norm()
        return (x * scale).sum()

    report = verify(f, x)
    assert report.verdict == "cut"
    assert report.cuts[0].site.text == "scale = x.detach().norm()"


def test_functions_that_cannot_be_checked_are_said_so(torch):
    x = torch.randn(3, dtype=torch.float64)
    ticks = itertools.count(1)  # it cannot be put back
    report = verify(lambda x: x * next(ticks), x)
    assert report.verdict == "unclear"
    assert "it keeps state of its own" in str(report)


def test_state_that_can_be_put_back_is(torch):
    calls = []

    def counts(x):
        calls.append(1)
        return x * len(calls)

    report = verify(counts, torch.randn(3, dtype=torch.float64))
    assert report.verdict == "correct"
    assert "It keeps state from call to call; each run starts from the state" in str(report)
    assert len(calls) <= 1


@pytest.mark.parametrize("name", ["Python's random module", "NumPy's global generator"])
def test_random_numbers_of_others_are_replayed(torch, name):
    draw = random.random if name.startswith("Python") else np.random.rand
    before = random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    report = verify(lambda x: x.sin() * draw(), torch.randn(3, dtype=torch.float64))
    assert report.verdict == "correct"
    said = str(report)
    assert f"It draws from {name}; each run gets the same numbers." in said
    assert f"Random: seeding {name} makes it repeat." in said
    assert random.getstate() == before[0]
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002
    wrong = verify(lambda x: (x * draw()).detach() * x, torch.randn(3, dtype=torch.float64))
    assert wrong.verdict == "cut"


def test_functions_that_change_their_inputs(torch):
    x = torch.randn(3, dtype=torch.float64)
    before = x.clone()
    report = verify(lambda x: x.mul_(2).sin(), x)
    assert report.ok, str(report)
    assert report.behaviour["modifies_inputs"] == ["x"]
    assert bool((x == before).all())


def test_own_precision(torch):
    class Sloppy(torch.autograd.Function):
        """Right in float64, off by a thousandth in float32."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x.cos() * (1.001 if x.dtype == torch.float32 else 1.0)

    x = torch.randn(5)
    report = verify(Sloppy.apply, x)
    assert not report.ok
    assert report.suspects[0].operation == "Sloppy"
    assert "float32" in report.suspects[0].note
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        assert verify(lambda x: x.sin() * x, x.to(dtype)).ok


def test_an_analytical_gradient(torch):
    x = torch.randn(4, dtype=torch.float64)
    assert verify(torch.sin, x, analytical=torch.cos).ok
    assert verify(torch.sin, x, analytical=torch.cos(x)).ok

    def wrong(x):
        return 2 * torch.cos(x)

    report = verify(torch.sin, x, analytical=wrong)
    assert not report.ok
    assert report.suspects[0].operation == "analytical gradient"
    assert report.suspects[0].site.function == "wrong"
    with pytest.raises(ValueError, match=r"analytical: the gradient of .* has shape"):
        verify(torch.sin, x, analytical=torch.ones(3))


def test_a_function_may_carry_its_analytical_gradient(torch):
    def square(x):
        return x * x

    x = torch.tensor(3.0, dtype=torch.float64)
    for by_hand, verdict in ((lambda x: 2 * x, "correct"), (lambda x: x, "wrong")):
        square.analytical = by_hand
        assert verify(square, x).verdict == verdict
    assert verify(square, x, analytical=2 * x).ok, "what is asked for comes first"
    (note,) = {c.note for c in verify(square, x).checks if "differences" in c.note}
    assert note == "x: differences give 6, you gave 3"


def test_detection_is_stated(torch):
    x = torch.randn(50, dtype=torch.float64)
    for mode in ("full", "fast"):
        report = verify(torch.sin, x, mode=mode)
        assert report.detection(1e-3) == 1.0
        assert report.detection(1e-16) < 0.5
        assert 0 < report.figures["caught_with_probability_0.99"] < 1e-4


def test_the_report_is_json(torch):
    report = verify(torch.exp, torch.randn(2, dtype=torch.float64))
    found = json.loads(report.to_json())
    assert found["verdict"] == "correct"
    assert found["engine"] == torch.__name__
    assert found["checks"][0]["reference"] == "central differences"
    assert "correct" in str(report)
    assert report._repr_html_().startswith("<")


def test_progress_is_told(torch):
    told = []
    verify(torch.exp, torch.randn(2), progress=lambda what, part: told.append((what, part)))
    assert told[0] == ("running it once", 0.0)
    assert told[-1] == ("done", 1.0)
    assert [part for _, part in told] == sorted(part for _, part in told)


BAD = {
    "mode": ({"mode": "quick"}, ValueError, "mode: .*'quick'"),
    "order": ({"order": 3}, ValueError, "order: 1 or 2 expected, got 3"),
    "probes": ({"probes": 0}, ValueError, "probes: at least 1"),
    "wrt": ({"wrt": ["y"]}, ValueError, "wrt: there is no floating-point leaf 'y'; there are x"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_named(torch, name):
    options, kind, message = BAD[name]
    with pytest.raises(kind, match=message):
        verify(lambda x: x * 2, torch.ones(2), **options)


def test_nothing_to_check_is_an_error(torch):
    with pytest.raises(ValueError, match="inputs: none of them is a floating-point"):
        verify(lambda x: x * 2, torch.ones(2, dtype=torch.int64))
    with pytest.raises(TypeError, match="inputs: no tensor and no module"):
        verify(lambda: 1, ())
    with pytest.raises(TypeError, match="target: a function or a module expected, got int"):
        verify(3, torch.ones(2))
    with pytest.raises(ValueError, match="the result has no floating-point tensor"):
        verify(lambda x: x.argmax(), torch.ones(2))


@pytest.mark.parametrize("mode", ["full", "fast"])
def test_empty_tensors(torch, mode):
    report = verify(lambda x: x * 2, torch.zeros(0, 3, dtype=torch.float64), mode=mode, order=2)
    assert report.ok
    assert "no numbers to compare" in report.notes[0]
    both = (torch.zeros(0), torch.ones(2))
    assert verify(lambda x, y: x.sum() * y, both, mode=mode).ok


def test_results_without_numbers_have_a_gradient_of_zero(torch, tmp_path):
    class RowScale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return g * w, (g * x).mean(0)  # of no rows, NaN

    inputs = torch.zeros(0, 3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    report = verify(RowScale.apply, inputs)
    assert report.verdict == "wrong"
    assert "input 1[0]: expected 0, got nan" in str(report)
    assert report.assurance()
    right = verify(lambda x, w: x * w, inputs)
    assert right.ok
    assert right.checks[0].entries == 3
    assert right.assurance()


def test_backward_must_be_linear_in_what_arrives(torch):
    class Clip(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g.clamp(-1, 1)

    report = verify(Clip.apply, torch.randn(3, dtype=torch.float64))
    assert not report.ok
    assert report.suspects[0].operation == "Clip"


def test_engines_do_not_mix():
    import torch

    with pytest.raises(TypeError, match="tautograd and of torch are mixed"):
        verify(lambda x, y: x, (torch.ones(2), tautograd.ones(2)))


def test_one_leaf_is_named_without_a_list(torch):
    layer = torch.nn.Linear(2, 3).double()
    x = torch.ones(1, 2, dtype=torch.float64)
    for wrt, name in (("weight", "weight"), (0, "input")):
        assert verify(layer, x, wrt=wrt).settings["wrt"] == [name]


def test_a_class_is_no_function_of_tensors(torch):
    x = torch.ones(2, 2)
    with pytest.raises(TypeError, match=r"Cube is a class; give its function: Cube\.apply"):
        verify(tripled(torch), x)
    with pytest.raises(TypeError, match=r"Linear is a class; give a module of it: Linear\("):
        verify(torch.nn.Linear, x)


@pytest.mark.parametrize("mode", ["full", "fast"])
def test_a_function_that_is_not_finite_is_not_called_correct(torch, mode):
    report = verify(lambda x: x.log().sum(), torch.tensor([-1.0, 2.0]), mode=mode)
    assert report.verdict == "unclear"
    assert "inputs at which it is defined" in report.notes[0]
    compared = {check.reference: check.verdict for check in report.checks}
    for reference in ("central differences", "Taylor remainder"):
        assert compared[reference] == "not applicable"
    assert "nan" not in str(report)


def test_what_is_finite_is_still_compared(torch):
    report = verify(lambda x: x.log(), torch.tensor([-1.0, 2.0], dtype=torch.float64))
    assert report.ok
    assert report.checks[0].note == "2 not finite there"


def test_built_in_functions_go_by_their_own_names(torch):
    assert verify(torch.sin, torch.ones(2, dtype=torch.float64)).name == "sin"


def test_a_notebook_shows_the_verdict_then_its_cause_then_the_proof_and_no_full_path(
    torch, monkeypatch, tmp_path
):
    def f(x):
        return (x * x.detach().norm()).sum()

    monkeypatch.chdir(tmp_path)
    html = verify(f, torch.tensor([3.0, 4.0], dtype=torch.float64))._repr_html_()
    order = [html.index(part) for part in ("taut-verdict taut-cut", "detach()", "The proof")]
    assert order == sorted(order)
    assert "verify/test_verify.py:" in html
    assert os.path.dirname(__file__) not in html
