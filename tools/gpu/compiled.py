"""Compiled functions on the GPU beside the same functions as they are written.

Each check is a function that returns a line of text, or raises. Both run from the same numbers on the same
inputs; results, parameters, gradients, states and the random stream are compared after each step.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import tautograd as torch  # noqa: E402
from bench.steps import STEPS  # noqa: E402
from tautograd import nn  # noqa: E402
from tautograd._compile.errors import CompileError  # noqa: E402

CHECKS: list[tuple[str, Callable[[], str]]] = []
CLOSE = 2e-5  # of the largest number: sums in another order, over a few steps


def check(function: Any) -> Any:
    CHECKS.append((function.__name__, function))
    return function


def apart(a: Any, b: Any) -> float:
    """How far two tensors are from each other, against the largest number."""
    a, b = (t.detach().cpu().to(torch.float64) for t in (a, b))
    if not a.numel():
        return 0.0
    return float((a - b).abs().max() / max(float(b.abs().max()), 1e-6))


def lockstep(
    make: Callable[[], Any],
    calls: int = 8,
    inputs: Callable[[int], Any] = lambda i: (),
    **options: Any,
) -> tuple[float, Any]:
    """Two copies of a step, one compiled; how far apart they were at most, and the compiled one."""
    worst = 0.0
    torch.manual_seed(3)
    eager, of_eager, before = make()
    torch.manual_seed(3)
    plain, of_plain, other_before = make()
    compiled = torch.compile(plain, **options)
    for number in range(calls):
        results = []
        for step, prepare in ((eager, before), (compiled, other_before)):
            torch.manual_seed(100 + number)
            prepare(number)
            results.append((step(*inputs(number)), torch.cuda.get_rng_state().tolist()))
        worst = max(worst, apart(results[1][0], results[0][0]))
        assert results[0][1] == results[1][1], f"call {number}: another random stream"
        for a, b in zip(of_plain(), of_eager(), strict=True):
            worst = max(worst, apart(a, b))
    return worst, compiled


def training(model: Any, optimizer: Any, loss_of: Callable[..., Any]) -> Any:
    """A step, what it changes, and what is done before each (a schedule)."""

    def step(*args: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(*args)
        loss.backward()
        optimizer.step()
        return loss

    def seen() -> list[Any]:
        return [*model.parameters(), *model.buffers(), *(p.grad for p in model.parameters())]

    def prepare(number: int) -> None:
        for group in optimizer.param_groups:
            group["lr"] = group["lr"] * 0.9

    return step, seen, prepare


def graph_of(compiled: Any) -> str:
    """Why the program that ran last is no graph; empty if it is one."""
    replay = compiled._last.replay_of
    why = str(replay.why_no_graph)
    return why or ("" if replay.is_graph else "not captured yet")


def must_be_close(worst: float, bound: float = CLOSE) -> str:
    assert worst <= bound, f"apart by {worst:.1e}"
    return f"apart by {worst:.1e} at most"


@check
def steps() -> str:
    """The steps of the bench: each one graph, one record for all learning rates."""
    texts = []
    for name in ("linear", "mlp", "gpt", "cnn"):
        step = STEPS[name]

        def make(step: Any = step) -> Any:
            torch.set_default_device("cuda")
            model, x, y, criterion = step.build(torch, **step.sizes)
            optimizer = getattr(torch.optim, step.optimizer)(model.parameters(), lr=1e-3)
            torch.set_default_device("cpu")
            return training(model, optimizer, lambda: criterion(model(x), y))

        worst, compiled = lockstep(make)
        assert compiled.records == 1, f"{name}: {compiled.records} records"
        assert not graph_of(compiled), f"{name}: {graph_of(compiled)}"
        texts.append(f"{name} {worst:.0e}")
        assert worst < 1e-3, texts
    return ", ".join(texts)


def small(optimizer: Callable[[Any], Any], dropout: float = 0.0, dtype: Any = None) -> Any:
    model = nn.Sequential(
        nn.Linear(6, 16), nn.Tanh(), nn.Dropout(dropout), nn.LayerNorm(16), nn.Linear(16, 4)
    )
    model = model.to("cuda", dtype)
    return training(
        model, optimizer(model.parameters()), lambda x, y: nn.functional.cross_entropy(model(x), y)
    )


def batches(number: int) -> Any:
    torch.manual_seed(number)
    x, y = torch.randn(20, 6), torch.randint(0, 4, (20,))
    torch.manual_seed(100 + number)
    return x.to("cuda"), y.to("cuda")


@check
def optimizers() -> str:
    kinds: dict[str, dict[str, Any]] = {
        "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
        "Adam": {"amsgrad": True},
        "AdamW": {},
        "Adamax": {},
        "NAdam": {},
        "RAdam": {},
        "Adagrad": {},
        "Adadelta": {},
        "RMSprop": {"centered": True, "momentum": 0.5},
        "Rprop": {},
        "ASGD": {},
    }
    worst = 0.0
    for kind, options in kinds.items():
        found, compiled = lockstep(
            lambda k=kind, o=options: small(lambda p: getattr(torch.optim, k)(p, **o)), 8, batches
        )
        assert found <= 1e-4, f"{kind}: apart by {found:.1e}"
        assert compiled._last is not None, f"{kind} was never recorded"
        worst = max(worst, found)
    return f"{len(kinds)} kinds, {must_be_close(worst, 1e-4)}"


@check
def dropout() -> str:
    worst, compiled = lockstep(lambda: small(torch.optim.Adam, 0.5), 8, batches)
    assert not graph_of(compiled), graph_of(compiled)
    return must_be_close(worst, 1e-4) + ", with the same random stream, as a graph"


@check
def precisions() -> str:
    texts = []
    bounds = {torch.float64: 1e-12, torch.float16: 2e-2, torch.bfloat16: 5e-2}
    for dtype, bound in bounds.items():

        def step(x: Any) -> Any:
            return torch.nn.functional.gelu(x * 2 + 1).softmax(-1).mean(0)

        def make(step: Any = step) -> Any:
            return step, list, lambda number: None

        def inputs(number: int, dtype: Any = dtype) -> Any:
            torch.manual_seed(number)
            return (torch.randn(33, 70).to("cuda", dtype),)

        worst, _ = lockstep(make, 5, inputs)
        texts.append(f"{dtype} " + must_be_close(worst, bound))
    return "; ".join(texts)


@check
def backward_outside() -> str:
    """A compiled module: two calls before a backward, each with its own gradients."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3)).to("cuda")
    compiled = torch.compile(model)
    worst = 0.0
    for _ in range(6):
        x, z = torch.randn(5, 6).to("cuda"), torch.randn(5, 6).to("cuda")
        grads = []
        for f in (model, compiled):
            model.zero_grad()
            a, b = f(x), f(z)
            (a.square().sum() + b.sum()).backward()
            grads.append([p.grad.clone() for p in model.parameters()])
        worst = max([worst, *(apart(a, b) for a, b in zip(grads[1], grads[0], strict=True))])
    return must_be_close(worst)


@check
def results_and_arguments() -> str:
    """Fresh results, written arguments, views, numbers on the CPU, scalars that change."""
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
    """Tensors that the step itself sends over, and numbers that change."""
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
        x.fill_(9)  # which must not reach the GPU any more
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
    """What waits for the GPU, or is drawn in main memory: right, without a graph, and nothing is stuck."""

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


def run_checks() -> list[tuple[str, bool, str]]:
    """All checks: name, whether it held, and its line."""
    found = []
    for name, function in CHECKS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found.append((name, True, function()))
        except Exception as error:
            text = traceback.format_exc()
            found.append((name, False, f"{type(error).__name__}: {str(error)[:300]} {text[-900:]}"))
    return found


if __name__ == "__main__":
    for name, held, text in run_checks():
        sys.stdout.write(f"{'ok  ' if held else 'FAIL'} {name:24} {text}\n")
