"""Worker processes: each reads samples, makes batches of them and sends them back."""

from __future__ import annotations

import os
import queue
import random
import sys
import traceback
from typing import Any, NamedTuple

import numpy as np

import tautograd as torch

from .dataset import IterableDataset

# How often a worker looks whether its parent still lives, in seconds.
CHECK_INTERVAL = 5.0


class WorkerInfo:
    """What a worker process knows of itself; see `get_worker_info`."""

    def __init__(self, id: int, num_workers: int, seed: int, dataset: Any) -> None:
        self.id = id
        self.num_workers = num_workers
        self.seed = seed
        self.dataset = dataset

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed})"


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process: its number, how many there are, its seed and its copy of the dataset."""
    return _info


class Failure:
    """An exception on its way to another process, with its traceback as text."""

    def __init__(self, where: str) -> None:
        kind, value, trace = sys.exc_info()
        self.kind = kind
        self.text = "".join(traceback.format_exception(kind, value, trace))
        self.where = where
        self.key = value.args[0] if isinstance(value, KeyError) and value.args else None

    def reraise(self) -> None:
        """Raise it here."""
        assert self.kind is not None
        message = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:
            raise KeyError(_Unquoted(message))
        try:
            error = self.kind(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


class _Unquoted(str):
    """Text that a KeyError shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Ended(NamedTuple):
    """A stream in a worker has come to its end."""

    worker: int


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

    def fetch(self, indices: Any) -> Any:
        if not self.batched:
            return self.collate(next(self.samples))
        data = []
        for _ in indices:
            try:
                data.append(next(self.samples))
            except StopIteration:
                break
        if not data or (self.drop_last and len(data) < len(indices)):
            raise StopIteration
        return self.collate(data)


def _numpy_seed(base_seed: int, number: int) -> Any:
    """NumPy's own seed in a worker, far from those of its neighbours."""
    parts = [number, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(parts).generate_state(4)


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
                return
            if task == "again":  # a persistent worker begins another epoch
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
            results.put((turn, data))
    except KeyboardInterrupt:
        pass  # the parent has it too, and says so
