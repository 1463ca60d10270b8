"""Numbers."""

from __future__ import annotations

from typing import Any

from .history import History


class Numbers:
    is_measuring = False

    def __init__(self, doctor: Any) -> None:
        self.doctor = doctor
        self.history = History()

    def before_step(self, optimizer: Any, engine: Any) -> None: ...
    def after_step(self, optimizer: Any) -> None: ...
    def after_backward(self, root: Any) -> None: ...
    def on_scaler(self, how: str, scaler: Any) -> None: ...
