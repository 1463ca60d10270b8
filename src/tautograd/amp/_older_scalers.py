"""`amp.GradScaler` under its deprecated names, one for each device type."""

from __future__ import annotations

import warnings

from .grad_scaler import GradScaler


class OlderGradScaler(GradScaler):
    """`amp.GradScaler` for the device that a subclass names."""

    _device_type: str

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        device = self._device_type
        warnings.warn(
            f"`torch.{device}.amp.GradScaler(args...)` is deprecated. Please use "
            f"`torch.amp.GradScaler('{device}', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        factors = (init_scale, growth_factor, backoff_factor, growth_interval)
        super().__init__(device, *factors, enabled)
