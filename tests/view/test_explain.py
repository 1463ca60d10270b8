"""`explain`: the paths add up to the gradient, on both engines, and what is missing is said."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tautograd import explain, view
from tests.both import ENGINES

from . import programs


def leaves(loss):
    pending, seen, found = [loss.grad_fn], set(), []
    while pending:
        node = pending.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        found.append(node)
        pending += [following for following, _ in node.next_functions]
    return [node.variable for node in found if hasattr(node, "variable")]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_the_contributions_add_up_to_the_gradient(name, engine):
    torch = pytest.importorskip(engine)
    loss = programs.PROGRAMS[name](torch)
    tensors = leaves(loss)
    for x in tensors[:6]:
        (expected,) = torch.autograd.grad(loss, x, retain_graph=True)
        made = explain(x, loss)
        total = sum(c.value.array for c in made.contributions)
        scale = float(expected.abs().max()) or 1.0
        np.testing.assert_allclose(total, expected.numpy(), rtol=1e-4, atol=1e-5 * scale)
        assert made.paths == sum(c.paths for c in made.contributions)
        assert x.grad is None


@pytest.mark.parametrize("engine", ENGINES)
def test_each_path_is_a_product_of_its_factors(engine):
    torch = pytest.importorskip(engine)
    x = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    a = x.sin()
    loss = a * x + a.exp() * 2
    made = explain(x, loss)
    sine, cosine = np.sin(1.5), np.cos(1.5)
    found = sorted(float(c.value.array) for c in made.contributions)
    assert found == pytest.approx(sorted([sine, 1.5 * cosine, 2 * np.exp(sine) * cosine]))
    for part in made.contributions:
        assert np.prod(part.factors) == pytest.approx(float(part.value.array))


@pytest.mark.parametrize("engine", ENGINES)
def test_text_of_the_square(engine):
    torch = pytest.importorskip(engine)
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    text = str(explain(x)).splitlines()
    assert text[0] == "The gradient of y = 4 with respect to x, 4, by 2 paths:"
    assert text[2].startswith("  1. y ← mul ← x  1 · 2 = 2")
    assert text[3].startswith("  2. y ← mul ← x  1 · 2 = 2")
    assert text[4].split() == ["sum", "4"]
    assert text[-1] == "x.grad is empty: no backward() has put it there yet."
    y.backward(retain_graph=True)
    assert str(explain(x)).endswith("x.grad holds just this.")
    y.backward(retain_graph=True)
    assert "x.grad holds 8, which is not this alone" in str(explain(x, y))


@pytest.mark.parametrize("engine", ENGINES)
def test_many_paths_are_told_by_use(engine):
    torch = pytest.importorskip(engine)
    x = torch.tensor(2.0, requires_grad=True)
    loss = x
    for _ in range(40):
        loss = loss * 0.5 + loss * 0.5
    loss = loss * x
    made = explain(x, loss)
    assert made.paths == 2**40 + 1
    assert len(made.contributions) == 3
    assert sum(c.paths for c in made.contributions) == made.paths
    assert float(sum(c.value.array for c in made.contributions)) == pytest.approx(4.0)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_needed_is_said(engine):
    torch = pytest.importorskip(engine)
    x = torch.tensor(2.0, requires_grad=True)
    other = torch.tensor(1.0, requires_grad=True)
    with pytest.raises(ValueError, match="None of your variables depends on x"):
        explain(x)
    y, z = x * x, x.exp()
    with pytest.raises(ValueError, match=r"several \(y, z\)"):
        explain(x)
    assert "gets no gradient from" in str(explain(other, y))
    y.backward()
    with pytest.raises(RuntimeError, match=r"retain_graph=True"):
        explain(x, y)
    with pytest.raises(ValueError, match="requires_grad=False"):
        explain(torch.tensor(1.0), z)
    with pytest.raises(TypeError, match="x must be a tensor"):
        explain(3.0)
    with pytest.raises(ValueError, match="loss must be a tensor with a history"):
        explain(x, torch.tensor(1.0))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_tensor_that_is_no_leaf(engine):
    torch = pytest.importorskip(engine)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 3
    loss = (h * h).sum()
    made = explain(h, loss)
    assert sum(c.value.array for c in made.contributions).tolist() == [6.0, 12.0]
    assert "h is no leaf" in str(made)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_large_tensor_is_told_by_norms(engine):
    torch = pytest.importorskip(engine)
    x = torch.ones(300, 300, requires_grad=True)
    loss = (x * x).sum()
    made = explain(x, loss)
    assert [c.value.norm for c in made.contributions] == pytest.approx([300.0, 300.0])
    assert made.total.norm == pytest.approx(600.0)
    assert "‖·‖ = 600, by 2 paths" in str(made)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_result_of_several_numbers_needs_a_gradient_to_start_from(engine):
    torch = pytest.importorskip(engine)
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    with pytest.raises(ValueError, match=r"shape \(3,\) is no single number; say with gradient="):
        explain(x, y)
    with pytest.raises(TypeError, match="gradient must be a tensor, not list"):
        explain(x, y, gradient=[1.0, 1.0, 1.0])
    made = explain(x, y, gradient=torch.tensor([1.0, 10.0, 100.0]))
    assert made.total.array.tolist() == [2.0, 40.0, 600.0]
    assert [c.value.array.tolist() for c in made.contributions] == [[1.0, 20.0, 300.0]] * 2
    first = str(made).splitlines()[0]
    assert first == (
        "The gradient of y = [1, 4, 9], weighted by [1, 10, 100], with respect to x, [2, 40, 600], by 2 paths:"
    )
    assert x.grad is None


@pytest.mark.parametrize("engine", ENGINES)
def test_factors_begin_with_the_gradient_that_is_given(engine):
    torch = pytest.importorskip(engine)
    x = torch.tensor(2.0, requires_grad=True)
    made = explain(x, x.exp() * 3, gradient=torch.tensor(5.0))
    (only,) = made.contributions
    assert only.factors[0] == pytest.approx(5.0)
    assert np.prod(only.factors) == pytest.approx(float(only.value.array))


# --- said truly -------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_the_wrong_order_is_said(engine):
    torch = pytest.importorskip(engine)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * 3
    loss = h.sum()
    for first, second, names in (
        (loss, w, ("w", "loss")),
        (h, w, ("w", "h")),
        (loss, h, ("h", "loss")),
    ):
        with pytest.raises(
            ValueError, match=rf"the other way round.*explain\({names[0]}, {names[1]}\)"
        ):
            explain(first, second)
    assert explain(h, loss).total is not None


@pytest.mark.parametrize("engine", ENGINES)
def test_every_path_has_its_line(engine):
    torch = pytest.importorskip(engine)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * 3
    loss = (h * h + w).sum()
    lines = [c.site.text for c in explain(w, loss).contributions]
    assert sorted(lines) == ["h = w * 3", "h = w * 3", "loss = (h * h + w).sum()"]


def test_a_line_that_cannot_be_told_is_not_told():
    torch = pytest.importorskip("torch")
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    kept = [w.exp()]
    h = w * 2
    h = h * 3
    loss = h.sum() + kept[0].sum()
    sites = {c.through[-2]: c.site for c in explain(w, loss).contributions}
    assert sites == {"mul": None, "exp": None}


def test_in_anomaly_mode_the_line_is_pytorchs_own():
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is on
        with torch.autograd.detect_anomaly(check_nan=False):
            w = torch.tensor([1.0, 2.0], requires_grad=True)
            kept = [w.exp()]
            loss = kept[0].sum()
    (part,) = explain(w, loss).contributions
    assert part.site.text == "kept = [w.exp()]"


@pytest.mark.parametrize("engine", ENGINES)
def test_what_has_no_name_is_not_called_a_loss(engine):
    torch = pytest.importorskip(engine)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    said = str(explain(w, (w * w).sum()))
    assert "loss" not in said
    assert said.startswith("The gradient of the result = 5 with respect to w")

    def program():
        return (w * w).sum()

    assert [n.symbol for n in view(program).graph.nodes if n.root] == ["result"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_notebook_shows_the_answer_first_and_then_its_parts(engine):
    torch = pytest.importorskip(engine)
    w = torch.tensor(3.0, requires_grad=True)
    loss = w * w
    found = explain(w, loss)
    html = found._repr_html_()
    assert html.index("The gradient of loss = 9 with respect to w, 6") < html.index("<table")
    for part in found.contributions:
        assert part.value.text in html
    assert html.count("<tr>") == 1 + len(found.contributions) + 1
    nothing = explain(torch.tensor(1.0, requires_grad=True), loss)
    assert "gets no gradient" in nothing._repr_html_()
