"""Where compiled functions on the GPU end or change: arguments, guards, what is not a graph, what is
refused.

Checks like those in `compiled`, which runs them.
"""

from __future__ import annotations

from typing import Any

import tautograd as torch
from tautograd import nn
from tautograd._compile.messages.errors import CompileError
from tools.gpu.compiled import CLOSE, apart, check, graph_of


@check
def results_and_arguments() -> str:
    """Fresh results, modified arguments, views, numbers on the CPU, scalars that change."""
    weight = torch.tensor(2.0)

    @torch.compile
    def f(x: Any, y: Any) -> Any:
        y.mul_(2)
        z = x * weight + y
        return z, z.sum(0), x.T

    kept = []
    for number in range(6):
        weight.fill_(number)
        x, y = torch.full((3, 4), 1.0 + number).cuda(), torch.full((3, 4), 0.5).cuda()
        z, total, view = f(x, y)
        assert y.tolist() == [[1.0] * 4] * 3
        assert z.tolist() == [[(1.0 + number) * number + 1] * 4] * 3
        assert total.tolist() == [3 * z[0, 0].item()] * 4
        assert view.data_ptr() == x.data_ptr()
        kept.append((z, z.tolist()))
    assert all(z.tolist() == before for z, before in kept), "a result was written over"
    return "as they are without"


@check
def inputs_from_the_cpu() -> str:
    """Tensors that the step itself transfers, and numbers that change."""
    model = nn.Linear(4, 2).to("cuda")

    def plain(x: Any, factor: float) -> Any:
        return (model(x.to("cuda")) * factor).sum()

    compiled = torch.compile(plain)
    for number in range(8):
        torch.manual_seed(number)
        x = torch.randn(300, 4)
        want = plain(x, number / 2)
        x = x.pin_memory() if number % 2 else x
        found = compiled(x, number / 2)
        x.fill_(9)  # this must no longer reach the GPU
        assert apart(found, want) < 10 * CLOSE
    assert compiled.records == 1, f"{compiled.records} records"
    return "one record"


@check
def guards() -> str:
    model = nn.Linear(4, 2).to("cuda")

    @torch.compile
    def f(x: Any) -> Any:
        return model(x).sum()

    for rows in (3, 3, 3, 5, 5, 5, 3):
        x = torch.ones(rows, 4).cuda()
        assert apart(f(x), model(x).sum()) < CLOSE
    records = f.records
    assert records == 2, f"{records} records of two shapes"
    model.weight.data = torch.zeros(2, 4).cuda()
    for _ in range(4):
        x = torch.ones(3, 4).cuda()
        assert apart(f(x), model(x).sum()) < CLOSE
    x = torch.ones(3, 4)
    other = nn.Linear(4, 2)
    g = torch.compile(lambda m, x: m(x).sum())
    for _ in range(4):
        assert apart(g(other, x), other(x).sum()) < CLOSE
        assert apart(g(model, x.cuda()), model(x.cuda()).sum()) < CLOSE
    before = f.records
    for precision in ("high", "highest", "high"):
        torch.set_float32_matmul_precision(precision)
        for _ in range(3):
            f(torch.ones(3, 4).cuda())
    torch.set_float32_matmul_precision("highest")
    assert f.records == before + 1, "products of another precision"
    return f"{f.records} records; shapes, memory, devices and precisions are told apart"


@check
def without_a_graph() -> str:
    """Steps that wait for the GPU, or draw in main memory: correct, without a graph, not stuck."""

    @torch.compile
    def solved(a: Any) -> Any:
        return torch.linalg.cholesky(a @ a.T + torch.eye(4, device="cuda")).sum()

    for number in range(5):
        torch.manual_seed(number)
        a = torch.randn(4, 4).cuda()
        want = torch.linalg.cholesky(a @ a.T + torch.eye(4, device="cuda")).sum()
        assert apart(solved(a), want) < 1e-4
    assert graph_of(solved), "was captured"

    def drawn(x: Any) -> Any:
        return x + torch.poisson(x)

    compiled = torch.compile(drawn)
    for number in range(5):
        both = []
        for f in (drawn, compiled):
            torch.manual_seed(number)
            both.append(f(torch.full((5,), 3.0).cuda()).tolist())
        assert both[0] == both[1]
    assert graph_of(compiled), "numbers of one draw would be repeated"
    assert not torch.cuda.is_current_stream_capturing()
    assert (torch.ones(3).cuda() * 2).sum().item() == 6
    return f"{graph_of(solved)[:60]}; {graph_of(compiled)}"


@check
def refusals() -> str:
    @torch.compile
    def f(x: Any) -> Any:
        return x * 2 if x.sum().item() > 0 else x

    @torch.compile
    def g(x: Any) -> Any:
        return (x * 2).cpu()

    for function in (f, g):
        x = torch.ones(3).cuda()
        function(x)
        try:
            function(x)
        except CompileError as error:
            text = str(error).splitlines()[0]
        else:
            raise AssertionError("was recorded")
    assert (torch.ones(3).cuda() + 1).tolist() == [2, 2, 2]
    return text
