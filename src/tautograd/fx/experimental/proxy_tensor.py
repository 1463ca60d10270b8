"""Whether operations are being traced below Python, as PyTorch's `make_fx` does: never, here."""

from __future__ import annotations

__all__ = ["get_proxy_mode"]


def get_proxy_mode() -> None:
    """The mode that traces, of which there is none."""
