"""`torch.utils.model_zoo`: the old names of `torch.hub`."""

from __future__ import annotations

from typing import Any

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ..hub import progress_bar

    return progress_bar()
