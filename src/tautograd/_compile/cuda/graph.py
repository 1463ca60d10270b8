"""A stretch of a program as one CUDA graph: run once as it is, then captured, from then on launched.

It is launched on the stream for which it was captured, whose memory for products it shares: each of the first few
streams has its own. The first run loads the kernels. What cannot be captured (a call that waits for the GPU) is no
error: the capture is given up, the stream is as before, and the stretch runs without a graph from then on. Random
numbers are those of a run without a graph: their count is told anew at each launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..._arrays.cuda import cuda_array
from ..program.ir import Call, Instruction
from ..run.numpy_calls import has_late
from .device import device

MOST_STREAMS = 4  # for which a stretch is captured


class Stretch:
    """The runs of one stretch, and its graph once there is one."""

    def __init__(self, runs: list[Callable[[], None]], instructions: Iterable[Instruction]) -> None:
        self.runs = runs
        instructions = list(instructions)
        effects = [i for i in instructions if isinstance(i, Call) and i.effect]
        self.generators = {id(g): g for i in effects for g in i.args if hasattr(g, "next_draw")}
        calls = [i for i in instructions if isinstance(i, Call)]
        self.why_no_graph = _why_not(effects) or _has_numbers(calls)
        self.graphs: dict[int, Any] = {}  # by the stream on which each is launched
        self.warm = False

    def __call__(self) -> None:
        graph = self._graph() if self.warm else None
        if graph is not None:
            graph.replay()
            return
        for run in self.runs:
            run()
        self.warm = True

    @property
    def is_graph(self) -> bool:
        return bool(self.graphs)

    def _graph(self) -> Any:
        """The graph for the current stream, captured now if there is none yet; None where there can be none."""
        stream = device().stream()
        found = self.graphs.get(stream)
        if found is None and not self.why_no_graph and not _is_busy():
            found = self._captured(stream) if len(self.graphs) < MOST_STREAMS else None
        return found

    def _captured(self, stream: int) -> Any:
        from ...cuda.graphs import CUDAGraph, graph

        offsets = [(g, g.offset) for g in self.generators.values()]
        found = CUDAGraph()
        found.runs_on = stream
        try:
            with graph(found):
                for run in self.runs:
                    run()
        except BaseException as error:
            for generator, offset in offsets:
                generator.offset = offset
            if not isinstance(error, Exception):
                raise
            self.why_no_graph = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            return None
        self.graphs[stream] = found
        return found


def _is_busy() -> bool:
    """Whether another graph is being captured."""
    return cuda_array.backend.capture is not None


def _why_not(effects: list[Call]) -> str:
    """Why a stretch cannot be a graph, as far as it can be told beforehand."""
    if not device().can_capture:
        return "no CUDA graphs here"
    for call in effects:
        captures = getattr(call.function, "captures", None)
        if captures is None or not captures(call.outputs[0].dtype):
            return f"{call.name} happens in Python"
    return ""


def _has_numbers(calls: list[Call]) -> str:
    """A graph would keep a Python number that a call gets anew at each run."""
    named = [call.name for call in calls if has_late((call.args, call.kwargs))]
    return f"{named[0]} takes a Python number that changes" if named else ""
