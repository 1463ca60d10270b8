"""`.safetensors` files, both ways: the names of `safetensors.torch`, on tautograd's tensors.

The format holds named tensors and text, and nothing that could run. Reading and checking is done by
the `safetensors` package (the extra `safetensors`); a file that is replaced stays as it was until the
new one is complete.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from types import TracebackType
from typing import Any

import numpy as np

from ._arrays.devices import as_device
from ._arrays.dtypes import from_numpy_dtype
from ._arrays.strided import storage_of
from ._files.atomic import replacing
from ._files.regular import check_regular
from ._tensor.tensor import Tensor, make

_package: Any  # it comes without types
try:
    import safetensors

    _package = safetensors
except ModuleNotFoundError as error:
    raise ImportError(
        "tautograd.safetensors needs the package safetensors, which is not installed: "
        "pip install 'tautograd[safetensors]'"
    ) from error

SafetensorError = _package.SafetensorError

__all__ = [
    "SafetensorError",
    "load",
    "load_file",
    "load_model",
    "safe_open",
    "save",
    "save_file",
    "save_model",
]

Path = str | os.PathLike[str]

# The format's names of dtypes, and those that NumPy (with ml_dtypes) knows them by.
_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
    "C64": "complex64",
}

_METADATA = "__metadata__"  # its name in a header
_NOTHING = np.zeros(1).ctypes.data  # an address; nothing is read there

# --- writing --------------------------------------------------------------------------------------


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The content of a file with these tensors."""
    return bytes(_package.serialize(_described(tensors), metadata=metadata))


def save_file(
    tensors: dict[str, Tensor], filename: Path, metadata: dict[str, str] | None = None
) -> None:
    """Write these tensors to a file."""
    described = _described(tensors)
    header = _header(described, metadata)
    with replacing(filename) as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for name in json.loads(header):
            if name != _METADATA:
                file.write(tensors[name]._data.reshape(-1).view(np.uint8).data)


def _header(described: dict[str, Any], metadata: dict[str, str] | None) -> bytes:
    """The header that the package would write, which puts its own files where a kill leaves them.

    The package says what is refused and in which order the tensors go: it is asked for a file of
    their names and dtypes alone.
    """
    empty = {
        name: _package.TensorSpec(
            dtype=_DTYPES.get(spec.dtype, spec.dtype), shape=[0], data_ptr=_NOTHING, data_len=0
        )
        for name, spec in described.items()
    }
    content: bytes = _package.serialize(empty, metadata=metadata)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    start = 0
    for name, entry in header.items():
        if name != _METADATA:
            spec = described[name]
            entry["shape"] = list(spec.shape)
            entry["data_offsets"] = [start, start + spec.data_len]
            start += spec.data_len
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    return text + b" " * (-len(text) % 8)


def _described(tensors: Any) -> dict[str, Any]:
    """Where each tensor's memory lies, and what it holds."""
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(
                f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}"
            )
    sharing = [names for names in _sharing(tensors) if len(names) > 1]
    if sharing:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential "
            f"differences when loading them again: {sharing}. A potential way to correctly save your "
            "model is to use `save_model`."
        )
    found = {}
    for name, tensor in tensors.items():
        array = tensor._data
        if array.dtype.name not in _DTYPES.values():
            raise KeyError(f"safetensors files hold no {tensor.dtype}, the dtype of `{name}`")
        if not tensor.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It "
                "either means you are trying to save tensors which are reference of each other in "
                "which case it's recommended to save only the full tensors, and reslice at load "
                "time, or simply call `.contiguous()` on your tensor to pack it before saving."
            )
        found[name] = _package.TensorSpec(
            dtype=array.dtype.name,
            shape=list(array.shape),
            data_ptr=array.ctypes.data,
            data_len=array.nbytes,
        )
    return found


def _sharing(tensors: dict[str, Tensor]) -> list[set[str]]:
    """Names of tensors, together where their memory overlaps."""
    places = []
    for name, tensor in tensors.items():
        if tensor._data.size:
            places.append((*np.lib.array_utils.byte_bounds(tensor._data), name))
    found: list[set[str]] = []
    end = -1
    for start, stop, name in sorted(places):
        if start < end:
            found[-1].add(name)
        else:
            found.append({name})
        end = max(end, stop)
    return found


def save_model(
    model: Any,
    filename: Path,
    metadata: dict[str, str] | None = None,
    force_contiguous: bool = True,
) -> None:
    """Write a model's state, each tensor once: the metadata says what other names it had."""
    state = model.state_dict()
    for kept, others in _twins(state).items():
        metadata = {} if metadata is None else metadata
        for name in others:
            metadata.setdefault(name, kept)
            del state[name]
    if force_contiguous:
        state = {name: tensor.contiguous() for name, tensor in state.items()}
    save_file(dict(state), filename, metadata)


