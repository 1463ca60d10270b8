"""How the targets of a sequence model's loss lie to the sequences it was given."""

from __future__ import annotations

from typing import Any


def relation(given: Any, target: Any) -> str:
    """Whether the targets are the sequences moved by one ("next"), the sequences ("same"), or neither.

    Sequences run along axis 1: (rows, length) of tokens, or (rows, length, features)."""
    rows, length = given.shape[:2]
    if not target.is_floating_point() and bool((target < 0).any()):
        return ""  # some of them are not asked for
    if not bool((given[:, 1:] != given[:, :-1]).any()):
        return ""
    if target.numel() == given.numel():
        wanted = target.reshape(given.shape)
        if bool((wanted == given).all()):
            return "same"
        return "next" if bool((wanted[:, :-1] == given[:, 1:]).all()) else ""
    if given.dim() == 2 and target.numel() == rows * (length - 1):
        return "next" if bool((target.reshape(rows, length - 1) == given[:, 1:]).all()) else ""
    return ""
