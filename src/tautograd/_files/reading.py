"""Reading PyTorch's `.pt` files without running anything that is in them.

The pickle inside may only name what is listed here, each of which makes a tensor, a dtype or a plain
container; any other name is an error. Every tensor must lie within the memory that the file holds.
"""

from __future__ import annotations

import io
import pickle
import re
import struct
import zipfile
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from .._arrays.devices import device
from .._arrays.dtypes import DTYPE_NAMES
from .._arrays.formats import FORMAT_NAMES
from .._arrays.strided import strided
from .._tensor.tensor import Size, Tensor, make
from .storages import STORAGE_DTYPES


class UnsafeFile(pickle.UnpicklingError):
    """A file names something that loading it would have to run."""


class _Allowed:
    """A function that a file may name; nothing in a file can change it."""

    __slots__ = ("_function",)

    _function: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        object.__setattr__(self, "_function", function)

    def __setattr__(self, name: str, value: Any) -> None:
        raise UnsafeFile(f"the file tries to change '{name}' of a function")

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)


class _StorageKind:
    """`torch.FloatStorage` and its kind: a name for a dtype."""

    __slots__ = ("dtype",)

    dtype: Any

    def __init__(self, dtype: Any) -> None:
        object.__setattr__(self, "dtype", dtype)

    def __setattr__(self, name: str, value: Any) -> None:
        raise UnsafeFile(f"the file tries to change '{name}' of a storage class")


def _tensor(
    storage: Any,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool,
    hooks: Any = None,
    metadata: Any = None,
) -> Tensor:
    if not isinstance(storage, np.ndarray):
        raise pickle.UnpicklingError("a tensor in the file has no storage")
    size, stride = tuple(map(int, size)), tuple(map(int, stride))
    if len(size) != len(stride) or offset < 0 or min((*size, *stride, 0)) < 0:
        raise pickle.UnpicklingError(f"a tensor in the file has shape {size}, strides {stride}")
    if 0 not in size:
        last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if last >= storage.size:
            raise pickle.UnpicklingError(
                f"a tensor in the file of shape {list(size)} reaches element {last} of a storage of "
                f"{storage.size}"
            )
    width = storage.dtype.itemsize
    array = strided(storage, size, [n * width for n in stride], offset * width)
    tensor = make(array)
    if requires_grad:
        tensor.requires_grad = True
    return tensor


def _parameter(data: Tensor, requires_grad: bool, hooks: Any = None) -> Any:
    from ..nn.parameter import Parameter

    return Parameter(data, requires_grad)


def _layout(name: str) -> Any:
    if name != "torch.strided":
        raise pickle.UnpicklingError(f"a tensor in the file is of layout {name}")
    return FORMAT_NAMES["strided"]


class _NumPyKind:
    """The dtype of a NumPy number, which says how its bytes are read, and nothing else."""

    def __init__(self, code: str, *options: Any) -> None:
        if not re.fullmatch(r"[biufc][0-9]{1,2}", code):
            raise UnsafeFile(f"the file has a NumPy value of kind {code!r}, which is no number")
        self._code = code
        self._order: Any = "="

    def __setstate__(self, state: Any) -> None:
        if state[1] in ("<", ">", "|"):
            self._order = state[1]

    def number(self, data: bytes) -> Any:
        """The number that these bytes are."""
        return np.frombuffer(data, np.dtype(self._code).newbyteorder(self._order))[0].item()


def _numpy_number(kind: Any, data: Any) -> Any:
    if not isinstance(kind, _NumPyKind):
        raise pickle.UnpicklingError("a NumPy number in the file has no dtype")
    return kind.number(data)


_FUNCTIONS: dict[tuple[str, str], Any] = {
    ("numpy", "dtype"): _Allowed(_NumPyKind),
    ("numpy._core.multiarray", "scalar"): _Allowed(_numpy_number),
    ("numpy.core.multiarray", "scalar"): _Allowed(_numpy_number),
    ("torch._utils", "_rebuild_tensor_v2"): _Allowed(_tensor),
    ("torch._utils", "_rebuild_parameter"): _Allowed(_parameter),
    ("torch", "Size"): Size,
    ("torch", "device"): _Allowed(device),
    ("torch.serialization", "_get_layout"): _Allowed(_layout),
    ("collections", "OrderedDict"): OrderedDict,
    ("collections", "Counter"): Counter,
    ("builtins", "complex"): complex,
    ("builtins", "set"): set,
    ("builtins", "frozenset"): frozenset,
    ("builtins", "bytearray"): bytearray,
    ("_codecs", "encode"): _Allowed(lambda text, coding: text.encode("latin1")),
}
_FUNCTIONS.update({("torch", n): _StorageKind(d) for n, d in STORAGE_DTYPES.items()})
_FUNCTIONS.update({("torch", n): d for n, d in DTYPE_NAMES.items()})


