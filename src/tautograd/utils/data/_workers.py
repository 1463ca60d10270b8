"""Worker processes: each reads samples, makes batches of them and sends them back."""

from __future__ import annotations

import os
import queue
import random
import sys
import traceback
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple, NoReturn

import numpy as np

import tautograd as torch

from .dataset import IterableDataset

# How often a worker looks whether its parent still lives, in seconds.
CHECK_INTERVAL = 5.0


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a worker process knows of itself; see `get_worker_info`."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process: its number, how many there are, its seed and its copy of the dataset."""
    return _info


class Failure:
    """An exception on its way to another process, with its traceback as text."""

    def __init__(self, where: str) -> None:
        kind, value, trace = sys.exc_info()
        assert kind is not None
        self.kind: type[BaseException] = kind
        self.name = kind.__name__
        self.text = "".join(traceback.format_exception(kind, value, trace))
        self.where = where

    def reraise(self) -> NoReturn:
        """Raise it here."""
        message = f"Caught {self.name} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:
            raise KeyError(_Unquoted(message))
        if getattr(self.kind, "message", None):  # one that takes its text by name
            raise self.kind(message=message)  # type: ignore[call-arg]
        raise self._made(message)  # held by no variable here: that would keep this frame alive

    def _made(self, message: str) -> BaseException:
        try:
            return self.kind(message)
        except Exception:
            return RuntimeError(message)


class _Unquoted(str):
    """Text that a KeyError shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Ended(NamedTuple):
    """A stream in a worker has come to its end."""

    worker: int


class Again(NamedTuple):
    """A worker that is kept begins another epoch; it answers with the same."""


def fetch(dataset: Any, batched: bool, indices: Any, collate: Any) -> Any:
    """The samples of these indices, as a batch."""
    if not batched:
        return collate(dataset[indices])
    whole = getattr(dataset, "__getitems__", None)
    data = whole(indices) if callable(whole) else [dataset[i] for i in indices]
    return collate(data)


class StreamFetcher:
    """Batches of a stream."""

    def __init__(self, dataset: Any, batched: bool, collate: Any, drop_last: bool) -> None:
        self.samples = iter(dataset)
        self.batched = batched
        self.collate = collate
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, indices: Any) -> Any:
        if not self.batched:
            return self.collate(next(self.samples))
        if self.ended:
            raise StopIteration
        data = []
        for _ in indices:
            try:
                data.append(next(self.samples))
            except StopIteration:
                self.ended = True
                break
        if not data or (self.drop_last and len(data) < len(indices)):
            raise StopIteration
        return self.collate(data)


def _numpy_seed(base_seed: int, number: int) -> Any:
    """NumPy's own seed in a worker, far from those of its neighbours."""
    parts = [number, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(parts).generate_state(4).tolist()


def _packed(data: Any, number: int) -> bytes:
    """A batch as it is sent: what cannot be is an error, where a queue would only lose it."""
    try:
        return bytes(ForkingPickler.dumps(data))
    except Exception:
        if isinstance(data, Failure):  # of a class that only this process knows
            failure, failure.kind = data, RuntimeError
        else:
            failure = Failure(f"in DataLoader worker process {number}")
        return bytes(ForkingPickler.dumps(failure))


def run_worker(
    number: int,
    count: int,
    dataset: Any,
    tasks: Any,
    results: Any,
    batched: bool,
    collate: Any,
    drop_last: bool,
    base_seed: int,
    worker_init_fn: Any,
) -> None:
    """What a worker process does until it is told to stop (None) or its parent is gone."""
    global _info
    parent = os.getppid()
    failure: Failure | None = None
    stream: StreamFetcher | None = None
    try:
        seed = base_seed + number
        random.seed(seed)
        torch.manual_seed(seed)
        np.random.seed(_numpy_seed(base_seed, number))  # noqa: NPY002  (what datasets draw from)
        _info = WorkerInfo(number, count, seed, dataset)
        if worker_init_fn is not None:
            worker_init_fn(number)
        if isinstance(dataset, IterableDataset):
            stream = StreamFetcher(dataset, batched, collate, drop_last)
    except Exception:
        failure = Failure(f"in DataLoader worker process {number}")
    try:
        while True:
            try:
                task = tasks.get(timeout=CHECK_INTERVAL)
            except queue.Empty:
                if os.getppid() != parent:
                    return
                continue
            if task is None:
                results.cancel_join_thread()  # what was not taken is not waited for
                return
            if isinstance(task, Again):
                results.put((None, _packed(task, number)))
                if isinstance(dataset, IterableDataset) and failure is None:
                    stream = StreamFetcher(dataset, batched, collate, drop_last)
                continue
            turn, indices = task
            data: Any = failure
            if failure is None:
                try:
                    if stream is not None:
                        data = stream.fetch(indices)
                    else:
                        data = fetch(dataset, batched, indices, collate)
                except StopIteration:
                    if stream is None:
                        data = Failure(f"in DataLoader worker process {number}")
                    else:
                        data = Ended(number)
                except Exception:
                    data = Failure(f"in DataLoader worker process {number}")
            failure = None
            results.put((turn, _packed(data, number)))
    except KeyboardInterrupt:
        pass  # the parent has it too, and says so
