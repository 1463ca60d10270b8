"""CUDA graphs: a whole step captured once, and replayed as one launch.

While a graph is captured, kernels are not run but written down, with the addresses they work on. Memory
comes from a pool of the graph's own, so those addresses hold. What Python did in between is not
repeated, with two exceptions that are told anew before each replay: the numbers of an optimizer's formula
(its step count, the learning rate), and the count of draws of random numbers. A value that Python asks
for (`.item()`, an `if` on a tensor) cannot be captured, and is an error that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import is_
from typing import Any

import numpy as np

from .._autograd.effects import structure
from .._autograd.grad_mode import no_grad
from .._tensor.tensor import Tensor, make
from ._backend import needed
from .memory import memory_of_graphs

__all__ = [
    "CUDAGraph",
    "graph",
    "graph_pool_handle",
    "is_current_stream_capturing",
    "make_graphed_step",
]

_RELAXED = 2  # cudaStreamCaptureModeRelaxed: other streams may go on
_ROOM = 4096  # numbers that are told anew before a replay

_WRITE = r"""
struct Numbers { double at[%d]; };
extern "C" __global__ void write(double* out, Numbers numbers, long long first, long long n) {
  for (long long i = threadIdx.x; i < n; i += blockDim.x) out[first + i] = numbers.at[i];
}
"""
_AT_ONCE = 448  # doubles that fit into a launch


class _Pool:
    """Memory for a graph, and the stream it is captured on."""

    def __init__(self) -> None:
        cupy = needed().cupy
        self.memory = cupy.cuda.MemoryPool()
        memory_of_graphs.add(self)
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.other = cupy.cuda.Stream(non_blocking=True)

    def __enter__(self) -> _Pool:
        cupy = needed().cupy
        cupy.cuda.runtime.deviceSynchronize()
        self._allocator = cupy.cuda.using_allocator(self.memory.malloc)
        self._allocator.__enter__()
        self.stream.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.stream.__exit__(*exception)
        self._allocator.__exit__(*exception)
        self.stream.synchronize()


def graph_pool_handle() -> Any:
    """Memory that several graphs can share, if they are replayed in the order of their capture."""
    return _Pool()


class CUDAGraph:
    """Work that was captured, and can be replayed."""

    def __init__(self, keep_graph: bool = False) -> None:
        self.runs_on: int | None = None  # the one stream that it is replayed on, if that is known
        self._pool: Any = None
        self._graph: Any = None
        self._kept: list[Any] = []
        self._again: list[tuple[int, int, Callable[[], list[float]]]] = []
        self._numbers: Any = None
        self._first = True
        self._watched: tuple[list[Tensor], list[Any]] = [], []

    # --- capture ----------------------------------------------------------------------------------

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Write down from now on what the GPU is asked to do."""
        backend = needed()
        if backend.capture is not None:
            raise RuntimeError("a CUDA graph is being captured already")
        if self._graph is not None:
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. Call reset()."
            )
        self._shares = isinstance(pool, _Pool)
        self._pool = pool if self._shares else _Pool()
        self._memory = backend.cupy.zeros(_ROOM, np.float64)
        self._writer = backend.compile(_WRITE % _AT_ONCE, "write")
        self._values: list[float] = []
        self._write([0.0])  # compiled now: no kernel can be loaded later
        self._products = getattr(getattr(backend, "gemm", None), "own", None)
        if self._products is not None and self.runs_on is not None:
            self._products.share_room(self._pool.stream.ptr, self.runs_on)
        self._pool.__enter__()
        self._pool.stream.begin_capture(_RELAXED)
        backend.capture = self
        structure[0] += 1  # compiled functions run as they are written in it

    def capture_end(self) -> None:
        """Make a graph of what was written down."""
        backend = needed()
        backend.capture = None
        try:
            self._graph = self._pool.stream.end_capture()
        finally:
            if self._products is not None:  # whose memory the graph goes on to use
                stream = self._pool.stream.ptr
                room = self._products.rooms.get(stream)
                if not self._shares:
                    room = self._products.forget_room(stream)
                self._kept.append(room)
            self._pool.__exit__(None, None, None)

    def constants(self, values: Iterable[float], again: Callable[[], list[float]]) -> Any:
        """Room in the GPU's memory for numbers that are told anew before each replay."""
        found = [float(v) for v in values]
        first = len(self._values)
        if first + len(found) > _ROOM:
            raise RuntimeError(f"a CUDA graph can be told {_ROOM} numbers, and this one needs more")
        self._values += found
        self._again.append((first, len(found), again))
        return self._memory[first : first + max(len(found), 1)]

    def constant(self, array: Any, send: Callable[[Any], Any]) -> Any:
        """An array from main memory, as it is now, sent over beside the capture."""
        other = self._pool.other
        with other:
            sent = send(array)
            other.synchronize()
        self._kept.append(sent)
        return sent

    def watch(self, tensors: list[Tensor]) -> None:
        """Tensors whose memory must stay where it is."""
        self._watched[0].extend(tensors)
        self._watched[1].extend(t._data for t in tensors)

    # --- replay -----------------------------------------------------------------------------------

    def replay(self) -> None:
        """Do all of it again, on the memory that was captured."""
        if self._graph is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        tensors, arrays = self._watched
        if not all(map(is_, [t._data for t in tensors], arrays)):
            raise RuntimeError(
                "the memory of a parameter is another one than when the graph was captured: it cannot "
                "be replayed. Capture it again, or write into parameters in place."
            )
        if self._again:
            self._tell()
        self._graph.launch()

    def _tell(self) -> None:
        """The numbers of this replay; of the first one they were found at the capture."""
        values = self._values
        if self._first:
            self._first = False
        else:
            with no_grad():
                for first, count, again in self._again:
                    values[first : first + count] = again()
        self._write(values)

    def _write(self, values: list[float]) -> None:
        for first in range(0, len(values), _AT_ONCE):
            part = values[first : first + _AT_ONCE]
            numbers = np.zeros(_AT_ONCE)
            numbers[: len(part)] = part
            value = numbers.view(f"V{numbers.nbytes}")  # to CuPy, an array of one element
            self._writer((1,), (128,), (self._memory, value, first, len(part)))

    def pool(self) -> Any:
        """The graph's memory, for another graph to share."""
        return self._pool

    def reset(self) -> None:
        """Forget what was captured."""
        self.__init__()  # type: ignore[misc]


