"""Random training steps whose surroundings change between calls: compiled, as written, and on PyTorch.

`python -m tests.compile.fuzz --count 20000` draws a new seed, prints it with what was compared, and ends with 1 if a
compiled step gave anything else than the function itself, or the function something else than PyTorch. With `--sizes`
nearly every call has another size, so that there is a program for all of them, and something else changes rarely.

A step is drawn once: a model, a loss, an optimizer, and places that its Python reads (a closure's cell, an attribute,
a list, a dictionary, a default of a function, an object of its own class, the arguments' sizes). Now and then
something of that is changed at random: settings, modes, parameters' memory, what wants a gradient, hooks, sizes,
members, an optimizer's state, and how arguments come (dtype, strides, gradients). All is done alike to three copies.
Numbers are doubles and steps few, so that rounding rarely explains more than `BOUND` of the largest number; where more
is found, the function itself says whether it does (`_spread`).
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

import tautograd
from tautograd._compile.messages.errors import CompileError

BOUND = 1e-8
EPSILON = float(np.finfo(np.float64).eps)
PERTURBED = 4  # copies whose rounding is drawn anew
NEAR = 32  # times their spread: four draws of a chaotic quantity tell its size, not its bound
LARGEST = 1e4  # numbers of a step that trains
CALLS = 14
SETTLED = 0.4  # of the calls nothing has changed before, so that there are records to be wrong
WIDTH = 5
SIZES = (2, 3, 4, 6, 7, 11, 12, 16, 17)  # with `--sizes`
RARELY = 0.95  # of the calls, then, before which nothing else has changed
MANY = 10_000  # parameters


class Scenario:
    """A step on one engine, with everything that can be changed."""

    def __init__(self, T: Any, seed: int) -> None:
        rng = self.rng = random.Random(seed)
        self.T, self.seed = T, seed
        T.manual_seed(seed)
        nn = T.nn
        self.cell = 1.5
        self.place = SimpleNamespace(scale=0.5, power=2, name="a", inner=SimpleNamespace(k=0.25))
        self.listed = [0.5, 1.0, 2.0]
        self.named = {"a": 1.0, "b": 0.5}
        self.body = self._model(nn, rng)
        self.head = nn.Linear(WIDTH, 3)
        modules = nn.ModuleList([self.body, self.head]).to(T.float64)
        values = np.random.default_rng(seed)
        with T.no_grad():
            for p in modules.parameters():
                p.copy_(T.tensor(values.standard_normal(tuple(p.shape)) * 0.3, dtype=T.float64))
        self.parameters = list(modules.parameters())
        self.modules = modules
        self.optimizer = self._optimizer(T, rng)
        self.clears, self.loss, self.extra = rng.random() < 0.8, rng.randrange(4), rng.randrange(8)
        self.handle: Any = None
        self.size = rng.choice((1, 3, 4))
        self.number = 0.5
        self.dtype, self.layout, self.wants, self.grads = "float64", 0, False, True
        self.step = self._step()

    def _model(self, nn: Any, rng: random.Random) -> Any:
        kind = rng.randrange(8)
        act = rng.choice((nn.Tanh, nn.ReLU, nn.GELU, nn.Sigmoid, nn.SiLU))
        if kind == 0:
            return nn.Sequential(nn.Linear(WIDTH, 7), act(), nn.Linear(7, WIDTH))
        if kind == 1:
            return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), act())
        if kind == 2:
            parts = nn.Unflatten(1, (1, WIDTH)), nn.Conv1d(1, 2, 3, padding=1), act(), nn.Flatten()
            return nn.Sequential(*parts, nn.Linear(2 * WIDTH, WIDTH))
        if kind == 3:
            # Without a bias: its gradient would be nothing but rounding, which Adam makes large.
            return nn.Sequential(nn.Linear(WIDTH, WIDTH, bias=False), nn.BatchNorm1d(WIDTH), act())
        if kind == 4:
            return _recurrent(nn)
        if kind == 5:
            parts = nn.Linear(WIDTH, WIDTH), nn.Dropout(0.25), nn.Linear(WIDTH, WIDTH)
            return nn.Sequential(*parts, nn.Dropout(0.5))
        if kind == 6:
            return _layered(nn, rng)
        return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Dropout(0.0), act(), nn.Softmax(-1))

    def _optimizer(self, T: Any, rng: random.Random) -> Any:
        optim, own = T.optim, self.parameters
        groups = (
            own if rng.random() < 0.6 else [{"params": own[:1], "lr": 0.02}, {"params": own[1:]}]
        )
        makers = (
            lambda: optim.SGD(groups, 0.05),
            lambda: optim.SGD(groups, 0.05, momentum=0.9, nesterov=True),
            lambda: optim.Adam(groups, 0.01),
            lambda: optim.AdamW(groups, 0.01, weight_decay=0.1),
            lambda: optim.RMSprop(groups, 0.01),
            lambda: optim.Adagrad(groups, 0.05),
        )
        # Of so many gradients some are hardly more than rounding, which a division by their size makes large.
        return rng.choice(makers[:2] if sum(p.numel() for p in own) > MANY else makers)()

    def _step(self) -> Any:
        """The function that is compiled; what it reads is all over the place."""
        T, F, rng = self.T, self.T.nn.functional, random.Random(self.seed + 1)
        body, head, optimizer = self.body, self.head, self.optimizer
        place, listed, named = self.place, self.listed, self.named
        clears, loss_kind, extra = self.clears, self.loss, self.extra
        scenario = self
        reads = rng.sample(range(10), 4)

        def scaled(h: Any, by: list[float] = listed) -> Any:
            return h * by[-1]

        def step(x: Any, y: Any, number: float) -> Any:
            if clears:
                optimizer.zero_grad()
            h = body(x.to(T.float64))
            if 0 in reads:
                h = h * place.scale
            if 1 in reads:
                h = scaled(h)
            if 2 in reads and named.get("b"):
                h = h + named["b"]
            if 3 in reads:
                h = h * scenario.cell
            if 4 in reads:
                h = h**place.power if place.name == "a" else h.tanh()
            if 5 in reads:
                h = h + number
            if 6 in reads:
                for k in range(int(place.inner.k * 8)):
                    h = h + k * 0.1
            if 7 in reads:
                h = h / len(x) if x.shape[0] > 2 else h * x.size(0)
            if 8 in reads:
                h = h + T.arange(x.shape[0], dtype=h.dtype).unsqueeze(-1)
            if 9 in reads and x.is_contiguous():
                h = h + x[-1].to(h.dtype)
            out = head(h)
            if extra == 1:
                out = out - out.mean(-1, keepdim=True)
            elif extra == 2:
                out = T.cat([out[:, :1], out[:, 1:] * 2], 1)
            elif extra == 3:
                out = out[:, [2, 0, 1]]
            elif extra == 4:
                out = T.where(out > 0, out, out * 0.1)
            elif extra == 5:
                out = out.masked_fill(T.ones(len(x), 3).triu() == 0, 0.25)
            elif extra == 6:
                out = T.stack([row * i for i, row in enumerate(out, 1)])
            if loss_kind == 0:
                loss = F.cross_entropy(out, y)
            elif loss_kind == 1:
                loss = F.mse_loss(out, F.one_hot(y, 3).to(out.dtype))
            elif loss_kind == 2:
                loss = out.logsumexp(-1).mean() + out.square().sum() * 0.01
            else:
                loss = F.smooth_l1_loss(out, F.one_hot(y, 3).to(out.dtype))
            if loss.requires_grad:
                loss.backward()
                optimizer.step()
            return loss, out

        return step

    def change(self, rng: random.Random) -> str:
        """Change one thing; which one, and how, is the generator's choice."""
        T, group = self.T, self.optimizer.param_groups[-1]
        kind = rng.choice(_CHANGES)
        value, which = rng.uniform(0.1, 1.0), rng.randrange(len(self.parameters))
        parameter = self.parameters[which]
        if kind == "scale":
            self.place.scale = value
        elif kind == "list":
            self.listed[-1] = value
        elif kind == "list grows":
            self.listed.append(value)
        elif kind == "dictionary":
            self.named["b"] = rng.choice((0.0, 0.5, value))
        elif kind == "cell":
            self.cell = value
        elif kind == "power":
            self.place.power = rng.choice((1, 2, 2.0, 3))
        elif kind == "name":
            self.place.name = rng.choice(("a", "b"))
        elif kind == "inner":
            self.place.inner = SimpleNamespace(k=rng.choice((0.0, 0.25, 0.5)))
        elif kind == "rate":
            group["lr"] = value * 0.05
        elif kind == "decay":
            group["weight_decay"] = rng.choice((0.0, 0.1))
        elif kind == "mode":
            self.modules.train(rng.random() < 0.5)
        elif kind == "frozen":
            parameter.requires_grad_(rng.random() < 0.5)
        elif kind == "content":
            with T.no_grad():
                parameter.mul_(value)
        elif kind == "memory":
            parameter.data = parameter.data.clone() * value
        elif kind == "gradient":
            parameter.grad = None
        elif kind == "gradient is set":
            parameter.grad = T.full_like(parameter, value)
        elif kind == "size":
            self.size = rng.choice((1, 2, 3, 4))
        elif kind == "number":
            self.number = rng.choice((0.5, value, -0.0))
        elif kind == "hook":
            if self.handle is not None:
                self.handle.remove()
                self.handle = None
            else:
                by = value
                self.handle = self.body.register_forward_hook(lambda m, i, o: o * by)
        elif kind == "module":
            self.body.added = value
        elif kind == "setting of a layer":
            for module in self.modules.modules():
                for name in ("eps", "momentum", "p"):
                    if getattr(module, name, None) is not None:
                        setattr(module, name, value * 0.1)
        elif kind == "member":
            self.body[-1] = rng.choice((T.nn.Tanh, T.nn.ReLU, T.nn.Identity))()
        elif kind == "optimizer's state":
            self.optimizer.state.clear()
        elif kind == "optimizer's numbers":
            for name in ("eps", "alpha", "momentum"):
                if group.get(name):
                    group[name] = group[name] * value
        elif kind == "dtype":
            self.dtype = rng.choice(("float64", "float32"))
        elif kind == "layout":
            self.layout = rng.randrange(4)
        elif kind == "wants":
            self.wants = not self.wants
        elif kind == "no gradients":
            self.grads = not self.grads
        return kind

    def call(self, rng: random.Random, function: Any) -> Any:
        size = max(self.size, 2) if self.modules.training else self.size
        draws = np.random.default_rng(rng.randrange(1 << 30))
        T = self.T
        values = draws.standard_normal((size, WIDTH)).astype(self.dtype)
        if self.layout == 1:
            x = T.tensor(np.ascontiguousarray(values.T)).t()
        elif self.layout == 2:
            x = T.tensor(np.repeat(values, 2, 0))[::2]
        elif self.layout == 3:
            x = T.tensor(values[:1]).expand(size, WIDTH)
        else:
            x = T.tensor(values)
        x.requires_grad_(self.wants)
        y = T.tensor(draws.integers(0, 3, size))
        T.manual_seed(rng.randrange(1 << 30))
        with T.set_grad_enabled(self.grads):
            loss, out = function(x, y, self.number)
        state = [p.detach().numpy().copy() for p in self.parameters]
        grads = [
            None if p.grad is None else p.grad.detach().numpy().copy() for p in self.parameters
        ]
        given = None if x.grad is None else x.grad.numpy().copy()
        return [loss.detach().numpy().copy(), out.detach().numpy().copy(), given, *state, *grads]


