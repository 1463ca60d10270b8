"""Compiled steps in mixed precision with the kernels of `_ops/on_gpu` in place, beside the same steps as they are.

    python -m tests.cuda.compiled_here     # prints JSON

The stand-in has both: kernels that are declared (`kernels_here`) and those that are generated (`emulated`). Records are
changed when kernels are put in place, so this has a process of its own. Sizes from which something pays are set so
low that all of it happens.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import tautograd as torch
from tautograd._arrays.cuda import cuda_backend
from tautograd._arrays.cuda.gemm import Gemm
from tautograd._compile.cuda import calls, casts_in_time, vectors
from tautograd._compile.program.ir import Call, Map, Product
from tautograd.optim import _on_gpu
from tests.cuda.emulated import EmulatedDevice
from tests.cuda.kernels_here import KernelBackend

WORDS, TOKENS, WIDTH, BATCH = 1037, 8, 16, 3
STEPS = 4


class Device(EmulatedDevice):
    """The emulated device, with products by the stand-in for cuBLAS."""

    def __init__(self, backend: Any) -> None:
        super().__init__()
        self.backend = backend
        self.biased = 0

    def product(self, left: Any, right: Any, out: Any, adds: bool) -> bool:
        return self.backend.gemm(left, right, out, adds) is not None

    def affine(self, left: Any, right: Any, bias: Any, out: Any) -> bool:
        self.biased += 1
        wide = [np.asarray(x.host()).astype(np.float32) for x in (left, right, bias)]
        out.raw[...] = (wide[0] @ wide[1] + wide[2]).astype(out.dtype)
        return True


class Both(KernelBackend):
    def __init__(self) -> None:
        super().__init__()
        self.device = Device(self)


def model() -> Any:
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(WORDS, WIDTH)
            self.norm = nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
            self.head = nn.Linear(WIDTH, WORDS, bias=False)

        def forward(self, ids: Any) -> Any:
            x = self.words(ids)
            parts = self.qkv(self.norm(x)).view(BATCH, TOKENS, 3, 2, WIDTH // 2).unbind(2)
            q, k, v = (part.transpose(1, 2) for part in parts)
            seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(seen.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH))
            return self.head(x + self.down(nn.functional.gelu(self.up(self.norm(x)))))

    return Block()


def trained(how: Any, half: bool) -> tuple[Any, Any, Any]:
    """The losses of a few steps, the parameters after them, and the function that ran."""
    torch.manual_seed(0)
    net = model().to("cuda")
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    rng = np.random.default_rng(1)
    ids, wanted = (
        torch.tensor(rng.integers(0, WORDS, (BATCH, TOKENS))).to("cuda") for _ in range(2)
    )

    def step() -> Any:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=half):
            scores = net(ids).view(-1, WORDS)
            loss = torch.nn.functional.cross_entropy(scores, wanted.view(-1))
        loss.backward()
        optimizer.step()
        return loss

    run = how(step)
    losses = [float(run()) for _ in range(STEPS)]
    return losses, [p.detach().cpu().numpy().ravel() for p in net.parameters()], run


@contextmanager
def watched(moved: list[str]) -> Iterator[None]:
    """Meanwhile, notes the calls of our kernels that did not put a result where it belongs."""
    before = calls._is_at

    def is_at(view: Any, result: Any, memory: Any) -> bool:
        found = before(view, result, memory)
        if not found:
            moved.append(str(view.shape))
        return found

    calls._is_at = is_at
    try:
        yield
    finally:
        calls._is_at = before


def main() -> None:
    Gemm.pads_from = Gemm.fuses_from = 1
    vectors.FEW = 1
    casts_in_time._LARGE = 1
    _on_gpu.fits = lambda p, states: False  # whose kernel takes what the stand-in cannot hand over
    backend = Both()
    cuda_backend.use(backend)
    found: dict[str, Any] = {}
    for half in (False, True):
        plain, ended, _ = trained(lambda f: f, half)
        losses, after, run = trained(torch.compile, half)
        program = run._last.replay_of.program
        products = [i for i in program.instructions if isinstance(i, Product)]
        names = [i.name for i in program.instructions if isinstance(i, Call)]
        apart = [
            float(np.linalg.norm(a - b) / np.linalg.norm(b))
            for a, b in zip(after, ended, strict=True)
        ]
        casts = [
            at for at, i in enumerate(program.instructions)
            if isinstance(i, Map) and i.function == "cast" and i.output.dtype == np.float32
        ]  # fmt: skip
        memory, moved = run._last.replay_of.memory, []
        (back,) = [
            i for i in program.instructions
            if isinstance(i, Call) and i.name == "cross_entropy_back"
        ]  # fmt: skip
        with watched(moved):
            run()
        texts = "".join(backend.device.sources)
        found["half" if half else "float32"] = {
            "losses": [plain, losses],
            "apart": max(apart),
            "biased": sum(p.bias is not None for p in products),
            "steps_of_rows": sorted(
                {p.output.strides[0] for p in products if WORDS in p.output.shape}
            ),
            "calls": sorted(set(names)),
            "casts": len(casts),
            "over_scores": memory.start(back.args[1].buffer)
            == memory.start(back.outputs[0].buffer),
            "moved": moved,
            "rooms": len(memory._rooms),
            "packs": texts.count("Pack<"),
            "why": run._last.replay_of.why_not_native,
        }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
