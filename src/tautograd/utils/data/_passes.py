"""One pass over the data: batch after batch, made in this process or by workers that read ahead."""

from __future__ import annotations

import itertools
import multiprocessing
import multiprocessing.connection
import os
import pickle
import queue
import time
import warnings
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..._arrays.devices import cuda_backend
from ..._arrays.dtypes import int64
from ..._tensor.filled import empty
from ..._tensor.tensor import Tensor
from ._workers import Again, Ended, Failure, StreamFetcher, fetch, run_worker

if TYPE_CHECKING:
    from .dataloader import DataLoader

_SKIPPED = object()  # stands for a missing batch, or one returned out of order


def pinned(data: Any) -> Any:
    """A batch with its tensors in page-locked memory."""
    if isinstance(data, Tensor):
        return data if data.is_cuda else data.pin_memory()
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, dict):
        return type(data)({key: pinned(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pinned(value) for value in data))
    if type(data) in (list, tuple):
        return type(data)(pinned(value) for value in data)
    return data


class DatasetKind:
    """What a loader reads: samples by index, or a stream of them."""

    Map, Iterable = 0, 1


def _drawn_seed(generator: Any) -> int:
    drawn: Any = empty((), dtype=int64).random_(generator=generator)
    return int(drawn.item())


class Pass:
    """An iterator over batches, of any loader that has the attributes of `DataLoader` by PyTorch's names.

    It does not hold its loader: a loader with persistent workers holds it, and is freed when its last reference goes.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset = loader.dataset
        self._sampler = loader._index_sampler
        self._batched = loader._auto_collation
        self._collate = loader.collate_fn
        self._drop_last = loader.drop_last
        self._count = loader.num_workers
        self._length_said = loader._IterableDataset_len_called
        self._given = 0
        if loader.pin_memory and loader.pin_memory_device:
            warnings.warn(
                "pin_memory_device is deprecated, the current accelerator will be used as the device,"
                f"ignore pin_memory_device='{loader.pin_memory_device}'.",
                stacklevel=4,
            )
        self._pins = loader.pin_memory and cuda_backend() is not None
        if loader.pin_memory and not self._pins:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device "
                "pinned memory won't be used.",
                stacklevel=4,
            )
        self._indices: Iterator[Any] = iter(self._sampler)
        # Drawn even if no worker needs it, so that random numbers are the same as with workers.
        self._base_seed = _drawn_seed(loader.generator)

    def __iter__(self) -> Pass:
        return self

    def __len__(self) -> int:
        return len(self._sampler)

    def __next__(self) -> Any:
        data = self._next_data()
        self._given += 1
        said = self._length_said
        if said is not None and self._given > said:
            self._warn_of_length(said)
        return pinned(data) if self._pins else data

    def _next_data(self) -> Any:
        raise NotImplementedError

    def _warn_of_length(self, said: int) -> None:
        """Warn that a stream yields more than the length it reported."""
        more = (
            "For multiprocessing data-loading, this could be caused by not properly configuring the "
            "IterableDataset replica at each worker. Please see "
            "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
        )
        warnings.warn(
            f"Length of IterableDataset {self._dataset} was reported to be {said}(when "
            f"accessing len(dataloader)), but {self._given} samples have been fetched. "
            + (more if self._count else ""),
            stacklevel=3,
        )

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class PassHere(Pass):
    """A pass in this process."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if loader.timeout:
            raise AssertionError("a loader without workers requires timeout == 0")
        self._stream: StreamFetcher | None = None
        if loader._dataset_kind == DatasetKind.Iterable:
            how = (self._batched, self._collate, self._drop_last)
            self._stream = StreamFetcher(self._dataset, *how)

    def _next_data(self) -> Any:
        indices = next(self._indices)
        if self._stream is not None:
            return self._stream.fetch(indices)
        return fetch(self._dataset, self._batched, indices, self._collate)


class PassOfWorkers(Pass):
    """A pass with worker processes, whose batches are returned in the order of the requests."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if not loader.prefetch_factor:
            raise AssertionError("prefetch_factor must be greater than 0 for a loader with workers")
        self._timeout = loader.timeout
        self._in_order = loader.in_order
        self._kept = loader.persistent_workers
        self._most = loader.prefetch_factor * self._count  # batches requested at a time
        context: Any = loader.multiprocessing_context or multiprocessing.get_context()
        self._results = context.Queue()
        self._tasks: list[Any] = []
        self._workers: list[Any] = []
        parts = (os.getpid(), self._workers, self._tasks, self._results)
        self._stop = weakref.finalize(self, _stop, *parts)
        self._closed = False
        for number in range(self._count):
            self._start(context, number, loader.worker_init_fn)
        self._begin()

    def _start(self, context: Any, number: int, init: Any) -> None:
        tasks = context.Queue()
        tasks.cancel_join_thread()
        what = (self._dataset, tasks, self._results, self._batched)
        how = (self._collate, self._drop_last, self._base_seed, init)
        worker = context.Process(
            target=run_worker, args=(number, self._count, *what, *how), daemon=True
        )
        try:
            worker.start()
        except (TypeError, AttributeError, pickle.PicklingError):
            warnings.warn(
                "Got pickle error when attempting to start a worker Process. This might be because "
                "the worker Process arguments are not picklable. Python 3.14+ changed the "
                "multiprocessing start method in non-Mac POSIX platforms to 'forkserver', which "
                "requires the worker Process arguments to be picklable. You can also try "
                "multiprocessing.set_start_method('fork').",
                stacklevel=5,
            )
            raise
        self._tasks.append(tasks)
        self._workers.append(worker)

    def _begin(self) -> None:
        self._indices = iter(self._sampler)
        self._given = 0
        self._turn = 0  # of the next batch to request
        self._next = 0  # of the next batch to return
        self._arrived: dict[int, Any] = {}
        self._owner: dict[int, int] = {}  # which worker makes which batch
        self._load = [0] * len(self._workers)  # how many batches each still has to make
        self._running = set(range(len(self._workers)))
        self._order = itertools.cycle(range(len(self._workers)))
        for _ in range(self._most):
            self._ask()

    def begin_again(self, length_said: int | None) -> None:
        """Start another epoch with the same processes; results not yet taken are dropped."""
        self._length_said = length_said
        for tasks in self._tasks:
            tasks.put(Again())
        waiting = len(self._workers)
        while waiting:
            _, data = self._receive()
            waiting -= isinstance(data, Again)
        self._begin()

    def _ask(self) -> None:
        """Send the next batch's indices to the next worker that still has data, and capacity."""
        try:
            indices = next(self._indices)
        except StopIteration:
            return
        for _ in self._workers:
            worker = next(self._order)
            if worker in self._running and (
                self._in_order or self._load[worker] < self._most // len(self._running)
            ):
                break
        else:
            return
        self._tasks[worker].put((self._turn, indices))
        self._owner[self._turn] = worker
        self._load[worker] += 1
        self._turn += 1

    def _next_data(self) -> Any:
        if self._closed:
            raise StopIteration
        while True:
            while self._arrived.get(self._next) is _SKIPPED:
                del self._arrived[self._next]
                self._next += 1
            if self._next >= self._turn:
                if not self._kept:
                    self.close()
                raise StopIteration
            if self._next in self._arrived:
                self._next += 1
                return self._hand_out(self._next - 1, self._arrived.pop(self._next - 1))
            turn, data = self._receive()
            if isinstance(data, Ended):
                self._running.discard(data.worker)
                self._owner.pop(turn)
                self._arrived[turn] = _SKIPPED
                self._ask()
            elif turn == self._next or not self._in_order:
                self._arrived[turn] = _SKIPPED
                return self._hand_out(turn, data)
            else:
                self._arrived[turn] = data

    def _hand_out(self, turn: int, data: Any) -> Any:
        self._load[self._owner.pop(turn)] -= 1
        self._ask()
        if isinstance(data, Failure):
            data.reraise()
        return data

    def _receive(self) -> tuple[int, Any]:
        """The next result of any worker, as long as they are all alive."""
        timeout = self._timeout
        deadline = time.monotonic() + timeout if timeout else None
        while True:
            wait = 1.0 if deadline is None else min(1.0, max(deadline - time.monotonic(), 0.0))
            try:
                turn, sent = self._results.get(timeout=wait)
            except queue.Empty:
                self._check_alive()
                if deadline is not None and time.monotonic() >= deadline:
                    raise RuntimeError(f"DataLoader timed out after {timeout} seconds") from None
                continue
            try:
                return turn, pickle.loads(sent)
            except (OSError, EOFError):
                # The worker that made this batch had yet to send the descriptors of its memory.
                self._check_alive(patience=5.0)
                raise

    def _check_alive(self, patience: float = 0.0) -> None:
        """Raise if a worker has exited, or exits within `patience` seconds."""
        ending = multiprocessing.connection.wait(
            [w.sentinel for w in self._workers], timeout=patience
        )
        for worker in self._workers:
            if worker.sentinel in ending:  # closed a moment before the process exits
                worker.join(timeout=5.0)
        dead = [w for w in self._workers if not w.is_alive()]
        if dead:
            pids = ", ".join(str(w.pid) for w in dead)
            codes = ", ".join(str(w.exitcode) for w in dead)
            self.close()
            raise RuntimeError(
                f"DataLoader worker (pid(s) {pids}) exited unexpectedly, with exit code {codes}"
            ) from None

    def close(self) -> None:
        """Stop the worker processes."""
        if not self._closed:
            self._closed = True
            self._stop()

    _shutdown_workers = close  # the name that libraries know


def _stop(owner: int, workers: list[Any], tasks: list[Any], results: Any) -> None:
    """Ask the workers to exit, and make sure that they do."""
    if os.getpid() != owner:
        return  # a forked copy of the iterator: the workers are not its own
    for one in tasks:
        one.put(None)
    for worker in workers:
        worker.join(timeout=5)
        if worker.is_alive():
            worker.terminate()
            worker.join()
    for one in (*tasks, results):
        one.cancel_join_thread()
        one.close()
