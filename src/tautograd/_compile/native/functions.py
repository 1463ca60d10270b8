"""Kernels as machine code: each is there once in a process, whichever programs call it.

A kernel's name is a hash of its text, in which sizes and places are not (`llvm/numbers.py`). It stays in memory as
long as a program has it; `home` names the entry on disk that holds its code, so that another program's entry can
refer to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakValueDictionary

from .llvm import jit, thread_pool
from .products import blas


class NoSuchKernel(LookupError):
    """Object code does not have a kernel that it should have."""


class Function:
    """A kernel in memory."""

    __slots__ = ("__weakref__", "_loaded", "address", "home", "name")

    def __init__(self, name: str, address: int, loaded: jit.Loaded, home: str | None) -> None:
        self.name = name
        self.home = home
        self.address = address
        if not self.address:
            raise NoSuchKernel(name)
        self._loaded = loaded


_here: WeakValueDictionary[str, Function] = WeakValueDictionary()


def known(name: str) -> Function | None:
    """A kernel that is in memory already."""
    return _here.get(name)


def load(code: bytes, names: Iterable[str], home: str | None) -> dict[str, Function]:
    """Bring object code into memory, and give those of its kernels that are asked for."""
    if not code:
        raise NoSuchKernel("there is no code")
    loaded = jit.Loaded(code, _symbols())
    wanted = list(names)
    places = zip(wanted, loaded.addresses(wanted), strict=True)
    found = {name: Function(name, address, loaded, home) for name, address in places}
    _here.update(found)
    return found


def _symbols() -> dict[str, int]:
    """Functions outside that kernels call, and where they are."""
    found = blas()
    symbols = {f"taut.{n}": address for n, address in found.addresses.items()} if found else {}
    return symbols | thread_pool.symbols()
