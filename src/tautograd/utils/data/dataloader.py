"""The loader: batches of a dataset, in this process or read ahead by others."""

from __future__ import annotations

import itertools
import multiprocessing
import queue
import time
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import tautograd as torch

from ._collate import default_collate, default_convert
from ._workers import Ended, Failure, StreamFetcher, fetch, run_worker
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader"]


class _Forever(Sampler[None]):
    """A stream has no indices: None, again and again."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader:
    """Batches of a dataset: what order, how many samples each, how they are put together."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Any = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = _context(multiprocessing_context, num_workers)
        self.in_order = in_order
        self._is_stream = isinstance(dataset, IterableDataset)
        if self._is_stream:
            _check_stream(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                    "and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        if sampler is None:
            if self._is_stream:
                sampler = _Forever()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self._iterator: _WorkerBatches | None = None
        self._warned_of_length = False
        if pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned "
                "memory won't be used.",
                stacklevel=2,
            )

    def __setattr__(self, name: str, value: Any) -> None:
        fixed = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset")
        if "_warned_of_length" in self.__dict__ and name in (*fixed, "persistent_workers"):
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        if not self.num_workers:
            return _Batches(self)
        if not self.persistent_workers:
            return _WorkerBatches(self)
        if self._iterator is None:
            self._iterator = _WorkerBatches(self)
        else:
            self._iterator.begin_again()
        return self._iterator

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __len__(self) -> int:
        if not self._is_stream:
            return len(self._index_sampler)
        length = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def _drawn_seed(self) -> int:
        drawn: Any = torch.empty((), dtype=torch.int64).random_(generator=self.generator)
        return int(drawn.item())

    def _warn_of_length(self, given: int) -> None:
        """A stream that gives more batches than its length says."""
        if self._is_stream and not self._warned_of_length and hasattr(self.dataset, "__len__"):
            length = len(self)
            if given > length:
                self.__dict__["_warned_of_length"] = True
                warnings.warn(
                    f"Length of IterableDataset {self.dataset} was reported to be {length}(when "
                    f"accessing len(dataloader)), but {given} samples have been fetched. ",
                    stacklevel=3,
                )


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 "
            "to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_stream(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    start = "DataLoader with IterableDataset: expected unspecified"
    if shuffle not in {False, None}:
        raise ValueError(f"{start} shuffle option, but got shuffle={shuffle}")
    if sampler is not None:
        raise ValueError(f"{start} sampler option, but got sampler={sampler}")
    if batch_sampler is not None:
        raise ValueError(f"{start} batch_sampler option, but got batch_sampler={batch_sampler}")


def _context(given: Any, num_workers: int) -> Any:
    if given is None:
        return None
    if not num_workers:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
            f"but got num_workers={num_workers}"
        )
    if isinstance(given, str):
        valid = multiprocessing.get_all_start_methods()
        if given not in valid:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in "
                f"{valid!r}, but got multiprocessing_context={given!r}"
            )
        return multiprocessing.get_context(given)
    if not isinstance(given, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying "
            f"the start method, but got multiprocessing_context={given}"
        )
    return given


class _Batches:
    """One pass over the data, in this process."""

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader
        self._indices = iter(loader._index_sampler)
        loader._drawn_seed()  # as a loader with workers does: the random numbers stay in step
        self._given = 0
        batched = loader.batch_sampler is not None
        self._stream = (
            StreamFetcher(loader.dataset, batched, loader.collate_fn, loader.drop_last)
            if loader._is_stream
            else None
        )

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self._loader._index_sampler)

    def __next__(self) -> Any:
        loader = self._loader
        indices = next(self._indices)
        if self._stream is not None:
            data = self._stream.fetch(indices)
        else:
            batched = loader.batch_sampler is not None
            data = fetch(loader.dataset, batched, indices, loader.collate_fn)
        self._given += 1
        loader._warn_of_length(self._given)
        return data


