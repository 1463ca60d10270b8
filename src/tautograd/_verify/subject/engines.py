"""Which engine a tensor belongs to, PyTorch or tautograd, found from the tensor itself.

Nothing in the kit imports an engine: whoever made the tensors has loaded it already.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..._trees.nests import WITH_DATACLASSES as NESTS

ENGINES = "tautograd", "torch"


def engines() -> list[Any]:
    """The engines that are loaded, tautograd first."""
    loaded = tuple(map(sys.modules.get, ENGINES))
    if loaded != _known[0]:
        found = [module for module in dict.fromkeys(loaded) if hasattr(module, "Tensor")]
        if len(found) < len(set(loaded) - {None}):  # one is being imported
            return found
        _known[:] = [loaded, found]
    return _known[1]  # type: ignore[no-any-return]


_known: list[Any] = [None, []]  # what was loaded when it was last asked, and which engines that are


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of any engine."""
    return any(isinstance(value, engine.Tensor) for engine in engines())


def is_module(value: Any) -> bool:
    """Whether a value is an `nn.Module` of any engine whose `nn` is loaded."""
    return any(
        f"{engine.__name__}.nn" in sys.modules and isinstance(value, engine.nn.Module)
        for engine in engines()
    )


def engine_of(values: Iterable[Any]) -> Any:
    """The engine that made these tensors and modules; they must all come from one."""
    found: dict[str, Any] = {}
    loaded = engines()
    for value in values:
        for engine in loaded:
            nn = sys.modules.get(f"{engine.__name__}.nn")
            if isinstance(value, engine.Tensor) or (nn and isinstance(value, nn.Module)):
                found[engine.__name__] = engine
                break
    if len(found) > 1:
        raise TypeError(f"inputs: tensors of {' and of '.join(sorted(found))} are mixed")
    if not found:
        raise TypeError("inputs: no tensor and no module among them, so there is nothing to check")
    return next(iter(found.values()))


def name_of(engine: Any) -> str:
    """'tautograd' or 'torch', whatever the module calls itself."""
    return "tautograd" if engine is sys.modules.get("tautograd") else str(engine.__name__)


_made: WeakKeyDictionary[type, Any] = WeakKeyDictionary()  # classes of tensors, by their engine


def as_numpy(tensor: Any) -> Any:
    """A tensor's values as a NumPy array of float64, complex128, or its own integer type."""
    engine = _made.get(type(tensor)) or _made.setdefault(type(tensor), engine_of([tensor]))
    tensor = densified(engine, tensor)
    dtype = tensor.dtype
    if dtype is engine.float64:
        return tensor.numpy(force=True)
    if dtype is engine.float32 or dtype is engine.float16:  # fast path for the usual cases
        return tensor.numpy(force=True).astype(np.float64)
    tensor = tensor.detach().cpu()
    if tensor.is_complex():
        return tensor.resolve_conj().to(engine.complex128).numpy(force=True)
    if tensor.is_floating_point():
        return tensor.to(engine.float64).numpy(force=True)
    return tensor.numpy(force=True)


def densified(engine: Any, tensor: Any) -> Any:
    """A sparse result or gradient with all its entries; any other tensor unchanged."""
    return tensor if tensor.layout is engine.strided else tensor.to_dense()


def as_reals(tensor: Any) -> Any:
    """A tensor's values as one row of float64; a complex number is two of them."""
    array = as_numpy(tensor)
    if array.dtype.kind == "c":
        return np.ascontiguousarray(array).reshape(-1).view(np.float64)
    return array.reshape(-1).astype(np.float64)


def reals_in(tensor: Any) -> int:
    """How many real numbers a tensor has."""
    return int(tensor.numel()) * (2 if tensor.is_complex() else 1)


def as_tensors(engine: Any, row: Any, like: Iterable[Any]) -> list[Any]:
    """A row of real numbers as tensors like these: the inverse of `as_reals`."""
    found, start = [], 0
    for tensor in like:
        stop = start + reals_in(tensor)
        part = np.array(row[start:stop], np.float64)
        start = stop
        if tensor.is_complex():
            part = part.view(np.complex128)
        made = engine.from_numpy(part.reshape(tuple(tensor.shape)))
        alike = made.dtype == tensor.dtype and made.device == tensor.device
        found.append(made if alike else made.to(dtype=tensor.dtype, device=tensor.device))
    return found


def tensors_of(nest: Any, name: str = "") -> dict[str, Any]:
    """The tensors in a nest, by name."""
    return {at: leaf for at, leaf in NESTS.named_leaves(nest, name) if is_tensor(leaf)}
