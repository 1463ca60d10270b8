"""Many threads at once, each with small training steps: no crash, no hang, and single-threaded results.

A case is a list of threads, each a list of jobs. A job creates everything it uses from its own seed, so that its
numbers do not depend on what others do; what is shared (a function, a leaf) is either stateless, or
its final value is known: a sum of integers.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import math
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fuzz.target import Case, Target

torch: Any = None

KINDS = {
    "train": 6,
    "forward": 3,
    "shared": 3,
    "leaf": 4,
    "drop": 2,
    "error": 2,
    "modes": 3,
    "loader": 1,
    "conv": 1,
    "num_threads": 1,
    "collect": 1,
    "python": 2,
    "swap": 1,
    "resize": 2,
}
WAYS = ("eager", "compiled", "compiled", "fallback", "numpy", "dynamic")
OPTIMIZERS = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad")
BOUND = 1e-7  # of float64 in some hundred operations; sums depend on the number of threads
PATIENCE = 100.0


class Threads(Target):
    """Random numbers of threads that do random things."""

    name = "threads"
    share = 0.75
    limit = 120.0
    memory = 0  # each thread's stack is address space

    def prepare(self) -> None:
        global torch
        import tautograd

        torch = tautograd

    def case(self, rng: random.Random) -> Case:
        count = rng.choice((2, 2, 3, 4, 8, 16, 32, 64))
        jobs = max(1, min(6, 96 // count))
        return {
            "switch": rng.choice((5e-3, 1e-4, 1e-5, 1e-6)),
            "fresh": rng.random()
            < 0.15,  # in a process of its own, where nothing has been made yet
            "threads": [[_job(rng) for _ in range(rng.randint(1, jobs))] for _ in range(count)],
        }

    def check(self, case: Case, counts: Counter[str]) -> str | None:
        self.prepare()
        counts["threads"] += len(case["threads"])
        counts["steps"] += sum(job["steps"] for jobs in case["threads"] for job in jobs)
        if case["fresh"]:
            return _in_a_process(case)
        return _run(case)

    def smaller(self, case: Case) -> Iterator[Case]:
        threads = case["threads"]
        for half in (threads[::2], threads[1::2]):
            if half and len(half) < len(threads):
                yield {**case, "threads": half}
        if len(threads) <= 8:
            for i in range(len(threads)):
                if len(threads) > 1:
                    yield {**case, "threads": threads[:i] + threads[i + 1 :]}
                for k in range(len(threads[i])):
                    fewer = threads[i][:k] + threads[i][k + 1 :]
                    if fewer:
                        yield {**case, "threads": [*threads[:i], fewer, *threads[i + 1 :]]}


def _job(rng: random.Random) -> dict[str, Any]:
    return {
        "kind": rng.choices(list(KINDS), KINDS.values())[0],
        "way": rng.choice(WAYS),
        "optimizer": rng.choice(OPTIMIZERS),
        "sizes": [rng.randint(1, 6) for _ in range(rng.randint(2, 4))],
        "batch": rng.choice((1, 3, 8)),
        "steps": rng.randint(1, 8),
        "seed": rng.randrange(1000),
    }


def _run(case: Case) -> str | None:
    """Run all threads at once, then each job alone; returns the difference."""
    shared = Shared()
    threads = case["threads"]
    found: list[list[Any]] = [[] for _ in threads]
    wrong: list[str] = []
    begin = threading.Barrier(len(threads))

    def work(i: int) -> None:
        try:
            begin.wait(PATIENCE)
            for job in threads[i]:
                found[i].append(JOBS[job["kind"]](job, shared))
        except BaseException as error:
            wrong.append(f"{type(error).__name__} in a thread ({_last(error)})\n{error}")

    before, count = sys.getswitchinterval(), torch.get_num_threads()
    sys.setswitchinterval(case["switch"])
    try:
        running = [
            threading.Thread(target=work, args=(i,), daemon=True) for i in range(len(threads))
        ]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join(PATIENCE)
        if any(thread.is_alive() for thread in running):
            return "a thread does not end"
    finally:
        sys.setswitchinterval(before)
        torch.set_num_threads(count)
    if wrong:
        return min(wrong)
    alone = Shared()
    for jobs, results in zip(threads, found, strict=True):
        for job, result in zip(jobs, results, strict=True):
            expected = JOBS[job["kind"]](job, alone)
            if not _close(result, expected):
                return f"other numbers than alone: {job['kind']} {job['way']}\n{result}\n{expected}"
    if shared.sums() != alone.sums():
        return f"gradients lost: {shared.sums()} instead of {alone.sums()}"
    return None


def _in_a_process(case: Case) -> str | None:
    text = json.dumps({**case, "fresh": False})
    body = "from fuzz.targets.threads import main; main()"
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", body],
        input=text,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode:
        return f"the process ended with {done.returncode}\n{done.stderr[-4000:]}"
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def main() -> None:
    """In a separate process: the case from stdin, the answer to stdout."""
    TARGET.prepare()
    print(json.dumps(_run(json.loads(sys.stdin.read()))))


def _last(error: BaseException) -> str:
    trace, where = error.__traceback__, "?"
    while trace is not None:
        where = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return where


def _close(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(
        a == b or (isinstance(a, float) and math.isclose(a, b, rel_tol=BOUND, abs_tol=BOUND))
        for a, b in zip(one, other, strict=True)
    )


# --- what threads share -----------------------------------------------------------------------------------


class Shared:
    """Stateless functions, and leaves to which integers are added."""

    def __init__(self) -> None:
        self.function = torch.compile(lambda x, w: torch.tanh(x @ w).sum())
        self.leaves = [torch.zeros(3, dtype=torch.float64, requires_grad=True) for _ in range(4)]
        first, second, third, fourth = self.leaves
        self.adding = [
            lambda x: (first * x).sum().backward(),
            torch.compile(lambda x: (second * x).sum().backward()),
            torch.compile(lambda x: (third * x).sum(), fallback=True),
            lambda x: (fourth * x).sum().backward(create_graph=bool(x[0] > 4)),
        ]

    def add(self, which: int, x: Any) -> None:
        result = self.adding[which](x)
        if result is not None:
            result.backward()

    def sums(self) -> list[list[float]]:
        return [[] if leaf.grad is None else leaf.grad.tolist() for leaf in self.leaves]


# --- jobs: each returns the numbers it computed -----------------------------------------------------------


def _tensor(rng: Any, *shape: int, wants: bool = False) -> Any:
    return torch.tensor(rng.standard_normal(shape), dtype=torch.float64, requires_grad=wants)


def _compiled(job: Case, function: Callable[..., Any]) -> Any:
    way = job["way"]
    if way == "eager":
        return function
    return torch.compile(
        function,
        fallback=way == "fallback",
        backend="numpy" if way == "numpy" else "llvm",
        dynamic=True if way == "dynamic" else None,
    )


def _model(job: Case) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(job["seed"])
    sizes = job["sizes"]
    layers: list[Any] = []
    for a, b in itertools.pairwise(sizes):
        layer = torch.nn.Linear(a, b, dtype=torch.float64)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.copy_(_tensor(rng, *parameter.shape))
        layers += [layer, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers), _tensor(rng, job["batch"], sizes[0]), rng


def _train(job: Case, shared: Shared, fails_at: int = -1) -> list[Any]:
    model, x, _ = _model(job)
    optimizer = getattr(torch.optim, job["optimizer"])(model.parameters(), lr=0.01)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    run = _compiled(job, step)
    losses: list[Any] = []
    for i in range(job["steps"] + 2):
        if i == fails_at:
            try:
                run(x[:, :-1])
            except RuntimeError:
                losses.append("refused")
        losses.append(run(x).item())
    return losses + [p.detach().sum().item() for p in model.parameters()]


def _error(job: Case, shared: Shared) -> list[Any]:
    return _train(
        {**job, "sizes": [job["sizes"][0] + 1, *job["sizes"][1:]]}, shared, job["seed"] % 4
    )


def _forward(job: Case, shared: Shared) -> list[Any]:
    """Several calls before the first backward."""
    model, x, _ = _model(job)
    run = _compiled(job, lambda x: model(x).sum())
    numbers: list[Any] = []
    for i in range(job["steps"]):
        x = x if job["way"] != "dynamic" else torch.cat([x, x[:1]])  # of another size each time
        results = [run(x * (i + k)) for k in range(3)]
        for result in reversed(results):
            result.backward()
        numbers += [result.item() for result in results]
        numbers += [p.grad.sum().item() for p in model.parameters()]
    return numbers


def _shared(job: Case, shared: Shared) -> list[Any]:
    rng = np.random.default_rng(job["seed"])
    numbers = []
    for _ in range(job["steps"]):
        w = _tensor(rng, job["sizes"][0], 2, wants=True)
        out = shared.function(_tensor(rng, job["batch"], job["sizes"][0]), w)
        out.backward()
        numbers += [out.item(), *w.grad.flatten().tolist()]
    return numbers


def _leaf(job: Case, shared: Shared) -> list[Any]:
    for i in range(4 * job["steps"]):
        x = torch.tensor([1.0, 2.0, float(i % 8)], dtype=torch.float64)
        shared.add(job["seed"] % 4, x)
    return []


def _drop(job: Case, shared: Shared) -> list[Any]:
    numbers = []
    for i in range(2):
        numbers += _train({**job, "steps": 1, "seed": job["seed"] + i}, shared)
        gc.collect(0)
    return numbers


def _modes(job: Case, shared: Shared) -> list[Any]:
    model, x, _ = _model(job)
    said: list[Any] = []
    for i in range(4 * job["steps"]):
        kind = (job["seed"] + i) % 5
        if kind == 0:
            with torch.no_grad():
                said += [torch.is_grad_enabled(), model(x).requires_grad]
        elif kind == 1:
            with torch.inference_mode():
                said += [model(x).is_inference()]
        elif kind == 2:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                said += [str((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)]
        elif kind == 3:
            with torch.enable_grad(), torch.autograd.set_detect_anomaly(True):
                model(x).sum().backward()
        else:
            said += [torch.is_grad_enabled(), model(x).requires_grad, (x @ x.T).dtype == x.dtype]
    return said


def _loader(job: Case, shared: Shared) -> list[Any]:
    data = torch.utils.data.TensorDataset(torch.arange(20, dtype=torch.float64))
    loader = torch.utils.data.DataLoader(data, batch_size=job["batch"])
    return [batch.sum().item() for (batch,) in loader]


def _conv(job: Case, shared: Shared) -> list[Any]:
    rng = np.random.default_rng(job["seed"])
    weight = _tensor(rng, 8, 4, 3, 3, wants=True)
    out = torch.nn.functional.conv2d(_tensor(rng, 16, 4, 32, 32), weight)
    out.sum().backward()
    return [out.sum().item(), weight.grad.sum().item()]


def _num_threads(job: Case, shared: Shared) -> list[Any]:
    torch.set_num_threads(1 + job["seed"] % 4)
    return []


def _collect(job: Case, shared: Shared) -> list[Any]:
    gc.collect()
    return []


def _python(job: Case, shared: Shared) -> list[Any]:
    """What a recording replaces in Python's own functions must affect only the recording thread."""
    value = 0.1 * (1 + job["seed"])
    numbers = []
    for _ in range(50 * job["steps"]):
        numbers.append(math.sin(value) + math.sqrt(value))
        assert type(numbers[-1]) is float
        assert json.loads(json.dumps({"x": value})) == {"x": value}
    x = torch.tensor(value, dtype=torch.float64, requires_grad=True)
    (x * math.exp(-value)).backward()
    return [*numbers, x.grad.item(), type(x._data).__name__]