def _recurrent(nn: Any) -> Any:
    class Recurrent(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.GRUCell(1, WIDTH)

        def forward(self, x: Any) -> Any:
            state = None
            for t in range(x.shape[1]):
                state = self.cell(x[:, t : t + 1], state)
            return state

    return nn.Sequential(Recurrent(), nn.Identity())


def _layered(nn: Any, rng: random.Random) -> Any:
    """A layer over a sequence: by a kernel or by NumPy, as the number of sequences says."""
    kind, way = rng.choice((nn.GRU, nn.LSTM)), rng.random() < 0.5

    class Layered(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = kind(1, 64, bidirectional=way)
            self.out = nn.Linear(64 * (1 + way), WIDTH)

        def forward(self, x: Any) -> Any:
            outs, state = self.layer(x.t().unsqueeze(-1).repeat(3, 1, 1))
            return self.out(outs[-1]) + (state if kind is nn.GRU else state[1]).sum() * 0.01

    return nn.Sequential(Layered(), nn.Identity())


_CHANGES = (
    *("scale", "list", "list grows", "dictionary", "cell", "power", "name", "inner", "rate"),
    *("decay", "mode", "frozen", "content", "memory", "gradient", "gradient is set", "size"),
    *(
        "number",
        "hook",
        "module",
        "setting of a layer",
        "member",
        "optimizer's state",
        "optimizer's numbers",
    ),
    *("dtype", "layout", "wants", "no gradients", "nothing", "nothing", "nothing"),
)


def apart(a: list[Any], b: list[Any]) -> tuple[str, float]:
    """What differs beyond rounding, in words, and by how much; nothing if nothing does."""
    for i, (text, far) in enumerate(distances(a, b)):
        if far > BOUND:
            return f"value {i} {text or f'{far:.3g} apart'}", far
    return "", 0.0


def distances(a: list[Any], b: list[Any]) -> Iterator[tuple[str, float]]:
    """Of each two arrays the largest difference, as a part of the largest number (but at least of 1)."""
    for x, y in zip(a, b, strict=True):
        if x is None or y is None:
            yield ("", 0.0) if x is y else ("is there in one only", math.inf)
        elif x.shape != y.shape:
            yield f"has shape {x.shape} and {y.shape}", math.inf
        else:
            far = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y))
            largest = max(1.0, float(np.abs(y).max(initial=0.0)))
            far = np.nan_to_num(far, nan=math.inf) / largest
            yield "", float(far.max(initial=0.0))


