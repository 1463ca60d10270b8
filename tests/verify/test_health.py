"""`check_gradients`: the verdict on each parameter, by bounds and by history, on both engines."""

from __future__ import annotations

import gc
import math

import pytest

from tautograd._verify.behaviour import gradient_history as histories
from tautograd._verify.behaviour.check_gradients import check_gradients
from tautograd._verify.behaviour.gradient_history import ENOUGH, GradientHistory


def with_grad(torch, values, weight=1.0, dtype=None):
    """A parameter whose gradient has these values."""
    grad = torch.tensor(values, dtype=dtype or torch.float32)
    parameter = torch.full_like(grad, weight).requires_grad_()
    parameter.grad = grad
    return parameter


VERDICTS = {
    "fine": [3.0, 4.0],
    "exploding": [30.0, 40.0],
    "vanishing": [3e-7, 4e-7],
    "zero": [0.0, 0.0],
    "not finite": [1.0, math.nan],
}


@pytest.mark.parametrize("verdict", VERDICTS)
def test_each_verdict_by_bounds(torch, verdict):
    table = check_gradients({"w": with_grad(torch, VERDICTS[verdict])})
    (row,) = table
    assert (row.name, row.shape, row.verdict) == ("w", (2,), verdict)
    assert table.ok == (verdict == "fine")
    assert math.isnan(row.norm) or math.isclose(
        row.norm, math.hypot(*VERDICTS[verdict]), rel_tol=1e-6
    )


def test_infinite_is_not_exploding(torch):
    assert check_gradients([with_grad(torch, [math.inf])])["parameter 0"].verdict == "not finite"


def test_a_model_with_everything(torch):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    model.add_module("unused", torch.nn.Linear(1, 1, bias=False))
    model[0].bias.requires_grad_(False)
    model[2](model[1](model[0](torch.ones(5, 3)))).mean().backward()
    table = check_gradients(model)
    assert [(row.name, row.verdict) for row in table] == [
        ("0.weight", "fine"),
        ("0.bias", "frozen"),
        ("2.weight", "fine"),
        ("2.bias", "fine"),
        ("unused.weight", "none"),
    ]
    assert not table.ok
    assert table.summary.startswith("5 parameters: 3 fine, 1 none, 1 frozen; norm of all gradients")
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            assert math.isclose(table[name].norm, float(parameter.grad.norm()), rel_tol=1e-6)


def test_the_text_is_the_same_on_both_engines():
    import torch

    import tautograd

    texts = []
    for engine in (torch, tautograd):
        named = [
            ("first.weight", with_grad(engine, [[30.0, 40.0]])),
            ("b", with_grad(engine, [0.5])),
        ]
        texts.append(str(check_gradients(named)))
    expected = (
        "parameter     shape   norm  verdict\n"
        "first.weight  (1, 2)    50  exploding  above 10\n"
        "b             (1,)     0.5  fine\n"
        "2 parameters: 1 fine, 1 exploding; norm of all gradients 50."
    )
    assert texts == [expected, expected]


def test_norms_that_their_own_dtype_cannot_hold(torch):
    """Squares overflow or vanish, the gradient does not."""
    named = {
        "large float32": with_grad(torch, [1e30, 1e30]),
        "small float32": with_grad(torch, [1e-30, 1e-30]),
        "large float64": with_grad(torch, [1e200, 1e200], dtype=torch.float64),
        "small float64": with_grad(torch, [1e-200, 1e-200], dtype=torch.float64),
        "large float16": with_grad(torch, [6e4, 6e4], dtype=torch.float16),
        "bfloat16": with_grad(torch, [3.0, 4.0], dtype=torch.bfloat16),
        "complex": with_grad(torch, [3 + 4j], dtype=torch.complex64),
        "empty": with_grad(torch, []),
    }
    table = check_gradients(named)
    got = [row.norm for row in table]
    root = math.sqrt(2)
    expected = [1e30 * root, 1e-30 * root, 1e200 * root, 1e-200 * root, 6e4 * root, 5.0, 5.0, 0.0]
    assert got == pytest.approx(expected, rel=1e-3)
    assert [row.verdict for row in table] == [
        *("exploding", "vanishing", "exploding", "vanishing", "exploding", "fine", "fine", "fine")
    ]


def test_norms_are_read_at_once(torch, monkeypatch):
    """Not once per parameter, also where many gradients are zero or not finite."""
    values = ([1.0], [0.0], [math.nan], [math.inf])
    named = {f"{i}": with_grad(torch, values[i % 4]) for i in range(40)}
    reads = []
    for name in ("tolist", "item", "__float__", "__bool__"):
        original = getattr(torch.Tensor, name)

        def counted(self, *args, original=original, name=name):
            reads.append(name)
            return original(self, *args)

        monkeypatch.setattr(torch.Tensor, name, counted)
    table = check_gradients(named)
    assert len(reads) == 2
    assert {row.verdict for row in table} == {"fine", "zero", "not finite"}


def test_before_backward_it_says_so(torch):
    table = check_gradients(torch.nn.Linear(2, 2))
    assert {row.verdict for row in table} == {"none"}
    assert "call loss.backward()" in str(table)


def test_lazy_parameters_are_told(torch):
    if not hasattr(torch.nn, "LazyLinear"):
        pytest.skip("no lazy modules")
    table = check_gradients(torch.nn.LazyLinear(2))
    assert "run the model once" in str(table)


