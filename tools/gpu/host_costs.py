"""The host's work in a step on a GPU: launches, calls of CuPy functions, and time by function.

    python tools/gpu/host_costs.py gpt-bf16 resnet lstm     # without a GPU: on a hollow one, where nothing is computed
    python tools/gpu/host_costs.py lstm --profile 40        # and where the time goes

A hollow GPU accepts launches, cuBLAS's and cuDNN's calls, and does nothing; memory is address space
that is never touched. So a step of any size takes only the time of the engine's own Python, which is
what bounds an eager step whose kernels are short. The cost of a launch in the driver and in CuPy's
binding is not included.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import pstats
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from bench import gpu_models  # noqa: E402
from tautograd._arrays.cuda import cuda_backend, cudnn  # noqa: E402
from tautograd._arrays.cuda.gemm import Gemm  # noqa: E402
from tests.cuda.fake import FakeBackend  # noqa: E402


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


class _Piece:
    """Memory that is only an address."""

    __slots__ = ("device_id", "ptr")

    def __init__(self, ptr: int) -> None:
        self.ptr, self.device_id = ptr, 0


class _Counting:
    """CuPy, counting calls of its functions and the time that NumPy takes for what a GPU would do."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self.counts: Counter[str] = Counter()
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        plain = getattr(self._cupy, name)
        return self.watched(name, plain) if callable(plain) else plain

    def watched(self, name: str, plain: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            self.counts[name] += 1
            start = time.process_time()
            try:
                return plain(*args, **options)
            finally:
                self.seconds += time.process_time() - start

        return call


class HollowBackend(FakeBackend):
    """A GPU that counts its requests."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.next = 1 << 20
        stream = SimpleNamespace(ptr=0)
        self.cupy: Any = _Counting(self.cupy)
        self.cupy.cuda = SimpleNamespace(get_current_stream=lambda: stream)
        self.gemm = self._gemm()

    def find_ufunc(self, ufunc: Any) -> Any:
        found = super().find_ufunc(ufunc)
        return None if found is None else self.cupy.watched(ufunc.__name__, found)

    def fill(self, ufuncs: dict[Any, Any], functions: dict[Any, Any]) -> None:
        super().fill(ufuncs, functions)
        self.has_kernels = True

    def array(self, shape: Any, dtype: Any, memory: Any) -> Any:  # type: ignore[override]
        """Count an array for CuPy's functions, which take several times as long as a launch."""
        self.cupy.counts["ndarray"] += 1
        return np.empty(shape, dtype)

    def allocate(self, size: int) -> Any:
        found = _Piece(self.next)
        self.next += (size + 511) // 512 * 512
        return found

    def compile(self, source: str, name: str) -> Any:
        def call(grid: Any, block: Any, arguments: Any) -> None:
            self.counts[name] += 1

        call.name = name  # type: ignore[attr-defined]
        return call

    def launch(
        self, function: Any, blocks: int, threads: int, shared: int, pack: Any, values: Any
    ) -> None:
        pack(_ROOM, 0, *values)
        self.counts[function.name] += 1

    is_sole_owner = cuda_backend.CupyBackend.is_sole_owner

    def _gemm(self) -> Gemm:
        found = Gemm.__new__(Gemm)
        found.backend, found.handle_of, found.own = self, lambda: 0, None
        found.lt = SimpleNamespace(kinds="feE", affine=self._counted("affine", True))
        calls = self._counted("gemm"), self._counted("gemm batched")
        found.calls = dict.fromkeys("fdeE", calls)
        found.scattered = dict.fromkeys("fd", self._counted("gemm scattered"))
        found.one, found.zero = dict.fromkeys("fdeE", 1), dict.fromkeys("fdeE", 0)
        return found

    def _counted(self, name: str, result: Any = None) -> Any:
        def call(*args: Any) -> Any:
            self.counts[name] += 1
            return result

        return call


class _Graph:
    """A cuDNN graph that accepts any node."""

    def __init__(self, backend: HollowBackend) -> None:
        self._backend, self._name = backend, ""

    def execute(self, where: Any, room: int, handle: Any = None) -> None:
        self._backend.counts[self._name] += 1

    def get_workspace_size(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        def node(*args: Any, **options: Any) -> Any:
            if name.startswith(("conv", "sdpa")):
                self._name = name
            return (
                (self,) * 3 if name == "sdpa_backward" else (self, self) if name == "sdpa" else self
            )

        return node


_ROOM = bytearray(1024)


def hollow() -> HollowBackend:
    """A hollow GPU in place of CuPy's."""
    backend = HollowBackend()
    cuda_backend.use(backend)
    kinds = SimpleNamespace(FLOAT=0, DOUBLE=1, HALF=2, BFLOAT16=3)
    module = SimpleNamespace(
        data_type=kinds, backend_version=lambda: 0, create_handle=lambda: 1, heur_mode=SimpleNamespace(A=0, FALLBACK=1),
        set_stream=lambda handle, stream: None, pygraph=lambda **options: _Graph(backend),
    )  # fmt: skip
    cudnn._found[:] = [cudnn.Cudnn(module)]
    return backend


def main(arguments: list[str]) -> None:
    import tautograd

    parser = argparse.ArgumentParser(description="What the host does in a step on a GPU.")
    parser.add_argument(
        "rows", nargs="*", choices=[[], *gpu_models.ROWS], default=list(gpu_models.ROWS)
    )
    parser.add_argument(
        "--profile", type=int, default=0, help="so many functions, by their own time"
    )
    parser.add_argument("--by", default="tottime")
    parser.add_argument("--steps", type=int, default=10)
    given = parser.parse_args(arguments)
    backend = hollow()
    for name in given.rows:
        row = gpu_models.ROWS[name]
        step = gpu_models.prepared(row, tautograd, row.half)[0]
        for _ in range(3):
            step()
        backend.counts.clear()
        backend.cupy.counts.clear()
        step()
        counts, others = dict(backend.counts), dict(backend.cupy.counts)
        gc.collect()
        best = float("inf")
        for _ in range(given.steps):
            start, backend.cupy.seconds = time.process_time(), 0.0
            step()
            best = min(best, time.process_time() - start - backend.cupy.seconds)
        launches = sum(counts.values())
        say(
            f"{name}: {launches} launches, {best * 1e3:.2f} ms of Python, {best / launches * 1e6:.1f} us each"
        )
        for label, found in (("", counts), ("CuPy's: ", others)):
            parts = sorted(found.items(), key=lambda item: -item[1])
            say(f"  {label}" + ", ".join(f"{n} {name}" for name, n in parts))
        if given.profile:
            profile = cProfile.Profile()
            profile.enable()
            for _ in range(given.steps):
                step()
            profile.disable()
            pstats.Stats(profile).sort_stats(given.by).print_stats(given.profile)
        del step


if __name__ == "__main__":
    main(sys.argv[1:])
