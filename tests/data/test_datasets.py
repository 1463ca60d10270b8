"""Datasets, samplers and collation: the same samples in the same order, the same refusals."""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from tests.both import same


def rows(torch: Any, count: int = 10) -> Any:
    return torch.utils.data.TensorDataset(torch.arange(float(count)), torch.arange(count) * 2)


# Each builds a dataset; the test reads all of it, and by slices and lists.
DATASETS: dict[str, Callable[[Any, Any], Any]] = {
    "tensors": lambda torch, data: rows(torch),
    "subset": lambda torch, data: data.Subset(rows(torch), [3, 1, 4]),
    "subset of a subset": lambda torch, data: data.Subset(data.Subset(range(9), [8, 5, 2]), [2, 0]),
    "concatenated": lambda torch, data: rows(torch, 3) + rows(torch, 2) + rows(torch, 4),
    "side by side": lambda torch, data: data.StackDataset(rows(torch, 3), range(3)),
    "by name": lambda torch, data: data.StackDataset(a=rows(torch, 3), b=[7, 8, 9]),
}


@pytest.mark.parametrize("name", DATASETS)
@same
def test_datasets(torch: Any, name: str) -> Any:
    data = torch.utils.data
    dataset = DATASETS[name](torch, data)
    seen = [len(dataset), [dataset[i] for i in range(len(dataset))], dataset[-1]]
    seen.append([list(batch) for batch in data.DataLoader(dataset, batch_size=2)])
    if hasattr(dataset, "__getitems__"):
        seen.append(dataset.__getitems__([1, 0]))
    return seen


@same
def test_streams(torch: Any) -> Any:
    data = torch.utils.data

    class Stream(data.IterableDataset):  # type: ignore[misc]
        def __init__(self, *values: int) -> None:
            self.values = values

        def __iter__(self) -> Any:
            return iter(self.values)

        def __len__(self) -> int:
            return len(self.values)

    chained = Stream(1, 2) + Stream(3) + Stream()
    with pytest.raises(AssertionError, match="ConcatDataset does not support IterableDataset"):
        data.ConcatDataset([Stream(1)])
    with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset"):
        list(data.ChainDataset([[1, 2]]))
    with pytest.raises(TypeError, match="abstract"):
        data.IterableDataset()
    return list(chained), len(chained), list(data.DataLoader(chained, batch_size=2))


