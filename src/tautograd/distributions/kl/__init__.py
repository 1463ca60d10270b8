"""Kullback-Leibler divergences: KL(p ‖ q) = ∫ p log(p / q), by a formula for each pair of families.

`_registry` looks up the formula, the other modules hold them: `_same` for two of one family,
`_gaussian` for multivariate normal distributions, `_different` for pairs of families, `_unbounded`
for pairs whose divergence is infinite, because p has support where q has none.
"""

from __future__ import annotations

from ..._ops.declare.python_surface import speak
from . import _different, _gaussian, _same, _unbounded
from ._registry import _KL_MEMOIZE, _KL_REGISTRY, _dispatch_kl, kl_divergence, register_kl
from ._same import _kl_expfamily_expfamily

__all__ = ["kl_divergence", "register_kl"]

kl_divergence.__doc__ = f"{kl_divergence.__doc__}\n\nThere is one for these pairs:\n" + "\n".join(
    f"* `{p}` and `{q}`" for p, q in sorted((p.__name__, q.__name__) for p, q in _KL_REGISTRY)
)


speak(globals(), __all__)
