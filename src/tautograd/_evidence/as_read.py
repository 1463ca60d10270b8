"""Imports modules from bytes that were read, and judged, before: no cache and no newer file is used.

A file may be imported by others than the requester: its package often does so, and the function's file
may import the inputs' file. So the bytes replace the file for every importer, under any name, for as
long as the import lasts.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, ModuleType


class AsRead(importlib.machinery.SourceFileLoader):
    """Loads a file from bytes that have already been read."""

    def __init__(self, name: str, path: str, source: bytes) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self._source, self.path)


class _Finder:
    """Finds what the other finders find, but gives some files a loader with their bytes."""

    def __init__(self, sources: Mapping[str, bytes]) -> None:
        self._sources = {os.path.realpath(path): source for path, source in sources.items()}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        spec = self._found_by_others(name, path, target)
        if spec is None or not spec.has_location or spec.origin is None:
            return spec
        source = self._sources.get(os.path.realpath(spec.origin))
        if source is None:
            return spec
        return importlib.util.spec_from_file_location(
            name,
            spec.origin,
            loader=AsRead(name, spec.origin, source),
            submodule_search_locations=spec.submodule_search_locations,
        )

    def _found_by_others(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        for finder in list(sys.meta_path):
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    return spec
        return None


@contextlib.contextmanager
def imported_as_read(sources: Mapping[str, bytes]) -> Iterator[None]:
    """Import the files with these paths from these bytes, whoever imports them."""
    if not sources:
        yield
        return
    finder = _Finder(sources)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # what was imported may have emptied the list
            sys.meta_path.remove(finder)