REFUSED: dict[str, tuple[type[Exception], str, Callable[[Any, Any], Any]]] = {
    "sizes": (
        AssertionError,
        "Size mismatch between tensors",
        lambda torch, data: data.TensorDataset(torch.ones(2), torch.ones(3)),
    ),
    "nothing": (AssertionError, "empty iterable", lambda torch, data: data.ConcatDataset([])),
    "too far": (
        ValueError,
        "absolute value of index should not exceed dataset length",
        lambda torch, data: data.ConcatDataset([rows(torch)])[-11],
    ),
    "both kinds": (
        ValueError,
        "both types are given",
        lambda torch, data: data.StackDataset(rows(torch), a=rows(torch)),
    ),
    "none": (ValueError, "At least one dataset", lambda torch, data: data.StackDataset()),
    "lengths": (
        ValueError,
        "Size mismatch between datasets",
        lambda torch, data: data.StackDataset(range(2), range(3)),
    ),
    "no item": (
        NotImplementedError,
        "should implement __getitem__",
        lambda torch, data: data.Dataset()[0],
    ),
    "sum": (
        ValueError,
        "Sum of input lengths does not equal",
        lambda torch, data: data.random_split(rows(torch), [3, 3]),
    ),
    "fraction": (
        ValueError,
        "Fraction at index 0 is not between 0 and 1",
        lambda torch, data: data.random_split(rows(torch), [1.5, -0.5]),
    ),
    "no samples": (
        ValueError,
        "num_samples should be a positive integer",
        lambda torch, data: data.RandomSampler([]),
    ),
    "replacement": (
        TypeError,
        "replacement should be a boolean",
        lambda torch, data: data.RandomSampler([1], replacement=1),
    ),
    "weights": (
        ValueError,
        "1d sequence",
        lambda torch, data: data.WeightedRandomSampler([[1.0]], 1),
    ),
    "weighted count": (
        ValueError,
        "num_samples should be a positive",
        lambda torch, data: data.WeightedRandomSampler([1.0], True),
    ),
    "batch size": (
        ValueError,
        "batch_size should be a positive integer",
        lambda torch, data: data.BatchSampler([1], 0, False),
    ),
    "drop_last": (
        ValueError,
        "drop_last should be a boolean",
        lambda torch, data: data.BatchSampler([1], 1, None),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
@same
def test_refusals(torch: Any, case: str) -> None:
    error, phrase, program = REFUSED[case]
    with pytest.raises(error, match=phrase):
        program(torch, torch.utils.data)


@same
def test_a_subset_of_ones_own(torch: Any) -> None:
    class Halves(torch.utils.data.Subset):  # type: ignore[misc]
        def __getitem__(self, index: Any) -> Any:
            return super().__getitem__(index)[0] / 2

    with pytest.raises(NotImplementedError, match="overrides __getitem__ but not __getitems__"):
        Halves(rows(torch), [0])


# --- samplers -------------------------------------------------------------------------------------

SAMPLERS: dict[str, Callable[[Any, Any], Any]] = {
    "in order": lambda torch, data: data.SequentialSampler(range(4)),
    "at random": lambda torch, data: data.RandomSampler(range(20)),
    "with replacement": lambda torch, data: data.RandomSampler(range(9), True, 70),
    "more than there are": lambda torch, data: data.RandomSampler(range(4), num_samples=10),
    "of a generator": lambda torch, data: data.RandomSampler(
        range(9), generator=torch.Generator().manual_seed(3)
    ),
    "of a part": lambda torch, data: data.SubsetRandomSampler([5, 7, 9]),
    "weighted": lambda torch, data: data.WeightedRandomSampler([0.1, 0.9, 3.0], 12),
    "weighted, once": lambda torch, data: data.WeightedRandomSampler([0.1, 0.9, 3.0], 2, False),
    "batches": lambda torch, data: data.BatchSampler(data.RandomSampler(range(7)), 3, False),
    "full batches": lambda torch, data: data.BatchSampler(range(7), 3, True),
    "of several": lambda torch, data: data.DistributedSampler(range(11), 3, 1, seed=4),
    "of several, dropped": lambda torch, data: data.DistributedSampler(
        range(11), 3, 2, shuffle=False, drop_last=True
    ),
}


@pytest.mark.parametrize("name", SAMPLERS)
@same
def test_samplers(torch: Any, name: str) -> Any:
    sampler = SAMPLERS[name](torch, torch.utils.data)
    seen = [list(sampler), list(sampler), len(sampler), torch.rand(1)]
    if hasattr(sampler, "set_epoch"):
        sampler.set_epoch(2)
        seen.append(list(sampler))
    return seen


@same
def test_random_split(torch: Any) -> Any:
    split = torch.utils.data.random_split
    seen = [split(range(10), lengths) for lengths in ([3, 7], [0.5, 0.3, 0.2], [0.33, 0.67])]
    seen.append(split(range(10), [4, 6], torch.Generator().manual_seed(1)))
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        seen.append(split(range(1), [0.9, 0.1]))
    return [[list(part.indices) for part in parts] for parts in seen]


# --- collation ------------------------------------------------------------------------------------


class Pair(collections.namedtuple("Pair", ("x", "y"))):
    __slots__ = ()


class Fixed(Mapping[str, Any]):
    """A mapping that cannot be changed."""

    def __init__(self, items: Any) -> None:
        self.items_ = dict(items)

    def __getitem__(self, key: str) -> Any:
        return self.items_[key]

    def __iter__(self) -> Any:
        return iter(self.items_)

    def __len__(self) -> int:
        return len(self.items_)


BATCHES: dict[str, Callable[[Any], Any]] = {
    "tensors": lambda torch: [torch.ones(2), torch.zeros(2)],
    "numbers": lambda torch: [1, 2],
    "truths": lambda torch: [True, False],
    "floats": lambda torch: [1.5, 2],
    "text": lambda torch: ["a", "b"],
    "bytes": lambda torch: [b"a", b"b"],
    "arrays": lambda torch: [np.arange(2, dtype=np.float32), np.ones(2, dtype=np.float32)],
    "NumPy's numbers": lambda torch: [np.float32(1.5), np.float32(2)],
    "NumPy's doubles": lambda torch: [np.float64(1.5), np.float64(2)],
    "NumPy's integers": lambda torch: [np.int16(1), np.int16(2)],
    "NumPy's truths": lambda torch: [np.bool_(True), np.bool_(False)],
    "pairs": lambda torch: [(1, torch.ones(1)), (2, torch.zeros(1))],
    "lists": lambda torch: [[1, 2], [3, 4]],
    "named": lambda torch: [Pair(1, 2.0), Pair(3, 4.0)],
    "dictionaries": lambda torch: [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}],
    "ordered": lambda torch: [collections.OrderedDict(b=1, a=2)] * 2,
    "counted": lambda torch: [collections.defaultdict(int, a=1)] * 2,
    "fixed": lambda torch: [Fixed({"a": 1}), Fixed({"a": 2})],
    "ranges": lambda torch: [range(2), range(2)],
    "queues": lambda torch: [collections.deque([1, 2])] * 2,
    "nested": lambda torch: [{"a": [(1, {"b": torch.ones(1)})]}] * 2,
}


@pytest.mark.parametrize("name", BATCHES)
@pytest.mark.parametrize("function", ["default_collate", "default_convert"])
@same
def test_collation(torch: Any, name: str, function: str) -> Any:
    found = getattr(torch.utils.data, function)(BATCHES[name](torch))
    inner = found[0] if isinstance(found, list) else found
    fixed = dict(inner) if isinstance(inner, Fixed) else None
    listed = list(found) if isinstance(found, collections.deque) else found
    return type(found).__name__, type(inner).__name__, listed if fixed is None else fixed


@same
def test_what_cannot_be_collated(torch: Any) -> None:
    collate = torch.utils.data.default_collate
    for batch, error, phrase in (
        ([None], TypeError, "found <class 'NoneType'>"),
        ([np.array(["a"])], TypeError, "found <U1"),
        ([[1], [1, 2]], RuntimeError, "each element in list of batch should be of equal size"),
        ([torch.ones(1), torch.ones(2)], RuntimeError, "equal size"),
    ):
        with pytest.raises(error, match=phrase):
            collate(batch)
