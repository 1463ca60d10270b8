"""Compiled functions on the GPU against the same functions run eagerly.

Each check is a function that returns a line of text, or raises. Both run from the same numbers on the
same inputs; results, parameters, gradients, states and the random stream are compared after each step.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import tautograd as torch  # noqa: E402
from bench.steps import STEPS  # noqa: E402
from tautograd import nn  # noqa: E402

CHECKS: list[tuple[str, Callable[[], str]]] = []
CLOSE = 2e-5  # relative to the largest number: another summation order, over a few steps


def check(function: Any) -> Any:
    CHECKS.append((function.__name__, function))
    return function


def apart(a: Any, b: Any) -> float:
    """The difference of two tensors, relative to the largest number."""
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
    """Run two copies of a step, one compiled; returns the largest difference, and the compiled one."""
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
    """A step, the state it changes, and what runs before each one (a schedule)."""

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
    """Why the program that ran last is not a graph; empty if it is one."""
    replay = compiled._last.replay_of
    why = str(replay.why_no_graph)
    return why or ("" if replay.is_graph else "not captured yet")


def must_be_close(worst: float, bound: float = CLOSE) -> str:
    assert worst <= bound, f"apart by {worst:.1e}"
    return f"apart by {worst:.1e} at most"


@contextmanager
def without_tf32() -> Iterator[None]:
    before, torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.allow_tf32, False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before


@check
def steps() -> str:
    """The benchmark's steps: each is one graph, with one record for all learning rates."""
    texts = []
    for name in ("linear", "mlp", "gpt", "cnn"):
        step = STEPS[name]

        def make(step: Any = step) -> Any:
            torch.set_default_device("cuda")
            model, x, y, criterion = step.build(torch, **step.sizes)
            optimizer = getattr(torch.optim, step.optimizer)(model.parameters(), lr=1e-3)
            torch.set_default_device("cpu")
            return training(model, optimizer, lambda: criterion(model(x), y))

        with without_tf32():  # ten-bit convolutions, whose errors training magnifies
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


def run_checks() -> list[tuple[str, bool, str]]:
    """Run all checks: name, whether it passed, and its line."""
    from tools.gpu import compiled_limits  # noqa: F401  (whose checks are among them)

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
