"""Batches from samples: tensors are stacked, numbers become tensors, containers keep their shape."""

from __future__ import annotations

import collections
import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

import tautograd as torch

__all__ = ["default_collate", "default_convert"]

_REFUSED = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_convert(data: Any) -> Any:
    """A sample with its NumPy arrays as tensors."""
    if isinstance(data, torch.Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        if isinstance(data, np.ndarray) and data.dtype.kind in "USO":
            return data
        return torch.as_tensor(data)
    if isinstance(data, Mapping):
        return {key: default_convert(value) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(d) for d in data))
    if isinstance(data, tuple):
        return [default_convert(d) for d in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return [default_convert(d) for d in data]
    return data


def default_collate(batch: Any) -> Any:
    """One batch of a list of samples."""
    element = batch[0]
    if isinstance(element, torch.Tensor):
        return torch.stack(batch, 0)
    if isinstance(element, np.ndarray):
        if element.dtype.kind in "USO":
            raise TypeError(_REFUSED.format(element.dtype))
        return default_collate([torch.as_tensor(b) for b in batch])
    if isinstance(element, np.generic):
        return torch.as_tensor(np.asarray(batch))
    if isinstance(element, float):
        return torch.tensor(batch, dtype=torch.float64)
    if isinstance(element, int):
        return torch.tensor(batch)
    if isinstance(element, (str, bytes)):
        return batch
    if isinstance(element, collections.abc.Mapping):
        columns = {key: default_collate([d[key] for d in batch]) for key in element}
        return _of_kind(element, columns) if isinstance(element, MutableMapping) else columns
    if isinstance(element, tuple) and hasattr(element, "_fields"):
        parts = zip(*batch, strict=True)
        return type(element)(*(default_collate(samples) for samples in parts))
    if isinstance(element, collections.abc.Sequence):
        if any(len(other) != len(element) for other in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        found = [default_collate(samples) for samples in zip(*batch, strict=True)]
        if isinstance(element, tuple) or not isinstance(element, MutableSequence):
            return found
        if type(element) is list:
            return found
        clone = copy.copy(element)
        clone[:] = found
        return clone
    raise TypeError(_REFUSED.format(type(element)))


def _of_kind(element: Any, columns: dict[Any, Any]) -> Any:
    """The same kind of dictionary with other values."""
    if type(element) is dict:
        return columns
    clone = copy.copy(element)
    clone.update(columns)
    return clone
