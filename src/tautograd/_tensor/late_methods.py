"""The methods of `torch.stft` and `torch.istft`, whose code is loaded by the first call."""

from __future__ import annotations

import importlib
from typing import Any

from .._ops.declare.public import attach
from .tensor import Tensor

_HOMES = {"stft": "_ops.spectral.short_time", "istft": "_ops.spectral.short_time"}
_DOCS = {
    "stft": "The frequencies in a signal as time goes on.",
    "istft": "The signal whose `stft` this is.",
}


def _later(name: str) -> Any:
    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        home = f"{__name__.partition('.')[0]}.{_HOMES[name]}"
        return getattr(importlib.import_module(home), name)(self, *args, **options)

    method.__name__, method.__doc__ = name, _DOCS[name]
    return method


for _name in _HOMES:
    attach(_name, _later(_name))
