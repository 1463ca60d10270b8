"""Switches of PyTorch's fusers: kept and given back, since nothing is fused here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["enable_onednn_fusion", "fuser", "onednn_fusion_enabled", "set_fusion_strategy"]


class _Kept:
    onednn = False
    strategy: list[Any] = [("STATIC", 2), ("DYNAMIC", 10)]  # noqa: RUF012 (one for the process)


def enable_onednn_fusion(enabled: bool) -> None:
    _Kept.onednn = bool(enabled)


def onednn_fusion_enabled() -> bool:
    return _Kept.onednn


def set_fusion_strategy(strategy: list[Any]) -> list[Any]:
    """Keep a strategy; gives the one before."""
    before, _Kept.strategy = _Kept.strategy, list(strategy)
    return before


@contextlib.contextmanager
def fuser(name: str) -> Iterator[None]:
    """Inside, PyTorch fuses with another fuser."""
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3", "none"):
        raise Exception(f"unrecognized fuser option (name: {name})")
    yield
