"""Faults planted in machine code, and whether an audit finds them: `python -m tests.compile.planted`.

A line of the text from which the machine code of a right program is made is changed, or what a kernel is called with,
the program runs with that, and an audit looks. A fault counts if it moves a number that is seen after the run by more
than a thousandth of the largest in its tensor; one that the data do not reach, or that changes the last bits, is none.
"""

from __future__ import annotations

import functools
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import tautograd as torch
import tautograd.nn.functional as F
from tautograd import nn
from tautograd._compile.native.disk_cache.lowered import made
from tautograd._compile.native.entry import Native
from tautograd._compile.native.llvm.module import Module
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
    # The bias of keys has a gradient of rounding errors alone, which AdamW would make as large as any other.
    optimizer = torch.optim.SGD(model.parameters(), 0.1, 0.9)
    return _training(model, optimizer, torch.randint(0, 9, (6, 5)))


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


def wrong_modules(module: Module, rng: random.Random, most: int) -> Iterator[tuple[str, Module]]:
    """Programs with one thing changed, and what was done to it; no address is made larger."""
    found = [*_wrong_lines(module), *_wrong_calls(module)]
    rng.shuffle(found)
    for kind, make in found[:most]:
        yield kind, make()


def _wrong_lines(module: Module) -> Iterator[tuple[str, Callable[[], Module]]]:
    """One line of a kernel changed; under another name, since it is another kernel."""
    for name, text in module.functions.items():
        lines = text.split("\n")
        for n, line in enumerate(lines):
            for kind, changed in _changed(line) if line.startswith("  ") else ():
                text = "\n".join([*lines[:n], changed, *lines[n + 1 :]])
                yield kind, functools.partial(_with_function, module, name, text)


def _with_function(module: Module, name: str, text: str) -> Module:
    other = f"{name}_{abs(hash(text))}"
    text = text.replace(f"@{name}(", f"@{other}(", 1)
    pairs = [(other, text) if n == name else (n, t) for n, t in module.functions.items()]
    return replace(module, functions=dict(pairs))


def _wrong_calls(module: Module) -> Iterator[tuple[str, Callable[[], Module]]]:
    """A size or a stride that a kernel is given, made smaller; where its memory begins; a call left out."""
    for n, (function, units, flags, pointers, numbers) in enumerate(module.calls):
        for i, number in enumerate(numbers):
            if number > 1:
                less = [*numbers[:i], number // 2, *numbers[i + 1 :]]
                call = function, units, flags, pointers, less
                yield "number", functools.partial(_with_call, module, n, call)
        for i, (base, far) in enumerate(pointers):
            if far >= 4:
                before = [*pointers[:i], (base, far - 4), *pointers[i + 1 :]]
                call = function, units, flags, before, numbers
                yield "place", functools.partial(_with_call, module, n, call)
        yield "kernel dropped", functools.partial(_without_call, module, n)


def _with_call(module: Module, n: int, call: Any) -> Module:
    return replace(module, calls=[*module.calls[:n], call, *module.calls[n + 1 :]])


def _without_call(module: Module, n: int) -> Module:
    nothing = "define void @nothing(ptr %args, i64 %begin, i64 %end) {\n  ret void\n}"
    module = replace(module, functions=module.functions | {"nothing": nothing})
    return _with_call(module, n, (len(module.functions) - 1, *module.calls[n][1:]))


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
        true, module = part.native, part.native.lowered.make()
        for kind, wrong in wrong_modules(module, rng, most):
            try:
                part.native = Native(made(wrong, None, true.lowered.make))
            except RuntimeError:  # no program in LLVM's language
                continue
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
