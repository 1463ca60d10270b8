"""Where the memory of a compiled step lies on a GPU: gradients among what is computed on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd import nn
from tautograd._arrays.cuda import cuda_array, cuda_backend
from tautograd._arrays.cuda.cublas import ROOM_FOR_WORK, Cublas
from tautograd._compile.cuda import graph as graphs
from tautograd._compile.program.ir import Buffer, Kind, Program
from tautograd._compile.program.memory_planning import Use, planned, times_of
from tautograd._compile.run.replay import _touched
from tests.cuda.emulated import EmulatedDevice, needs_compiler
from tests.cuda.test_compiled import Compiling

WIDTH = 128


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


# --- the plan ---------------------------------------------------------------------------------------


def program_of(*sizes: int, external: tuple[int, ...] = ()) -> Program:
    kinds = [Kind.EXTERNAL if i in external else Kind.SCRATCH for i in range(len(sizes))]
    pairs = zip(sizes, kinds, strict=True)
    return Program([Buffer(i, size, kind) for i, (size, kind) in enumerate(pairs)], [], [])


def test_what_is_left_behind_lies_where_scratch_was() -> None:
    program = program_of(640, 640, 640, external=(2,))
    uses = [Use({0}), Use({0, 1}), Use({1}), Use({1, 2})]
    plain, size = planned(program, uses, frozenset())
    assert 2 not in plain
    assert size == 1280
    found, size = planned(program, uses, frozenset(), frozenset({2}))
    assert size == 1280
    assert found[2] == found[0]


def test_what_is_left_behind_stays_to_the_end() -> None:
    program = program_of(640, 640, external=(0,))
    uses = [Use({0}), Use({1}), Use({1})]
    left = frozenset({0})
    assert times_of(program, uses, frozenset(), left)[0] == [(0, 2)]
    found, size = planned(program, uses, frozenset(), left)
    assert size == 1280
    assert found[0] != found[1]


def test_the_room_of_a_step_is_used_by_others_before_and_after() -> None:
    program = program_of(1280, 640, 1280)
    uses = [Use({0}), Use({0, 1}), Use({1}), Use({1, 2}), Use({2})]
    without = planned(program, uses, frozenset())[1]
    found, size = planned(program, uses, frozenset(), rooms={2: 1280})
    assert size == without
    room = found[-1 - 2]
    assert room >= found[1] + 640 or room + 1280 <= found[1]


# --- gradients --------------------------------------------------------------------------------------


class Training:
    """A model with its step, compiled or not."""

    def __init__(self, how: Any, clears: bool = True) -> None:
        torch.manual_seed(0)
        layers = [part for _ in range(3) for part in (nn.Linear(WIDTH, WIDTH), nn.GELU())]
        self.model = nn.Sequential(*layers[:-1]).to("cuda")
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)
        rng = np.random.default_rng(0)
        x, y = (rng.standard_normal((WIDTH, WIDTH)).astype(np.float32) for _ in range(2))
        self.x, self.y = torch.tensor(x).to("cuda"), torch.tensor(y).to("cuda")

        def step() -> Any:
            if clears:
                self.optimizer.zero_grad()
            loss = nn.functional.mse_loss(self.model(self.x), self.y)
            loss.backward()
            self.optimizer.step()
            return loss

        self.step = how(step)

    def grads(self) -> list[Any]:
        return [p.grad.cpu().numpy() for p in self.model.parameters()]


def assert_near(have: list[Any], wanted: list[Any]) -> None:
    for a, b in zip(have, wanted, strict=True):
        assert np.abs(a - b).max() <= 1e-5 * np.abs(b).max()


@needs_compiler
def test_gradients_lie_in_the_programs_own_memory() -> None:
    plain, compiled = Training(lambda f: f), Training(torch.compile)
    for _ in range(5):
        assert float(compiled.step()) == pytest.approx(float(plain.step()), rel=1e-5)
        assert_near(compiled.grads(), plain.grads())
    memory = compiled.step._last.replay_of.memory
    gradients = sum(p.numel() * 4 for p in compiled.model.parameters())
    assert len(memory.left) == 6
    outside = compiled.step.explain().to_dict()["memory"]["external"]
    assert (
        outside < 3 * gradients + 3 * WIDTH * WIDTH * 4
    )  # parameters and states, inputs and targets
    low = memory.device.address(memory.arena)
    for p in compiled.model.parameters():
        assert low <= p.grad._data.address < low + memory.scratch_bytes
    # Three layers have an input, two a result, and backward one gradient at a time: the rest of it, twice
    # as much, is where gradients of weights come to lie.
    assert memory.scratch_bytes < gradients + 5 * WIDTH * WIDTH * 4


@needs_compiler
def test_gradients_are_still_there_for_others() -> None:
    """Steps that read or add to gradients which a compiled step left, and that step again."""
    plain, compiled = Training(lambda f: f), Training(torch.compile)
    for run in (plain, compiled):
        for _ in range(3):
            run.step()

    def add(run: Training) -> None:
        nn.functional.mse_loss(run.model(run.x), run.y * 2).backward()

    @torch.compile
    def largest(parameters: Any) -> Any:
        return torch.stack([p.grad.abs().max() for p in parameters])

    for _ in range(3):
        for run in (plain, compiled):
            add(run)
        assert_near(compiled.grads(), plain.grads())
        wanted = [np.abs(g).max() for g in plain.grads()]
        found = largest(list(compiled.model.parameters())).cpu().numpy()
        assert_near([found], [np.array(wanted)])
        for run in (plain, compiled):
            run.step()
        assert_near(compiled.grads(), plain.grads())


@needs_compiler
def test_gradients_that_are_added_to_stay_where_they_are() -> None:
    plain, compiled = (Training(how, clears=False) for how in (lambda f: f, torch.compile))
    for _ in range(4):
        for run in (plain, compiled):
            run.step()
        assert_near(compiled.grads(), plain.grads())
    assert not compiled.step._last.replay_of.memory.left


@needs_compiler
def test_an_argument_that_is_a_gradient() -> None:
    """What a step makes anew is written over while it runs: a step that is given it computes with what it was."""

    def train(how: Any) -> list[Any]:
        run = Training(lambda f: f)

        def step(x: Any) -> Any:
            run.optimizer.zero_grad()
            loss = nn.functional.mse_loss(run.model(x), run.y)
            loss.backward()
            run.optimizer.step()
            return loss

        step = how(step)
        x = run.x
        found = []
        for _ in range(6):
            found.append(float(step(x)))
            x = run.model[0].weight.grad
        return found

    assert train(torch.compile) == pytest.approx(train(lambda f: f), rel=1e-4)


@needs_compiler
def test_an_audit_gives_gradients_to_the_record() -> None:
    plain = Training(lambda f: f)
    compiled = Training(lambda f: torch.compile(f, audit="always"))
    for _ in range(5):
        for run in (plain, compiled):
            run.step()
        assert_near(compiled.grads(), plain.grads())


# --- what waits in memory ---------------------------------------------------------------------------


@needs_compiler
def test_values_for_backward_are_not_computed_on_the_way_forward() -> None:
    """GELU's slope is made of an error function and an exponential of what is kept anyway."""
    compiled = Training(torch.compile)
    for _ in range(3):
        compiled.step()
    replay = compiled.step._last.replay_of
    stored = {view.buffer: i for i in replay.program.instructions for view in i.writes()}
    uses = list(_touched(replay.stretches))
    times = times_of(replay.program, uses, replay.memory.elsewhere, frozenset())
    for number, spans in times.items():
        if getattr(stored[number], "function", "") == "exp":
            assert max(last - first for first, last in spans) <= 4, stored[number]


