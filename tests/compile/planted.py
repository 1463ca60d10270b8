"""Faults planted in machine code, and whether an audit finds them: `python -m tests.compile.planted`.

A line of the text from which the machine code of a right program is made is changed, the program runs with that code,
and an audit looks. A fault counts if it moves a number that is seen after the run by more than a thousandth of
the largest in its tensor; one that the data do not reach, or that changes the last bits, is none.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tautograd as torch
import tautograd.nn.functional as F
from tautograd import nn
from tautograd._compile.native.disk_cache.lowered import Lowered
from tautograd._compile.native.entry import Native
from tautograd._compile.native.llvm.jit import assemble
from tautograd._compile.run.numeric_audit import Aside

_OTHER = {"fadd": "fsub", "fsub": "fadd", "fmul": "fadd", "fdiv": "fmul", "add": "sub"}
_OTHER |= {"llvm.fma": "", "ogt": "olt", "olt": "ogt", "une": "oeq", "slt": "sgt"}


def mlp() -> tuple[Callable[..., Any], list[Any]]:
    model = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.LayerNorm(16), nn.Linear(16, 4))
    return _training(model, torch.optim.Adam(model.parameters()), torch.randn(6, 12))


def convolution() -> tuple[Callable[..., Any], list[Any]]:
    parts = nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(27, 4)
    model = nn.Sequential(*parts)
    return _training(model, torch.optim.SGD(model.parameters(), 0.1, 0.9), torch.randn(6, 1, 8, 8))


def attention() -> tuple[Callable[..., Any], list[Any]]:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.names = nn.Embedding(9, 8)
            self.layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
            self.head = nn.Linear(8, 4)

        def forward(self, x: Any) -> Any:
            return self.head(self.layer(self.names(x)).mean(1))

    model = Model()
    return _training(model, torch.optim.AdamW(model.parameters()), torch.randint(0, 9, (6, 5)))


def recurrence() -> tuple[Callable[..., Any], list[Any]]:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cells = nn.GRU(5, 8, batch_first=True)
            self.head = nn.Linear(8, 4)

        def forward(self, x: Any) -> Any:
            return self.head(self.cells(x)[0][:, -1])

    model = Model()
    return _training(model, torch.optim.RMSprop(model.parameters()), torch.randn(6, 4, 5))


STEPS = {f.__name__: f for f in (mlp, convolution, attention, recurrence)}


def _training(model: Any, optimizer: Any, x: Any) -> tuple[Callable[..., Any], list[Any]]:
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, [x, torch.randint(0, 4, (6,))]


def wrong_texts(text: str, rng: random.Random, most: int) -> Iterator[tuple[str, str]]:
    """Texts with one line changed, and what was done to it; no address is made larger."""
    lines = text.split("\n")
    places = [n for n, line in enumerate(lines) if line.startswith("  ")]
    rng.shuffle(places)
    made = 0
    for n in places:
        for kind, line in _changed(lines[n]):
            yield kind, "\n".join([*lines[:n], line, *lines[n + 1 :]])
            made += 1
            if made >= most:
                return


def _changed(line: str) -> Iterator[tuple[str, str]]:
    found = re.match(r"(\s+%\S+ = )(fadd|fsub|fmul|fdiv)( .*)$", line)
    if found:
        yield "operation", f"{found[1]}{_OTHER[found[2]]}{found[3]}"
        operands = re.match(r"(.* )(%\S+), (%\S+)$", line)
        if operands and found[2] in ("fsub", "fdiv"):
            yield "operands", f"{operands[1]}{operands[3]}, {operands[2]}"
        constant = re.search(r"0x[0-9A-F]{16}", line)
        if constant:
            bits = int(constant[0], 16)
            value = np.uint64(bits).view(np.float64) * 1.5 + 0.5
            changed = int(np.float64(np.float32(value)).view(np.uint64))
            yield "constant", line.replace(constant[0], f"0x{changed:016X}")
    compared = re.match(r"(\s+%\S+ = fcmp )(\w+)( .*)$", line)
    if compared and compared[2] in _OTHER:
        yield "comparison", f"{compared[1]}{_OTHER[compared[2]]}{compared[3]}"
    if re.match(r"\s+store (float|<\d+ x float>) %\S+, ptr %\S+, align", line):
        yield "store dropped", ""
    if re.match(r"\s+call void @k\d+\(", line):
        yield "kernel dropped", ""


def recorded(name: str, seed: int = 0) -> tuple[Any, list[Any]]:
    """A step that was recorded, and its arguments."""
    torch.manual_seed(seed)
    step, args = STEPS[name]()
    compiled = torch.compile(step, audit="never", sound=False, dynamic=False)
    for _ in range(4):
        compiled(*args)
    return compiled, args


def faults(name: str, most: int, seed: int) -> Counter[str]:
    """How many faults of each kind were planted and found."""
    compiled, args = recorded(name, seed)
    entry = compiled._last
    arrays = [tensor._data for tensor in args]
    right = Aside(entry, arrays, ())
    assert right.steps is not None
    assert right.steps.wrong is None
    truth = right.left()
    found: Counter[str] = Counter()
    rng = random.Random(seed)
    for part in [p for p in entry.replay_of.stretches[0] if p.native is not None]:
        true, text = part.native, part.native.text
        for kind, wrong in wrong_texts(text, rng, most):
            try:
                code = assemble(wrong)
            except Exception:
                continue
            made = code, true.own_bytes, true.kernels, true.functions, False, true._make
            part.native = Native(Lowered(*made))
            aside = Aside(entry, arrays, ())
            part.native = true
            caught = aside.stopped or (aside.steps is not None and aside.steps.wrong is not None)
            if aside.stopped or _moves(right, truth, aside.left()):
                found[f"{kind}: planted"] += 1
                found[f"{kind}: found"] += caught
    return found


def _moves(right: Any, truth: dict[int, Any], left: dict[int, Any]) -> bool:
    """Whether a number that somebody sees is another one."""
    for instruction in right.instructions:
        for view in instruction.writes():
            if view.buffer not in truth or view.dtype.kind != "f":
                continue
            a, b = (
                np.ndarray(view.shape, view.dtype, x[view.buffer], view.offset, view.strides)
                for x in (truth, left)
            )
            limit = 1e-3 * np.abs(a).max(initial=1e-30)
            if not np.all(np.abs(a - b) <= limit):
                return True
    return False


def main(most: int) -> None:
    total: Counter[str] = Counter()
    seed = random.SystemRandom().randrange(1 << 30)
    print(f"seed {seed}")
    for name in STEPS:
        found = faults(name, most, seed)
        total += found
        print(name, dict(found), flush=True)
    print("all", dict(total))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
