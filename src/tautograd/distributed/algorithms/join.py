"""`Join`: ranks with different numbers of batches. One that has none left shadows what the others do.

At each iteration every rank says whether it still has a batch. A rank that has none goes on with the
collectives of the others until nobody has one.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..._tensor.tensor import make
from ..._user_code.sites import warning_level
from .._exchanges import all_gather_into_tensor

__all__ = ["Join", "JoinHook", "Joinable"]

_ENDED, _GOES_ON, _GOES_ON_WITHOUT_SYNC, _STOPPED = 0, 1, 2, 3


class JoinHook:
    """What a rank without batches does at each iteration of the others, and at the end."""

    def main_hook(self, syncs: bool, active: list[int]) -> None:
        """Take part in one iteration of the others."""

    def notified(self, active: list[int]) -> None:
        """On a rank with batches: which ranks have them."""

    def post_hook(self, is_last_joiner: bool, last: int) -> None:
        """After the last iteration of all."""


class Joinable:
    """Something whose collectives a rank without batches can shadow."""

    def __init__(self) -> None:
        self._join_config: Join | None = None

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What to do for it."""
        raise NotImplementedError(f"{type(self).__name__} says what a rank without batches does")

    @property
    def join_process_group(self) -> Any:
        """Whose ranks join."""
        raise NotImplementedError(f"{type(self).__name__} says whose ranks join")


class Join:
    """A context in which ranks may have different numbers of batches."""

    def __init__(
        self,
        joinables: list[Any],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables, self._enable = joinables, enable
        self._throws = throw_on_early_termination
        self._hooks = [one.join_hook(**kwargs) for one in joinables]
        self._group = joinables[0].join_process_group

    def __enter__(self) -> Join:
        if self._enable:
            for one in self._joinables:
                one._join_config = self
        return self

    def _said(self, what: int) -> list[int]:
        all_said = make(np.zeros(self._group.size(), np.int32))
        all_gather_into_tensor(all_said, make(np.array([what], np.int32)), self._group)
        return [int(value) for value in all_said._data]

    def _active(self, said: list[int]) -> list[int]:
        if self._throws and _STOPPED in said:
            raise RuntimeError(
                "Detected at least one rank that exhausted inputs. Throwing across all ranks."
            )
        return [i for i, value in enumerate(said) if value in (_GOES_ON, _GOES_ON_WITHOUT_SYNC)]

    @staticmethod
    def notify_join_context(joinable: Any, syncs: bool = True) -> None:
        """Say that this rank has another batch; once an iteration, before its collectives."""
        context = joinable._join_config
        if context is None or joinable is not context._joinables[0]:
            return
        active = context._active(context._said(_GOES_ON if syncs else _GOES_ON_WITHOUT_SYNC))
        for hook in context._hooks:
            hook.notified(active)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        for one in self._joinables:
            one._join_config = None
        if not self._enable or kind is not None:
            return
        last, rounds = None, 0
        while True:
            said = self._said(_STOPPED if self._throws else _ENDED)
            active = self._active(said)
            if not active:
                break
            last, rounds = active[0], rounds + 1
            if rounds == 1000:
                warnings.warn(
                    f"Detected uneven input skew of greater than 1000. Rank {self._group.rank()} has at "
                    "least 1000 fewer inputs than other currently-active ranks.",
                    stacklevel=warning_level(),
                )
            for hook in self._hooks:
                hook.main_hook(_GOES_ON in said, active)
        source = self._last_of(last)
        for hook in self._hooks:
            hook.post_hook(rounds == 0, source)

    def _last_of(self, last: int | None) -> int:
        """A rank that came last: one that had to shadow nobody."""
        said = self._said(_ENDED if last is not None else _GOES_ON)
        return said.index(_GOES_ON)
