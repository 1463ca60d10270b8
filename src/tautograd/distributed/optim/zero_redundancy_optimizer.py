"""`ZeroRedundancyOptimizer`: each rank keeps the optimizer states of some of the parameters.

It updates those and sends the result to the others, so that each rank's memory holds only a share of the states.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

from ...optim.optimizer import Optimizer
from .._groups import _get_default_group
from .._objects import all_gather_object
from ..algorithms.join import Join, Joinable, JoinHook

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of a given class whose states are divided among the ranks of a group."""

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if not callable(optimizer_class):
            raise TypeError(
                f"optimizer_class must be a class of optimizers, got {optimizer_class!r}"
            )
        if overlap_with_ddp:
            raise ValueError("overlap_with_ddp: the step follows backward here; leave it False")
        self.process_group = process_group or _get_default_group()
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        Optimizer.__init__(self, params, defaults)
        self._join_config: Join | None = None
        self._optim_class, self._defaults_given = optimizer_class, defaults
        self._share_out()
        self._consolidated: dict[str, Any] | None = None

    def _share_out(self) -> None:
        """Assign each parameter, largest first, to the rank that has the least so far."""
        loads = [0] * self.world_size
        self._owner: dict[int, int] = {}
        for group in self.param_groups:
            for param in sorted(group["params"], key=lambda p: p.numel(), reverse=True):
                rank = loads.index(min(loads))
                self._owner[id(param)] = rank
                loads[rank] += param.numel()
        mine = []
        for group in self.param_groups:
            own = [p for p in group["params"] if self._owner[id(p)] == self.rank]
            settings = {k: v for k, v in group.items() if k != "params"}
            mine.append({**settings, "params": own})
        # An optimizer must have some parameter, but a rank's share of a group may be empty.
        self.optim = self._optim_class(
            [g for g in mine if g["params"]] or mine, **self._defaults_given
        )
        held = iter(self.optim.param_groups)
        self._pairs = [
            (whole, next(held))
            for whole, own in zip(self.param_groups, mine, strict=True)
            if own["params"]
        ]
        for whole in self.param_groups:
            for key, value in self.optim.defaults.items():
                whole.setdefault(key, value)

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update this rank's parameters, and receive the others'."""
        from ...nn.parallel.distributed import broadcast_together

        Join.notify_join_context(self)
        for whole, own in self._pairs:  # what a scheduler has changed
            own.update({k: v for k, v in whole.items() if k != "params"})
        loss = self.optim.step(closure, **kwargs) if closure is not None else self.optim.step()
        for rank in range(self.world_size):
            params = [p for group in self.param_groups for p in group["params"]]
            held = [p for p in params if self._owner[id(p)] == rank]
            if held:
                broadcast_together(held, self.process_group, rank)
        return loss

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook with which a rank without batches keeps updating its parameters, which the others wait for."""
        return _ZeroJoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device for the join's own collectives."""
        return self._all_params()[0].device

    @property
    def join_process_group(self) -> Any:
        """The group whose ranks join."""
        return self.process_group

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters; all are reassigned if there are states already."""
        super().add_param_group(param_group)
        if hasattr(self, "optim"):
            kept = {id(p): s for p, s in self.optim.state.items()}
            self._share_out()
            for group in self.optim.param_groups:
                for param in group["params"]:
                    if id(param) in kept:
                        self.optim.state[param] = kept[id(param)]

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collect all states on one rank, whose `state_dict` is then whole."""
        places = {id(p): i for i, p in enumerate(self._all_params())}
        mine = {places[id(p)]: state for p, state in self.optim.state.items()}
        parts: list[Any] = [None] * self.world_size
        all_gather_object(parts, mine, self.process_group)
        if self.rank == to:
            self._consolidated = {place: state for part in parts for place, state in part.items()}

    def _all_params(self) -> list[Any]:
        return [param for group in self.param_groups for param in group["params"]]

    def state_dict(self) -> dict[str, Any]:
        """The whole state, as the wrapped optimizer would have it in a single process."""
        if self._consolidated is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to save the "
                "global state."
            )
        found = super().state_dict()
        found["state"] = dict(sorted(self._consolidated.items()))
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a whole state; each rank keeps its part."""
        params = self._all_params()
        for place, state in state_dict["state"].items():
            param = params[int(place)]
            if self._owner[id(param)] == self.rank:
                self.optim.state[param] = copy.deepcopy(state)
        for group, given in zip(self.param_groups, state_dict["param_groups"], strict=True):
            group.update({k: v for k, v in given.items() if k != "params"})


class _ZeroJoinHook(JoinHook):
    """Makes a rank without batches update its parameters with the gradients it has."""

    def __init__(self, zero: ZeroRedundancyOptimizer) -> None:
        self._zero = zero

    def main_hook(self) -> None:
        """Shadow one of the others' steps."""
        self._zero.step()
