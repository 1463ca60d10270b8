"""Compiled functions on a stand-in for a GPU whose kernels really run: source and results.

What is generated for CUDA is compiled for this processor and run thread by thread (`emulated.py`), so that
indices, barriers and sums are those of a GPU. What only a GPU has (graphs, cuBLAS, its own functions) is
checked there, by `tools/gpu_check.py --only compile`; its checks run here as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd import nn
from tautograd._arrays.cuda import cuda_array, cuda_backend
from tautograd._compile.cuda import graph as graphs
from tautograd._compile.program.ir import Call
from tests.compile.compare import assert_same
from tests.compile.programs import program
from tests.cuda.emulated import EmulatedDevice, needs_compiler
from tests.cuda.fake import FakeBackend, on_gpu
from tests.ops.cases import RECORDS
from tools.gpu import compiled as checks
from tools.gpu import compiled_limits as limits
from tools.gpu.compiled_records import outcome as outcome_of

pytestmark = needs_compiler

# Sums in another order, functions of another library, a dozen operations after one another.
BOUND = 1e6  # units in the last place of float64, as for native code


class Compiling(FakeBackend):
    """The stand-in for CuPy, with a device that runs kernels."""

    def __init__(self) -> None:
        super().__init__()
        self.device = EmulatedDevice()


@pytest.fixture(autouse=True, scope="module")
def gpu() -> Iterator[EmulatedDevice]:
    found = cuda_backend.Found
    before = found.backend, found.looked, found.reason, cuda_array.backend
    backend = Compiling()
    cuda_backend.use(backend)
    yield backend.device
    found.backend, found.looked, found.reason, cuda_array.backend = before
    if before[0] is not None:
        cuda_backend.use(before[0])
    backend.device.folder.cleanup()


NAMES = (
    *("dropout", "precisions", "backward_outside", "results_and_arguments", "guards", "refusals"),
    "inputs_from_the_cpu",
)
CHECKS = dict(checks.CHECKS)


@pytest.mark.parametrize("name", [*NAMES, pytest.param("optimizers", marks=pytest.mark.slow)])
def test_checks_of_the_device(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (checks, limits):
        monkeypatch.setattr(module, "graph_of", lambda compiled: "")  # there are none here
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CHECKS[name]()


def host(value: Any) -> Any:
    """Results as arrays in main memory."""
    if isinstance(value, (tuple, list)):
        return [host(v) for v in value]
    return None if value is None else value.detach().cpu().numpy()


def outcome(run: Any, arrays: list[Any], grad: bool) -> Any:
    leaves = [torch.tensor(a).to("cuda").requires_grad_(grad) for a in arrays]
    result = run(*leaves)
    roots = [r for r in (result if isinstance(result, tuple) else (result,)) if r.requires_grad]
    if roots:
        torch.autograd.backward(roots, [torch.ones_like(r) for r in roots])
    return host([result, leaves, [leaf.grad for leaf in leaves]])


def nudged(values: Any) -> Any:
    """The numbers, each changed in its last place, up or down."""
    if values.dtype.kind != "f":
        return values
    signs = np.random.default_rng(0).choice([-1.0, 1.0], values.shape)
    return (values * (1 + np.finfo(values.dtype).eps * signs)).astype(values.dtype)


def same_program(seed: int, backend: str) -> None:
    run, arrays = program(seed)
    compiled = torch.compile(run, backend=backend)
    for call in range(4):
        moved = [a * (1 + call / 8) for a in arrays]
        pair = [outcome(f, moved, bool(seed % 4)) for f in (compiled, run)]
        near = [nudged(a) for a in moved]
        again = lambda near=near: outcome(run, near, bool(seed % 4))  # noqa: E731
        assert_same(*pair, BOUND, f"program {seed}, call {call}", again)
    assert compiled.records == 1


def test_random_programs_by_calls() -> None:
    for seed in range(40):
        same_program(seed, "numpy")


def test_random_programs_by_kernels() -> None:
    for seed in (1, 2, 7, 11, 23, 34):
        same_program(seed, "llvm")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_random_programs(part: int) -> None:
    for seed in range(2000 + part * 10, 2010 + part * 10):
        same_program(seed, "llvm")


SOME = (
    "add",
    "where",
    "softmax",
    "layer_norm",
    "mm",
    "index_select",
    "gather",
    "floor_divide",
    "cumsum",
)


def test_some_records() -> None:
    for name in SOME:
        assert outcome_of(name, "float32", on_gpu) == "held", name


@pytest.mark.slow
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int64", "float16", "bfloat16", "complex64"]
)
def test_every_record(dtype: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: outcome_of(name, dtype, on_gpu) for name in RECORDS}
    assert {n: text for n, text in found.items() if text not in (None, "held", "refused")} == {}
    assert sum(text == "held" for text in found.values()) > 150


# --- kernels ----------------------------------------------------------------------------------------


def training(gpu: EmulatedDevice) -> tuple[Any, int]:
    """A compiled training step that has run, and how many kernels it launches."""
    torch.manual_seed(0)
    layers = (nn.Linear(32, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 32))
    model = nn.Sequential(*layers).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    x, y = torch.randn(24, 32).to("cuda"), torch.randn(24, 32).to("cuda")

    @torch.compile
    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(3):
        step()
    before = gpu.launches
    step()
    return step, gpu.launches - before


def test_a_step_is_a_few_kernels(gpu: EmulatedDevice) -> None:
    """All parameters in one launch, a layer norm in one each way and one for its weights."""
    step, count = training(gpu)
    text = str(step.explain())
    parts = step.explain().to_dict()["parts"]
    assert [part["kind"] for part in parts] == ["native code"]
    products = sum(line.startswith("product") for line in parts[0]["lines"])
    assert products == 5
    assert count == len(parts[0]["lines"]) - products <= 10
    assert "arrays, " in text  # the optimizer's launch, over several parameters
    assert "sqrt, divide" in text


SHAPES = [(300, 40), (2, 700), (5000,), (7, 5, 3)]


@pytest.mark.parametrize("axis", [0, -1, None])
def test_long_sums(axis: int | None, gpu: EmulatedDevice) -> None:
    """Sums along memory and across it, with what depends on them and without: then cut into parts."""

    def reduced(x: Any) -> Any:
        if axis is None:
            return x.sum(), x.amax(), x.min()
        return x.sum(axis, keepdim=True), x.amax(axis), x.prod(axis)

    def used(x: Any) -> Any:
        return x * 2 - reduced(x)[0] / x.numel()

    rng = np.random.default_rng(0)
    for shape in SHAPES:
        for run in (reduced, used):
            compiled = torch.compile(run)
            for _ in range(3):
                values = rng.standard_normal(shape).astype(np.float32)
                x, near = (torch.tensor(v).to("cuda") for v in (values, nudged(values)))
                pair = host(compiled(x)), host(run(x))
                again = lambda run=run, near=near: host(run(near))  # noqa: E731
                assert_same(*pair, 64, f"{shape} {axis}", again)
            if run is reduced and (shape == (5000,) or (shape, axis) == ((300, 40), 0)):
                assert "atomicAdd(tickets" in gpu.sources[-1], shape


# --- graphs -----------------------------------------------------------------------------------------


class Graph:
    """In place of CUDA's: what is captured is run at each replay, and not before."""

    running: Any = None

    def __init__(self) -> None:
        self.runs: list[Any] = []
        self.open = False

    def __enter__(self) -> None:
        Graph.running, self.open = self, True

    def __exit__(self, *exception: Any) -> None:
        Graph.running, self.open = None, False

    def replay(self) -> None:
        for run in self.runs:
            run()


