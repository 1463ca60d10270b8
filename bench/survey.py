"""`python -m bench.survey`: every public function at three sizes, beside PyTorch, in processor time.

A function's arguments are found by trying common patterns (a vector, two, a matrix, ...) on
PyTorch; functions that need more are listed in `BY_HAND`. Each engine has its own process and one thread; they take
turns, and a figure is the shortest of all turns, because other load on the machine can only add to it.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import math
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

SIZES = (1, 1_000, 1_000_000)
BOUND = 1.5
SLOW = 1.0  # seconds for a million elements, extrapolated from fewer: not tried
MEMORY = 8 << 30  # bytes of address space per worker
_MODULES = ("", "nn.functional", "special", "linalg", "fft")
# Name prefixes of functions that compute nothing, or that only look like functions.
_LEFT_OUT = (
    "compile", "empty_cache", "from_file", "from_numpy", "hspmm", "initial_seed", "is_", "load",
    "manual_seed", "save", "seed", "set_", "get_", "use_", "vmap", "while_loop", "cond", "import_",
    "typename", "broadcast_shapes", "can_cast", "promote_types", "result_type", "from_dlpack", "frombuffer",
    "Assert", "autocast_", "thread_safe", "unravel_index", "segment_reduce", "quantize", "fake_quant",
    "dequantize", "q_", "choose_qparams", "fbgemm", "mkldnn", "cudnn", "miopen", "max_pool2d_with_ind",
    "rnn_", "lstm", "gru", "inf", "pi", "combinations", "cartesian_prod", "bartlett_window", "kaiser",
    "hamming", "hann", "blackman", "has_", "boolean_dispatch", "assert_", "profiler", "pickle", "pow_eval",
    "_", "embedding_renorm", "sparse", "sspaddmm", "smm", "to_dlpack",
)  # fmt: skip

Make = Callable[[Any, int], tuple[Any, ...]]


def _vector(torch: Any, n: int) -> Any:
    return torch.linspace(0.05, 0.95, n)


def _matrix(torch: Any, n: int) -> Any:
    side = max(1, math.isqrt(n))
    return torch.linspace(0.05, 0.95, side * side).reshape(side, side)


def _batch(torch: Any, n: int) -> Any:
    """Four-channel images, of n elements in total as nearly as possible."""
    side = max(4, math.isqrt(max(1, n // 8)))
    return torch.linspace(0.05, 0.95, 8 * side * side).reshape(2, 4, side, side)


def _whole(torch: Any, n: int) -> Any:
    return (_vector(torch, n) * 1000).to(torch.int64)


PATTERNS: dict[str, Make] = {
    "x": lambda t, n: (_vector(t, n),),
    "x, y": lambda t, n: (_vector(t, n), _vector(t, n).flip(0)),
    "matrix": lambda t, n: (_matrix(t, n),),
    "matrix, matrix": lambda t, n: (_matrix(t, n), _matrix(t, n)),
    "x, 2": lambda t, n: (_vector(t, n), 2),
    "matrix, 0": lambda t, n: (_matrix(t, n), 0),
    "x, y, z": lambda t, n: (_vector(t, n), _vector(t, n), _vector(t, n)),
    "x, 0.25, 0.75": lambda t, n: (_vector(t, n), 0.25, 0.75),
    "k": lambda t, n: (_whole(t, n),),
    "k, k": lambda t, n: (_whole(t, n), _whole(t, n) + 1),
    "n": lambda t, n: (n,),
    "pictures": lambda t, n: (_batch(t, n),),
    "pictures, 2": lambda t, n: (_batch(t, n), 2),
    "batch, matrix": lambda t, n: (_matrix(t, n)[None], _matrix(t, n)[None]),
}


def _by_hand(torch: Any, n: int) -> dict[str, Callable[[], Any]]:
    """Calls whose arguments no pattern can guess."""
    x, m, k = _vector(torch, n), _matrix(torch, n), _whole(torch, n)
    side = m.shape[0]
    index = k % n
    rows = (torch.arange(side * side) * 7 % side).reshape(side, side)
    labels = torch.arange(side) % side
    mask = x > 0.5
    counts = torch.zeros(27, 27)
    pictures = _batch(torch, n)
    kernel = torch.linspace(-1, 1, 4 * 4 * 9).reshape(4, 4, 3, 3)
    F = torch.nn.functional

    def add_at() -> None:
        counts[3, 5] += 1

    def put() -> None:
        x[mask] = 0.5

    return {
        "x[i]": lambda: x[index],
        "x[i, i]": lambda: m[labels, labels],
        "x[0, 0]": lambda: m[0, 0],
        "x[mask]": lambda: x[mask],
        "x[mask] = 0.5": put,
        "N[i, j] += 1": add_at,
        "gather": lambda: torch.gather(m, 1, rows),
        "scatter": lambda: torch.scatter(m, 1, rows, m),
        "scatter_add": lambda: torch.scatter_add(m, 1, rows, m),
        "scatter_reduce": lambda: torch.scatter_reduce(m, 1, rows, m, "amax"),
        "index_select": lambda: torch.index_select(x, 0, index),
        "index_add": lambda: torch.index_add(x, 0, index, x),
        "index_copy": lambda: torch.index_copy(x, 0, index, x),
        "index_fill": lambda: torch.index_fill(x, 0, index, 0.5),
        "index_put": lambda: torch.index_put(x, (index,), x),
        "masked_fill": lambda: torch.masked_fill(x, mask, 0.5),
        "masked_select": lambda: torch.masked_select(x, mask),
        "where": lambda: torch.where(mask, x, -x),
        "take": lambda: torch.take(m, index % m.numel()),
        "take_along_dim": lambda: torch.take_along_dim(m, rows, 1),
        "topk": lambda: torch.topk(x, min(n, 10)),
        "kthvalue": lambda: torch.kthvalue(x, 1),
        "searchsorted": lambda: torch.searchsorted(x, x),
        "bucketize": lambda: torch.bucketize(x, torch.linspace(0, 1, 10)),
        "bincount": lambda: torch.bincount(k),
        "randint": lambda: torch.randint(0, 100, (n,)),
        "multinomial": lambda: torch.multinomial(x[: min(n, 1 << 16)], 1),
        "normal": lambda: torch.normal(x, x),
        "uniform_": lambda: x.clone().uniform_(),
        "cat": lambda: torch.cat([x, x, x]),
        "stack": lambda: torch.stack([x, x, x]),
        "split": lambda: torch.split(x, max(1, n // 4)),
        "expand + contiguous": lambda: x[None].expand(2, -1).contiguous(),
        "transpose + contiguous": lambda: m.t().contiguous(),
        "permute + contiguous": lambda: pictures.permute(0, 2, 3, 1).contiguous(),
        "to float64": lambda: x.to(torch.float64),
        "to bfloat16": lambda: x.to(torch.bfloat16),
        "one_hot": lambda: F.one_hot(labels, side),
        "embedding": lambda: F.embedding(labels, m),
        "cross_entropy": lambda: F.cross_entropy(m, labels),
        "nll_loss": lambda: F.nll_loss(m, labels),
        "softmax": lambda: F.softmax(m, -1),
        "log_softmax": lambda: F.log_softmax(m, -1),
        "layer_norm": lambda: F.layer_norm(m, (side,)),
        "rms_norm": lambda: F.rms_norm(m, (side,)),
        "group_norm": lambda: F.group_norm(pictures, 2),
        "batch_norm": lambda: F.batch_norm(pictures, None, None, training=True),
        "conv2d": lambda: F.conv2d(pictures, kernel),
        "conv2d, stride 2": lambda: F.conv2d(pictures, kernel, stride=2, padding=1),
        "conv_transpose2d": lambda: F.conv_transpose2d(pictures, kernel),
        "interpolate, bilinear": lambda: F.interpolate(pictures, scale_factor=2, mode="bilinear"),
        "linear": lambda: F.linear(m, m),
        "einsum": lambda: torch.einsum("ij,jk->ik", m, m),
        "attention": lambda: F.scaled_dot_product_attention(*[pictures.reshape(2, 4, -1, 4)[:, :, :256]] * 3),
        "norm": lambda: torch.norm(x),
        "std": lambda: torch.std(m, 0),
        "var_mean": lambda: torch.var_mean(m, 1),
        "quantile": lambda: torch.quantile(x, 0.3),
        "sum, rows": lambda: m.sum(1),
        "sum, columns": lambda: m.sum(0),
        "max, columns": lambda: m.max(0),
        "argmax, rows": lambda: m.argmax(1),
        "cumsum, columns": lambda: torch.cumsum(m, 0),
        "sort, descending": lambda: torch.sort(x, descending=True),
        "unique": lambda: torch.unique(k),
        "x + 1": lambda: x + 1,
        "x * y": lambda: x * x,
        "x > y": lambda: x > x,
        "x += 1 (in place)": lambda: x.add_(1e-9),
    }  # fmt: skip


# ---- which calls ---------------------------------------------------------------------------------


def names(torch: Any) -> list[str]:
    """The public functions of the modules that compute."""
    found = []
    for module in _MODULES:
        space: Any = torch
        for part in filter(None, module.split(".")):
            space = getattr(space, part)
        for name in dir(space):
            if not callable(getattr(space, name)) or inspect.isclass(getattr(space, name)):
                continue
            if name.endswith("_") or any(name.startswith(left) for left in _LEFT_OUT):
                continue
            found.append(f"{module}.{name}" if module else name)
    return found


def function(torch: Any, name: str) -> Any:
    """The function of that name; None if an engine does not have it."""
    found: Any = torch
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def choose() -> dict[str, str]:
    """Which pattern each function takes: the first that PyTorch accepts."""
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    chosen = {}
    for name in names(torch):
        for pattern, make in PATTERNS.items():
            try:
                args = make(torch, 1_000)
                began = time.perf_counter()
                function(torch, name)(*args)
                if time.perf_counter() - began < 0.5:
                    chosen[name] = pattern
                break
            except Exception:
                continue
    return chosen


# ---- a worker ------------------------------------------------------------------------------------


def worker(engine: str) -> None:
    """Answer each line (a size, a name, a pattern) with the shortest time of one call, in seconds."""
    warnings.simplefilter("ignore")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    torch: Any = importlib.import_module(engine)
    torch.set_num_threads(1)
    for line in sys.stdin:
        size, name, pattern = json.loads(line)
        out.write(json.dumps(_time(torch, size, name, pattern)) + "\n")
        out.flush()


def _time(torch: Any, size: int, name: str, pattern: str | None) -> Any:
    try:
        if pattern is None:
            call = _by_hand(torch, size)[name]
        else:
            fn, args = function(torch, name), PATTERNS[pattern](torch, size)
            call = lambda: fn(*args)  # noqa: E731
        call()
        began = time.process_time()
        call()
        once = max(time.process_time() - began, 1e-7)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:100]}"
    if once > 0.5:
        return once
    inner = max(1, min(2000, int(0.002 / once)))
    best = math.inf
    for _ in range(5 if once < 0.05 else 2):
        began = time.process_time()
        for _ in range(inner):
            call()
        best = min(best, (time.process_time() - began) / inner)
    return best


# ---- the survey ----------------------------------------------------------------------------------


class Engine:
    """A worker process."""

    def __init__(self, name: str) -> None:
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.survey", "--worker", name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **threads},
        )  # fmt: skip

    def time(self, case: list[Any]) -> Any:
        """Seconds of a call, or why it failed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """Let the process exit."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def survey(words: list[str], sizes: list[int], turns: int) -> list[dict[str, Any]]:
    """A row per call and size: both times and their ratio."""
    hand: Any = importlib.import_module("torch")
    calls: list[tuple[str, str | None]] = [*choose().items()]
    calls += [(name, None) for name in _by_hand(hand, 4)]
    calls = [c for c in calls if not words or any(word in c[0] for word in words)]
    ours, theirs = Engine("tautograd"), Engine("torch")
    rows = []
    for number, (name, pattern) in enumerate(calls):
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{number + 1} of {len(calls)}: {name}\x1b[K")
        slow = False
        for size in sizes:
            if slow:
                continue
            pairs = [(ours.time([size, name, pattern]), theirs.time([size, name, pattern]))]
            while len(pairs) < turns and not any(isinstance(t, str) for t in pairs[0]):
                pairs.append((ours.time([size, name, pattern]), theirs.time([size, name, pattern])))
            wrong = [t for t in pairs[0] if isinstance(t, str)]
            a, b = (None, None) if wrong else (min(p[0] for p in pairs), min(p[1] for p in pairs))
            slow = wrong == [] and max(a, b) * 1e6 > SLOW * max(size, 1000)
            rows.append({
                "name": name, "arguments": pattern, "size": size, "seconds": a, "pytorch": b,
                "ratio": None if wrong else a / b, "error": wrong[0] if wrong else None,
            })  # fmt: skip
    ours.close()
    theirs.close()
    return rows


def report(rows: list[dict[str, Any]], bound: float) -> str:
    """The rows above the bound, worst first, and how many are not."""
    lines = []
    for size in sorted({row["size"] for row in rows}):
        timed = [row for row in rows if row["size"] == size and row["ratio"] is not None]
        if not timed:
            continue
        above = sorted((r for r in timed if r["ratio"] > bound), key=lambda r: -r["ratio"])
        middle = sorted(r["ratio"] for r in timed)[len(timed) // 2]
        lines.append(
            f"{size:,} elements: {len(timed)} calls, median ratio {middle:.2f}, above {bound:g}: {len(above)}"
        )
        for row in above:
            said = f"{row['name']}({row['arguments'] or ''})"
            lines.append(
                f"  {row['ratio']:7.2f}  {said:45} {row['seconds'] * 1e6:10.1f} µs  {row['pytorch'] * 1e6:10.1f} µs"
            )
    errors = [row for row in rows if row["error"]]
    lines += [f"not timed: {r['name']}({r['arguments']}) {r['size']}: {r['error']}" for r in errors]
    return "\n".join(lines)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.survey",
        description="Every public function beside PyTorch, one thread, at several sizes.",
        epilog="example:\n  python -m bench.survey --only topk,gather --turns 3",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", help="names that contain one of these words")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--turns", type=int, default=2, help="how often each call is timed")
    parser.add_argument("--bound", type=float, default=BOUND, help="ratios above are listed")
    parser.add_argument("--json", help="write all figures to this file")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker)
        return 0
    words = [word for word in options.only.split(",") if word]
    rows = survey(words, options.sizes, options.turns)
    print(report(rows, options.bound))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
