"""The machine code of a template's stretch at one size. Imported when a template is made, with the rest of `native`."""

from __future__ import annotations

from typing import Any

from ..native.entry import Native
from ..native.llvm import player
from .template import Stretch
from .words import kernels_at


class NativeAtSize(Native):
    """A stretch's machine code with the numbers of one size."""

    def __init__(self, stretch: Stretch, symbols: tuple[str, ...], values: tuple[int, ...]) -> None:
        self.lowered = stretch.lowered
        self.symbols, self.values = symbols, values
        self.functions = len(stretch.lowered.functions)
        self.cached = stretch.lowered.cached
        self.own_bytes = int(stretch.scratch.at(values)[0])
        self._player = player.player()
        self.address = self._player.address
        self._score = stretch.words.at(values)
        self._take_memory()

    @property
    def kernels(self) -> list[Any]:  # type: ignore[override]
        return kernels_at(self.lowered.kernels, self.symbols, self.values)
