"""`Join`: ranks with different numbers of batches. A rank that has run out shadows what the others do.

At each iteration every rank announces whether it still has a batch. A rank without one keeps taking part in the
others' collectives until nobody has one.
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
    """What a rank without batches does at each of the others' iterations, and at the end."""

    def main_hook(self) -> None:
        """Take part in one of the others' iterations."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called after everyone's last iteration, with whether this rank is among those that had the most."""


class Joinable:
    """Something whose collectives a rank without batches can shadow."""

    def __init__(self) -> None:
        super().__init__()
        self._join_config: Join | None = None

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook that shadows it."""
        raise NotImplementedError(f"{type(self).__name__} says what a rank without batches does")

    @property
    def join_device(self) -> Any:
        """The device for the join's own collectives."""
        raise NotImplementedError(f"{type(self).__name__} says where the join's own numbers are")

    @property
    def join_process_group(self) -> Any:
        """The group whose ranks join."""
        raise NotImplementedError(f"{type(self).__name__} says whose ranks join")


class Join:
    """A context in which ranks may have different numbers of batches.

    `active` are the ranks that have a batch in this iteration, `syncs` is whether they exchange gradients in it, and
    `last`, at the end, is one of the ranks that had the most: for hooks that need to know.
    """

    def __init__(
        self,
        joinables: list[Any],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        for one in joinables:
            if not hasattr(one, "_join_config"):
                raise RuntimeError(
                    f"Check that the {type(one)} constructor calls the ``Joinable`` constructor"
                )
        self._joinables, self._enable = joinables, enable
        self._throws = throw_on_early_termination
        self._hooks = [one.join_hook(**kwargs) for one in joinables]
        self._group = joinables[0].join_process_group
        if any(one.join_process_group is not self._group for one in joinables):
            raise ValueError("Using join context manager with multiple process groups")
        self.active: list[int] = []
        self.syncs = True
        self.last = 0

    def __enter__(self) -> Join:
        if self._enable:
            for one in self._joinables:
                one._join_config = self
        return self

    def _said(self, what: int) -> list[int]:
        all_said = make(np.zeros(self._group.size(), np.int32))
        all_gather_into_tensor(all_said, make(np.array([what], np.int32)), self._group)
        return [int(value) for value in all_said._data]

    def _hear(self, what: int) -> None:
        """Announce this rank's status, and record who has a batch."""
        said = self._said(what)
        self.active = [
            i for i, value in enumerate(said) if value in (_GOES_ON, _GOES_ON_WITHOUT_SYNC)
        ]
        self.syncs = _GOES_ON in said
        if self._throws and self.active and _STOPPED in said:
            raise RuntimeError(
                f"Rank {self._group.rank()} exhausted all inputs."
                if what == _STOPPED
                else "Detected at least one rank that exhausted inputs. Throwing across all ranks."
            )

    @staticmethod
    def notify_join_context(joinable: Any, syncs: bool = True) -> None:
        """Announce that this rank has another batch; once per iteration, before its collectives."""
        if not hasattr(joinable, "_join_config"):
            raise AssertionError(
                f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor"
            )
        context = joinable._join_config
        if context is None or joinable is not context._joinables[0]:
            return
        context._hear(_GOES_ON if syncs else _GOES_ON_WITHOUT_SYNC)
        for hook in context._hooks:
            if isinstance(hook, _Notified):
                hook.notified(context)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        for one in self._joinables:
            one._join_config = None
        if not self._enable or kind is not None:
            return
        rounds = 0
        while True:
            self._hear(_STOPPED if self._throws else _ENDED)
            if not self.active:
                break
            rounds += 1
            if rounds == 1000:
                warnings.warn(
                    f"Detected uneven input skew of greater than 1000. Rank {self._group.rank()} has at "
                    "least 1000 fewer inputs than other currently-active ranks.",
                    stacklevel=warning_level(),
                )
            for hook in self._hooks:
                if isinstance(hook, _Notified):
                    hook.notified(self)
                hook.main_hook()
        self.last = self._said(_ENDED if rounds else _GOES_ON).index(_GOES_ON)
        for hook in self._hooks:
            if isinstance(hook, _Notified):
                hook.notified(self)
            hook.post_hook(rounds == 0)


class _Notified(JoinHook):
    """A hook that is notified, in every iteration on every rank, of the join's state."""

    def notified(self, context: Join) -> None:
        """Called before an iteration's collectives, and before the end."""
