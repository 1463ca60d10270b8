"""A recorded program on a GPU, ready to run: memory in place, kernels compiled, calls between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._arrays.cuda import cuda_array
from ..._arrays.cuda.cuda_array import CudaArray, wrap
from ..._arrays.strided import address
from ..native import why_not
from ..program.ir import Call, Kind, Program, View
from ..program.memory_planning import APART, rounded_up
from ..record.tape import span_of
from ..run.differentiable import is_cut
from ..run.replay import _crossing, _parts, _touched
from .calls import is_placed, run_of, takes_out
from .casts_in_time import in_time
from .constants import folded
from .device import device
from .even_rows import with_even_rows
from .graph import Stretch
from .memory import DeviceMemory, fitting
from .prelude import PRELUDE
from .program import Launch, Lowered, Lowering
from .together import table_of


class CudaReplay:
    """One or more stretches of a program (forward, backward) over the same memory of a GPU."""

    array_kind = CudaArray
    staged = slots = ()  # every argument is copied to memory that stays, by `load`
    table: Any = None

    def __init__(
        self,
        program: Program,
        arguments: list[View],
        kernels: bool = True,
        left: Sequence[tuple[Any, View]] = (),
    ) -> None:
        """`left` are tensors whose memory each run makes anew (gradients), with their places."""
        program = in_time(folded(program))
        self.arguments = arguments
        self.why_not_native = "" if kernels else "not asked for"
        cuts = [i for i, instruction in enumerate(program.instructions) if is_cut(instruction)]
        self.saved = _crossing(program, cuts)
        self.program = program = with_even_rows(program, self.saved)
        starts, stops = [0, *(cut + 1 for cut in cuts)], [*cuts, len(program.instructions)]
        pairs = list(zip(starts, stops, strict=True))
        lent = _lent(program, self.saved)
        lowering = Lowering(lent) if kernels else None
        self.stretches = [_parts(program, a, b, lowering, self.saved) for a, b in pairs]
        self._left = [] if cuts else list(left)  # at a cut, others look at what the last run left
        anew = frozenset(view.buffer for _, view in self._left)
        uses = list(_touched(self.stretches))
        self.memory = DeviceMemory(program, uses, self.saved, lent, anew, self._rooms())
        self._places = [self.memory.taking(view) for view in arguments]
        self._compile()
        self._runs: list[Stretch] = []
        step = 0
        for parts, (a, b) in zip(self.stretches, pairs, strict=True):
            runs = self._bound(parts, step)
            self._runs.append(Stretch(runs, program.instructions[a:b]))
            step += len(runs)

    def _rooms(self) -> dict[int, int]:
        """The memory that calls need for themselves, by the step at which each runs."""
        found, step = {}, 0
        for part in (part for parts in self.stretches for part in parts):
            if part.native is not None:
                step += len(part.native.launches)
                continue
            for at, i in enumerate(part.instructions, step):
                if isinstance(i, Call) and is_placed(i):
                    there = {place for place, _, _ in fitting(i, self.program)}
                    if takes_out(i):  # which makes no memory for its result
                        there = {place for place, _, _ in i.order}
                    others = [size for place, _, size in i.order if place not in there]
                    work = i.work + sum(rounded_up(size, APART) for size in others)
                    if work:
                        found[at] = work + APART
            step += len(part.instructions)
        return found

    def _compile(self) -> None:
        """All kernels of the program as one module."""
        natives = [p.native for parts in self.stretches for p in parts if p.native is not None]
        names: dict[str, str] = {}
        for native in natives:
            for text in native.sources:
                names.setdefault(text, f"k{len(names)}")
        bodies = [text.replace(" NAME(", f" {name}(", 1) for text, name in names.items()]
        functions = {}
        if bodies:
            source = "\n".join([PRELUDE, *bodies])
            functions = device().functions(source, names.values())
        for native in natives:
            native.functions = {old: functions[names[text]] for text, old in native.sources.items()}
        tools = device()
        self._own = tools.allocate(max((n.own_bytes for n in natives), default=0))
        self._partial = tools.allocate(max((n.partial_bytes for n in natives), default=0))
        self._tickets = tools.allocate(4 * max((n.tickets for n in natives), default=0))
        tools.zero(self._tickets)

    def _bound(self, parts: list[Any], first: int) -> list[Callable[[], None]]:
        """What is to be done, in order, from a step on; the result of a call goes when nobody reads it any more."""
        runs: list[Callable[[], None]] = []
        last: dict[int, int] = {}  # of memory that a call gave: the last that reads it
        for part in parts:
            if part.native is None:
                for i in part.instructions:
                    last.update((v.buffer, len(runs)) for v in (*i.reads(), *i.writes()))
                    runs.append(run_of(i, self.memory, first + len(runs)))
            else:
                for x in part.native.launches:
                    last.update((buffer, len(runs)) for buffer, _ in x.arguments)
                    runs.append(self._launched(part.native, x))
        gone: dict[int, list[int]] = {}
        for buffer in self.memory.lent & last.keys():
            gone.setdefault(last[buffer], []).append(buffer)
        return [_and_let_go(run, gone.get(i), self.memory) for i, run in enumerate(runs)]

    def _launched(self, native: Lowered, launch: Launch) -> Callable[[], None]:
        own = _Own(self.memory, native, self._own)
        if launch.product is not None:
            return run_of(launch.product, own)  # type: ignore[arg-type]
        kernel = launch.kernel
        assert kernel is not None
        function = native.functions[launch.name]
        if launch.sizes:
            return _together(launch, own, function, len(kernel.arguments), kernel.threads)
        tools = device()
        more: tuple[int, ...] = ()
        if kernel.parts > 1:
            more = (tools.address(self._partial), tools.address(self._tickets))
        grid, block = (kernel.blocks,), (kernel.threads,)
        arguments = launch.arguments

        def run() -> None:
            function(grid, block, (*[own.start(b) + at for b, at in arguments], *more))

        return run

    # --- as a program on the CPU has them -----------------------------------------------------------

    @property
    def scratch_bytes(self) -> int:
        return self.memory.scratch_bytes

    def take_over(self) -> bool:
        """After the recording: what it left for backward comes into place, the rest of it goes.

        Whether tensors of others lie elsewhere from now on.
        """
        memory = self.memory
        for buffer in self.program.buffers:
            if buffer.number in self.saved:
                source = buffer.array
                if type(source) is CudaArray and source.size:
                    size = min(buffer.nbytes, source.nbytes)
                    memory.device.copy(memory.start(buffer.number), source.address, size)
            if buffer.kind in (Kind.SCRATCH, Kind.ARGUMENT):
                buffer.array = None
        moved = [(tensor, view) for tensor, view in self._left if view.buffer in memory.left]
        for tensor, view in moved:
            self._move(tensor, view)
        return bool(moved)

    def _move(self, tensor: Any, view: View) -> None:
        """Let a tensor be where the program leaves it from now on, with what it holds."""
        found = self.memory.left_behind(view)
        np.copyto(found, tensor._data)
        tensor._data = found
        self.program.buffers[view.buffer].array = wrap(cuda_array.backend.whole(found.raw))

    def load(self, arrays: list[Any]) -> None:
        """Take the arguments of this call."""
        for view, array in zip(self.arguments, arrays, strict=False):
            self.memory.take(view, array)

    def run(self, stretch: int = 0) -> None:
        self.memory.tell()
        self._runs[stretch]()

    def whole(self, stretch: int) -> Callable[[], None]:
        """All of a stretch as one function."""
        return lambda: self.run(stretch)

    def load_quickly(self, tensors: Sequence[Any]) -> None:
        """Take arguments that are on the GPU."""
        for place, tensor in zip(self._places, tensors, strict=True):
            place(tensor._data)

    @property
    def asks_natively(self) -> bool:
        """Whether machine code can be made to see that nothing has changed."""
        return why_not() is None

    def copied(self, array: Any) -> Any:
        """A copy of a result in memory of its own."""
        return fresh(array)

    def kind_of(self, view: View) -> Kind:
        return self.program.buffers[view.buffer].kind

    def unload(self, arrays: list[Any], written: set[int]) -> None:
        """Give back what the program wrote into arguments."""
        for i in written:
            np.copyto(arrays[i], self.memory.array(self.arguments[i]))

    def result(self, view: View, arrays: Sequence[Any] = ()) -> Any:
        """What the program left in a place: a copy of its own memory, a view of anyone else's."""
        kind = self.program.buffers[view.buffer].kind
        if kind is Kind.EXTERNAL:
            return self.memory.array(view, new=True)
        if kind is Kind.ARGUMENT:
            for array, whole in zip(arrays, self.arguments, strict=False):
                if whole.buffer == view.buffer:
                    return _seen_as(array, view, view.offset - whole.offset)
        return fresh(self.memory.array(view))

    @property
    def is_graph(self) -> bool:
        """Whether all of it that has run twice is a CUDA graph."""
        return any(s.is_graph for s in self._runs)

    @property
    def graph_in_words(self) -> str:
        """What is said of it: yes, why not, or not yet."""
        return self.why_no_graph or ("yes" if self.is_graph else "from the second replay on")

    @property
    def why_no_graph(self) -> str:
        """Why the program is not one CUDA graph; empty if it is, or will be."""
        return "; ".join(s.why_no_graph for s in self._runs if s.why_no_graph)