def check(
    seed: int, options: dict[str, Any], T: Any, sizes: bool = False
) -> tuple[str, Counter[str]]:
    """One scenario: what is wrong with it, and what was counted."""
    engines = [tautograd, tautograd, *([T] if T is not None else [])]
    copies = [Scenario(engine, seed) for engine in engines]
    own = copies[0]
    if sizes:  # a float among the arguments may become an input, which no program for all sizes has
        compiled = tautograd.compile(lambda x, y: own.step(x, y, own.number), **options)
        first = lambda x, y, number: compiled(x, y)  # noqa: E731
    else:
        first = compiled = tautograd.compile(own.step, **options)
    functions = [first, *(copy.step for copy in copies[1:])]
    counted: Counter[str] = Counter()
    for outcomes, history in _calls(seed, copies, functions, sizes):
        counted["calls"] += 1
        found, difference = _compared(outcomes, T)
        if found and not _diverges(outcomes):
            if difference > NEAR * _spread(seed, counted["calls"], sizes):
                return f"call {counted['calls'] - 1}, after {history}: {found}", counted
            counted["magnified rounding"] += 1
            return "", counted
        if isinstance(outcomes[0], Exception):
            refused = isinstance(outcomes[0], CompileError)
            counted["refusals" if refused else "errors alike"] += 1
            return "", counted
        if _diverges(outcomes):
            counted["diverged"] += 1
            return "", counted
        if sizes:
            _bring_together(copies)
    counted["records"] += compiled.records
    alive = compiled._alive()
    counted["replays"] += sum(entry.calls for entry in alive)
    if compiled._sizes.template is not None:
        counted["programs for all sizes"] += 1
        counted["replays of those"] += sum(e.calls for e in alive if hasattr(e, "template"))
    return "", counted


