"""Modules that behave otherwise in eval mode."""

from __future__ import annotations

from typing import Any

DROPOUTS = (
    "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout",
)  # fmt: skip


def kinds_of(engine: Any, names: tuple[str, ...]) -> tuple[type, ...]:
    return tuple(kind for name in names if (kind := getattr(engine.nn, name, None)) is not None)


def drops_entries(engine: Any, module: Any) -> bool:
    """Whether a module drops entries while it trains."""
    if isinstance(module, kinds_of(engine, DROPOUTS)):
        return bool(getattr(module, "p", 0))
    chance = getattr(module, "dropout", None)  # recurrent layers and attention
    return isinstance(chance, float) and chance > 0 and _is_of(engine, module)


def _is_of(engine: Any, module: Any) -> bool:
    return isinstance(module, (engine.nn.RNNBase, engine.nn.MultiheadAttention))


def counts_batches(module: Any) -> bool:
    """Whether a module is a batch norm that keeps running statistics."""
    return getattr(module, "num_batches_tracked", None) is not None
