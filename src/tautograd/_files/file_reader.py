"""`torch.PyTorchFileReader`: the records of a `.pt` file, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor.tensor import make
from .archive import ZipFile


class PyTorchFileReader:
    """The records of an archive that `torch.save` wrote."""

    def __init__(self, name_or_buffer: Any) -> None:
        self._archive = ZipFile(name_or_buffer)
        names = [n for n in self._archive.namelist() if n.endswith("data.pkl")]
        if len(names) != 1:
            raise RuntimeError("the archive has no data.pkl: torch.save did not write it")
        self._prefix = names[0].removesuffix("data.pkl")

    def get_all_records(self) -> list[str]:
        return [name.removeprefix(self._prefix) for name in self._archive.namelist()]

    def has_record(self, name: str) -> bool:
        return self._prefix + name in self._archive.namelist()

    def get_record(self, name: str) -> bytes:
        if not self.has_record(name):
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
        return self._archive.read(self._prefix + name)

    def get_storage_from_record(self, name: str, numel: int, kind: Any) -> Any:
        """A tensor of a record's elements."""
        data = bytearray(self.get_record(name))
        return make(np.frombuffer(data, kind.numpy, numel))
