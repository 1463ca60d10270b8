"""Parts of a package that are loaded when they are first named, as `torch.nn.utils.prune` is.

What a program never names costs it nothing at import: neither time nor memory.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def named_later(
    package: str, parts: Iterable[str] = (), elsewhere: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose `parts` are modules loaded when named.

    `elsewhere` says of single names which module (relative to the package) defines them. Any other
    name is an error that tells the nearest one.
    """
    parts, homes = frozenset(parts), dict(elsewhere or {})

    def __getattr__(name: str) -> Any:
        if name in parts:
            return importlib.import_module(f"{package}.{name}")
        if name in homes:
            found = getattr(importlib.import_module(homes[name], package), name)
            setattr(sys.modules[package], name, found)
            return found
        from ._nearest import no_attribute

        raise no_attribute(package, name, __dir__)

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *parts, *homes})

    return __getattr__, __dir__