class graph:  # noqa: N801  (PyTorch's name)
    """`with cuda.graph(g): …` captures what is done inside the block into `g`."""

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: Any = None,
        stream: Any = None,
        capture_error_mode: str = "global",
    ) -> None:
        self.cuda_graph, self._given = cuda_graph, pool

    def __enter__(self) -> None:
        import gc

        gc.collect()
        self.cuda_graph.capture_begin(self._given)

    def __exit__(self, *exception: Any) -> None:
        self.cuda_graph.capture_end()


def is_current_stream_capturing() -> bool:
    """Whether a graph is being captured."""
    from .._arrays.cuda.cuda_backend import Found

    return Found.backend is not None and Found.backend.capture is not None


class _Step:
    """A function that does one step, run as it is at first, then captured and replayed."""

    def __init__(self, function: Callable[..., Any], warmup: int) -> None:
        self.function = function
        self.left = warmup
        self.graph = CUDAGraph()
        self.pool = _Pool()
        self.inputs: list[Tensor] | None = None
        self.result: Any = None

    def __call__(self, *inputs: Tensor) -> Any:
        self._take(inputs)
        if self.left > 0:
            self.left -= 1
            with self.pool:
                return self.function(*self.inputs or ())
        if self.graph._graph is None:
            with graph(self.graph, self.pool):
                self.result = self.function(*self.inputs or ())
        self.graph.replay()
        return self.result

    def _take(self, inputs: tuple[Any, ...]) -> None:
        """Copy the inputs to where the graph reads them."""
        if self.inputs is None:
            self.inputs = [_own(x, i) for i, x in enumerate(inputs)]
            return
        if len(inputs) != len(self.inputs):
            raise TypeError(f"the step was given {len(self.inputs)} tensors, and now {len(inputs)}")
        for i, (own, given) in enumerate(zip(self.inputs, inputs, strict=True)):
            if own.shape != given.shape or own.dtype is not given.dtype:
                raise RuntimeError(
                    f"argument {i} of the step was {own.dtype} of shape {list(own.shape)} when it was "
                    f"captured, and is {given.dtype} of shape {list(given.shape)} now: a graph works "
                    "on memory of one shape. Make a step for each shape."
                )
            if given._data is not own._data:
                _write_over(own, given)


def _own(given: Any, place: int) -> Tensor:
    if not isinstance(given, Tensor):
        raise TypeError(
            f"argument {place} of a captured step must be a Tensor, not {type(given).__name__}"
        )
    where = given if given.is_cuda else given.to("cuda")
    return make(np.copy(where._data))


def _write_over(own: Tensor, given: Tensor) -> None:
    raw, source = own._data.raw, given._data
    if given.is_cuda:
        raw[...] = source.raw
    else:
        raw.set(np.ascontiguousarray(source))


def make_graphed_step(function: Callable[..., Any], warmup: int = 2) -> Callable[..., Any]:
    """A function that does what `function(*tensors)` does, from the third call on as one CUDA graph.

    `function` is one step: forward, backward, the optimizer's step. Each call does one step on the
    tensors it is given, which are copied to where the graph reads them (tensors on the CPU too), and must
    keep their shapes. The first `warmup` calls run as they are, the next one is captured. What it
    returns is the same tensors each time, with the new values in them.
    """
    needed()
    return _Step(function, warmup)
