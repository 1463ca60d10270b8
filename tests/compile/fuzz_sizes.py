"""Random functions whose sizes change at every call, compiled with one program for all sizes, and as written.

`python -m tests.compile.fuzz_sizes --count 5000` draws a new seed and prints it. Each function (`sized_programs.py`)
is called some twenty times at sizes that are drawn at random: those that came before, 0 and 1, some that equal other
numbers of the program, and some beyond the largest that memory was planned for. Between calls what it reads is
changed now and then: numbers, flags, what wants a gradient, contents and memory of tensors, dtypes, strides and
aliases of arguments, modes, hooks; and in some programs calls of several threads overlap. Results, gradients, states,
random numbers and errors have to be those of a copy that runs as it is written. Numbers are doubles; where a
difference may be rounding that is magnified, the function itself says how much one unit in the last place is worth.
"""

from __future__ import annotations

import argparse
import faulthandler
import math
import os
import random
import sys
import threading
import time
import warnings
from collections import Counter
from typing import Any

import numpy as np

import tautograd
from tautograd._compile.messages.errors import CompileError
from tautograd._compile.run.sizes import FAILED

from .fuzz import BOUND, EPSILON, NEAR, distances
from .sized_programs import DRAWING, ROUNDING, ROWS, WIDTH, sized_program

CALLS = 22
SETTLED = 0.8  # of the calls nothing but sizes has changed before
POOLS = (
    (5, 9, 12, 6, 4, 16, 7),
    (2, 3, 4, 5, 6, 8),
    (4, 8, 12, 16, 20, 24, 32),
    (6, 10, 14, 22, 26),
    (3, 5, 7, 11, 13, 17, 19),
    (30, 31, 33, 47, 64, 65),
)
RARE = (0, 1, 1, 2, WIDTH, ROWS, 40, 70)