def _and_let_go(
    run: Callable[[], None], gone: list[int] | None, memory: DeviceMemory
) -> Callable[[], None]:
    """A run, after which some memory is needed no more."""
    if gone is None:
        return run

    def both() -> None:
        run()
        for number in gone:
            memory.let_go(number)

    return both


def _together(
    launch: Launch, own: _Own, function: Any, width: int, threads: int
) -> Callable[[], None]:
    """A launch on the memory of several members, which a table says."""
    tools = device()
    starts = [own.start(buffer) + at for buffer, at in launch.arguments]
    rows = [starts[i * width : (i + 1) * width] for i in range(len(launch.sizes))]
    sent = []
    for numbers in table_of(list(zip(rows, launch.sizes, strict=True))):
        room = tools.allocate(numbers.nbytes)
        tools.send(tools.address(room), numbers.__array_interface__["data"][0], numbers.nbytes)
        sent.append(room)
    grid, block = (numbers.shape[0],), (threads,)

    def run() -> None:
        function(grid, block, tuple([tools.address(room) for room in sent]))

    return run


class _Own:
    """Memory as one part of a program sees it: with the temporary buffers of its own."""

    def __init__(self, memory: DeviceMemory, native: Lowered, own: Any) -> None:
        self.memory, self.places, self.own = memory, native.places, own
        self.device, self.lent = memory.device, memory.lent
        self._arrays: dict[View, Any] = {}

    def start(self, number: int) -> int:
        if number in self.places:
            return int(self.device.address(self.own)) + self.places[number]
        return self.memory.start(number)

    def array(self, view: View) -> Any:
        if view.buffer not in self.places:
            return self.memory.array(view)
        if view not in self._arrays:
            at = self.places[view.buffer] + view.offset
            self._arrays[view] = self.device.placed(
                self.own, view.shape, view.dtype, at, view.strides
            )
        return self._arrays[view]


