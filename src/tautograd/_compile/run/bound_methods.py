"""What is compiled as part of something else: a method of an object, and a module as a whole."""

from __future__ import annotations

import copy
from typing import Any

from ...nn.modules.module import Module


class Place:
    """Where an object keeps the program of one of its methods; a copy of the object has none yet."""

    __slots__ = ("program",)

    def __init__(self) -> None:
        self.program: Any = None

    def __reduce__(self) -> Any:
        return Place, ()


class OptimizedModule(Module):
    """A module whose calls are replayed; in everything else it is the module that was compiled.

    `_orig_mod` is that module. As in PyTorch, names in `state_dict()` begin with it.
    """

    _OWN = ("_compiled", "_orig_mod")

    def __init__(self, module: Module, compiled: Any) -> None:
        super().__init__()
        object.__setattr__(self, "_compiled", compiled)
        self._orig_mod = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Replay the module's call."""
        return self._compiled(*args, **kwargs)

    def explain(self) -> Any:
        """What became of the module's call."""
        return self._compiled.explain()

    @property
    def records(self) -> int:
        """How often the module's call was recorded."""
        return int(self._compiled.records)

    @property
    def training(self) -> bool:
        """Whether the module is in training mode."""
        return bool(self._modules["_orig_mod"].training) if "_orig_mod" in self._modules else True

    @training.setter
    def training(self, mode: bool) -> None:
        if "_orig_mod" in self._modules:
            self._modules["_orig_mod"].training = mode

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._OWN or name == "training" or "_modules" not in self.__dict__:
            super().__setattr__(name, value)
        else:
            setattr(self._modules["_orig_mod"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._modules["_orig_mod"], name)

    def __getitem__(self, key: Any) -> Any:
        return self._modules["_orig_mod"][key]

    def __iter__(self) -> Any:
        return iter(self._modules["_orig_mod"])

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *dir(self._modules["_orig_mod"])]

    def __reduce__(self) -> Any:
        return _again, (self._orig_mod, self._compiled)

    def __deepcopy__(self, memo: Any) -> OptimizedModule:
        module = copy.deepcopy(self._orig_mod, memo)
        return OptimizedModule(module, self._compiled.of(module))


def _again(module: Module, compiled: Any) -> OptimizedModule:
    return OptimizedModule(module, compiled)