class _Unpickler(pickle.Unpickler):
    def __init__(self, text: IO[bytes], storages: _Storages) -> None:
        super().__init__(text, encoding="utf-8")
        self._storages = storages

    def find_class(self, module: str, name: str) -> Any:
        module = {"__builtin__": "builtins"}.get(module, module)
        found = _FUNCTIONS.get((module, name))
        if found is None:
            raise UnsafeFile(
                f"Weights only load failed: the file names {module}.{name}, which is neither a "
                "tensor nor plain data, and to rebuild it code would have to run. Nothing was run. "
                "Load the file where it was written, and save what it holds as a state_dict."
            )
        return found

    def persistent_load(self, saved_id: Any) -> Any:
        if not (isinstance(saved_id, tuple) and len(saved_id) == 5 and saved_id[0] == "storage"):
            raise pickle.UnpicklingError(f"the file names unknown memory: {saved_id!r}")
        _, kind, key, _, size = saved_id
        if not isinstance(kind, _StorageKind):
            raise pickle.UnpicklingError(f"the file names memory of an unknown kind: {kind!r}")
        return self._storages.get(str(key), kind.dtype, size)


class _Storages:
    """The memory of the tensors in a file, read when first named."""

    def __init__(self, archive: zipfile.ZipFile, prefix: str) -> None:
        self._archive = archive
        self._prefix = prefix
        self._read: dict[str, Any] = {}
        self._swap = self._byte_order() == "big"

    def _byte_order(self) -> str:
        try:
            return self._archive.read(self._prefix + "byteorder").decode()
        except KeyError:
            return "little"

    def get(self, key: str, dtype: Any, size: int) -> Any:
        array = self._read.get(key)
        if array is None:
            try:
                data = self._archive.read(f"{self._prefix}data/{key}")
            except KeyError:
                raise RuntimeError(f"the file has no record data/{key} of a tensor in it") from None
            array = self._read[key] = np.frombuffer(bytearray(data), np.uint8)
        width = dtype.numpy.itemsize
        if size < 0 or size * width > array.size:
            raise RuntimeError(
                f"record data/{key} has {array.size} bytes, and {size} elements of {width} bytes "
                "are asked for: the file is damaged"
            )
        found = array[: size * width].view(dtype.numpy)
        return found.byteswap() if self._swap else found


def read(file: IO[bytes]) -> Any:
    """The object that `torch.save`, or `tautograd.save`, wrote."""
    if not zipfile.is_zipfile(file):
        file.seek(0)
        start = file.read(2)
        if not start:
            raise EOFError("Ran out of input: the file is empty")
        if start == b"PK":
            raise RuntimeError(
                "failed reading zip archive: failed finding central directory. The file is cut off "
                "or damaged; nothing was loaded"
            )
        raise RuntimeError(
            "the file is no zip archive, and so none that torch.save has written since PyTorch 1.6; "
            "older ones, which are pickles, are not loaded because that can run code"
        )
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as archive:
            names = [n for n in archive.namelist() if n.endswith("/data.pkl") or n == "data.pkl"]
            if len(names) != 1:
                raise RuntimeError("the archive has no data.pkl: it was not written by torch.save")
            prefix = names[0].removesuffix("data.pkl")
            text = io.BytesIO(archive.read(names[0]))
            return _Unpickler(text, _Storages(archive, prefix)).load()
    except _DAMAGE as error:
        raise RuntimeError(f"the file is damaged, nothing was loaded: {error}") from error


# What unzipping, and unpickling what was changed by accident, can end in.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, ValueError),
    *(TypeError, KeyError, IndexError, AttributeError, OverflowError, UnicodeDecodeError),
)
