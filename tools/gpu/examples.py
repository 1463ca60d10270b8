"""The example programs on the GPU, unchanged, beside the same on the CPU.

    python tools/gpu/examples.py digits 60       # one of them, so many steps: the largest difference

On the GPU every tensor is created there, and random numbers are drawn from the CPU's stream, which makes
sense only for comparing: both runs then begin with the same weights and see the same batches. Their
output is compared number by number.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# Steps of each: few enough that rounding has not yet changed the course of the training.
EXAMPLES = {
    "regression": 60, "digits": 60, "digits_cnn": 12, "char_gpt": 12, "lstm": 8, "vae": 12, "gan": 8,
    "dqn": 30, "mixed_precision": 8, "accumulation": 8, "checkpoint": 8,
}  # fmt: skip
# The allowed difference of the figures: in float32, and with products in bfloat16 (8 bits).
APART = {"mixed_precision": 2.0**-7}
USUALLY = 1e-4


def everything_there() -> None:
    """Create every tensor on the GPU, with the CPU's random numbers."""
    import tautograd as torch
    from tautograd._tensor import draws, random_state

    def with_the_cpus(sampler: Any) -> Any:
        from tautograd._arrays.devices import gpu, moved

        def drawn(generator: Any, *values: Any, **options: Any) -> Any:
            here = [v.host() if hasattr(v, "host") else v for v in values]
            found = sampler(random_state.default_generator, *here, **options)
            return moved(found, gpu(0))

        return drawn

    draws.on_gpu = with_the_cpus
    random_state._check_type = lambda generator, where: None
    plain = torch.from_numpy
    torch.from_numpy = lambda array: plain(array).to("cuda")
    torch.set_default_device("cuda")


def play(name: str, device: str, steps: int) -> None:
    """Run an example here, as if tautograd were PyTorch."""
    import runpy

    sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "src"), str(ROOT)]
    if os.environ.get("STAND_IN"):
        from tautograd._arrays.cuda import cuda_backend
        from tests.cuda.fake import FakeBackend

        cuda_backend.use(FakeBackend())
    from tautograd._cli import as_torch

    as_torch.install()
    if device == "cuda":
        everything_there()
    path = ROOT / "examples" / f"{name}.py"
    sys.argv = [str(path), "--steps", str(steps), "--every", str(max(1, steps // 6))]
    runpy.run_path(str(path), run_name="__main__")


def figures(name: str, device: str, steps: int) -> list[float]:
    """The losses that an example prints."""
    command = [sys.executable, __file__, "--play", name, device, str(steps)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} on {device}: {done.stderr.strip().splitlines()[-1]}")
    lines = [line for line in done.stdout.splitlines() if line.startswith("step ")]
    return [float(n) for line in lines for n in re.findall(r"\s(-?\d+\.\d+)", line)]


def apart(name: str, steps: int) -> tuple[float, int]:
    """The largest relative difference between both runs, and how many figures were compared."""
    cpu, gpu = (figures(name, device, steps) for device in ("cpu", "cuda"))
    if len(cpu) != len(gpu) or not cpu:
        raise RuntimeError(f"{name} printed {len(gpu)} figures on the GPU, {len(cpu)} on the CPU")
    return max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(gpu, cpu, strict=True)), len(cpu)


if __name__ == "__main__":
    if sys.argv[1] == "--play":
        play(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        sys.stdout.write(f"{apart(sys.argv[1], int(sys.argv[2]))}\n")