class _WorkerBatches:
    """Passes over the data with worker processes, whose batches come in the order of their turns."""

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader
        context: Any = loader.multiprocessing_context or multiprocessing.get_context()
        self._results = context.Queue()
        self._tasks = [context.Queue() for _ in range(loader.num_workers)]
        self._indices = iter(loader._index_sampler)
        seed = loader._drawn_seed()
        batched = loader.batch_sampler is not None
        self._workers = []
        for number, tasks in enumerate(self._tasks):
            worker = context.Process(
                target=run_worker,
                args=(
                    *(number, loader.num_workers, loader.dataset, tasks, self._results, batched),
                    *(loader.collate_fn, loader.drop_last, seed, loader.worker_init_fn),
                ),
                daemon=True,
            )
            worker.start()
            self._workers.append(worker)
        self._stop = weakref.finalize(self, _stop, self._workers, self._tasks, self._results)
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        self._turn = 0  # of the next batch to be asked for
        self._next = 0  # of the next batch to be given
        self._arrived: dict[int, Any] = {}
        self._owner: dict[int, int] = {}
        self._running = set(range(len(self._workers)))
        self._order = itertools.cycle(range(len(self._workers)))
        self._given = 0
        for _ in range((self._loader.prefetch_factor or 0) * len(self._workers)):
            self._ask()

    def begin_again(self) -> None:
        """Another epoch with the same processes."""
        while self._next < self._turn:  # what was asked for and not taken
            if self._next in self._arrived:
                self._arrived.pop(self._next)
                self._next += 1
            else:
                turn, data = self._receive()
                self._arrived[turn] = data
        for tasks in self._tasks:
            tasks.put("again")
        self._indices = iter(self._loader._index_sampler)
        self._begin()

    def _ask(self) -> None:
        """Give the next batch's indices to the next worker that still has data."""
        if not self._running:
            return
        try:
            indices = next(self._indices)
        except StopIteration:
            return
        worker = next(w for w in self._order if w in self._running)
        self._tasks[worker].put((self._turn, indices))
        self._owner[self._turn] = worker
        self._turn += 1

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self._loader._index_sampler)

    def __next__(self) -> Any:
        if self._closed:
            raise StopIteration
        while True:
            while self._next < self._turn and self._arrived.get(self._next) is _SKIPPED:
                self._arrived.pop(self._next)
                self._next += 1
            if self._next >= self._turn:
                if not self._loader.persistent_workers:
                    self.close()
                raise StopIteration
            if self._next in self._arrived:
                data = self._arrived.pop(self._next)
                self._owner.pop(self._next, None)
                self._next += 1
                return self._hand_out(data)
            turn, data = self._receive()
            if isinstance(data, Ended):
                self._running.discard(data.worker)
                self._arrived[turn] = _SKIPPED
                self._ask()
            elif not self._loader.in_order:
                self._owner.pop(turn, None)
                self._arrived[turn] = _SKIPPED
                return self._hand_out(data)
            else:
                self._arrived[turn] = data

    def _hand_out(self, data: Any) -> Any:
        self._ask()
        if isinstance(data, Failure):
            if not self._loader.persistent_workers:
                self.close()
            data.reraise()
        self._given += 1
        self._loader._warn_of_length(self._given)
        return data

    def _receive(self) -> tuple[int, Any]:
        """The next result of any worker, while they all live."""
        timeout = self._loader.timeout
        deadline = time.monotonic() + timeout if timeout else None
        while True:
            wait = 1.0 if deadline is None else min(1.0, max(deadline - time.monotonic(), 0.0))
            try:
                found: tuple[int, Any] = self._results.get(timeout=wait)
                return found
            except queue.Empty:
                dead = [w for w in self._workers if not w.is_alive()]
                if dead:
                    pids = ", ".join(str(w.pid) for w in dead)
                    codes = ", ".join(str(w.exitcode) for w in dead)
                    self.close()
                    raise RuntimeError(
                        f"DataLoader worker (pid(s) {pids}) exited unexpectedly, with exit code "
                        f"{codes}"
                    ) from None
                if deadline is not None and time.monotonic() >= deadline:
                    self.close()
                    raise RuntimeError(f"DataLoader timed out after {timeout} seconds") from None

    def close(self) -> None:
        """Stop the worker processes."""
        if not self._closed:
            self._closed = True
            self._stop()


_SKIPPED = object()


def _stop(workers: list[Any], tasks: list[Any], results: Any) -> None:
    """Ask the workers to end, and see that they do."""
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
