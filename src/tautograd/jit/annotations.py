"""`torch.jit.annotations`: names that libraries write in annotations of scripted functions."""

from __future__ import annotations

import typing
from typing import Any


class _BroadcastingList:
    """`BroadcastingList2[int]`: a list of two, or one number for both; to Python, just a list."""

    def __getitem__(self, kind: Any) -> Any:
        return list[kind]


BroadcastingList1 = _BroadcastingList()
BroadcastingList2 = _BroadcastingList()
BroadcastingList3 = _BroadcastingList()
BroadcastingList4 = _BroadcastingList()
BroadcastingList5 = _BroadcastingList()
BroadcastingList6 = _BroadcastingList()

for _name in ("Dict", "List", "Optional", "Tuple", "Union"):  # which libraries import from here
    globals()[_name] = getattr(typing, _name)

__all__ = [f"BroadcastingList{count}" for count in range(1, 7)]
