"""An optimizer's step on external parameters and state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._tensor.tensor import Tensor
from .optimizer import Optimizer

_NAME = "swap_in_optimizer_params_and_state"


def _need(condition: bool, text: str) -> None:
    if not condition:
        raise RuntimeError(text)


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer,
    swapin_parameters: dict[str, Tensor],
    swapin_optim_state: dict[str, Any],
) -> Iterator[None]:
    """A context in which the optimizer uses the given parameters and state.

    The parameters are in the order of the optimizer's; the state has the form of `state_dict`'s.
    """
    _check(optimizer, swapin_optim_state)
    groups = optimizer.param_groups
    saved_groups = swapin_optim_state["param_groups"]
    given = list(swapin_parameters.values())
    state: defaultdict[Any, Any] = defaultdict(dict)
    swapped = []
    start = 0
    for i, (group, saved) in enumerate(zip(groups, saved_groups, strict=True)):
        numbers = _numbers(i, group, saved)
        params = given[start : start + len(numbers)]
        start += len(numbers)
        _need(
            len(params) == len(numbers),
            f"{_NAME} requires the explicit parameter state to match optimizer.param_groups "
            "ordering.",
        )
        swapped.append({**saved, "params": params})
        for p, number in zip(params, numbers, strict=True):
            # The given tensors themselves are changed in place; the dictionary is not.
            state[p] = dict(swapin_optim_state["state"].get(number, {}))
    known = {number for saved in saved_groups for number in saved["params"]}
    extra = [key for key in swapin_optim_state["state"] if key not in known]
    _need(
        not extra,
        f"{_NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter ids "
        f"from param_groups[*]['params']; got extra keys {extra!r}.",
    )
    own_state, own_groups = optimizer.state, [dict(group) for group in groups]
    try:
        for group, other in zip(groups, swapped, strict=True):
            group.update(other)
        optimizer.state = state
        yield
    finally:
        for group, own in zip(groups, own_groups, strict=True):
            group.clear()
            group.update(own)
        optimizer.state = own_state


def _check(optimizer: Optimizer, given: Any) -> None:
    _need(bool(optimizer.state), f"{_NAME} requires initialized optimizer state.")
    _need(isinstance(given, dict), f"{_NAME} requires a DCP-style optimizer state_dict.")
    state, groups = given.get("state"), given.get("param_groups")
    _need(
        isinstance(state, dict),
        f"{_NAME} requires swapin_optim_state['state'] to be a dict mapping packed parameter ids to "
        f"per-param state dicts, got {type(state).__name__}.",
    )
    _need(
        not any(isinstance(key, Tensor) for key in state),
        f"{_NAME} requires optimizer.state_dict()-style state keyed by packed parameter ids.",
    )
    _need(
        all(isinstance(v, dict) for k, v in state.items() if isinstance(k, int)),
        f"{_NAME} requires per-parameter optimizer state entries to be dictionaries.",
    )
    _need(
        isinstance(groups, list),
        f"{_NAME} requires swapin_optim_state['param_groups'] to be a list of param-group dicts, "
        f"got {type(groups).__name__}.",
    )
    _need(
        len(optimizer.param_groups) == len(groups),
        "swapin_optim_state has a different number of parameter groups than the live optimizer.",
    )


def _numbers(i: int, group: dict[str, Any], saved: Any) -> list[int]:
    """The indices of the parameters of the saved group that matches this one."""
    _need(
        isinstance(saved, dict),
        f"{_NAME} requires each optimizer param group to be a dictionary.",
    )
    numbers = saved.get("params")
    _need(
        isinstance(numbers, list) and all(isinstance(n, int) for n in numbers),
        f"{_NAME} requires optimizer.state_dict()-style param_groups[*]['params'] entries keyed by "
        "packed parameter ids.",
    )
    _need(
        len(group["params"]) == len(numbers),
        f"swapin_optim_state param group {i} has a different number of params than the live "
        "optimizer param group.",
    )
    theirs, own = [k for k in saved if k not in group], [k for k in group if k not in saved]
    _need(
        not theirs and not own,
        f"{_NAME} requires optimizer.state_dict()-style param group keys to exactly match the live "
        f"optimizer group keys for group {i}. Keys only in swap-in: {theirs}. "
        f"Keys only in live: {own}.",
    )
    return numbers  # type: ignore[no-any-return]
