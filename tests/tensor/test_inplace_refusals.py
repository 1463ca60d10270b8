"""In-place changes that autograd cannot follow, or memory cannot take: refused as in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

from .both_engines import Program, agree, attempt
from .test_inplace_views import leaf

PROGRAMS: list[Program] = []


def program(fn: Program) -> Program:
    PROGRAMS.append(fn)
    return fn


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda fn: fn.__name__)
def test_both_engines_agree(program: Program) -> None:
    agree(program)


WRITES = (
    "x.add_(1)", "x.mul_(x)", "x.zero_()", "x.fill_(2)", "x.copy_(x.detach() * 2)",
    "x.clamp_(min=2)", "x.__setitem__(0, 1.0)", "x.__iadd__(1)", "x.sqrt_()", "x.relu_()",
    "x.masked_fill_(x > 1, 0.0)", "x.detach_()", "x.tril_()", "x.requires_grad_(False)",
    "x.data.mul_(2)", "x.index_fill_(0, torch.tensor([0]), 1.0)", "x.t_()",
)  # fmt: skip
TARGETS = {
    "a leaf": "a",
    "a view of a leaf": "a[:2]",
    "a view of a view of a leaf": "a.t().t()[1:]",
    "one of unbind": "(a * 1).unbind()[1].view(1, 2)",
    "one of split": "(a * 1).split(2)[0]",
    "one of chunk": "(a * 1).chunk(2, 0)[0]",
    "one of tensor_split": "(a * 1).tensor_split(2)[0]",
    "a view of one of split": "(a * 1).split(2)[0].t()",
    "an iterated row": "next(iter(a * 1)).view(1, 2)",
    "one of unsafe_split": "(a * 1).unsafe_split(2)[0]",
    "one of split, no gradient": "a.detach().split(2)[0]",
    "one of split of a leaf": "a.split(2)[0]",
    "a view made in no_grad": "view_in_no_grad(a * 1)",
    "a view of a leaf made in no_grad": "view_in_no_grad(a)",
    "a view in no_grad of plain memory": "view_in_no_grad(a.detach())",
    "one of unbind made in no_grad": "unbound_in_no_grad(a * 1)",
    "an expanded row": "(a * 1)[:1].expand(2, 2)",
    "plain memory expanded": "torch.ones(1, 2).expand(2, 2)",
    "expanded to nothing": "torch.ones(1, 2).expand(0, 2)",
    "expanded by one": "torch.ones(1, 2).expand(1, 2)",
}


def targets(torch: Any, name: str) -> Any:
    def view_in_no_grad(x: Any) -> Any:
        with torch.no_grad():
            return x[:2]

    def unbound_in_no_grad(x: Any) -> Any:
        with torch.no_grad():
            return x.unbind()[0].view(1, 2)

    scope = {"torch": torch, "a": leaf(torch, 4, 2), **locals()}
    return eval(TARGETS[name], scope)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("write", WRITES)
def test_a_write_into(target: str, write: str) -> None:
    if "expanded" in target and any(name in write for name in ("masked", "tril", "index_fill")):
        return  # PyTorch writes into a place as often as it is shown, which it has deprecated

    def program(torch: Any) -> Any:
        x = targets(torch, target)
        result = attempt(lambda: eval(write, {"torch": torch, "x": x}))
        seen = attempt(lambda: [x.requires_grad, x.is_leaf, x.grad_fn and x.grad_fn.name()])
        return [result, seen]

    def silently(torch: Any) -> Any:
        x = targets(torch, target)
        with torch.no_grad():
            result = attempt(lambda: eval(write, {"torch": torch, "x": x}))
        return [result, x.requires_grad]

    agree(program)
    agree(silently)


# --- inference mode -------------------------------------------------------------------------------


@program
def inference_tensors_outside(torch: Any) -> Any:
    with torch.inference_mode():
        x = torch.ones(2, 2)
        y = x[0]
        inside = [x.add_(1).tolist(), y.mul_(2).tolist()]
    return [
        inside, x.view(4).tolist(), x.is_inference(), y.is_inference(),
        x.view(4).is_inference(), x[0].is_inference(), x[0]._is_view(), y._is_view(),
        attempt(lambda: x.add_(1)), attempt(lambda: x[0].add_(1)), attempt(lambda: x._version),
        attempt(x.requires_grad_), attempt(lambda: torch.zeros(2, 2).add_(x * 0)),
        attempt(lambda: torch.ones(2, 2, requires_grad=True).clone().add_(x * 0)),
        attempt(lambda: torch.ones(2, 2, requires_grad=True) * x),
        attempt(lambda: torch.ones(2, 2, requires_grad=True) + x * 0),
    ]  # fmt: skip


@program
def normal_tensors_inside(torch: Any) -> Any:
    a = torch.ones(3, requires_grad=True)
    x = a * 2
    with torch.inference_mode():
        y = x[1:]
        seen = [y.is_inference(), y.requires_grad, x.is_inference(), x._version]
        x.add_(1)
        seen += [x._version, (x * 2).is_inference(), y._is_view()]
    return [seen, attempt(lambda: y.add_(1)), attempt(lambda: y.grad_fn), x._version]


# --- overlapping memory ---------------------------------------------------------------------------

OVERLAPS = (
    "x[1:].add_(x[:-1])", "x[1:].copy_(x[:-1])", "x[:-1].mul_(x[1:])", "x.add_(x)",
    "x[::2].add_(x[1::2])", "x[1:] += x[:-1]", "x[1:].__setitem__(slice(None), x[:-1])",
    "x.view(3, 2).add_(x.view(2, 3).t())", "torch.add(x[1:], 1, out=x[:-1])",
    "torch.add(x, 1, out=x)", "torch.exp(x[:-1], out=x[1:])", "x.expand(2, 6).add_(1)",
    "x[:1].expand(3).mul_(2)", "x[:1].expand(3).copy_(torch.ones(3))", "x[:1].expand(3).fill_(2)",
    "x[:1].expand(3).zero_()", "x.as_strided((2, 2), (2, 1)).mul_(2)",
    "x[:1].expand(3).__setitem__(0, 5.0)", "x[:1].expand(3).clamp_(0)",
    "x.as_strided((3, 2), (1, 3)).add_(1)", "x[:1].expand(3).relu_()", "x[2:5].add_(x[2:5])",
    "x[:3].add_(x[3:])", "x[::2].copy_(x[::2])", "x[:4].copy_(x[2:])",
    "x.view(2, 3).copy_(x.view(2, 3).flip(0))", "x.view(6).lerp_(x[:1], 0.5)",
    "x[:1].expand(2).cumsum_(0)", "x.view(2, 3).t().copy_(x.view(3, 2))",
    "torch.cat([x[:3], x[3:]], out=x)", "x.sub_(x[0])", "x.mul_(x[-1:])", "x[:3].sub_(x[:1])",
)  # fmt: skip


@pytest.mark.parametrize("call", OVERLAPS)
def test_overlapping_memory(call: str) -> None:
    def program(torch: Any) -> Any:
        scope = {"torch": torch, "x": torch.arange(1.0, 7.0)}
        if "+=" in call:
            return [attempt(lambda: exec(call, scope)), scope["x"]]
        return [attempt(lambda: eval(call, scope)), scope["x"]]

    agree(program)


# --- shapes and dtypes of what is written ---------------------------------------------------------

MISFITS = (
    "x.add_(torch.ones(3, 2))", "x.copy_(torch.ones(2))", "x.copy_(torch.ones(2, 3, 2))",
    "x.copy_(3)", "x.copy_('a')", "x.fill_(torch.ones(2))", "x.fill_('a')", "x.fill_(1j)",
    "x.long().add_(1.5)", "x.long().mul_(torch.ones(2, 2))", "x.bool().add_(1)",
    "x.copy_(torch.ones(2, 2) * 1j)", "x.add_(1j)", "x.long().copy_(torch.ones(2, 2) * 1.7)",
    "x.bool().copy_(x)", "x.long().fill_(2.7)", "x[0].add_(x)", "x.__setitem__(0, torch.ones(3))",
    "x.__setitem__(5, 1.0)", "x.resize_as_(torch.ones(3))", "x.resize_(2, 1)",
    "x.resize_(3, 2)[:2]", "x[1:].resize_(1, 2)", "x.t().resize_(4)",
)  # fmt: skip


@pytest.mark.parametrize("call", MISFITS)
def test_what_does_not_fit(call: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.arange(4.0).view(2, 2)
        outcome = attempt(lambda: eval(call, {"torch": torch, "x": x}))
        return [outcome, x[:2].sum().item() >= 0]  # what `resize_` adds may hold anything

    agree(program)
