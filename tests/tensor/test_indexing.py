"""`x[...]`, read and written: every kind of key, alone and mixed, and what is said of bad ones.

Expressions run on both engines; `both_engines` says what is compared. The tables hold what people
write; the random keys at the end mix everything that a key can hold.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from .both_engines import agree

LAYOUTS = {
    "contiguous": "torch.arange(12.0).reshape(3, 4) - 3",
    "transposed": "(torch.arange(12.0).reshape(4, 3) - 3).t()",
    "strided": "(torch.arange(24.0).reshape(3, 8) - 3)[:, ::2]",
}


def entries(table: str) -> list[str]:
    return [entry.strip() for line in table.strip().splitlines() for entry in line.split(" ; ")]


def evaluate(torch: Any, source: str, **names: Any) -> Any:
    return eval(source, {"torch": torch, "np": np, **names})


# --- reading --------------------------------------------------------------------------------------

READS = """
x[1] ; x[-1] ; x[0, 2] ; x[-1, -2] ; x[0][0] ; x[1:] ; x[:-1] ; x[::2] ; x[1:3, 2:] ; x[2:1]
x[10:] ; x[-10:2] ; x[:, 3:] ; x[:, ::3] ; x[:] ; x[:, :] ; x[0:3, 0] ; x[0:9, 0] ; x[-3:, 0]
x[None] ; x[..., None] ; x[:, None] ; x[None, ..., None, 0] ; x[...] ; x[()] ; x[1, ...] ; x[..., 1]
x[1, ..., 1] ; x[True] ; x[False] ; x[None, True, 1] ; x[1, False] ; x[True, True]
x[torch.tensor(1)] ; x[torch.tensor(1), 2] ; x[:, torch.tensor(-1)] ; x[torch.tensor(True)]
x[torch.tensor(False)] ; x[torch.tensor([0, 2])] ; x[torch.tensor([-1, 0, 0])]
x[torch.tensor([[0, 1], [1, 2]])] ; x[:, torch.tensor([3, 0])] ; x[..., torch.tensor([3, 0])]
x[torch.tensor([0, 1]), torch.tensor([1, 2])] ; x[torch.tensor([[0], [2]]), torch.tensor([1, 3])]
x[torch.tensor([0]), None, torch.tensor([1])] ; x[torch.tensor([0, 2]), 1] ; x[1, torch.tensor([0])]
x[1:, torch.tensor([0, 2])] ; x[torch.tensor([0, 2]), 1:] ; x[None, torch.tensor([0, 2])]
x[torch.tensor([0, 1], dtype=torch.int32)] ; x[torch.tensor([], dtype=torch.long)]
x[torch.tensor([True, False, True])] ; x[:, torch.tensor([True, False, False, True])]
x[torch.tensor([True, False, True]), 1] ; x[torch.tensor([True, False, True]), torch.tensor([0, 1])]
x[x > 2] ; x[x > 99] ; x[(x > 0) & (x < 5)] ; x[torch.ones(3, 4, dtype=torch.bool)]
x[torch.tensor([True, True, False]), torch.tensor([True, False, True, False])]
x[torch.tensor([1, 0, 1], dtype=torch.uint8)] ; x[torch.tensor(1, dtype=torch.uint8)] ; x[[0, 2]]
x[[[0, 1], [1, 2]]] ; x[[True, False, True]] ; x[[]] ; x[[0, 1], [1, 2]] ; x[0:2, [0, 2]]
x[1:, None, [0, 1]] ; x[(0, 1),] ; x[range(2)] ; x[[np.int64(1)]] ; x[[torch.tensor(0), 1]]
x[np.array([0, 2])] ; x[np.array([True, False, True])] ; x[np.array(1)] ; x[np.int32(1)]
x[np.int64(0):np.int64(2)] ; x[np.array([[0], [1]]), np.array([1, 2])]
x[np.array([], dtype=np.int64)] ; x[torch.tensor(1):] ; x[: torch.tensor(2), 1]
x[slice(torch.tensor(0), torch.tensor(2))] ; x[torch.tensor([[1]]), :, None]
x.unsqueeze(0)[:, [0, 1], :, None] ; x.unsqueeze(1)[[0, 1], :, [2, 3]]
x[0][[True, False, True, True]] ; torch.tensor(3.0)[...] ; torch.tensor(3.0)[None]
torch.tensor(3.0)[()] ; torch.tensor(3.0)[True] ; torch.tensor(3.0)[False] ; torch.zeros(2, 0)[1]
torch.zeros(2, 0)[:, :0] ; torch.zeros(0, 3)[:, 1:] ; torch.zeros(2, 0, 3)[torch.tensor([1, 1])]
torch.zeros(2, 0)[torch.tensor([0]), :]
"""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("source", entries(READS))
def test_reading(source: str, layout: str) -> None:
    agree(lambda torch: evaluate(torch, source, x=evaluate(torch, LAYOUTS[layout])))


@pytest.mark.parametrize("source", [s for s in entries(READS) if s.startswith("x")])
def test_gradient_of_reading(source: str) -> None:
    """First and second order: places that are read twice count twice."""

    def program(torch: Any) -> Any:
        x = (torch.arange(12.0).reshape(3, 4) - 3).requires_grad_()
        y = evaluate(torch, source, x=x)
        weights = torch.arange(1.0, y.numel() + 1).reshape(y.shape)
        (gradient,) = torch.autograd.grad((y * y * weights).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad((gradient * x.detach()).sum(), x)
        return [gradient.detach().tolist(), second.tolist(), y.grad_fn.name()]

    agree(program)


REFUSED = """
x[5] ; x[-4] ; x[0, 9] ; x[1, 2, 3] ; x[None, 7] ; x[::-1] ; x[::0] ; x[1.5] ; x["a"] ; x[{}]
x[torch.tensor(1.5)] ; x[torch.tensor([1.5])] ; x[torch.tensor([5])] ; x[torch.tensor([-4])]
x[:, torch.tensor([7])] ; x[torch.tensor([True, False])] ; x[torch.ones(3, 3, dtype=torch.bool)]
x[:, torch.ones(3, dtype=torch.bool)] ; x[torch.ones(3, 4, 1, dtype=torch.bool)]
x[torch.tensor([0, 1]), torch.tensor([0, 1, 2])] ; x[object()] ; x[slice(1.5)] ; x[0][0][0]
x[torch.tensor([1], dtype=torch.int8)] ; x[torch.tensor([])] ; x[1, ..., 1, 1] ; x[:, :, :]
x[torch.tensor([0, 1]), torch.tensor([0]), torch.tensor([0])] ; torch.tensor(3.0)[0]
torch.tensor(3.0)[1] ; torch.tensor(3.0)[0, 0] ; torch.tensor(3.0)[:] ; x[(True, False, True)]
torch.zeros(0, 3)[torch.tensor([0])] ; x[np.array([0.5])] ; x[torch.tensor([[5]]), 0]
x.index_put((torch.tensor([9]),), torch.tensor(1.0))
x.index_put((torch.tensor([0]),), torch.tensor(1))
x.index_put([torch.tensor([0]), torch.tensor([1, 2])], torch.ones(3)) ; x.take(torch.tensor([13]))
x.index_put((torch.tensor([0.0]),), torch.tensor(1.0)) ; x.gather(1, torch.tensor([[9]]))
x.index_put(torch.tensor([0]), torch.tensor(1.0)) ; x.gather(0, torch.tensor([0]))
x.gather(5, torch.tensor([[0]])) ; x.gather(0, torch.tensor([[0.0]]))
x.index_select(0, torch.tensor([9])) ; x.index_select(0, torch.tensor([[0]]))
x.masked_fill(torch.tensor([1]), 0) ; x.masked_fill(torch.ones(5, dtype=torch.bool), 0)
x.masked_select(torch.tensor([True] * 5)) ; x.masked_scatter(x > -9, torch.ones(3))
x.scatter(0, torch.tensor([[9]]), 1.0) ; x.scatter(0, torch.tensor([[0]]), torch.tensor([[1]]))
x.scatter_add(0, torch.tensor([[0, 0, 0, 0, 0]]), torch.ones(1, 5))
x.put(torch.tensor([20]), x[0, :1]) ; x.index_add(0, torch.tensor([0]), torch.ones(2, 4))
x.index_copy(0, torch.tensor([0]), torch.ones(1, 3)) ; x.index_fill(0, torch.tensor([5]), 1.0)
x.scatter_reduce(0, torch.tensor([[0]]), x[:1, :1], "foo")
"""


@pytest.mark.parametrize("source", entries(REFUSED))
def test_refused_keys(source: str) -> None:
    agree(lambda torch: evaluate(torch, source, x=evaluate(torch, LAYOUTS["contiguous"])))


# --- writing --------------------------------------------------------------------------------------

WRITES = """
x[0] = 1 ; x[0] = True ; x[0, 0] = 2.5 ; x[0] = torch.ones(4) ; x[0] = torch.ones(1, 4)
x[:, 0] = torch.arange(3.0) ; x[:, 0] = torch.arange(3) ; x[0] = torch.tensor(2)
x[0] = np.float64(3) ; x[1:] = torch.ones(2, 4, dtype=torch.float64) ; x[...] = 2 ; x[None] = 3
x[True] = 4 ; x[False] = 4 ; x[()] = 4 ; x[0, ..., None] = torch.ones(4, 1)
x[None, 0] = torch.ones(1, 4) ; x[::2] = 7 ; x[0:0] = 5 ; x[::2] = torch.tensor([[1.0], [2.0]])
x[0] = x[1] ; x[1:] = x[:-1].clone() ; x[0][1] = 7 ; x[[0, 2]] = 1 ; x[[0, 2]] = torch.ones(4)
x[:, [0, 1]] = x[:, [1, 0]] ; x[[0, 0]] = torch.ones(4)
x[torch.tensor([0, 1]), torch.tensor([1, 2])] = torch.tensor([5.0, 6.0]) ; x[torch.tensor(0)] = 2
x[torch.tensor([], dtype=torch.long)] = 5 ; x[x > 0] = 0 ; x[x > 0] = torch.ones(1) ; x[x > 99] = 1
x[torch.tensor([True, False, True])] = 5 ; x[torch.tensor([True, False, True])] = torch.ones(2, 4)
x[:, torch.tensor([True, False, True, False])] = torch.tensor([1.0, 2.0]) ; x[np.array([0, 1])] = 3
x[range(2)] = 3 ; x[[[0, 1], [1, 2]]] = 8 ; x[(0, 1),] = 3 ; x[torch.tensor([[0], [2]]), [1, 3]] = 9
x[0, 0] = torch.tensor([[3.0]]) ; x[1:, [0, 2]] = torch.tensor([[1.0], [2.0]]) ; x.t()[0] = 8
x[0] += 1 ; x[:, 1:3] *= 2 ; x[[0, 0]] += 1 ; x[x > 0] -= 1 ; x[1, 2] /= 4 ; x[:, -1] += x[:, 0]
x[torch.tensor([1, 0, 1], dtype=torch.uint8)] = torch.ones(2, 4) ; x[0] = torch.ones(3)
x[0] = torch.ones(2, 4) ; x[0] = "a" ; x[0] = [1, 2, 3, 4] ; x[0] = None ; x[5] = 1
x[[0, 2]] = torch.ones(5) ; x[[0, 2]] = torch.arange(4) ; x[x > 0] = torch.ones(2) ; x[::-1] = 0
x[torch.tensor([True, False])] = 5 ; x[0, 0] = 1j ; x[0, 0] = 1e300 ; x[1:2] = torch.ones(3, 4)
x[torch.tensor([1, 0, 1], dtype=torch.uint8)] = 5 ; x[0] = np.ones(4) ; del x[0]
"""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("source", entries(WRITES))
def test_writing(source: str, layout: str) -> None:
    def program(torch: Any) -> Any:
        names = {"torch": torch, "np": np, "x": evaluate(torch, LAYOUTS[layout])}
        exec(source, names)
        return names["x"]

    agree(program)


RECORDED = """
y[0] = v[0] ; y[0] = v ; y[:, 1] = v[:, 1] ; y[1:] = v[:2] ; y[...] = v ; y[0, 0] = v[0, 0]
y[0][1] = v[0, 0] ; y[[0, 2]] = v[:2] ; y[[0, 2], [1, 1]] = v[0, :2] ; y[y > 2] = 0
y[y > 2] = v[0, 0] ; y[[0, 1]] += v[0] ; y[torch.tensor([True, False, True])] = v[:2]
y[:, [0, 3]] = v[:, :2] ; y[0] += v[0] ; y[:, 1:3] *= v[:, :2] ; y[1:][0] = v[2]
y.t()[0] = v[:, 0] ; y[None, 1] = v[:1] ; y[torch.tensor([0])] = v[1]
y.index_put_((torch.tensor([0, 0]),), v[:2], accumulate=True) ; y.view(-1)[3:7] = v[0] ; y[0] = 3
"""


@pytest.mark.parametrize("source", entries(RECORDED))
def test_gradient_of_writing(source: str) -> None:
    """What was overwritten gets no gradient; what was written does, also through views."""

    def program(torch: Any) -> Any:
        x = torch.arange(12.0).reshape(3, 4).requires_grad_()
        v = (torch.arange(12.0).reshape(3, 4) + 2).requires_grad_()
        y = x * 2
        exec(source.replace("= v ", "= v"), {"torch": torch, "y": y, "v": v})
        weights = torch.arange(1.0, 13.0).reshape(3, 4)
        first = torch.autograd.grad(
            (y * y * weights).sum(), (x, v), create_graph=True, allow_unused=True
        )
        seconds = [
            None
            if g is None or not g.requires_grad
            else torch.autograd.grad(g.sum(), x, retain_graph=True)[0]
            for g in first
        ]
        return [
            y.detach().tolist(),
            *(None if g is None else g.detach().tolist() for g in first),
            seconds,
        ]

    agree(program)


# --- a tensor as a sequence, as an index ----------------------------------------------------------

PROTOCOLS = """
len(x) ; list(x) ; next(iter(x)) ; [row.sum() for row in x] ; reversed(x) ; list(reversed(x))
3.0 in x ; 99 in x ; torch.tensor(3.0) in x ; True in x ; [a for a, b, c, d in x]
dict(enumerate(x)) ; len(torch.tensor(1.0)) ; list(torch.tensor(1.0)) ; "a" in x ; [1] in x
None in x ; max(x[0]) ; sum(x) ; bool(x) ; bool(torch.tensor([])) ; bool(torch.tensor([0.0]))
bool(torch.tensor([[3]])) ; not torch.tensor(0) ; [0, 1, 2, 3][torch.tensor(2)]
[0, 1, 2, 3][torch.tensor([2])] ; [0, 1][torch.tensor(True)] ; [0, 1, 2][torch.tensor(1.0)]
[0, 1, 2][torch.tensor([1, 2])] ; list(range(torch.tensor(3))) ; "abc"[torch.tensor(1)]
x.__index__() ; sorted([torch.tensor(2), torch.tensor(1)]) ; zip(x, x).__class__
"""


@pytest.mark.parametrize("source", entries(PROTOCOLS))
def test_protocols(source: str) -> None:
    agree(lambda torch: evaluate(torch, source, x=evaluate(torch, LAYOUTS["contiguous"])))


# --- keys at random -------------------------------------------------------------------------------

SHAPES = ((), (3,), (2, 3), (3, 4), (2, 3, 4), (2, 0, 3), (1, 2, 3, 2), (3, 1), (0,))


def random_key(rng: random.Random, shape: tuple[int, ...]) -> str:
    """A key as source text; now and then one that PyTorch refuses."""
    parts: list[str] = []
    dim = 0
    for _ in range(rng.randint(1, len(shape) + 2)):
        size = shape[dim] if dim < len(shape) else 2
        part, named = random_part(rng, shape[dim:], size)
        if part == "..." and "..." in parts:
            continue
        parts.append(part)
        dim += rng.randint(0, max(len(shape) - dim, 0)) if part == "..." else named
        if dim >= len(shape) and rng.random() < 0.8:
            break
    return ", ".join(parts) + ("," if rng.random() < 0.5 or len(parts) > 1 else "")


def random_part(rng: random.Random, rest: tuple[int, ...], size: int) -> tuple[str, int]:
    def place() -> int:
        return rng.randint(-size - (rng.random() < 0.03), max(size - 1, 0))

    kind = rng.choice(
        (
            "int",
            "slice",
            "slice",
            "none",
            "bool",
            "dots",
            "tensor",
            "tensor",
            "tensor",
            "mask",
            "list",
        )
    )
    if kind == "int":
        return str(place()), 1
    if kind == "slice":
        ends = [rng.choice(("", str(rng.randint(-size - 1, size + 1)))) for _ in range(2)]
        return ":".join([*ends, rng.choice(("", "1", "2", "3"))]), 1
    if kind == "none":
        return "None", 0
    if kind == "bool":
        return rng.choice(("True", "False")), 0
    if kind == "dots":
        return "...", 0
    if kind == "mask":
        dims = rest[: rng.randint(0, 2)]
        values = np.array([rng.random() < 0.5 for _ in range(int(np.prod(dims)))]).reshape(dims)
        dtype = rng.choice(("bool", "bool", "uint8"))
        return f"torch.tensor({values.tolist()}, dtype=torch.{dtype}).reshape({dims})", len(dims)
    index = rng.choice(((), (1,), (2,), (3,), (2, 1), (1, 3), (2, 3), (0,)))
    values = np.array([place() for _ in range(int(np.prod(index)))], np.int64).reshape(index)
    if kind == "list" and index:
        return rng.choice((f"{values.tolist()}", f"np.array({values.tolist()}, np.int64)")), 1
    dtype = rng.choice(("int64", "int64", "int32"))
    return f"torch.tensor({values.tolist()}, dtype=torch.{dtype}).reshape({index})", 1


def random_program(seed: int) -> Any:
    rng = random.Random(seed)
    shape = rng.choice(SHAPES)
    key, layout, write = random_key(rng, shape), rng.choice("cts"), rng.random() < 0.35
    value = rng.choice(("2.0", "v", "v.reshape(1)"))

    def program(torch: Any) -> Any:
        x = torch.arange(1.0, np.prod(shape) + 1).reshape(shape)
        if layout == "t" and x.dim() > 1:
            x = x.transpose(0, -1).contiguous().transpose(0, -1)
        elif layout == "s" and x.dim():
            x = torch.stack([x, x], -1)[..., 0]
        v = torch.tensor(3.0, requires_grad=True)
        x = x.detach().requires_grad_()
        names = {"torch": torch, "np": np, "x": x, "v": v, "y": x.clone()}
        try:
            if write:
                exec(f"y[{key}] = {value}", names)
                y = names["y"]
            else:
                y = eval(f"x[{key}]", names)
        except Exception as error:
            error.add_note(f"x of shape {shape} ({layout}): x[{key}]")
            raise
        weights = torch.arange(1.0, y.numel() + 1).reshape(y.shape)
        if y.requires_grad:
            (y * y * weights).sum().backward()
        strides = () if write or 0 in y.shape else y.stride()
        gradients = [None if t.grad is None else t.grad.tolist() for t in (x, v)]
        return [y.detach().tolist(), tuple(y.shape), strides, y._version, *gradients]

    program.__doc__ = f"x of shape {shape} ({layout}): x[{key}]"
    return program


@pytest.mark.parametrize("block", range(5))
def test_random_keys(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        program = random_program(seed)
        try:
            agree(program)
        except AssertionError as error:
            error.add_note(f"seed {seed}: {program.__doc__}")
            raise


@pytest.mark.slow
def test_many_random_keys() -> None:
    for seed in range(1000, 9000):
        program = random_program(seed)
        try:
            agree(program)
        except AssertionError as error:
            error.add_note(f"seed {seed}: {program.__doc__}")
            raise


FAR_STEPS = ["2**62", "2**63 - 1", "2**64", "2**40"]
EMPTY_SLICES = [
    *("x[0:0:{}]", "x[1:1:{}]", "x[:, 2:0:{}]", "torch.ops.aten.slice(x, 0, 1, 1, {})"),
]


@pytest.mark.filterwarnings("ignore:Truncating the start/stop/step")
@pytest.mark.parametrize("step", FAR_STEPS)
@pytest.mark.parametrize("key", EMPTY_SLICES)
def test_steps_beyond_memory(key: str, step: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.arange(12.0).reshape(3, 4)
        try:
            return tuple(eval(key.format(step), {"x": x, "torch": torch}).shape)
        except RuntimeError as error:
            return str(error)[:40] if "aten" not in key else "refused"

    agree(program)
