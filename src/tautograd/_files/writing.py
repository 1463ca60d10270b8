"""Writing PyTorch's `.pt` files: a zip of the tensors' memory and a pickle of the object around them.

The pickle names PyTorch's own functions, as `torch.save` does, so that
`torch.load(weights_only=True)` accepts the file. Only their names are written: PyTorch is not needed.
"""

from __future__ import annotations

import io
import pickle
import sys
import zipfile
from collections import Counter, OrderedDict
from typing import IO, Any

import numpy as np

from .._arrays.devices import CPU, device, moved
from .._arrays.dtypes import dtype, uint8
from .._arrays.formats import layout
from .._arrays.strided import storage_of, storage_offset_of, strides_of
from .._tensor.attributes import has_names_of_its_own
from .._tensor.tensor import Size, Tensor
from .archive import ZipFile
from .storages import STORAGE_NAMES


class NotPlain(Exception):
    """An object that is neither a tensor nor plain data, and where it was."""

    def __init__(self, kind: type, where: str) -> None:
        super().__init__(f"a {kind.__module__}.{kind.__qualname__} at {where}")


_PLAIN = (int, float, complex, bool, str, bytes, bytearray, type(None))


class Name:
    """A PyTorch global, written by name."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name


class _Call:
    """An object written as the call that rebuilds it."""

    def __init__(self, function: Name, args: tuple[Any, ...]) -> None:
        self.function = function
        self.args = args


class _Storage:
    """The memory of a tensor, written by its number."""

    def __init__(self, key: str, kind: Name, size: int) -> None:
        self.id = ("storage", kind, key, "cpu", size)


_names: dict[tuple[str, str], Name] = {}


def _name(module: str, name: str) -> Name:
    return _names.setdefault((module, name), Name(module, name))


_PythonPickler: Any = pickle._Pickler  # not in the standard library's stubs


class Pickler(_PythonPickler):  # type: ignore[misc]
    """Python's own pickler for plain data (the C one checks that names can be imported)."""

    legacy = False  # a storage's reference of before PyTorch 1.6 also says of what it is a view

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, _Storage):
            return None
        return (*obj.id, None) if self.legacy else obj.id

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if isinstance(obj, Name):
            known = self.memo.get(id(obj))
            if known is not None:
                self.write(self.get(known[0]))
                return
            self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
            self.memoize(obj)
        elif isinstance(obj, _Call):
            known = self.memo.get(id(obj))
            if known is not None:  # the same tensor again
                self.write(self.get(known[0]))
                return
            self.save(obj.function)
            self.save(obj.args)
            self.write(pickle.REDUCE)
            self.memoize(obj)
        else:
            super().save(obj, save_persistent_id)


