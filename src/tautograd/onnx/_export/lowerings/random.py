"""Numbers drawn at each run (dropout in training, `randn` in a model)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import refused
from ..graph import V
from ..lowering import number


def drawn(g: Any, key: Any, shape: Any, dtype: Any, site: Any) -> Any:
    """A sampler's result: as many numbers from the same distribution, but not the same numbers."""
    name, args, options = key
    given = [a for a in args if isinstance(a, (int, float)) and not isinstance(a, bool)]
    given += [v for k, v in options.items() if k in ("mean", "std", "low", "high", "p")]
    float_kind = dtype if np.dtype(dtype).kind == "f" else np.dtype(np.float32)
    blank = g.expand(number(g, 0, float_kind), shape)
    if name in ("normal", "normal_"):
        mean, std = (*given, 0.0, 1.0)[:2] if given else (0.0, 1.0)
        return g.op("RandomNormalLike", blank, mean=float(mean), scale=float(std))
    if name in ("uniform", "uniform_", "rand"):
        low, high = given[:2] if len(given) > 1 else (0.0, 1.0)
        return g.op("RandomUniformLike", blank, low=float(low), high=float(high))
    if name in ("bernoulli", "bernoulli_"):
        coin = g.op("RandomUniformLike", blank, low=0.0, high=1.0)
        return g.cast(g.op("Less", coin, number(g, given[0] if given else 0.5, float_kind)), dtype)
    raise refused(f"numbers drawn by '{name}' cannot be exported", site)


__all__ = ["V", "drawn"]
