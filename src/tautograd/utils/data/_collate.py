"""Batches from samples: tensors are stacked, numbers become tensors, containers keep their kind."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

import tautograd as torch

from ..._ops.declare.python_surface import speak

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

_REFUSED = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)
Collate = Callable[..., Any]
Map = dict[Any, Collate] | None


def default_convert(data: Any) -> Any:
    """A sample with its NumPy arrays converted to tensors."""
    if isinstance(data, torch.Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)) and not isinstance(data, (np.str_, np.bytes_)):
        if isinstance(data, np.ndarray) and data.dtype.kind in "USO":
            return data
        return torch.as_tensor(data)
    if isinstance(data, Mapping):
        return _mapping_like(data, lambda key: default_convert(data[key]))
    if isinstance(data, tuple):
        parts = [default_convert(part) for part in data]
        return type(data)(*parts) if hasattr(data, "_fields") else parts
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _sequence_like(data, [default_convert(part) for part in data])
    return data


def collate(batch: Any, *, collate_fn_map: Map = None) -> Any:
    """Collate a list of samples into a batch; `collate_fn_map` has a function for elements of each type."""
    element = batch[0]
    if collate_fn_map is not None:
        found = collate_fn_map.get(type(element))
        if found is None:
            found = next(
                (f for kind, f in collate_fn_map.items() if isinstance(element, kind)), None
            )
        if found is not None:
            return found(batch, collate_fn_map=collate_fn_map)

    def together(samples: Any) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(element, Mapping):
        return _mapping_like(element, lambda key: together([sample[key] for sample in batch]))
    if isinstance(element, tuple) and hasattr(element, "_fields"):
        return type(element)(*(together(part) for part in zip(*batch, strict=False)))
    if isinstance(element, Sequence):
        if any(len(sample) != len(element) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [together(part) for part in zip(*batch, strict=True)]
        return parts if isinstance(element, tuple) else _sequence_like(element, parts)
    raise TypeError(_REFUSED.format(type(element)))


def _mapping_like(given: Any, value: Callable[[Any], Any]) -> Any:
    """The same kind of mapping with other values; a dictionary, if it cannot be constructed."""
    values = {key: value(key) for key in given}
    if type(given) is dict:
        return values
    try:
        if not isinstance(given, MutableMapping):
            return type(given)(values)
        clone = copy.copy(given)  # which may have its own attributes
        clone.update(values)
        return clone
    except TypeError:
        return values


def _sequence_like(given: Any, parts: list[Any]) -> Any:
    """The same kind of sequence with other elements; a list, if it cannot be constructed."""
    if type(given) is list:
        return parts
    try:
        if not isinstance(given, MutableSequence):
            return type(given)(parts)
        clone = copy.copy(given)
        for i, part in enumerate(parts):
            clone[i] = part
        return clone
    except TypeError:
        return parts


def _tensors(batch: Any, *, collate_fn_map: Map = None) -> Any:
    return torch.stack(batch, 0)


def _arrays(batch: Any, *, collate_fn_map: Map = None) -> Any:
    if batch[0].dtype.kind in "USO":
        raise TypeError(_REFUSED.format(batch[0].dtype))
    return collate([torch.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def _numpy_numbers(batch: Any, *, collate_fn_map: Map = None) -> Any:
    return torch.as_tensor(np.asarray(batch))


def _floats(batch: Any, *, collate_fn_map: Map = None) -> Any:
    return torch.tensor(batch, dtype=torch.float64)


def _whole_numbers(batch: Any, *, collate_fn_map: Map = None) -> Any:
    return torch.tensor(batch)


def _text(batch: Any, *, collate_fn_map: Map = None) -> Any:
    return batch


# In this order: a NumPy number may be a Python number as well.
default_collate_fn_map: dict[Any, Collate] = {
    torch.Tensor: _tensors,
    np.ndarray: _arrays,
    (np.bool_, np.number, np.object_): _numpy_numbers,
    float: _floats,
    int: _whole_numbers,
    str: _text,
    bytes: _text,
}


def default_collate(batch: Any) -> Any:
    """Collate a list of samples: tensors are stacked, numbers become a tensor, containers go element by element."""
    return collate(batch, collate_fn_map=default_collate_fn_map)


speak(globals(), __all__)