def _calls(
    seed: int, copies: list[Scenario], functions: list[Any], sizes: bool
) -> Iterator[tuple[list[Any], list[str]]]:
    """A scenario's calls, on all copies alike: their outcomes, and what was changed up to then."""
    rng = random.Random(seed + 2)
    history: list[str] = []
    for call in range(CALLS * 3 if sizes else CALLS):
        if sizes:
            size = rng.choice(SIZES)
            for copy in copies:
                copy.size = size
        if call > 2 and rng.random() > (RARELY if sizes else SETTLED):
            state = rng.getstate()
            for copy in copies:
                rng.setstate(state)
                kind = copy.change(rng)
            history.append(kind)
        drawn = rng.randrange(1 << 30)
        outcomes: list[Any] = []
        for copy, function in zip(copies, functions, strict=True):
            try:
                outcomes.append(copy.call(random.Random(drawn), function))
            except Exception as error:
                outcomes.append(error)
        yield outcomes, history


def _bring_together(copies: list[Scenario]) -> None:
    """Let parameters be the same again: over many steps of training rounding grows without a bound."""
    values = [p.detach().numpy().copy() for p in copies[1].parameters]
    for copy in copies:
        with copy.T.no_grad():
            for p, value in zip(copy.parameters, values, strict=True):
                p.copy_(copy.T.tensor(value))