def _swap(job: Case, shared: Shared) -> list[Any]:
    """Another thread keeps replacing the memory of a compiled function's argument."""
    function = torch.compile(lambda x: (x * 2).sum())
    x = torch.ones(64, dtype=torch.float64)
    stop = threading.Event()

    def other() -> None:
        while not stop.is_set():
            x.data = torch.ones(64, dtype=torch.float64)

    thread = threading.Thread(target=other)
    thread.start()
    try:
        return [function(x).item() for _ in range(20 * job["steps"])]
    finally:
        stop.set()
        thread.join()


def _resize(job: Case, shared: Shared) -> list[Any]:
    """Another thread resizes operands, parameters and gradients: errors, but no crash."""
    functional = torch.nn.functional
    rng = random.Random(job["seed"])
    x, w = torch.ones(64, 96), torch.ones(128, 96, requires_grad=True)
    image, kernel = torch.ones(2, 3, 16, 16), torch.ones(4, 3, 3, 3, requires_grad=True)
    places = torch.arange(64) % 7
    optimizer = getattr(torch.optim, job["optimizer"])([w, kernel], lr=1e-3)
    compiled = torch.compile(lambda a, b: functional.linear(a, b).sum(), fallback=True)
    stop = threading.Event()

    def other() -> None:
        while not stop.is_set():
            x.data = torch.ones(rng.choice((1, 64, 300)), 96)
            w.data = torch.ones(rng.choice((1, 128, 500)), 96)
            image.data = torch.ones(2, 3, rng.choice((3, 16, 40)), 16)
            kernel.data = torch.ones(4, 3, rng.choice((1, 3, 5)), 3)
            places.data = torch.arange(rng.choice((1, 64, 900))) % 7
            if rng.random() < 0.5:
                w.grad = kernel.grad = None

    calls: list[Callable[[], Any]] = [
        lambda: functional.linear(x, w).sum().backward(),
        lambda: functional.conv2d(image, kernel).sum().backward(),
        lambda: functional.layer_norm(x, (96,)).softmax(-1).sum(),
        lambda: functional.embedding(places, w).sum().backward(),
        lambda: functional.max_pool2d(image, 2).sum(),
        lambda: x.index_select(0, places),
        lambda: compiled(x, w).backward(),
        optimizer.step,
    ]
    thread = threading.Thread(target=other)
    thread.start()
    try:
        for i in range(10 * job["steps"]):
            with contextlib.suppress(RuntimeError, ValueError, IndexError, TypeError):
                calls[(i + job["batch"]) % len(calls)]()
    finally:
        stop.set()
        thread.join()
    return []


JOBS: dict[str, Callable[[Case, Shared], list[Any]]] = {
    "train": _train,
    "forward": _forward,
    "shared": _shared,
    "leaf": _leaf,
    "drop": _drop,
    "error": _error,
    "modes": _modes,
    "loader": _loader,
    "conv": _conv,
    "swap": _swap,
    "resize": _resize,
    "num_threads": _num_threads,
    "collect": _collect,
    "python": _python,
}
TARGET = Threads()
