"""Parameters that are already sharded by tensor parallelism.

`fully_shard` leaves them as they are, replicated on the ranks of its mesh, and averages their gradients over it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import make
from .._reductions import all_reduce
from ..tensor._redistribute import redistributed


class CopiedGroup:
    """Counterpart of `ParamGroup`, for replicated parameters."""

    def __init__(self, parameters: list[Any], mesh: Any) -> None:
        self.parameters = parameters
        self.groups = [mesh.get_group(dim) for dim in range(mesh.ndim)]
        self.divisor: float = mesh.size()
        self.reduces = True
        self._arrived: set[int] = set()
        for p in parameters:
            p.register_post_accumulate_grad_hook(self._has_gradient)

    def gather(self) -> None:
        """A no-op: they are always whole."""

    def release(self) -> None:
        """A no-op: they are kept."""

    def _has_gradient(self, parameter: Any) -> None:
        self._arrived.add(id(parameter))
        if len(self._arrived) == sum(p.requires_grad for p in self.parameters):
            self.finish()

    def abandon(self) -> None:
        """Forget that gradients of a backward pass that failed had arrived."""
        self._arrived.clear()

    def finish(self) -> None:
        """Average the gradients that have arrived; averaging again what was averaged before does not change it."""
        mine = [p for p in self.parameters if id(p) in self._arrived]
        self._arrived.clear()
        if not self.reduces or not mine:
            return
        for p in mine:
            p._grad._data = redistributed(p._grad._data, p._data.placements)
        for dtype in dict.fromkeys(p._grad._data.dtype for p in mine):
            locals_ = [p._grad._data.local for p in mine if p._grad._data.dtype == dtype]
            line = np.concatenate([local.reshape(-1) for local in locals_])
            line /= dtype.type(self.divisor)
            for group in self.groups:
                all_reduce(make(line), group=group)
            start = 0
            for local in locals_:
                local[...] = line[start : start + local.size].reshape(local.shape)
                start += local.size
        for p in mine:
            p._grad._version_box[0] += 1