class Writer:
    """Splits an object for the file: its tensors' memory, and the rest as plain data."""

    def __init__(self) -> None:
        self.storages: list[Any] = []  # arrays, in the order of their numbers
        self._numbers: dict[int, int] = {}
        self._kinds: dict[int, Any] = {}  # the dtype with which each storage was written
        self._done: dict[int, Any] = {}  # already converted, so that shared objects stay shared
        self._kept: list[Any] = []

    def plain(self, obj: Any, where: str = "obj") -> Any:
        """The same object with tensors, dtypes and the like replaced by calls of PyTorch's functions."""
        if type(obj) in _PLAIN:
            return obj
        found = self._done.get(id(obj))
        if found is None:
            found = self._converted(obj, where)
            self._done[id(obj)] = found
            self._kept.append(obj)
        return found

    def _converted(self, obj: Any, where: str) -> Any:
        if isinstance(obj, Tensor):
            return self._tensor(obj, where)
        if is_storage(obj):
            return self._storage(obj, where)
        if isinstance(obj, Size):
            return _Call(_name("torch", "Size"), (tuple(obj),))
        if isinstance(obj, dtype):
            return _name("torch", str(obj).removeprefix("torch."))
        if isinstance(obj, device):
            return _Call(_name("torch", "device"), (str(obj),))
        if isinstance(obj, layout):
            return _Call(_name("torch.serialization", "_get_layout"), (str(obj),))
        if isinstance(obj, np.generic):
            return obj.item()
        if type(obj) is Counter:
            return _Call(_name("collections", "Counter"), (self._mapping(dict(obj), where),))
        if isinstance(obj, dict):
            return self._mapping(obj, where)
        if type(obj) in (list, set):
            return type(obj)(self.plain(v, f"{where}[{i}]") for i, v in enumerate(obj))
        if isinstance(obj, tuple) and not hasattr(obj, "_fields"):
            return tuple(self.plain(v, f"{where}[{i}]") for i, v in enumerate(obj))
        raise NotPlain(type(obj), where)

    def _mapping(self, obj: Any, where: str) -> Any:
        kind = OrderedDict if isinstance(obj, OrderedDict) else dict
        if type(obj) is not kind and type(obj).__name__ != "defaultdict":
            raise NotPlain(type(obj), where)
        items = ((self.plain(k, where), self.plain(v, f"{where}[{k!r}]")) for k, v in obj.items())
        found: Any = kind(items)
        if vars(obj) if kind is OrderedDict else None:
            found.__dict__.update({k: self.plain(v, f"{where}.{k}") for k, v in vars(obj).items()})
        return found

    def _tensor(self, tensor: Tensor, where: str) -> _Call:
        from ..nn.parameter import Parameter

        kind = type(tensor)
        if kind.__reduce_ex__ not in (Tensor.__reduce_ex__, Parameter.__reduce_ex__):
            raise NotPlain(kind, where)  # it defines its own pickling
        if hasattr(tensor._data, "is_sparse_array"):
            return self._sparse(tensor, where)
        if tensor.is_meta:
            shape, steps = tuple(tensor._data.shape), strides_of(tensor._data)
            of = self.plain(tensor.dtype, where)
            maker = _name("torch._utils", "_rebuild_meta_tensor_no_storage")
            return _Call(maker, (of, shape, steps, tensor.requires_grad))
        array = moved(tensor._data, CPU) if tensor.is_cuda else tensor._data
        if not isinstance(array, np.ndarray):
            raise TypeError(f"save(): the tensor at {where} has no memory of its own to write")
        if tensor.grad_fn is not None:
            array = moved(tensor.detach()._data, CPU)
        owner = storage_of(array)
        if not (owner.flags.c_contiguous or owner.flags.f_contiguous):
            owner = array = np.ascontiguousarray(array)
        # PyTorch's newer dtypes have no storage type of their own; they are stored as bytes.
        known = STORAGE_NAMES.get(tensor.dtype)
        number = self._number(owner, tensor.dtype if known else uint8)
        if known is not None:
            storage = _Storage(
                str(number), _name("torch", known), owner.nbytes // array.dtype.itemsize
            )
        else:
            storage = _Storage(str(number), _name("torch.storage", "UntypedStorage"), owner.nbytes)
        own = _is_programs(kind)  # a user's subclass, whose name is in the file
        parameter = issubclass(kind, Parameter) or (isinstance(tensor, Parameter) and not own)
        offset, strides = storage_offset_of(array), strides_of(array)
        wants = tensor.requires_grad and not parameter
        place: tuple[Any, ...] = (
            storage,
            offset,
            tuple(array.shape),
            strides,
            wants,
            OrderedDict(),
        )
        maker = _name("torch._utils", "_rebuild_tensor_v2" if known else "_rebuild_tensor_v3")
        if known is None:
            place = (*place, self.plain(tensor.dtype, where))
        # A tensor without attributes does not need the module that knows the engine's own names.
        attributes = self._attributes(tensor, where) if vars(tensor) else {}
        if parameter:
            args: tuple[Any, ...] = (_Call(maker, place), tensor.requires_grad, OrderedDict())
            if attributes:
                return _Call(
                    _name("torch._utils", "_rebuild_parameter_with_state"), (*args, attributes)
                )
            return _Call(_name("torch._utils", "_rebuild_parameter"), args)
        if attributes or own:
            name = _class_name(kind) if own else _name("torch", "Tensor")
            typed = (maker, name, place, attributes)
            return _Call(_name("torch._tensor", "_rebuild_from_type_v2"), typed)
        return _Call(maker, place)

    def _number(self, owner: Any, kind: Any) -> int:
        """The number of a piece of memory in the file; it is written once, with one dtype."""
        number = self._numbers.get(id(owner))
        if number is None:
            number = self._numbers[id(owner)] = len(self.storages)
            self.storages.append(owner)
        if owner.size and self._kinds.setdefault(number, kind) is not kind:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types"
            )
        return number

    def kind_of(self, number: int, default: Any) -> Any:
        """The dtype with which a storage was written; it has none if it is empty."""
        return self._kinds.get(number, default)

    def _storage(self, storage: Any, where: str) -> _Storage:
        """A storage without a tensor: only its memory."""
        typed = hasattr(storage, "dtype")
        kind = storage.dtype if typed else uint8
        owner = (storage.untyped() if typed else storage)._array
        if not isinstance(owner, np.ndarray):
            raise TypeError(f"save(): the storage at {where} has no memory of its own to write")
        name = STORAGE_NAMES.get(kind)
        if name is None or not typed:
            full, kind = _name("torch.storage", "UntypedStorage"), uint8
        else:
            full = _name("torch", name)
        return _Storage(str(self._number(owner, kind)), full, owner.nbytes // kind.itemsize)

    def _attributes(self, tensor: Tensor, where: str) -> dict[str, Any]:
        """The attributes that the program has set on a tensor, in PyTorch's format."""
        from .._tensor.copying import own_attributes

        found = own_attributes(tensor).items()
        return {name: self.plain(value, f"{where}.{name}") for name, value in found}

    def _sparse(self, tensor: Tensor, where: str) -> _Call:
        """A sparse tensor as its parts."""
        from .._ops.sparse.copies import parts_of

        parts = (*parts_of(tensor), tensor.shape)
        if tensor.is_sparse:
            parts = (*parts, bool(tensor._data.coalesced))
        args = (self.plain(tensor.layout, where), self.plain(parts, where))
        return _Call(_name("torch._utils", "_rebuild_sparse_tensor"), args)


def is_storage(obj: Any) -> bool:
    """Whether an object is a storage; none exists unless the storages' module is loaded."""
    module = sys.modules.get(f"{__name__.partition('.')[0]}._tensor.storages")
    return module is not None and isinstance(obj, (module.TypedStorage, module.UntypedStorage))


def _is_programs(kind: type) -> bool:
    """Whether a tensor class is the program's own, and not a parameter's."""
    from ..nn.parameter import Parameter

    return has_names_of_its_own(kind) and not issubclass(kind, Parameter)


def _class_name(kind: type) -> Name:
    """A class by its importable name; raises as `pickle` does if it cannot be found there."""
    found: Any = sys.modules.get(kind.__module__)
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is not kind:
        local = "local object " if "<locals>" in kind.__qualname__ else ""
        raise pickle.PicklingError(
            f"Can't pickle {local}{kind!r}: it's not found as {kind.__module__}.{kind.__qualname__}"
        )
    return _name(kind.__module__, kind.__qualname__)


def pickled(obj: Any, protocol: int = 2, *, legacy: bool = False) -> tuple[bytes, Writer]:
    """An object's pickle, and the writer that has the memory of its tensors."""
    writer, text = Writer(), io.BytesIO()
    pickler: Any = Pickler(text, protocol=protocol)
    pickler.legacy = legacy
    try:
        pickler.dump(writer.plain(obj))
    except NotPlain:  # whole objects, by Python's rules
        from .objects import ObjectPickler

        writer, text = Writer(), io.BytesIO()
        pickler = ObjectPickler(text, writer, protocol=protocol)
        pickler.legacy = legacy
        pickler.dump(obj)
    return text.getvalue(), writer


def write(obj: Any, file: IO[bytes], name: str = "archive") -> None:
    """Write an object as `torch.save` would."""
    text, writer = pickled(obj)
    archive = ZipFile(file, "w", zipfile.ZIP_STORED)
    _put_all(archive, name, text, writer.storages)
    archive.close()


def _put_all(archive: ZipFile, name: str, pickled: bytes, storages: list[Any]) -> None:
    def put(part: str, data: Any) -> None:
        archive.writestr(zipfile.ZipInfo(f"{name}/{part}", (1980, 1, 1, 0, 0, 0)), data)

    put("data.pkl", pickled)
    put("byteorder", "little")
    for number, owner in enumerate(storages):
        memory = owner if owner.flags.c_contiguous else owner.T
        flat = memory.reshape(-1).view(np.uint8)  # a large record's size is taken from its length
        put(f"data/{number}", flat.data if flat.size else b"")
    put("version", "3\n")
