# ruff: noqa: PLW0108  (only a function of Python can be traced)
"""`fx.replace_pattern`: the same places are found, and the same source is written, as by PyTorch."""

from __future__ import annotations

import pytest
import torch

from tests.both import same


def programs(torch):
    """Name -> a function, the pattern in it, what replaces it, and inputs."""
    nn = torch.nn
    vector = lambda: torch.arange(1.0, 4.0)  # noqa: E731
    return {
        "twice": (
            lambda x, a, b: x + torch.cat([a.neg(), b]).sum() + torch.cat([b.neg(), a]).sum(),
            lambda p, q: torch.cat([p.neg(), q]).sum(),
            lambda p, q: torch.stack([p, q]).max(),
            (vector(), vector() * 2, vector() * 3),
        ),
        "one result after another": (
            lambda x: torch.relu(torch.relu(torch.relu(x - 2))),
            lambda y: torch.relu(y),
            lambda y: torch.sigmoid(y) * 2,
            (vector(),),
        ),
        "overlapping": (
            lambda x: torch.neg(torch.neg(torch.neg(x))),
            lambda y: torch.neg(torch.neg(y)),
            lambda y: y * 1,
            (vector(),),
        ),
        "what is used elsewhere stays": (
            lambda x: (x.exp(), x.exp().log()),
            lambda y: y.exp().log(),
            lambda y: y + 0,
            (vector(),),
        ),
        "a value between that is used elsewhere": (
            lambda x, y: torch.add(z := x.exp(), z.log()) * y.exp().log(),
            lambda y: y.exp().log(),
            lambda y: y + 0,
            (vector(), vector()),
        ),
        "other numbers": (
            lambda x: torch.clamp(x, 0, 2) + torch.clamp(x, 0, 1),
            lambda y: torch.clamp(y, 0, 2),
            lambda y: y / 2,
            (vector(),),
        ),
        "a number for an input": (
            lambda x: torch.add(x, 3) + torch.add(x, x),
            lambda p, q: torch.add(p, q),
            lambda p, q: torch.mul(p, q),
            (vector(),),
        ),
        "keywords": (
            lambda x: x.sum(dim=0, keepdim=True) + x.sum(0, True),
            lambda y: y.sum(dim=0, keepdim=True),
            lambda y: y.mean(dim=0, keepdim=True),
            (vector(),),
        ),
        "several results": (
            lambda x: torch.neg(x) + torch.exp(x),
            lambda y: (torch.neg(y), torch.exp(y)),
            lambda y: (y * 2, y * 3),
            (vector(),),
        ),
        "the same input twice": (
            lambda x, y: x * x + x * y,
            lambda p: p * p,
            lambda p: p**2,
            (vector(), vector() + 1),
        ),
        "nowhere": (
            lambda x: x.sin(),
            lambda y: y.cos(),
            lambda y: y,
            (vector(),),
        ),
        "a module": (
            nn.Sequential(nn.ReLU(), nn.Tanh()),
            lambda y: y.relu(),
            lambda y: y,
            (vector(),),
        ),
    }


NAMES = sorted(programs(torch))


@pytest.mark.parametrize("name", NAMES)
@same
def test_source_and_results(torch, name):
    function, pattern, replacement, inputs = programs(torch)[name]
    module = torch.fx.symbolic_trace(function)
    places = torch.fx.replace_pattern(module, pattern, replacement)
    module.graph.lint()
    return [
        module.code,
        [str(p.anchor) for p in places],
        [{str(k): str(v) for k, v in p.nodes_map.items()} for p in places],
        module(*inputs),
    ]


@same
def test_filters_and_callbacks(torch):
    rewriter = torch.fx.subgraph_rewriter
    module = torch.fx.symbolic_trace(lambda x: torch.relu(x.exp()) + torch.relu(x.sin()))
    places = rewriter.replace_pattern_with_filters(
        module,
        lambda y: torch.relu(y),
        lambda y: torch.tanh(y),
        match_filters=[lambda match, graph, wanted: len(list(graph.nodes)) > 3],
    )
    shown = [module.code, [[str(n) for n in p.replacements] for p in places]]
    none = rewriter.replace_pattern_with_filters(
        module, lambda y: torch.tanh(y), lambda y: y, match_filters=[lambda *given: False]
    )
    return [*shown, len(none), module.code]


@same
def test_a_replacement_with_modules_of_its_own(torch):
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)
            self.shift = torch.nn.Parameter(torch.ones(3))

        def forward(self, y):
            return self.linear(y) + self.shift

    torch.manual_seed(0)
    module = torch.fx.symbolic_trace(lambda x: torch.relu(x) * 2)
    new = Scaled()
    torch.fx.replace_pattern(module, lambda y: torch.relu(y), new)
    x = torch.arange(3.0)
    return [
        module.code,
        torch.equal(module(x), new(x) * 2),
        sorted(dict(module.named_parameters())),
    ]