def _spread(seed: int, calls: int, sizes: bool = False) -> float:
    """How far the function parts from itself in that many calls, if its numbers are rounded otherwise.

    Some steps magnify rounding a thousandfold each, and an optimizer that divides by a gradient's size makes a gradient
    that is nothing but rounding as large as any other. So the function runs as written on copies whose parameters
    begin one unit in the last place away, and whose gradients are off by as little of their largest number.
    """
    copies = [Scenario(tautograd, seed) for _ in range(PERTURBED + 1)]
    for n, copy in enumerate(copies[1:]):
        draws = np.random.default_rng(n)
        for p in copy.parameters:
            with tautograd.no_grad():
                p.mul_(tautograd.tensor(1 + EPSILON * draws.integers(-1, 2, tuple(p.shape))))
            if p.requires_grad:
                p.register_hook(partial(_rounded_otherwise, draws))
    farthest = 0.0
    alone = [copy.step for copy in copies]
    for n, (outcomes, _) in enumerate(_calls(seed, copies, alone, sizes)):
        if n == calls or isinstance(outcomes[0], Exception):
            break
        for others in outcomes[1:]:
            farthest = max(farthest, *(far for _, far in distances(outcomes[0], others)))
    return farthest


def _rounded_otherwise(draws: Any, gradient: Any) -> Any:
    off = draws.uniform(-EPSILON, EPSILON, tuple(gradient.shape))
    return gradient + gradient.abs().max() * tautograd.tensor(off)


def _diverges(outcomes: list[Any]) -> bool:
    """Whether every engine's numbers have grown beyond what steps of training have.

    Rounding decides then: gates are saturated, so that small gradients are differences of large numbers, and in the
    end it decides between infinity and NaN.
    """
    return all(
        isinstance(values, list)
        and not all((np.abs(value) <= LARGEST).all() for value in values if value is not None)
        for values in outcomes
    )


def _compared(outcomes: list[Any], T: Any) -> tuple[str, float]:
    """What differs, in words, and by how much (infinitely where it is not a matter of rounding)."""
    first, second, *third = outcomes
    if isinstance(first, CompileError):
        return "", 0.0  # a refusal, with its line
    if isinstance(first, Exception) or isinstance(second, Exception):
        alike = type(first) is type(second)
        return (
            ("", 0.0)
            if alike
            else (
                f"compiled gives {first!r:.300}, as written {second!r:.300}",
                math.inf,
            )
        )
    found, difference = apart(first, second)
    if found:
        return f"compiled and as written: {found}", difference
    if third and not isinstance(third[0], Exception):
        found, difference = apart(second, third[0])
        return (f"as written and PyTorch: {found}" if found else ""), difference
    return "", 0.0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=20_000, help="scenarios to try")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="or as many as fit")
    parser.add_argument("--seed", type=int, default=None, help="of the first one")
    parser.add_argument("--backend", choices=("numpy", "llvm", "both"), default="both")
    parser.add_argument("--sizes", action="store_true", help="another size at nearly every call")
    parser.add_argument("--no-torch", action="store_true", help="without PyTorch beside")
    given = parser.parse_args(arguments)
    T: Any = None
    if not given.no_torch:
        import torch

        T = torch
    warnings.simplefilter("ignore")
    seed = random.SystemRandom().randrange(1 << 40) if given.seed is None else given.seed
    print(f"first seed {seed}", flush=True)
    counted: Counter[str] = Counter()
    began = time.monotonic()
    for n in range(given.count):
        if time.monotonic() - began > given.seconds:
            break
        which = random.Random(seed + n)
        backend = which.choice(("numpy", "llvm")) if given.backend == "both" else given.backend
        options = {"backend": backend, "sound": which.choice((None, True, False))}
        options["dynamic"] = which.choice((False, False, None))
        options["fallback"] = which.choice((True, True, False))
        if given.sizes:
            options |= {"backend": "llvm", "dynamic": True, "sound": None, "fallback": False}
            backend = "llvm"
        wrong, found = check(seed + n, options, T, given.sizes)
        counted += found
        counted[f"scenarios on {backend}"] += 1
        if wrong:
            counted["differences"] += 1
            print(f"seed {seed + n}, {options}: {wrong}", flush=True)
        if n % 100 == 99:
            print(_in_words(counted), file=sys.stderr, flush=True)
    print(_in_words(counted))
    return 1 if counted["differences"] else 0


def _in_words(counted: Counter[str]) -> str:
    return ", ".join(f"{value} {key}" for key, value in sorted(counted.items()))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main(sys.argv[1:]))
