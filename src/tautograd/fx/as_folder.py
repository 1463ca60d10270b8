"""A graph module as a package of source: a class that makes its modules and loads their state from a file beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__: list[str] = []

_HEAD = """import torch
from math import inf
from math import nan
NoneType = type(None)
from torch import device, fx, nn
import torch.fx._pytree as fx_pytree
import torch.utils._pytree as pytree


class {name}(torch.nn.Module):
    def __init__(self):
        super().__init__()
"""


def write(module: Any, folder: Path, name: str) -> None:
    """Write the package: modules that have a short form as text, others as files of their own."""
    from ..serialization import save

    folder.mkdir(exist_ok=True)
    save(module.state_dict(), folder / "state_dict.pt")
    text = _HEAD.format(name=name)
    for key, child in module.named_children():
        made = _source_of(child)
        if made is None:
            file = folder / f"{key}.pt"
            save(child, file)
            made = f"torch.load(r'{file}', weights_only=False)"
        text += f"        setattr(self, '{key}', {made})\n"
    for key, value in module._parameters.items():
        if value is not None:
            text += f"        setattr(self, '{key}', torch.nn.Parameter({_empty(value)}))\n"
    for key, value in module._buffers.items():
        if value is not None:
            text += f"        self.register_buffer('{key}', {_empty(value)})\n"
    text += f"        self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))\n\n"
    code = module.code.strip("\n")
    text += "\n".join(f"    {line}" if line.strip() else "" for line in code.split("\n")) + "\n"
    (folder / "module.py").write_text(text)
    (folder / "__init__.py").write_text("from .module import *\n")


def _empty(tensor: Any) -> str:
    return f"torch.empty({list(tensor.shape)}, dtype={tensor.dtype})"


_TEXTUAL = (
    "Linear", "Conv1d", "Conv2d", "Conv3d", "ReLU", "MaxPool2d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d",
)  # fmt: skip


def _source_of(module: Any) -> str | None:
    """What makes a module like this one, if its text does."""
    kind = type(module)
    if kind.__name__ in _TEXTUAL and kind.__module__.startswith(("torch.nn", "tautograd.nn")):
        return f"nn.{module!r}"
    return None
