"""Whether operations are being traced below Python, as by PyTorch's `make_fx`: never, here."""

from __future__ import annotations

__all__ = ["get_proxy_mode"]


def get_proxy_mode() -> None:
    """The active tracing mode: always None."""
