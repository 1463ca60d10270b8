"""The public names of PyTorch 2.13, module by module, from a table that `tools/make_names.py` writes.

It is read when a name was missing or somebody asks for coverage: never by a program that finds all its
names.
"""

from __future__ import annotations

import functools
from importlib.resources import files

ENGINES = ("tautograd", "torch")


@functools.cache
def public_names() -> dict[str, tuple[str, ...]]:
    """The names of each public module of PyTorch, and of `torch.Tensor`, by its path."""
    text = files(__package__).joinpath("pytorch.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {
        module: tuple(names.split()) for module, _, names in (line.partition(":") for line in lines)
    }


def under_torch(path: str) -> str:
    """A path of tautograd's as a path of PyTorch's."""
    head, dot, rest = path.partition(".")
    return f"torch{dot}{rest}" if head in ENGINES else path


def is_public(path: str) -> bool:
    """Whether PyTorch has this dotted path, as a module or as a name in one.

    >>> is_public("torch.nn.Linear"), is_public("tautograd.sparse"), is_public("torch.nn.Liner")
    (True, True, False)
    """
    path = under_torch(path)
    module, _, name = path.rpartition(".")
    return path in public_names() or name in public_names().get(module, ())


@functools.cache
def _homes() -> dict[str, list[str]]:
    """The modules that have a name, those that programs use most first."""
    homes: dict[str, list[str]] = {}
    for module in sorted(public_names(), key=lambda path: (path.count("."), len(path), path)):
        for name in public_names()[module]:
            homes.setdefault(name, []).append(module)
    return homes


def homes_of(name: str) -> list[str]:
    """Where else PyTorch has a name: `relu` is in `torch`, `torch.Tensor` and `torch.nn.functional`."""
    return list(_homes().get(name, ()))
