"""The loader: order, batches, workers as processes, their errors, and that nothing is left of them."""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import multiprocessing.connection
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tautograd
from tests.both import same
from tests.data.squares import Squares
from tests.data.test_datasets import rows

# Said on a machine with one processor.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create [12] worker")


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    """A test leaves no process behind."""
    before = set(multiprocessing.active_children())
    yield
    gc.collect()  # PyTorch's exceptions hold the frame they were raised in, and so the iterator
    deadline = time.monotonic() + 10
    while set(multiprocessing.active_children()) - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not set(multiprocessing.active_children()) - before


def listed(loader: Any) -> list[Any]:
    return [[part.tolist() for part in batch] for batch in loader]


WORKERS = [0, 2]
OPTIONS: dict[str, dict[str, Any]] = {
    "one by one": {},
    "batches": {"batch_size": 3},
    "full batches": {"batch_size": 4, "drop_last": True},
    "shuffled": {"batch_size": 3, "shuffle": True},
    "no batches": {"batch_size": None},
    "whole": {"batch_size": 100},
}


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("name", OPTIONS)
@same
def test_order_for_a_seed(torch: Any, name: str, workers: int) -> Any:
    loader = torch.utils.data.DataLoader(rows(torch), num_workers=workers, **OPTIONS[name])
    return [*(listed(loader) for _ in range(2)), len(loader), torch.rand(1), len(iter(loader))]


@pytest.mark.parametrize("workers", WORKERS)
@same
def test_a_generator_of_its_own(torch: Any, workers: int) -> Any:
    generator = torch.Generator().manual_seed(5)
    loader = torch.utils.data.DataLoader(
        rows(torch), 4, shuffle=True, generator=generator, num_workers=workers
    )
    return listed(loader), listed(loader), torch.rand(1), torch.rand(1, generator=generator)