def train(torch, scale, steps):
    """A regression with its loss times `scale`: the verdicts of every step."""
    torch.manual_seed(1)
    model = torch.nn.Linear(4, 2)
    verdicts = []
    for _ in range(steps):
        x = torch.randn(64, 4)
        model.zero_grad()
        ((model(x) - x[:, :2]) ** 2).sum().mul(scale).backward()
        verdicts.append(check_gradients(model, relative=True))
    return model, verdicts


@pytest.mark.parametrize(("scale", "large"), [(1e5, True), (1e-9, False)])
def test_steady_gradients_are_fine_whatever_their_size(torch, scale, large):
    _, tables = train(torch, scale, 12)
    norms = [row.norm for table in tables for row in table]
    assert min(norms) > 1e4 if large else max(norms) < 1e-6
    assert all(table.ok for table in tables)
    assert not check_gradients({"w": with_grad(torch, [norms[0]])}).ok


def test_a_jump_from_the_usual_is_found(torch):
    model, _ = train(torch, 1.0, ENOUGH + 3)
    usual = {n: p.grad.clone() for n, p in model.named_parameters()}
    for factor, verdict in ((100.0, "exploding"), (1e-3, "vanishing"), (3.0, "fine")):
        model.weight.grad = usual["weight"] * factor
        table = check_gradients(model, relative=True)
        assert (table["weight"].verdict, table["bias"].verdict) == (verdict, "fine")
    assert table["weight"].usual > 1


def test_without_history_it_says_so(torch):
    _, tables = train(torch, 1.0, ENOUGH + 1)
    assert "no history yet" in str(tables[0])
    assert f"History: 0 of the {ENOUGH} steps" in str(tables[0])
    assert f"History: 2 of the {ENOUGH} steps" in str(tables[2])
    assert "History" not in str(tables[-1])
    assert "No lr was given" in str(tables[-1])


def test_the_update_beside_the_weight(torch):
    named = [
        ("w", with_grad(torch, [[3.0, 4.0]])),
        ("b", with_grad(torch, [3.0, 4.0], weight=1e-3)),
    ]
    large = check_gradients(named, relative=True, lr=0.1, history=GradientHistory())
    assert large["w"].update == pytest.approx(0.1 * 5 / math.sqrt(2))
    assert (large["w"].verdict, large["b"].verdict) == ("exploding", "fine")  # a bias is not judged
    assert "about 1e-3 is usual" in str(large)
    assert check_gradients(named, relative=True, lr=1e-3, history=GradientHistory()).ok


def test_zero_and_missing_are_found_by_history_too(torch):
    missing = torch.ones(2).requires_grad_()
    named = {"z": with_grad(torch, [0.0]), "n": missing, "i": with_grad(torch, [math.inf])}
    table = check_gradients(named, relative=True, history=GradientHistory())
    assert [row.verdict for row in table] == ["zero", "none", "not finite"]


def test_history_goes_with_its_model(torch):
    gc.collect()
    before = len(histories._histories)
    model, _ = train(torch, 1.0, 2)
    assert len(histories._histories) == before + 1
    del model, _
    gc.collect()
    assert len(histories._histories) == before


def test_gradients_are_left_alone(torch):
    model, _ = train(torch, 1.0, 1)
    before = [(p.grad, p.grad.clone(), p.grad._version) for p in model.parameters()]
    check_gradients(model, relative=True, lr=0.1)
    for parameter, (grad, values, version) in zip(model.parameters(), before, strict=True):
        assert parameter.grad is grad
        assert grad._version == version
        assert bool((grad == values).all())


def test_as_plain_data_and_as_html(torch):
    table = check_gradients({"<w>": with_grad(torch, [math.nan]), "b": with_grad(torch, [1.0])})
    data = table.to_dict()
    assert (data["rows"][0]["norm"], data["rows"][1]["norm"]) == ("nan", 1.0)
    assert (data["rows"][0]["shape"], data["rows"][0]["verdict"]) == ([1], "not finite")
    assert data["ok"] is False
    html = table._repr_html_()
    assert "&lt;w&gt;" in html
    assert html.count("box-shadow") == 1
    assert html.count("<tr") == 3


BAD_ARGUMENTS = [
    (lambda torch: (3,), {}, TypeError, "^model: a module or named parameters"),
    (lambda torch: (torch.ones(2),), {}, TypeError, "^model: .* not a tensor"),
    (lambda torch: ([("a", 3)],), {}, TypeError, "^model: item 0"),
    (lambda torch: ([],), {}, ValueError, "^model: it has no parameters"),
    (lambda torch: ({"w": torch.ones(1)},), {"exploding": "10"}, TypeError, "^exploding: "),
    (lambda torch: ({"w": torch.ones(1)},), {"vanishing": -1.0}, ValueError, "^vanishing: "),
    (lambda torch: ({"w": torch.ones(1)},), {"vanishing": 20.0}, ValueError, "^vanishing: "),
    (lambda torch: ({"w": torch.ones(1)},), {"lr": math.nan}, ValueError, "^lr: "),
    (lambda torch: ({"w": torch.ones(1)},), {"history": {}}, TypeError, "^history: "),
]


@pytest.mark.parametrize(("args", "options", "kind", "text"), BAD_ARGUMENTS)
def test_errors_name_the_argument(torch, args, options, kind, text):
    with pytest.raises(kind, match=text):
        check_gradients(*args(torch), **options)
