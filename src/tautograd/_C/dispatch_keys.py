"""Names of PyTorch's dispatcher that libraries put together at their import.

There is no dispatcher here, so a key is its name and nothing more. The one thing that leaving keys out does
here is what leaving out autocast's does: what runs inside is not cast.
"""

from __future__ import annotations

from typing import Any

from ..amp import autocast


class _Names(type):
    """`DispatchKey.CPU` and every other name: equal if spelled alike."""

    def __getattr__(cls, name: str) -> DispatchKey:
        if name.startswith("_"):
            raise AttributeError(name)
        key: DispatchKey = cls(name)
        return key


class DispatchKey(metaclass=_Names):
    """A key of PyTorch's dispatcher, by name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKey) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"DispatchKey.{self.name}"


class DispatchKeySet:
    """Several of them."""

    def __init__(self, *keys: DispatchKey) -> None:
        self._keys = frozenset(keys)

    def has(self, key: DispatchKey) -> bool:
        """Whether a key is among them."""
        return key in self._keys

    def add(self, key: DispatchKey) -> DispatchKeySet:
        """These and another."""
        return DispatchKeySet(*self._keys, key)

    def remove(self, key: DispatchKey) -> DispatchKeySet:
        """These without one."""
        return DispatchKeySet(*(self._keys - {key}))

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, *other._keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(sorted(k.name for k in self._keys))})"


class ExcludeDispatchKeyGuard:
    """Inside, keys are left out: without autocast's, nothing is cast."""

    def __init__(self, keys: DispatchKeySet) -> None:
        names = {"AutocastCPU": "cpu", "AutocastCUDA": "cuda"}
        self._off = [
            autocast(device, enabled=False)
            for name, device in names.items()
            if keys.has(DispatchKey(name))
        ]

    def __enter__(self) -> None:
        for mode in self._off:
            mode.__enter__()

    def __exit__(self, *exc: Any) -> None:
        for mode in reversed(self._off):
            mode.__exit__(*exc)