@pytest.mark.parametrize("workers", WORKERS)
@same
def test_samplers_and_collation_of_ones_own(torch: Any, workers: int) -> Any:
    data = torch.utils.data
    numbers = list(range(10))
    loaders = [
        data.DataLoader(numbers, sampler=[5, 3, 1], num_workers=workers),
        data.DataLoader(numbers, batch_sampler=[[1, 2], [7]], num_workers=workers),
        data.DataLoader(numbers, 4, collate_fn=sum, num_workers=workers),
        data.DataLoader(numbers, None, num_workers=workers, collate_fn=lambda x: x * 2),
    ]
    return [list(loader) for loader in loaders]


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("options", [{"batch_size": 2}, {"batch_size": 3, "drop_last": True}, {}])
@same
def test_streams(torch: Any, workers: int, kept: bool, options: dict[str, Any]) -> Any:
    data = torch.utils.data

    class Stream(data.IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Any:
            info = data.get_worker_info()
            return iter(range(7) if info is None else range(info.id, 7, info.num_workers))

    loader = data.DataLoader(
        Stream(), num_workers=workers, persistent_workers=kept and workers > 0, **options
    )
    return [[batch.tolist() for batch in loader] for _ in range(2)]


@pytest.mark.parametrize("workers", WORKERS)
@same
def test_the_length_of_a_stream(torch: Any, workers: int) -> Any:
    data = torch.utils.data

    class Stream(data.IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Any:
            return iter(range(5))

        def __len__(self) -> int:
            return 3

    loader = data.DataLoader(Stream(), num_workers=workers)
    seen = [sum(1 for _ in loader), len(loader)]
    with pytest.warns(
        UserWarning, match=r"reported to be 3\(when accessing len\(dataloader\)\), but"
    ):
        seen.append(sum(1 for _ in loader))
    return (
        seen,
        len(data.DataLoader(Stream(), 2)),
        len(data.DataLoader(Stream(), 2, drop_last=True)),
    )


@pytest.mark.parametrize("kept", [False, True])
@same
def test_random_numbers_in_workers(torch: Any, kept: bool) -> Any:
    data = torch.utils.data

    class Drawn(data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> Any:
            info = data.get_worker_info()
            own = np.random.rand()  # noqa: NPY002
            return (
                torch.rand(1).item(),
                random.random(),
                own,
                info.seed,
                info.id,
                torch.initial_seed(),
            )

    loader = data.DataLoader(Drawn(), 2, num_workers=2, persistent_workers=kept)
    return [listed(loader) for _ in range(3)], torch.rand(1)


@same
def test_what_a_worker_knows(torch: Any) -> Any:
    data = torch.utils.data
    assert data.get_worker_info() is None

    class Asked(data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: int) -> Any:
            info = data.get_worker_info()
            with pytest.raises(AttributeError):
                info.id = 3
            return info.id, info.num_workers, info.dataset is self, os.getppid() == parent

    parent = os.getpid()
    return listed(data.DataLoader(Asked(), num_workers=2))


@same
def test_persistent_workers_are_the_same_processes(torch: Any) -> Any:
    class Pids(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> int:
            return os.getpid()

    loader = torch.utils.data.DataLoader(Pids(), num_workers=2, persistent_workers=True)
    first = {batch.item() for batch in loader}
    for _ in loader:  # given up half-way
        break
    assert {batch.item() for batch in loader} == first
    return len(first), len(list(loader))


@same
def test_out_of_order(torch: Any) -> Any:
    class Slow(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> int:
            if index == 0:
                time.sleep(0.5)
            return index

    loader = torch.utils.data.DataLoader(Slow(), num_workers=2, in_order=False, prefetch_factor=1)
    seen = [batch.item() for batch in loader]
    assert seen[0] != 0
    return sorted(seen)


# --- errors ---------------------------------------------------------------------------------------


class Own(Exception):
    """An exception that takes more than its text."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


FAILURES: dict[str, tuple[Any, type[Exception], str]] = {
    "ValueError": (lambda: ValueError("no such thing"), ValueError, "no such thing"),
    "KeyError": (lambda: KeyError("missing"), KeyError, "missing"),
    "of its own": (lambda: Own(1, 2), RuntimeError, "1 and 2"),
}


@pytest.mark.parametrize("name", FAILURES)
@same
def test_an_exception_reaches_the_caller(torch: Any, name: str) -> Any:
    make, expected, phrase = FAILURES[name]

    class Bad(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 5

        def __getitem__(self, index: int) -> int:
            if index == 2:
                raise make()
            return index

    iterator = iter(torch.utils.data.DataLoader(Bad(), num_workers=1))
    seen = []
    while True:
        try:
            seen.append(next(iterator).item())
        except StopIteration:
            return seen
        except expected as error:
            text = str(error)
            assert text.startswith("Caught")
            parts = ("in DataLoader worker process 0.\nOriginal Traceback", "in __getitem__")
            assert all(part in text for part in (phrase, "raise make()", *parts))
            seen.append(-1)


@same
def test_an_exception_here_is_itself(torch: Any) -> None:
    class Bad(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 1

        def __getitem__(self, index: int) -> int:
            raise Own(1, 2)

    with pytest.raises(Own, match=r"^1 and 2$"):
        list(torch.utils.data.DataLoader(Bad()))


@same
def test_a_worker_that_cannot_begin(torch: Any) -> Any:
    def refuse(number: int) -> None:
        raise OSError(f"worker {number} finds no data")

    loader = torch.utils.data.DataLoader([1, 2], num_workers=1, worker_init_fn=refuse)
    with pytest.raises(
        OSError, match=r"Caught OSError in DataLoader worker process 0[\s\S]*no data"
    ):
        list(loader)
    begun = torch.utils.data.DataLoader([1, 2], num_workers=1, worker_init_fn=lambda number: None)
    return list(begun)


def test_what_cannot_be_sent() -> None:
    """PyTorch waits for it for ever."""
    loader = tautograd.utils.data.DataLoader([1], num_workers=1, collate_fn=lambda x: lambda: x)
    with pytest.raises((AttributeError, pickle.PicklingError), match=r"pickle[\s\S]*lambda"):
        list(loader)


def test_an_exception_of_a_class_that_only_the_worker_knows() -> None:
    class Local(Exception):
        pass

    def fail(batch: Any) -> None:
        raise Local("out of nowhere")

    loader = tautograd.utils.data.DataLoader([1], num_workers=1, collate_fn=fail)
    with pytest.raises(RuntimeError, match=r"Caught Local[\s\S]*out of nowhere"):
        list(loader)
    assert not multiprocessing.active_children()  # without the help of the garbage collector


def dying(torch: Any, delay: float = 0.0) -> Any:
    """A loader whose worker is killed as it makes the second batch, `delay` seconds after the first."""

    class Dying(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> int:
            if index == 1:
                time.sleep(delay)
                os.kill(os.getpid(), signal.SIGKILL)
            return index

    return torch.utils.data.DataLoader(Dying(), num_workers=1)


@same
def test_a_worker_that_is_killed(torch: Any) -> None:
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid.*"):
        list(dying(torch))


def test_a_worker_that_is_killed_before_its_batch_is_taken() -> None:
    """The batch is in the queue, but its memory can no longer be handed over.

    Not compared with PyTorch, whose handler of SIGCHLD raises the same error at any moment.
    """
    importlib.import_module("tautograd.multiprocessing")  # from now on, memory is shared
    batches = iter(dying(tautograd, delay=0.5))
    (worker,) = multiprocessing.active_children()
    multiprocessing.connection.wait([worker.sentinel], timeout=60)
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid.*"):
        next(batches)


@same
def test_a_worker_that_is_too_slow(torch: Any) -> None:
    loader = torch.utils.data.DataLoader(
        [1], num_workers=1, timeout=0.2, collate_fn=lambda batch: time.sleep(1.5)
    )
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.2 seconds"):
        next(iter(loader))


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "workers": ({"num_workers": -1}, ValueError, "num_workers option should be non-negative"),
    "timeout": ({"timeout": -1}, ValueError, "timeout option should be non-negative"),
    "prefetch": ({"prefetch_factor": 2}, ValueError, "prefetch_factor option could only be"),
    "no prefetch": ({"num_workers": 1, "prefetch_factor": -1}, ValueError, "non-negative"),
    "kept": ({"persistent_workers": True}, ValueError, "persistent_workers option needs"),
    "both orders": (
        {"sampler": [1], "shuffle": True},
        ValueError,
        "mutually exclusive with shuffle",
    ),
    "batches": (
        {"batch_sampler": [[1]], "batch_size": 2},
        ValueError,
        "mutually exclusive with batch",
    ),
    "no batch": ({"batch_size": None, "drop_last": True}, ValueError, "disables auto-batching"),
    "batch size": ({"batch_size": 0}, ValueError, "batch_size should be a positive integer"),
    "context": (
        {"multiprocessing_context": "fork"},
        ValueError,
        "can only be used with multi-process",
    ),
    "start": (
        {"multiprocessing_context": "no", "num_workers": 1},
        ValueError,
        "valid start method",
    ),
    "no context": (
        {"multiprocessing_context": 3, "num_workers": 1},
        TypeError,
        "valid context object",
    ),
}


@pytest.mark.parametrize("case", WRONG)
@same
def test_wrong_options(torch: Any, case: str) -> None:
    options, error, phrase = WRONG[case]
    with pytest.raises(error, match=phrase):
        torch.utils.data.DataLoader([1, 2], **options)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@same
def test_wrong_use(torch: Any) -> Any:
    data = torch.utils.data
    loader = data.DataLoader(rows(torch))
    for name in ("batch_size", "sampler", "dataset", "drop_last", "persistent_workers"):
        with pytest.raises(
            ValueError, match=f"{name} attribute should not be set after DataLoader"
        ):
            setattr(loader, name, None)
    with pytest.raises(NotImplementedError):
        pickle.dumps(iter(loader))
    with pytest.raises(AssertionError, match="timeout == 0"):
        iter(data.DataLoader([1], timeout=1))
    with pytest.raises(AssertionError, match="prefetch_factor must be greater than 0"):
        iter(data.DataLoader([1], num_workers=1, prefetch_factor=0))
    stream = data.ChainDataset([])
    for options in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        with pytest.raises(
            ValueError, match="DataLoader with IterableDataset: expected unspecified"
        ):
            data.DataLoader(stream, **options)
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator"):
        iter(data.DataLoader([1], pin_memory=True))
    with pytest.warns(UserWarning, match="This DataLoader will create 10000 worker processes"):
        data.DataLoader([1], num_workers=10000)
    return str(data.DataLoader[int])[-16:], len(pickle.dumps(loader)) > 0


# --- processes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_new_interpreters(method: str) -> None:
    loader = tautograd.utils.data.DataLoader(
        Squares(), 2, num_workers=1, multiprocessing_context=method
    )
    assert [batch.tolist() for batch in loader] == [[[0, 0], [1, 1]], [[4, 4], [9, 9]]]
    bad = tautograd.utils.data.DataLoader(
        Squares(), num_workers=1, multiprocessing_context=method, collate_fn=lambda batch: batch
    )
    with (
        pytest.warns(UserWarning, match="Got pickle error"),
        pytest.raises(Exception, match="pickle"),
    ):
        iter(bad)


def test_a_loop_that_is_left_ends_its_workers_at_once() -> None:
    """Also where batches wait that are larger than what a pipe holds."""

    class Large(tautograd.utils.data.Dataset[Any]):
        def __len__(self) -> int:
            return 100

        def __getitem__(self, index: int) -> Any:
            return tautograd.zeros(500_000)

    for _ in tautograd.utils.data.DataLoader(Large(), num_workers=2):
        began = time.monotonic()
        break
    assert not multiprocessing.active_children()
    assert time.monotonic() - began < 4


def test_a_closed_iterator_is_at_its_end() -> None:
    iterator = iter(tautograd.utils.data.DataLoader(range(4), num_workers=1))
    next(iterator)
    iterator.close()
    assert list(iterator) == []
    assert not multiprocessing.active_children()


def test_one_loader_inside_another() -> None:
    """Workers that are forked while others run neither hold nor stop them."""
    data = tautograd.utils.data
    outer = iter(data.DataLoader(range(6), num_workers=1))
    seen = [next(outer).item()]
    inner = [x.item() for x in data.DataLoader(range(3), num_workers=1)]
    seen += [x.item() for x in outer]
    assert (seen, inner) == (list(range(6)), list(range(3)))


def test_the_end_of_the_program() -> None:
    """A loader whose workers are kept does not keep the program."""
    program = (
        "import tautograd\n"
        "loader = tautograd.utils.data.DataLoader(range(50), num_workers=2, persistent_workers=True)\n"
        "iterator = iter(loader)\n"
        "print(next(iterator).item(), [w.pid for w in iterator._workers])\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    first, pids = found.stdout.split(" ", 1)
    assert (first, found.stderr) == ("0", "")
    for pid in pids.strip("[]\n").split(", "):
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


@same
def test_a_loader_of_another_class_makes_its_passes(torch):
    data = importlib.import_module(f"{torch.__name__}.utils.data.dataloader")
    collate = importlib.import_module(f"{torch.__name__}.utils.data._utils.collate")

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter([torch.ones(2) * i for i in range(3)])

    class Loader:
        _IterableDataset_len_called, _auto_collation, drop_last, in_order = None, False, False, True
        generator, prefetch_factor, num_workers, timeout, pin_memory = None, 2, 0, 0, False
        pin_memory_device, multiprocessing_context, persistent_workers = "", None, False
        worker_init_fn, _dataset_kind = None, data._DatasetKind.Iterable
        _index_sampler = range(9)
        dataset = Stream()

        def collate_fn(self, sample):
            return collate.default_convert(sample) + 1

        def _get_shared_seed(self):
            return None

    torch.manual_seed(3)
    found = list(data._SingleProcessDataLoaderIter(Loader()))
    return found, collate.default_collate([{"a": 1.5}, {"a": 2.5}]), torch.rand(1)