# --- products inside graphs ---------------------------------------------------------------------------


class Piece:
    def __init__(self, ptr: int) -> None:
        self.ptr = ptr


class Library:
    """As much of cuBLAS as a handle asks."""

    def __init__(self) -> None:
        self.workspaces: list[tuple[int, int]] = []
        self.stream = 0

    def cublasCreate_v2(self, handle: Any) -> int:
        return 0

    def cublasSetStream_v2(self, handle: int, stream: int) -> int:
        self.stream = stream
        return 0

    def cublasSetWorkspace_v2(self, handle: int, place: int, size: int) -> int:
        assert size == ROOM_FOR_WORK
        self.workspaces.append((self.stream, place))
        return 0


def test_what_is_captured_uses_the_memory_of_the_stream_it_runs_on() -> None:
    library = Library()
    made: list[Piece] = []

    def allocate(size: int) -> Piece:
        made.append(Piece(1000 * (len(made) + 1)))
        return made[-1]

    own = Cublas(library, allocate)
    own.on(7)
    own.share_room(9, 7)
    own.on(9)
    assert library.workspaces == [(7, 1000), (9, 1000)]
    assert own.forget_room(9) is made[0]
    own.on(9)  # another stream at the same address
    assert library.workspaces[-1] == (9, 2000)
    assert len(made) == 2


def test_a_graph_runs_on_its_own_stream_alone(
    gpu: EmulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tautograd.cuda import graphs as of_cuda

    done: list[str] = []

    class Graph:
        def __enter__(self) -> None: ...
        def __exit__(self, *exception: Any) -> None:
            done.clear()

        def replay(self) -> None:
            done.append("replayed")

    current = [3]
    monkeypatch.setattr(EmulatedDevice, "can_capture", True)
    monkeypatch.setattr(EmulatedDevice, "stream", lambda self: current[0])
    monkeypatch.setattr(of_cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(of_cuda, "graph", lambda found: found)
    stretch = graphs.Stretch([lambda: done.append("run")], [])
    stretch()
    stretch()
    assert done == ["replayed"]
    (first,) = stretch.graphs.values()
    current[0] = 4
    stretch()  # captured for this one
    assert done == ["replayed"]
    assert [graph.runs_on for graph in stretch.graphs.values()] == [3, 4]
    current[0] = 3
    stretch()
    assert done == ["replayed", "replayed"]
    assert stretch.graphs[3] is first
    for stream in range(10, 20):
        current[0] = stream
        stretch()
    assert len(stretch.graphs) == graphs.MOST_STREAMS
    assert done[-1] == "run"
