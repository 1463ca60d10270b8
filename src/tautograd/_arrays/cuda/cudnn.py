"""cuDNN through its own Python front end: one graph per shape, built once, then run with addresses.

The front end (`nvidia-cudnn-frontend`) is imported when a convolution or attention first asks for it. Without it,
or if cuDNN has no kernel for a call, the result is None, and our own kernels do the work.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from struct import Struct
from typing import Any

import numpy as np

from . import cuda_array
from .cuda_array import new

_BYTE = np.dtype(np.uint8)


class Graph:
    """A cuDNN graph that is ready to run, in one thread, with the size of its workspace."""

    __slots__ = ("_direct", "_graph", "_index", "_pack", "_places", "_room", "_uids", "work")

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self.work = int(graph.get_workspace_size())
        self._direct: Any = None
        self._look_inside()

    def _look_inside(self) -> None:
        """Find the front end's innermost call, which takes a row of addresses and does nothing else.

        `execute` describes every tensor again at each call, which takes the host longer than most kernels run. The call
        it ends in is undocumented: if the front end is implemented differently, this falls back to `execute`.
        """
        graph = self._graph
        try:
            if graph.selected_engine is not None:  # an engine written in Python
                return
            uids = tuple(graph._variant_pack_uids() or ())
            index = graph._materialize_backend_plan(graph._plan_index).cpp_index
            direct = graph._lowered_graph._execute_with_raw_ptrs
        except (AttributeError, IndexError, TypeError):
            return
        if uids:
            self._uids, self._direct, self._index = uids, direct, -1 if index is None else index
            self._pack = Struct("q" * len(uids)).pack_into
            self._room = bytearray(8 * len(uids))
            self._places = int(np.frombuffer(self._room, np.uint8).ctypes.data)

    def run(self, where: dict[int, int], room: int, handle: Any) -> None:
        """Run it; `where` gives the address of each of its tensors."""
        if self._direct is not None:
            self._pack(self._room, 0, *map(where.__getitem__, self._uids))
            try:
                self._direct(
                    self._places, len(self._uids), room, handle.backend_handle, self._index
                )
            except (AttributeError, TypeError):  # the signature differs
                self._direct = None
            else:
                return
        self._graph.execute(where, room, handle=handle)


class Cudnn:
    """The front end, with a handle per thread and a cache of built graphs."""

    def __init__(self, module: Any) -> None:
        self.module = module
        kinds = module.data_type
        self.kinds = {
            "f": kinds.FLOAT, "d": kinds.DOUBLE, "e": kinds.HALF, "E": kinds.BFLOAT16,
        }  # fmt: skip
        self.version = int(module.backend_version())
        self._local = threading.local()

    def handle(self) -> Any:
        """This thread's handle, on the current stream."""
        local = self._local
        if not hasattr(local, "handle"):
            local.handle, local.graphs, local.stream = self.module.create_handle(), {}, -1
        stream = cuda_array.backend.cupy.cuda.get_current_stream().ptr
        if stream != local.stream:
            self.module.set_stream(handle=local.handle, stream=stream)
            local.stream = stream
        return local.handle

    def built(self, key: Any, describe: Callable[[Any], None], code: str, tf32: bool = True) -> Any:
        """The graph that `describe` builds, or None if cuDNN has no kernel for it; cached by key."""
        handle = self.handle()
        graphs = self._local.graphs
        deterministic = bool(cuda_array.backend.deterministic) or switch("deterministic", False)
        key = (*key, code, tf32, deterministic)
        if key not in graphs:
            graphs[key] = self._build(describe, code, tf32, deterministic, handle)
        return graphs[key]

    def _build(
        self, describe: Callable[[Any], None], code: str, tf32: bool, deterministic: bool, handle: Any
    ) -> Graph | None:  # fmt: skip
        module, kinds = self.module, self.module.data_type
        wide = kinds.DOUBLE if code == "d" else kinds.FLOAT
        graph = module.pygraph(
            io_data_type=self.kinds[code],
            intermediate_data_type=wide,
            compute_data_type=wide,
            handle=handle,
        )
        try:
            describe(graph)
            graph.validate()
            graph.build_operation_graph()
            graph.create_execution_plans([module.heur_mode.A, module.heur_mode.FALLBACK])
            if code == "f" and not tf32:
                graph.deselect_numeric_notes([module.numerical_note.TENSOR_CORE])
            if deterministic:
                graph.deselect_numeric_notes([module.numerical_note.NONDETERMINISTIC])
            graph.check_support()
            graph.build_plans()
            return Graph(graph)
        except (module.cudnnGraphNotSupportedError, RuntimeError, ValueError) as refusal:
            refusals.append(f"{code}: {str(refusal)[:300]}")
            return None

    def run(self, built: Graph, where: dict[int, int]) -> None:
        """Run a graph; `where` gives the address of each of its tensors."""
        room = new((max(built.work, 1),), _BYTE)
        built.run(where, room.ptr, self.handle())


refusals: list[str] = []  # cuDNN's errors for graphs that it has no kernels for

_found: list[Cudnn | None] = []


def cudnn() -> Cudnn | None:
    """cuDNN, or None if its front end or library is missing, or it is switched off."""
    if not _found:
        _found.append(_looked_for())
    return _found[0] if switch("enabled") else None


def switch(name: str, default: bool = True) -> bool:
    """A switch of `backends.cudnn`; that module may not be loaded, and is not imported here."""
    module = sys.modules.get(f"{__name__.partition('.')[0]}.backends.cudnn")
    return bool(getattr(module, name, default))


def _looked_for() -> Cudnn | None:
    if not getattr(cuda_array.backend, "has_cudnn", False):
        return None
    try:
        module = importlib.import_module("cudnn")
        return Cudnn(module)
    except (ImportError, OSError, RuntimeError, AttributeError) as refusal:
        refusals.append(f"no cuDNN: {refusal}")
        return None


def strides_of(x: Any) -> list[int]:
    """An array's strides in elements."""
    size = x.dtype.itemsize
    return [s // size for s in x.strides]
