"""The scalars with a history that some lines make, for one iteration: only on suspicion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..._user_code.stack import user_site
from .call_watch import CallWatch

Span = tuple[str, int, int]  # a file, and the first and last line of a statement


class Scalars(CallWatch):
    """Keeps the last scalar that each of some statements makes, from `start()` to `stop()`."""

    def __init__(self, engine: Any, doctor: Any, spans: Iterable[Span]) -> None:
        super().__init__(engine, doctor)
        self.spans = list(spans)
        self.made: dict[Span, list[Any]] = {}  # statement -> the last scalar of each time it ran

    def _see(self, function: Any, args: Any, kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if isinstance(result, self.engine.Tensor) and not self.doctor.is_busy:
            with self.doctor.quietly():
                if result.requires_grad and not result.is_leaf and result.numel() == 1:
                    self._keep(result)
        return result

    def _keep(self, result: Any) -> None:
        site = user_site()
        for span in self.spans if site is not None else ():
            if span[0] == site.file and span[1] <= site.line <= span[2]:  # type: ignore[union-attr]
                kept = self.made.setdefault(span, [])
                # What the same statement goes on with is no result of its own.
                before = {node for node, _ in result.grad_fn.next_functions}
                kept[:] = [one for one in kept[-8:] if one.grad_fn not in before] + [result]
