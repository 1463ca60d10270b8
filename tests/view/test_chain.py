"""The chain rule as the page writes it: the numbers are the engine's, and a wrong rule is never shown."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

from tautograd import view
from tautograd._view import chain, rules
from tests.both import ENGINES

SINGLE = {
    "mul": lambda t, a, b: a * b,
    "add": lambda t, a, b: a + b,
    "sub": lambda t, a, b: a - b,
    "rsub": lambda t, a, b: 3 - a,
    "div": lambda t, a, b: a / b,
    "pow": lambda t, a, b: a**b,
    "neg": lambda t, a, b: -a,
    "gelu": lambda t, a, b: t.nn.functional.gelu(a),
    "silu": lambda t, a, b: t.nn.functional.silu(a),
    "softplus": lambda t, a, b: t.nn.functional.softplus(a),
    "mse_loss": lambda t, a, b: t.nn.functional.mse_loss(a, b),
    "softmax": lambda t, a, b: (t.softmax(a, -1) * b).sum(),
    "log_softmax": lambda t, a, b: (t.log_softmax(a, -1) * b).sum(),
    "sum": lambda t, a, b: a.sum(),
    "mean": lambda t, a, b: a.mean(0).sum(),
    "view": lambda t, a, b: (a.view(-1) * b.reshape(-1)).sum(),
    "t": lambda t, a, b: (a.t() * b.reshape(3, 2)).sum(),
    "transpose": lambda t, a, b: (a.transpose(0, 1) * b.reshape(3, 2)).sum(),
    "permute": lambda t, a, b: (a.permute(1, 0) * b.reshape(3, 2)).sum(),
    "unsqueeze": lambda t, a, b: (a.unsqueeze(0) * b).sum(),
    "squeeze": lambda t, a, b: (a.unsqueeze(0).squeeze(0) * b).sum(),
    "mm": lambda t, a, b: a @ b.t(),
    "addmm": lambda t, a, b: t.addmm(b[:, :2], a, b.t()),
    "bmm": lambda t, a, b: t.bmm(a.unsqueeze(0), b.t().unsqueeze(0)),
    "dot": lambda t, a, b: t.dot(a[0], b[0]),
    **{
        name: lambda t, a, b, name=name: getattr(t, name)(a)
        for name in (
            *("exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "tan"),
            *("tanh", "sigmoid", "relu", "abs", "erf", "clone"),
        )
    },
}
UNTESTED = {"unsafe_view", "_unsafe_view", "reshape_alias", "_reshape_alias", "reshape"} | {
    "alias",
    "flatten",
}  # other names for `view`, which no call gives by itself


def written(torch: Any, name: str) -> tuple[Any, list[chain.Written]]:
    a = torch.tensor([[0.3, 1.2, 0.7], [0.9, 0.4, 1.5]], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([[1.1, 0.8, 0.5], [0.6, 1.3, 0.2]], dtype=torch.float64, requires_grad=True)
    weights = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)

    def program(a, b):
        out = SINGLE[name](torch, a, b)
        if out.dim() == 0:
            return out * 1.5
        return (out * weights[: out.shape[-1]]).sum()

    graph = view(program, a, b).graph
    writer = chain.Writer(graph)
    steps = [writer.step(n) for n in graph.nodes if n.operation == name and n.number in graph.steps]
    return graph, steps


def test_every_rule_has_a_test():
    assert set(SINGLE) | UNTESTED == set(rules.RULES)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SINGLE)
def test_each_rule_is_shown_where_it_holds(name, engine):
    torch = pytest.importorskip(engine)
    _, steps = written(torch, name)
    assert steps
    for step in steps:
        for _, lines in step.gives:
            assert "→" not in chain.as_text(lines[-1]), f"{step.title}: no formula was shown"


@pytest.mark.parametrize("name", SINGLE)
def test_a_wrong_rule_is_never_shown(name, monkeypatch):
    import tautograd as torch

    rule = rules.RULES[name]
    monkeypatch.setitem(rules.RULES, name, dataclasses.replace(rule, parts=_broken(rule.parts)))
    _, steps = written(torch, name)
    for step in steps:
        for _, lines in step.gives:
            assert len(lines[0]) <= 6, "symbols alone: no factor is claimed"
            assert " · " not in chain.as_text(lines[-1])


def _broken(parts: Any) -> Any:
    made = []
    for part in parts:
        if isinstance(part, rules.Factor):
            value = part.value
            part = dataclasses.replace(part, value=lambda xs, y, v=value: v(xs, y) * 1.01)
        elif isinstance(part, rules.Product):
            value = part.value
            part = dataclasses.replace(part, value=lambda g, xs, v=value: v(g, xs) * 1.01)
        else:
            value = part.value
            part = dataclasses.replace(
                part, value=lambda g, xs, like, v=value: (w * 1.01 for w in v(g, xs, like))
            )
        made.append(part)
    return tuple(made)


NUMBER = r"−?(?:\d+\.?\d*(?:e-?\d+)?)"


def value_of(text: str) -> float:
    return float(text.replace("−", "-"))


@pytest.mark.parametrize("engine", ENGINES)
def test_products_in_numbers_come_out(engine):
    """`0.5 · (−2) = −1` is true of every line that has this form, to the digits shown."""
    torch = pytest.importorskip(engine)
    seen = 0
    for name in ("mul", "div", "exp", "tanh", "sigmoid", "pow", "mse_loss"):
        graph, steps = written(torch, name)
        for step in steps:
            for index, lines in step.gives:
                text = chain.as_text(lines[1])
                match = re.search(rf"\(?({NUMBER})\)? · \(?({NUMBER})\)? = ({NUMBER})$", text)
                assert match, text
                one, other, product = map(value_of, match.groups())
                assert one * other == pytest.approx(product, rel=2e-3)
                largest = np.abs(graph.edges[index].gradient.array).max()
                assert abs(product) == pytest.approx(largest, rel=1e-3)
                seen += 1
    assert seen > 8


@pytest.mark.parametrize("engine", ENGINES)
def test_the_square_as_a_learner_reads_it(engine):
    torch = pytest.importorskip(engine)
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    graph = view(y).graph
    writer = chain.Writer(graph)
    product, leaf = (writer.step(graph.nodes[n]) for n in graph.steps)
    assert product.title == "y = x · x"
    assert [chain.as_text(line) for _, lines in product.gives for line in lines] == [
        "use 1 of 2: ∂y/∂x ⟵ ∂y/∂y · ∂y/∂x = ∂y/∂y · x",
        "1 · 2 = 2",
        "use 2 of 2: ∂y/∂x ⟵ ∂y/∂y · ∂y/∂x = ∂y/∂y · x",
        "1 · 2 = 2",
    ]
    assert [chain.as_text(line) for line in leaf.arrives] == [
        "2 uses add up: ∂y/∂x = 2 + 2 = 4",
        "This is x.grad.",
    ]
