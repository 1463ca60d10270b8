"""Checkpoints: `save` and `load`, in PyTorch's own file format.

Files go both ways: `torch.load(weights_only=True)` reads what `save` writes, and `load` reads what
`torch.save` writes of tensors and state dicts, modules and optimizers. Loading runs nothing that is
in a file, unless the caller says `may_run_code=True`.
"""

from __future__ import annotations

import os
import sys
import warnings
from enum import Enum
from typing import IO, Any

from ._arrays.devices import as_device, cuda_backend, device
from ._files import storages
from ._files.atomic import is_path, replacing
from ._files.legacy import write_legacy
from ._files.reading import UnsafeFile, read
from ._files.regular import open_regular
from ._files.writing import write

__all__ = [
    "LoadEndianness",
    "UnsafeFile",
    "add_safe_globals",
    "clear_safe_globals",
    "get_default_load_endianness",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
    "set_default_load_endianness",
]


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let files name these classes and functions (or pairs of one and the name it has in files)."""
    from ._files.objects import SAFE

    SAFE.extend(entry for entry in safe_globals if entry not in SAFE)


def get_safe_globals() -> list[Any]:
    """What files may name beside tensors and plain data."""
    from ._files.objects import SAFE

    return list(SAFE)


def clear_safe_globals() -> None:
    """Let files name nothing but tensors and plain data again."""
    from ._files.objects import SAFE

    SAFE.clear()


class safe_globals:  # noqa: N801 - PyTorch's name
    """Inside, files may name these classes and functions as well."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self._allowed = safe_globals

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self._allowed)

    def __exit__(self, *exc: object) -> None:
        clear_safe_globals()
        add_safe_globals(self._before)


class LoadEndianness(Enum):
    """The byte order of a file that does not say its own."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order that files are taken to have which do not say it; None is little."""
    return _endianness[-1]


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Say which byte order files have that do not say it themselves: those of before PyTorch 2.1."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _endianness[:] = [endianness]
    native = sys.byteorder == "big" and endianness is LoadEndianness.NATIVE
    storages.assumed_order = b"big" if native or endianness is LoadEndianness.BIG else b"little"


_endianness: list[LoadEndianness | None] = [None]


def save(
    obj: object,
    f: str | os.PathLike[str] | IO[bytes],
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write tensors, and containers of tensors and plain values, to a file.

    A file that is replaced stays as it was until the new one is complete.
    """
    if not _use_new_zipfile_serialization:
        if is_path(f):
            with replacing(f) as file:  # type: ignore[arg-type]
                write_legacy(obj, file, pickle_protocol)
            return
        if hasattr(f, "write"):
            write_legacy(obj, f, pickle_protocol)  # type: ignore[arg-type]
            return
    if is_path(f):
        name = os.path.splitext(os.path.basename(os.fspath(f)))[0]  # type: ignore[arg-type]
        with replacing(f) as file:  # type: ignore[arg-type]
            write(obj, file, name if name.isascii() and name else "archive")  # as PyTorch does
    elif hasattr(f, "write"):
        write(obj, f)  # type: ignore[arg-type]
    else:
        raise AttributeError(
            f"save(): argument 'f' must be a path or a file to write to, not {type(f).__name__}"
        )


_FORCE, _FORCE_NOT = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
_YES = ("1", "y", "yes", "true")


def _weights_only(asked: bool | None) -> bool | None:
    """What a caller asks for, and what the environment says to it: to all, or where nothing is asked."""
    always, otherwise = (os.environ.get(name, "0").lower() in _YES for name in (_FORCE, _FORCE_NOT))
    if always and otherwise:
        raise RuntimeError(
            f"Only one of `{_FORCE}` or `{_FORCE_NOT}` should be set, but both were set."
        )
    if always:
        return True
    if asked is None and otherwise:
        warnings.warn(
            f"Environment variable {_FORCE_NOT} detected, since the `weights_only` argument was not "
            "explicitly passed to `torch.load`, forcing weights_only=False.",
            UserWarning,
            stacklevel=3,
        )
        return False
    return asked


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    may_run_code: bool = False,
    **pickle_load_args: Any,
) -> Any:
    """Read a file that `save` or `torch.save` wrote.

    With `weights_only=False`, whole modules and optimizers are rebuilt: those of tautograd and the
    module classes that the program has imported. What a file would have to run to be read is not
    run, but named in an error, unless the caller says `may_run_code=True`.
    """
    weights_only = _weights_only(weights_only)
    if may_run_code and weights_only is not False:
        raise ValueError(
            "may_run_code=True goes with weights_only=False: such a file is no weights"
        )
    if isinstance(map_location, dict):
        for place in map_location.values():
            as_device(place)
    elif map_location is not None and not callable(map_location):
        if str(map_location).startswith("cuda") and cuda_backend() is None:
            raise RuntimeError(
                "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
                "False. If you are running on a CPU-only machine, please use torch.load with "
                "map_location=torch.device('cpu') to map your storages to the CPU."
            )
        as_device(map_location)
    where = None
    if isinstance(map_location, (str, device)):
        where = as_device(map_location)
        where = None if where.type == "cpu" else where
    if is_path(f):
        with open_regular(f) as file:  # type: ignore[arg-type]
            return read(file, where, weights_only is False, may_run_code)
    if not all(hasattr(f, name) for name in ("read", "seek", "tell")):
        raise AttributeError(
            f"load(): argument 'f' must be a path or a file that can seek, not {type(f).__name__}. You can "
            "only torch.load from a file that is seekable. Please pre-load the data into a buffer like "
            "io.BytesIO and try to load from it instead."
        )
    return read(f, where, weights_only is False, may_run_code)  # type: ignore[arg-type]
