"""The whole story: a gradient, its picture, a proof, a loop that is wrong, mended, and the evidence.

Run it with `make demo`, or `python examples/demo.py FOLDER` to choose where pages and evidence go.
PyTorch is not needed: the `torch` here is tautograd.
"""

from __future__ import annotations

import inspect
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tautograd as torch
from tautograd import evidence


def heading(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m\n" if _colours() else f"\n{text}\n{'-' * len(text)}\n")


def _colours() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def show_source(function: Callable[..., Any]) -> None:
    print(
        textwrap.indent(textwrap.dedent(inspect.getsource(function)).rstrip(), "    | "), end="\n\n"
    )


def show_text(text: object) -> None:
    print(textwrap.indent(str(text).rstrip(), "    "))


# ---- 1. the smallest example ---------------------------------------------------------------------


def show_gradient() -> torch.Tensor:
    heading("1. Operations are recorded as they run; backward() applies the chain rule")
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    print(f"x = torch.tensor(2.0, requires_grad=True)\ny = x * x         {y!r}")
    y.backward()
    print(
        f"y.backward()\nx.grad            {x.grad!r}\n\n"
        "how it came about, with y = x * x and tautograd.explain(x, y):\n"
    )
    y = x * x  # backward() released what the first one saved
    show_text(torch.explain(x, y))
    return y


# ---- 2. its picture ------------------------------------------------------------------------------


def show_picture(folder: Path) -> None:
    heading("2. A picture of it, to step through backward one operation at a time")
    torch.manual_seed(0)
    hidden, out = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
    inputs = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    wanted = torch.tensor([[0.0], [1.0], [1.0], [0.0]])  # one or the other, not both

    def loss_of(inputs, wanted):
        features = torch.tanh(hidden(inputs))
        answers = torch.sigmoid(out(features))
        return ((answers - wanted) ** 2).mean()

    show_source(loss_of)
    optimizer = torch.optim.Adam([*hidden.parameters(), *out.parameters()], lr=0.1)
    for _ in range(50):  # until it has nearly learned it: there is still something to flow back
        optimizer.zero_grad()
        loss_of(inputs, wanted).backward()
        optimizer.step()
    with torch.view.recording() as seen:
        loss = loss_of(inputs, wanted)
    page = seen.view(loss).save(folder / "graph.html")
    print(f"tautograd.view.recording(): after 50 steps, the next one in {shown(page)}\n")
    print(
        "Open it in a browser: values on the nodes, gradients on the edges, the right-arrow key goes"
    )
    print("one step back through the graph. That of a script of yours is drawn by\n")
    print(f"    {taut()} view your_script.py")


# ---- 3. a gradient that is wrong -----------------------------------------------------------------


class WrongCube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x**2  # wrong: it should be 3 x²


class Cube(WrongCube):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


def wrong_energy(x: torch.Tensor) -> torch.Tensor:
    return WrongCube.apply(x).sum()


def energy(x: torch.Tensor) -> torch.Tensor:
    return Cube.apply(x).sum()


def show_proof(folder: Path) -> None:
    heading("3. Is a gradient right? Prove it, and keep the evidence")
    show_source(WrongCube)
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    before = torch.verify(wrong_energy, x)
    show_text(before)
    after = torch.verify(energy, x)
    first, second = before.save(folder / "before.json"), after.save(folder / "after.json")
    print(f"\nmended (3 x²): {after.verdict}. Evidence before and after:\n")
    print(f"    {shown(first)}    {before.verdict}\n    {shown(second)}     {after.verdict}")
    again = evidence.replay(second, energy)
    same = "the same, bit for bit" if again.exact else "the same" if again.same else "not the same"
    print(f"    the second one replayed: {same}")
    _expect(before.verdict == "wrong" and after.verdict == "correct" and again.same)


# ---- 4. a loop that runs and learns wrongly ------------------------------------------------------


def broken_loop(model: Any, optimizer: Any, x: Any, y: Any) -> float:
    for _ in range(30):
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def mended_loop(model: Any, optimizer: Any, x: Any, y: Any) -> float:
    for _ in range(30):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def train(loop: Callable[..., float], page: Path) -> Any:
    """Train a small model under the doctor."""
    torch.manual_seed(0)
    x = torch.randn(64, 3)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]]) + 0.1 * torch.randn(64, 1)
    model = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.doctor() as doctor:
        loss = loop(model, optimizer, x, y)
    doctor.save(page)
    return doctor, loss


def show_doctor(folder: Path) -> None:
    heading("4. A training loop that runs, and updates wrongly")
    show_source(broken_loop)
    doctor, loss = train(broken_loop, folder / "broken.html")
    show_text(doctor)
    mended, mended_loss = train(mended_loop, folder / "mended.html")
    print(
        f"\nmended, with optimizer.zero_grad() at the head of the loop: {len(mended.findings)} findings,"
    )
    print(f"and the loss after 30 steps is {mended_loss:.4f} instead of {loss:.4f}.")
    print(f"Pages with plots: {shown(folder / 'broken.html')}, {shown(folder / 'mended.html')}")
    _expect(not doctor.ok and mended.ok)


# ---- 5. errors that say where --------------------------------------------------------------------


def change_a_value_that_backward_needs() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y += 1
    y.sum().backward()


def show_error() -> None:
    heading("5. Mistakes in the life of a graph: PyTorch's words, then both lines")
    show_source(change_a_value_that_backward_needs)
    try:
        change_a_value_that_backward_needs()
    except RuntimeError as error:
        show_text(f"RuntimeError: {error}")
    else:
        _expect(False)


def _expect(holds: bool) -> None:
    if not holds:
        raise SystemExit("the demo did not show what it should: please report this")


def shown(path: Path) -> str:
    path = Path(path)
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def taut() -> str:
    """The command as called from here: `taut` next to this Python, if it is not on the path itself."""
    command = Path(sys.executable).parent / ("taut.exe" if os.name == "nt" else "taut")
    found = shutil.which("taut")
    if found is not None and Path(found).resolve() == command.resolve():
        return "taut"
    if not command.is_file():
        return f"{beneath(Path(sys.executable))} -m tautograd"
    return beneath(command)


def beneath(path: Path) -> str:
    """The path relative to the current folder, if it is below it; links are not resolved."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def main() -> None:
    started = time.perf_counter()
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("build") / "demo"
    if folder.is_dir() and len(sys.argv) == 1:
        shutil.rmtree(folder)  # of an earlier demo
    if folder.is_dir() and any(folder.iterdir()):
        raise SystemExit(f"{folder} holds something already: name an empty folder, or a new one")
    folder.mkdir(parents=True, exist_ok=True)
    print(f"tautograd {torch.__version__}")
    show_gradient()
    show_picture(folder)
    show_proof(folder)
    show_doctor(folder)
    show_error()
    print(
        f"\nall of this took {time.perf_counter() - started:.2f} s. Next, twenty lessons to do yourself:\n"
    )
    print(f"    {taut()} lab\n")
    print(
        "And one file to open, or to send to a friend (space plays it, a dragged weight changes it all):\n"
    )
    print(f"    {shown(folder / 'graph.html')}")


if __name__ == "__main__":
    main()