def _twins(state: dict[str, Tensor], preferred: Iterable[str] = ()) -> dict[str, list[str]]:
    """Of names for the same memory: the one to keep, and the others."""
    found = {}
    for names in _sharing(state):
        if len(names) < 2:
            continue
        whole = {n for n in names if storage_of(state[n]._data).nbytes == state[n]._data.nbytes}
        if not whole:
            raise RuntimeError(
                "Error while trying to find names to remove to save state dict, but found no suitable "
                f"name to keep for saving amongst: {names}. None is covering the entire storage. "
                "Refusing to save/load the model since you could be storing much more memory than "
                "needed."
            )
        kept = min(whole.intersection(preferred) or whole)
        found[kept] = sorted(names - {kept})
    return found


# --- reading --------------------------------------------------------------------------------------


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in the content of a file."""
    found = {}
    for name, part in _package.deserialize(data):
        _check_dtype(name, part["dtype"])
        array = np.frombuffer(bytearray(part["data"]), _DTYPES[part["dtype"]])
        found[name] = make(array.reshape(part["shape"]))
    return found


def load_file(
    filename: Path, device: str | int = "cpu", *, backend: str = "mmap"
) -> dict[str, Tensor]:
    """The tensors in a file."""
    with safe_open(filename, device=device, backend=backend) as file:
        return file.get_tensors()


def load_model(
    model: Any,
    filename: Path,
    strict: bool = True,
    device: str | int = "cpu",
    *,
    backend: str = "mmap",
) -> tuple[set[str], list[str]]:
    """Read a file that `save_model` wrote into a model; what was missing, and what was not used."""
    state = load_file(filename, device, backend=backend)
    twins = _twins(model.state_dict(), state.keys())
    lacking, unexpected = model.load_state_dict(state, strict=False)
    missing = set(lacking)
    for name in (name for others in twins.values() for name in others):
        if name in missing:
            missing.remove(name)
        else:
            unexpected.append(name)
    if strict and (missing or unexpected):
        lines = [f"Error(s) in loading state_dict for {type(model).__name__}:"]
        for what, names in (("Missing", missing), ("Unexpected", unexpected)):
            if names:
                listed = ", ".join(f'"{name}"' for name in sorted(names))
                lines.append(f"    {what} key(s) in state_dict: {listed}")
        raise RuntimeError("\n".join(lines))
    return missing, unexpected


def _check_dtype(name: str, kind: str) -> None:
    if kind not in _DTYPES:
        raise SafetensorError(f"tensor {name} is of dtype {kind}, which tautograd does not have")


def _tensor(array: Any) -> Tensor:
    from_numpy_dtype(array.dtype)  # which says what it does not know
    return make(array if array.flags.writeable else np.array(array))


class _Slice:
    """A tensor in a file of which only the parts that are asked for are read."""

    def __init__(self, part: Any) -> None:
        self._part = part

    def get_shape(self) -> list[int]:
        """The shape of the whole tensor."""
        return list(self._part.get_shape())

    def get_dtype(self) -> str:
        """The format's name of its dtype."""
        return str(self._part.get_dtype())

    def __getitem__(self, index: Any) -> Tensor:
        return _tensor(self._part[index])


class safe_open:  # noqa: N801 - the package's name
    """A file whose tensors are read one by one, when they are asked for."""

    def __init__(
        self,
        filename: Path,
        framework: str = "pt",
        device: str | int = "cpu",
        *,
        backend: str = "mmap",
    ) -> None:
        if framework not in ("pt", "torch", "pytorch"):
            raise SafetensorError(
                f"framework {framework} is not tautograd's: use safetensors.safe_open for it"
            )
        as_device(device)
        check_regular(filename)
        self._file = _package.safe_open(filename, framework="np", backend=backend)

    def __enter__(self) -> safe_open:
        self._file.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.__exit__(kind, error, trace)

    def keys(self) -> list[str]:
        """The names of the tensors, sorted."""
        return list(self._file.keys())

    def offset_keys(self) -> list[str]:
        """The names of the tensors, in the order they lie in the file."""
        return list(self._file.offset_keys())

    def metadata(self) -> dict[str, str] | None:
        """The text that was saved with them."""
        found: dict[str, str] | None = self._file.metadata()
        return found

    def get_tensor(self, name: str) -> Tensor:
        """One tensor."""
        part = self.get_slice(name)
        _check_dtype(name, part.get_dtype())
        return _tensor(self._file.get_tensor(name))

    def get_tensors(self) -> dict[str, Tensor]:
        """All of them."""
        return {name: self.get_tensor(name) for name in self.offset_keys()}

    def get_slice(self, name: str) -> _Slice:
        """One tensor, for parts of it: `file.get_slice("x")[:2]`."""
        return _Slice(self._file.get_slice(name))


def storage_ptr(tensor: Tensor) -> int:
    """Where the memory begins that a tensor looks into."""
    return tensor.untyped_storage().data_ptr()


def storage_size(tensor: Tensor) -> int:
    """How many bytes that memory has."""
    return tensor.untyped_storage().nbytes()
