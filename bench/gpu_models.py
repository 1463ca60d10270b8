"""Realistic GPU training steps on both engines: two GPTs, residual blocks, an LSTM, a wide MLP.

Each is measured eagerly and as a whole: `compile(step)` here, `torch.compile` with a fused optimizer there.
Peak memory is each engine's own count. Losses of a training run from the same numbers are compared with PyTorch's, and
PyTorch's in mixed precision with those in float32: how far the dtype alone makes them diverge.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.steps import gpt

Work = Callable[[], Any]
_ROUNDS = 7
_WARM = 6  # steps before memory is measured: by then a compiled step has been recorded, twice


def _gpt(
    torch: Any, layers: int, width: int, heads: int, tokens: int, batch: int, words: int
) -> Any:
    def criterion(scores: Any, targets: Any) -> Any:
        return torch.nn.functional.cross_entropy(scores.view(-1, words), targets.view(-1))

    rng = np.random.default_rng(0)
    ids, targets = (rng.integers(0, words, (batch, tokens)) for _ in range(2))
    return gpt(torch, words, tokens, width, layers, heads), ids, targets, criterion


def _resnet(torch: Any, channels: int, blocks: int, size: int, batch: int) -> Any:
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

        def forward(self, x: Any) -> Any:
            y = functional.relu(self.norm1(self.conv1(x)))
            return functional.relu(x + self.norm2(self.conv2(y)))

    class Model(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Conv2d(3, channels, 3, padding=1)
            self.blocks = nn.Sequential(*(Block() for _ in range(blocks)))
            self.head = nn.Linear(channels, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.blocks(functional.relu(self.stem(x))).mean((2, 3)))

    rng = np.random.default_rng(0)
    images = rng.standard_normal((batch, 3, size, size)).astype(np.float32)
    return Model(), images, rng.integers(0, 10, batch), nn.CrossEntropyLoss()


def _lstm(torch: Any, layers: int, width: int, steps: int, batch: int) -> Any:
    nn = torch.nn

    class Model(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(width, width, layers, batch_first=True)
            self.head = nn.Linear(width, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0][:, -1])

    rng = np.random.default_rng(0)
    given = rng.standard_normal((batch, steps, width)).astype(np.float32)
    return Model(), given, rng.integers(0, 10, batch), nn.CrossEntropyLoss()


def _mlp(torch: Any, width: int, layers: int, batch: int) -> Any:
    nn = torch.nn
    parts = [part for _ in range(layers) for part in (nn.Linear(width, width), nn.GELU())]
    rng = np.random.default_rng(0)
    given, wanted = (rng.standard_normal((batch, width)).astype(np.float32) for _ in range(2))
    return nn.Sequential(*parts[:-1]), given, wanted, nn.MSELoss()


@dataclass(frozen=True)
class Row:
    label: str
    build: Callable[..., Any]
    sizes: dict[str, int]
    half: bool  # under autocast to bfloat16
    flops: float = 0.0  # per step, for its utilisation


_GPT = {"layers": 6, "width": 512, "heads": 8, "tokens": 256, "batch": 16, "words": 8192}
_GPT2 = {"layers": 12, "width": 768, "heads": 12, "tokens": 1024, "batch": 8, "words": 50257}


def _flops_of_gpt(sizes: dict[str, int]) -> float:
    """Six per weight and token, and twelve per score and channel (forward and backward)."""
    layers, width, tokens = sizes["layers"], sizes["width"], sizes["tokens"]
    weights = 12 * layers * width * width + width * sizes["words"]
    return float(sizes["batch"] * tokens * (6 * weights + 12 * layers * width * tokens))


ROWS = {
    "gpt-bf16": Row("GPT 6x512, 256 tokens, batch 16, bf16 autocast", _gpt, _GPT, True),
    "gpt-f32": Row("the same in float32", _gpt, _GPT, False),
    "gpt2-bf16": Row(
        "GPT-2 small, 1,024 tokens, batch 8, bf16 autocast", _gpt, _GPT2, True, _flops_of_gpt(_GPT2)
    ),
    "resnet": Row(
        "ResNet blocks 4x64, 32x32, batch 128, float32", _resnet,
        {"channels": 64, "blocks": 4, "size": 32, "batch": 128}, False,
    ),
    "lstm": Row(
        "LSTM 2x256, 100 steps, batch 64", _lstm,
        {"layers": 2, "width": 256, "steps": 100, "batch": 64}, False,
    ),
    "mlp-bf16": Row(
        "MLP 4096x4, batch 4096, bf16 autocast", _mlp, {"width": 4096, "layers": 4, "batch": 4096}, True
    ),
}  # fmt: skip


def prepared(row: Row, torch: Any, half: bool, weights: Any = None, **options: Any) -> Any:
    """The step, the forward with its loss, and the model; from given weights if there are any."""
    torch.manual_seed(0)
    torch.set_default_device("cpu")
    model, inputs, targets, criterion = row.build(torch, **row.sizes)
    if weights is not None:
        with torch.no_grad():
            for p, w in zip(model.parameters(), weights, strict=True):
                p.copy_(torch.from_numpy(w))
    model = model.to("cuda")
    inputs, targets = (torch.from_numpy(a).to("cuda") for a in (inputs, targets))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **options)

    def loss_of() -> Any:
        region = torch.autocast("cuda", dtype=torch.bfloat16) if half else contextlib.nullcontext()
        with region:
            return criterion(model(inputs), targets)

    def step(loss_of: Any = loss_of) -> Any:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss

    return step, loss_of, model


def ours_whole(row: Row, torch: Any) -> Work:
    step, _, _ = prepared(row, torch, row.half)
    compiled = torch.compile(step)
    for _ in range(4):
        compiled()
    replay = compiled._last.replay_of
    if not replay.is_graph:
        raise RuntimeError(f"the compiled step is no graph: {replay.why_no_graph}")
    return compiled  # type: ignore[no-any-return]


def theirs_whole(row: Row, torch: Any) -> Work:
    step, loss_of, _ = prepared(row, torch, row.half, fused=True)
    compiled = torch.compile(loss_of)
    for _ in range(3):
        step(compiled)
    return lambda: step(compiled)


def milliseconds(works: list[Work], waits: list[Work], seconds: float) -> list[float]:
    """The lowest mean of several interleaved rounds."""
    counts = []
    for work, wait in zip(works, waits, strict=True):
        for _ in range(2):
            work()
        wait()
        start = time.perf_counter()
        work()
        wait()
        counts.append(max(2, int(seconds / _ROUNDS / (time.perf_counter() - start))))
    best = [float("inf")] * len(works)
    for _ in range(_ROUNDS):
        for i, (work, wait, count) in enumerate(zip(works, waits, counts, strict=True)):
            start = time.perf_counter()
            for _ in range(count):
                work()
            wait()
            best[i] = min(best[i], (time.perf_counter() - start) / count * 1e3)
    return best


def peak(torch: Any, make: Callable[[], Work]) -> tuple[Work, float]:
    """What was made, and the peak memory of a step in megabytes."""
    work = make()
    for _ in range(_WARM):
        work()
    torch.cuda.synchronize()
    gc.collect()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    most = torch.cuda.max_memory_allocated() / 1e6
    stop = getattr(torch.cuda.memory, "stop_watching", None)
    if stop is not None:  # tracking each allocation takes time
        stop()
    return work, most


def _freed(torch: Any) -> None:
    gc.collect()
    torch.cuda.empty_cache()


def measured(name: str, seconds: float, with_compile: bool) -> dict[str, Any]:
    """One line of the table."""
    import torch

    import tautograd

    row = ROWS[name]
    waits = [tautograd.cuda.synchronize, torch.cuda.synchronize]
    pairs: dict[str, Any] = {
        "eager": (
            lambda: prepared(row, tautograd, row.half)[0],
            lambda: prepared(row, torch, row.half)[0],
        ),
        "whole": (lambda: ours_whole(row, tautograd), lambda: theirs_whole(row, torch)),
    }
    if not with_compile:
        pairs["whole"] = (pairs["whole"][0], pairs["eager"][1])
    found: dict[str, Any] = {
        "row": row.label,
        "whole_against": "compile" if with_compile else "eager",
    }
    for kind, makers in pairs.items():
        works, peaks, mark = [], [], time.perf_counter()
        try:
            for engine, make in zip((tautograd, torch), makers, strict=True):
                engine.cuda.reset_peak_memory_stats()
                base = engine.cuda.memory_allocated() / 1e6
                work, most = peak(engine, make)
                works.append(work)
                peaks.append(most - base)
            times = milliseconds(works, waits, seconds)
            found[kind] = {
                "ms": times, "ratio": times[0] / times[1], "mb": peaks, "memory": peaks[0] / peaks[1],
                "prepared_s": time.perf_counter() - mark,
            }  # fmt: skip
            if row.flops:
                found[kind]["tflops"] = [row.flops / t / 1e9 for t in times]
        except Exception as error:
            found[kind] = {"error": f"{type(error).__name__}: {str(error)[:400]}"}
        works = []
        _freed(tautograd)
        _freed(torch)
    return found


def trained(name: str, count: int) -> dict[str, Any]:
    """Losses from the same numbers: ours eager and compiled, PyTorch's, and PyTorch's in float32."""
    import torch

    import tautograd

    row = ROWS[name]
    torch.manual_seed(0)
    model = row.build(torch, **row.sizes)[0]
    weights = [p.detach().numpy().copy() for p in model.parameters()]
    del model

    def losses(engine: Any, half: bool, whole: bool) -> Any:
        step = prepared(row, engine, half, weights)[0]
        work = engine.compile(step) if whole else step
        return np.array([float(work()) for _ in range(count)])

    for engine in (tautograd, torch):
        _freed(engine)
    theirs = losses(torch, row.half, False)
    exact = losses(torch, False, False) if row.half else theirs
    scale = np.abs(exact).max()
    found: dict[str, Any] = {
        "row": row.label,
        "steps": count,
        "first": theirs[0],
        "last": theirs[-1],
    }
    found["dtype_apart"] = float(np.abs(theirs - exact).max() / scale)
    for kind, whole in (("eager", False), ("whole", True)):
        try:
            have = losses(tautograd, row.half, whole)
            found[f"{kind}_last"] = have[-1]
            found[f"{kind}_apart"] = float(np.abs(have - theirs).max() / scale)
        except Exception as error:
            found[f"{kind}_error"] = f"{type(error).__name__}: {str(error)[:400]}"
    return found


def table(lines: list[dict[str, Any]]) -> str:
    """The table, in Markdown."""
    out = ["| step | eager | whole | peak memory, eager / whole |", "| --- | --- | --- | --- |"]
    for line in lines:
        cells = []
        for kind in ("eager", "whole"):
            part = line[kind]
            if "error" in part:
                cells.append(part["error"][:80])
                continue
            ours, theirs = part["ms"]
            cells.append(f"{ours:.2f} / {theirs:.2f} = {part['ratio']:.2f}")
        memory = [line[kind].get("memory", float("nan")) for kind in ("eager", "whole")]
        out.append(
            f"| {line['row']} | {cells[0]} | {cells[1]} | {memory[0]:.2f} / {memory[1]:.2f} |"
        )
    return "\n".join(out)
