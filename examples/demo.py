"""A first look at tautograd: recording, backward, a check of the result, and mistakes being caught.

Run it with `make demo`. PyTorch is not needed: the `torch` here is tautograd.
"""

from __future__ import annotations

import inspect
import os
import sys
import textwrap
import time
from collections.abc import Callable
from typing import Any

import tautograd as torch


def heading(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m\n" if _colours() else f"\n{text}\n{'-' * len(text)}\n")


def _colours() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


# ---- 1. recording --------------------------------------------------------------------------------


def show_recording() -> None:
    heading("1. Operations are recorded as they run")
    x = torch.tensor(2.0, requires_grad=True)
    w = torch.tensor(3.0, requires_grad=True)
    y = (w * x).exp() + x * x
    print("x = torch.tensor(2.0, requires_grad=True)")
    print("w = torch.tensor(3.0, requires_grad=True)")
    print("y = (w * x).exp() + x * x")
    print(f"y is {y!r}\n\nwhat was recorded, from the end:")
    names = {id(x): "x", id(w): "w"}
    print_graph(y.grad_fn, names)


def print_graph(node: Any, leaf_names: dict[int, str], depth: int = 1) -> None:
    """Print a node and, indented below it, the nodes its inputs came from."""
    leaf = getattr(node, "variable", None)
    note = f"  ({leaf_names[id(leaf)]})" if leaf is not None else ""
    print(f"{'    ' * depth}{type(node).__name__}{note}")
    for child, _ in node.next_functions:
        if child is not None:
            print_graph(child, leaf_names, depth + 1)


# ---- 2. backward ---------------------------------------------------------------------------------


def show_backward() -> None:
    heading("2. backward() applies the chain rule to the recording")
    x = torch.tensor(2.0, requires_grad=True)
    (x * x).backward()
    print(f"y = x * x at 2.0     dy/dx = 2 x   = {x.grad!r}")
    x = torch.tensor(3.0, requires_grad=True)
    (x**2).backward()
    print(f"y = x ** 2 at 3.0    dy/dx = 2 x   = {x.grad!r}")

    print("\nfitting y = 2 x + 1 by gradient descent, nothing but tensors:")
    torch.manual_seed(0)
    xs = torch.linspace(-1, 1, 32)
    ys = 2 * xs + 1 + 0.05 * torch.randn(32)
    weight = torch.zeros((), requires_grad=True)
    bias = torch.zeros((), requires_grad=True)
    for step in range(61):
        loss = ((weight * xs + bias - ys) ** 2).mean()
        loss.backward()
        if step % 20 == 0:
            values = f"weight {weight.item():+.4f}   bias {bias.item():+.4f}"
            print(f"    step {step:2d}   loss {loss.item():.6f}   {values}")
        with torch.no_grad():
            weight -= 0.2 * weight.grad
            bias -= 0.2 * bias.grad
        weight.grad = bias.grad = None


# ---- 3. is it right? -----------------------------------------------------------------------------


def softplus_energy(x: torch.Tensor) -> torch.Tensor:
    return (torch.log1p(torch.exp(x)) * torch.sin(x)).sum()


def show_agreement() -> None:
    heading("3. Is the gradient right? Compare it with finite differences")
    print(textwrap.dedent(inspect.getsource(softplus_energy)))
    x = torch.tensor([-1.5, 0.0, 0.7, 2.0], dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(softplus_energy(x), x)
    step = 1e-6
    print("         x        backward()   (f(x+h)-f(x-h))/2h    difference")
    for i in range(4):
        nudge = torch.zeros(4, dtype=torch.float64)
        nudge[i] = step
        with torch.no_grad():
            rise = (softplus_energy(x + nudge) - softplus_energy(x - nudge)).item()
        estimate = rise / (2 * step)
        exact = gradient[i].item()
        values = f"{x[i].item():6.2f}   {exact:15.10f}   {estimate:15.10f}"
        print(f"    {values}   {exact - estimate:12.1e}")
    print("\nthe same in one call, and once more for second derivatives:")
    print(f"    torch.autograd.gradcheck(f, x)      {torch.autograd.gradcheck(softplus_energy, x)}")
    second = torch.autograd.gradgradcheck(softplus_energy, x)
    print(f"    torch.autograd.gradgradcheck(f, x)  {second}")


# ---- 4. broken on purpose ------------------------------------------------------------------------


def change_a_value_that_backward_needs() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y += 1
    y.sum().backward()


def go_backward_twice() -> None:
    x = torch.ones(3, requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    loss.backward()


def go_backward_from_many_values() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.backward()


def check_a_wrong_gradient() -> None:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x**2  # wrong: it should be 3 x²

    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(Cube.apply, x)


BROKEN: list[tuple[str, Callable[[], None]]] = [
    ("a value that backward needs is changed in place", change_a_value_that_backward_needs),
    ("backward() a second time", go_backward_twice),
    ("backward() from something that is not a scalar", go_backward_from_many_values),
    ("a custom gradient that is wrong", check_a_wrong_gradient),
]


def show_mistakes() -> None:
    heading("4. Broken on purpose: what you are told")
    for title, mistake in BROKEN:
        print(f"* {title}\n")
        body = inspect.getsource(mistake).split("\n", 1)[1]
        print(textwrap.indent(textwrap.dedent(body).rstrip(), "    | ", lambda line: True))
        try:
            mistake()
        except RuntimeError as error:
            print(textwrap.indent(f"\n{type(error).__name__}: {error}\n", "    "))
        else:
            raise SystemExit(f"the demo expected an error here and got none: {title}")


def main() -> None:
    started = time.perf_counter()
    print(f"tautograd {torch.__version__}")
    show_recording()
    show_backward()
    show_agreement()
    show_mistakes()
    print(f"all of this took {time.perf_counter() - started:.2f} s")


if __name__ == "__main__":
    main()