@pytest.fixture
def capturing(gpu: EmulatedDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    from tautograd.cuda import graphs as of_cuda

    monkeypatch.setattr(EmulatedDevice, "can_capture", True)
    monkeypatch.setattr(of_cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(of_cuda, "graph", lambda found: found)


class Generator:
    """As much of a GPU's generator as a stretch looks at."""

    offset = 0

    def next_draw(self, words: int) -> None:
        self.offset += words


def test_a_stretch_is_captured_at_its_second_run(capturing: None) -> None:
    done = []

    def work() -> None:
        if Graph.running is not None:
            Graph.running.runs.append(lambda: done.append("replayed"))
        else:
            done.append("run")

    stretch = graphs.Stretch([work], [])
    for _ in range(4):
        stretch()
    assert done == ["run", "replayed", "replayed", "replayed"]
    assert not stretch.why_no_graph


def test_what_cannot_be_captured_runs_without(capturing: None) -> None:
    generator = Generator()
    done = []

    def draw(_: Any) -> None:
        generator.next_draw(4)

    def waits() -> None:
        if Graph.running is not None:
            raise RuntimeError("needs a value")
        done.append(generator.offset)

    draw.captures = lambda dtype: True  # type: ignore[attr-defined]
    view = torch.ones(2, device="cuda")._data
    call = Call(draw, (generator,), {}, (view,), effect=True, name="draw")
    stretch = graphs.Stretch([lambda: draw(generator), waits], [call])
    for _ in range(4):
        stretch()
    assert done == [4, 8, 12, 16]  # a capture that was given up has drawn nothing
    assert "needs a value" in stretch.why_no_graph
    assert Graph.running is None


def test_what_python_does_is_not_captured(capturing: None) -> None:
    call = Call(print, (), {}, (), effect=True, name="a seed")
    stretch = graphs.Stretch([], [call])
    assert stretch.why_no_graph == "a seed happens in Python"
