"""Devices: where an array lives, and how one is made there.

Operations never ask for the device: NumPy's dispatch protocols carry them to whatever array type
they are given. Only *creation* has no array to dispatch on, and goes through `creator`.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

_KNOWN = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia",
    "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip


class device:  # noqa: N801 - PyTorch's name
    """`device("cpu")`: a kind of hardware and an optional index."""

    __module__ = "torch"

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __new__(cls, device: Any = None, index: int | None = None, *, type: Any = None) -> device:
        given = device if device is not None else type
        if isinstance(given, cls):
            return given
        if isinstance(given, int) and not isinstance(given, bool):
            raise RuntimeError("Cannot access accelerator device when none is available.")
        if not isinstance(given, str):
            shown = "" if given is None else given.__class__.__name__
            raise TypeError(
                f"device() received an invalid combination of arguments - got ({shown}), but "
                "expected one of:\n * (torch.device device)\n * (str type, int index = -1)\n"
            )
        if not given:
            raise RuntimeError("Device string must not be empty")
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        match = re.fullmatch(r"([a-z]+)(?::(\d+))?", given)
        if match is None:
            raise RuntimeError(f"Invalid device string: '{given}'")
        kind, number = match.groups()
        if kind not in _KNOWN:
            raise RuntimeError(
                f"Expected one of {', '.join(_KNOWN)} device type at start of device string: {kind}"
            )
        if number is not None and index is not None:
            raise RuntimeError(
                "type (string) must not include an index because index was passed explicitly: "
                f"{given}"
            )
        self = object.__new__(cls)
        self.type = kind
        self.index = int(number) if number is not None else index
        return self

    def __repr__(self) -> str:
        if self.index is None:
            return f"device(type='{self.type}')"
        return f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return device_named, (str(self),)


def device_named(name: str) -> device:
    return device(name)


CPU = device("cpu")


def as_device(value: Any) -> device:
    """A device from what PyTorch accepts; `None` means the CPU."""
    if value is None:
        return CPU
    found = value if isinstance(value, device) else device(value)
    if found.type == "cuda":
        raise AssertionError(
            "Torch not compiled with CUDA enabled: this build of tautograd computes on the CPU"
        )
    if found.type != "cpu":
        raise RuntimeError(
            f"device '{found}' is not available: this build of tautograd computes on the CPU"
        )
    return CPU if found.index is None else found


def creator(where: device) -> Any:
    """The module whose `empty`, `zeros`, `asarray`, … make arrays on this device."""
    return np


def device_of(array: Any) -> device:
    """The device an array lives on."""
    return CPU
