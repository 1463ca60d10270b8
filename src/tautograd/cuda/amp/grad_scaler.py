"""`amp.GradScaler("cuda", …)` under its older name."""

from __future__ import annotations

from ...amp._older_scalers import OlderGradScaler

__all__ = ["GradScaler"]


class GradScaler(OlderGradScaler):
    """`amp.GradScaler("cuda", …)`."""

    _device_type = "cuda"