def fresh(array: Any) -> Any:
    """A copy with the same strides: of what lies between, too, if there are gaps or repetitions."""
    tools = device()
    if array.dense or not array.size:
        return tools.copied(array)
    low, high = span_of(array)
    room = tools.allocate(high - low)
    tools.copy(tools.address(room), low, high - low)
    return tools.placed(room, array.shape, array.dtype, address(array) - low, array.strides)


def _seen_as(array: Any, view: View, offset: int) -> Any:
    """An array's memory as a view has it, `offset` bytes from its first element."""
    if not view.size:
        return np.empty_like(array, shape=view.shape, dtype=view.dtype)
    if array.dtype == view.dtype:
        return array.strided(view.shape, view.strides, offset)
    raw = cuda_array.backend.whole(array.raw)
    start = address(array) - address(wrap(raw)) + offset
    return device().placed(raw, view.shape, view.dtype, start, view.strides)


def _lent(program: Program, saved: frozenset[int]) -> frozenset[int]:
    """Buffers that one call alone writes, and nobody sees after a run."""
    writers: dict[int, set[int]] = {}
    for i, instruction in enumerate(program.instructions):
        for view in instruction.writes():
            writers.setdefault(view.buffer, set()).add(i)
    found = set()
    for i, instruction in enumerate(program.instructions):
        if isinstance(instruction, Call) and not (takes_out(instruction) or is_placed(instruction)):
            for view in instruction.outputs:
                own = program.buffers[view.buffer].kind is Kind.SCRATCH
                if own and writers[view.buffer] == {i} and view.buffer not in saved:
                    found.add(view.buffer)
    return frozenset(found)