class Copy:
    """A function with all it holds, as it is called and changed."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        tautograd.manual_seed(seed)
        self.run, self.held, self.which = sized_program(seed)
        self.trains = rng.random() < 0.6
        self.draws = any(i in DRAWING for i in self.which)
        self.dtype, self.layout, self.alias, self.cast = "float64", 0, False, False
        self.handle: Any = None
        self.optimizer: Any = None
        optim = tautograd.optim
        if self.trains:
            own = self.held.parameters
            for p in own:
                p.requires_grad_()
            makers = (
                lambda: optim.SGD(own, 0.01),
                lambda: optim.SGD(own, 0.01, momentum=0.9),
                lambda: optim.AdamW(own, 0.001, eps=1e-3),
            )
            self.optimizer = rng.choice(makers)()
            self.clips = rng.random() < 0.2

    def step(self, x: Any, y: Any, ids: Any) -> Any:
        if not self.trains:
            with tautograd.no_grad():
                return self.run(x, y, ids)
        self.optimizer.zero_grad()
        h, more = self.run(x, y, ids)
        loss = h.square().mean()
        if loss.requires_grad:
            loss.backward()
            if self.clips:
                tautograd.nn.utils.clip_grad_norm_(self.held.parameters, 1.0)
            self.optimizer.step()
        return loss.detach(), more.detach() if isinstance(
            more, tautograd.Tensor
        ) and more.requires_grad else more

    def change(self, rng: random.Random) -> str:
        kind = rng.choice(CHANGES)
        held, value = self.held, rng.uniform(0.1, 1.0)
        parameter = held.parameters[rng.randrange(4)]
        if kind == "scale":
            held.scale = value
        elif kind == "flag":
            held.flag = not held.flag
        elif kind == "content":
            with tautograd.no_grad():
                parameter.mul_(value)
        elif kind == "memory":
            parameter.data = parameter.data.clone() * value
        elif kind == "frozen" and self.trains:
            parameter.requires_grad_(rng.random() < 0.5)
        elif kind == "gradient" and self.trains:
            parameter.grad = rng.choice((None, tautograd.full_like(parameter, value).detach()))
        elif kind == "statistics":
            held.mean = held.mean.clone()
        elif kind == "places":
            held.places = held.places[: rng.choice((20, 48, 64))] * value
        elif kind == "dtype":
            self.dtype = rng.choice(("float64", "float32"))
        elif kind == "layout":
            self.layout = rng.randrange(4)
        elif kind == "alias":
            self.alias = not self.alias
        elif kind == "rate" and self.trains:
            self.optimizer.param_groups[0]["lr"] = value * 0.01
        elif kind == "state" and self.trains:
            self.optimizer.state.clear()
        elif kind == "autocast":
            self.cast = not self.cast
        elif kind == "hook" and self.trains:
            if self.handle is not None:
                self.handle.remove()
                self.handle = None
            elif parameter.requires_grad:
                self.handle = parameter.register_hook(lambda g: g * value)
        return kind

    def arguments(self, sizes: tuple[int, int], draws: Any) -> tuple[Any, Any, Any]:
        n, m = sizes
        values = draws.standard_normal((n, WIDTH)).astype(self.dtype)
        T = tautograd
        if self.layout == 1:
            x = T.tensor(np.ascontiguousarray(values.T)).t()
        elif self.layout == 2:
            x = T.tensor(np.repeat(values, 2, 0))[::2]
        elif self.layout == 3:
            x = T.tensor(values[:1]).expand(n, WIDTH) if n else T.tensor(values)
        else:
            x = T.tensor(values)
        y = T.tensor(draws.standard_normal((m, n)))
        if self.alias:  # one memory, twice
            x = T.tensor(draws.standard_normal(max(m * n, n * WIDTH)))
            x, y = x[: n * WIDTH].view(n, WIDTH), x[: m * n].view(m, n)
        top = ROWS + 1 if draws.random() < 0.02 else ROWS
        return x, y, T.tensor(draws.integers(0, top, n))

    def call(self, sizes: tuple[int, int], drawn: int, function: Any, nudge: float = 0.0) -> Any:
        draws = np.random.default_rng(drawn)
        x, y, ids = self.arguments(sizes, draws)
        if nudge:
            signs = np.random.default_rng(drawn + 1).choice((-1.0, 1.0), tuple(x.shape))
            x = x * tautograd.tensor(1 + nudge * signs).to(x.dtype)
        tautograd.manual_seed(drawn)
        with tautograd.autocast("cpu", enabled=self.cast):
            loss, more = function(x, y, ids)
        after = tautograd.rand(2)
        return [*_arrays((loss, more)), *self.state(), after.numpy()]

    def state(self) -> list[Any]:
        held = self.held
        grads = [None if p.grad is None else p.grad.numpy().copy() for p in held.parameters]
        own = [p.detach().numpy().copy() for p in (*held.parameters, held.mean, held.variance)]
        return [*own, *grads]


CHANGES = (
    *("scale", "flag", "content", "memory", "frozen", "gradient", "statistics", "places"),
    *("dtype", "layout", "alias", "rate", "state", "autocast", "hook"),
)


def _arrays(value: Any) -> list[Any]:
    """A result as arrays; what is none is compared by its type and text, too."""
    if isinstance(value, dict):
        return [*_arrays(tuple(value.values())), *_arrays(str(list(value)))]
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return [*_arrays(str(type(value))), *[part for each in value for part in _arrays(each)]]
    if isinstance(value, tautograd.Tensor):
        array = value.detach().float() if value.dtype is tautograd.bfloat16 else value.detach()
        return [array.numpy().copy()]
    if isinstance(value, (int, float)):
        return [np.array(value), np.array(math.copysign(1.0, value))]
    return [np.frombuffer(f"{type(value)} {value}".encode(), np.uint8).astype(float)]


def check(seed: int, options: dict[str, Any]) -> tuple[str, Counter[str]]:
    """One function: what is wrong with it, and what was counted."""
    rng = random.Random(seed + 1)
    own, plain = Copy(seed), Copy(seed)
    compiled = tautograd.compile(own.step, **options)
    pool, counted = rng.choice(POOLS), Counter[str]()
    two, overlap = rng.random() < 0.4, not own.trains and rng.random() < 0.15 and not own.draws
    m, history = rng.choice((3, WIDTH, 5)), []
    for call in range(CALLS):
        n = rng.choice(RARE) if call > 4 and rng.random() < 0.12 else rng.choice(pool)
        if two:
            m = rng.choice((2, 3, 5, 7, n or 2))
        if call > 6 and rng.random() > SETTLED:
            state = rng.getstate()
            kind = own.change(rng)
            rng.setstate(state)
            plain.change(rng)
            history.append(f"{call}: {kind}")
        drawn = rng.randrange(1 << 30)
        counted["calls"] += 1
        outcomes = []
        for copy, function in ((own, compiled), (plain, plain.step)):
            try:
                outcomes.append(copy.call((n, m), drawn, function))
            except Exception as error:
                outcomes.append(error)
        found = _difference(seed, plain, (n, m), drawn, outcomes)
        if found == "magnified rounding":
            counted[found] += 1
            return "", counted
        if found:
            return f"steps {own.which}, call {call} at {n, m}, after {history}: {found}", counted
        if isinstance(outcomes[1], Exception):
            counted["errors alike"] += 1
        if isinstance(outcomes[0], CompileError):
            counted["refusals"] += 1
            return "", counted
        _bring_together(own, plain)
        if overlap and call > 8 and call % 4 == 0:
            found = _overlapping(own, plain, compiled, pool, m, rng.randrange(1 << 30))
            counted["calls of threads"] += 12
            if found:
                return f"steps {own.which}, threads in call {call}: {found}", counted
    sizes, alive = compiled._sizes, compiled._alive()
    if sizes.why is not None and sizes.why.startswith(FAILED):
        return f"steps {own.which}: {sizes.why}", counted
    counted["replays"] += sum(entry.calls for entry in alive)
    if sizes.template is not None:
        counted["programs for all sizes"] += 1
        counted["sizes tried"] += len(sizes.template.tried)
        counted["sizes refused"] += len(sizes.wrong)
        counted["replays of those"] += sum(e.calls for e in alive if hasattr(e, "template"))
    else:
        counted["without, as " + _kind_of(sizes.why)] += 1
    return "", counted


def _kind_of(why: str | None) -> str:
    known = "number that is", "number of operations", "constant", "followed", "things in one place"
    return next((k for k in known if k in (why or "too few sizes")), (why or "too few sizes")[:40])


def _difference(
    seed: int, plain: Copy, sizes: tuple[int, int], drawn: int, outcomes: list[Any]
) -> str:
    first, second = outcomes
    if isinstance(first, CompileError):
        return ""
    if isinstance(first, Exception) or isinstance(second, Exception):
        if type(first) is type(second):
            return ""
        return f"compiled gives {first!r:.300}, as written {second!r:.300}"
    if len(first) != len(second):
        return "another number of results"
    with np.errstate(all="ignore"):
        apart = list(distances(first, second))
    text, far = max(apart, key=lambda pair: pair[1])
    single = plain.dtype == "float32" or ROUNDING in plain.which
    bound = 1e-3 if plain.cast else 1e-5 if single else BOUND
    if far <= bound:
        return ""
    if (
        math.isfinite(far)
        and far < 1e3 * bound
        and far <= NEAR * _spread(seed, plain, sizes, drawn)
    ):
        return "magnified rounding"
    where = [i for i, (_, d) in enumerate(apart) if d > bound]
    return f"values {where} of {len(first)}: {text or f'{far:.3g} apart'}"


def _spread(seed: int, plain: Copy, sizes: tuple[int, int], drawn: int) -> float:
    """How far a result moves if what comes in is off by one unit in the last place."""
    results = [
        plain.call(sizes, drawn, plain.step, nudge)[:1] for nudge in (0.0, EPSILON, 2 * EPSILON)
    ]
    return max(far for other in results[1:] for _, far in distances(results[0], other))


def _bring_together(own: Copy, plain: Copy) -> None:
    with tautograd.no_grad():
        pairs = zip(own.held.parameters, plain.held.parameters, strict=True)
        for mine, theirs in pairs:
            mine.copy_(theirs)
        own.held.mean.copy_(plain.held.mean)
        own.held.variance.copy_(plain.held.variance)


def _overlapping(own: Copy, plain: Copy, compiled: Any, pool: Any, m: int, drawn: int) -> str:
    """Calls of three threads at several sizes at once; none of them draws random numbers of its own seed."""
    rng = random.Random(drawn)
    jobs = [[(rng.choice(pool), rng.randrange(1 << 30)) for _ in range(4)] for _ in range(3)]
    given = [[plain.arguments((n, m), np.random.default_rng(d)) for n, d in job] for job in jobs]
    found: list[list[Any]] = [[], [], []]

    def work(i: int) -> None:
        for arguments in given[i]:
            try:
                with tautograd.autocast("cpu", enabled=own.cast):
                    found[i].append(_arrays(compiled(*arguments)))
            except Exception as error:
                found[i].append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, arguments in enumerate(given):
        for mine, args in zip(found[i], arguments, strict=True):
            try:
                with tautograd.autocast("cpu", enabled=plain.cast):
                    theirs: Any = _arrays(plain.step(*args))
            except Exception as error:
                theirs = error
            if isinstance(mine, CompileError):
                continue
            if isinstance(mine, Exception) or isinstance(theirs, Exception):
                if type(mine) is not type(theirs):
                    return f"compiled gives {mine!r:.200}, as written {theirs!r:.200}"
                continue
            bound = 1e-3 if own.cast else 1e-5
            if any(far > bound for _, far in distances(mine, theirs)):
                return "numbers differ"
    return ""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=5000, help="functions to try")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="or as many as fit")
    parser.add_argument("--seed", type=int, default=None, help="of the first one")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    faulthandler.enable()
    seed = random.SystemRandom().randrange(1 << 40) if given.seed is None else given.seed
    print(f"first seed {seed}", flush=True)
    counted: Counter[str] = Counter()
    began = time.monotonic()
    for n in range(given.count):
        if time.monotonic() - began > given.seconds:
            break
        print(seed + n, end="\r", file=sys.stderr, flush=True)  # what to begin at after a crash
        wrong, found = check(seed + n, {"dynamic": True})
        counted += found
        counted["functions"] += 1
        if wrong:
            counted["differences"] += 1
            print(f"seed {seed + n}: {wrong}", flush=True)
    print(", ".join(f"{value} {key}" for key, value in sorted(counted.items())))
    return 1 if counted["differences"] else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main(sys.argv[1:]))
