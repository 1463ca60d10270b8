"""Calling a module with other parameters than its own, and stacking those of several modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._tensor.tensor import Tensor


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with these parameters and buffers in place of its own.

    With `tie_weights`, a tensor that the module has under two names is replaced under both.
    """
    given = _merged(parameter_and_buffer_dicts)
    own = _own_tensors(module)
    if strict:
        _check_names(given, own)
    given = {name: value for name, value in given.items() if name in own or not strict}
    if tie_weights:
        given = _tied(given, own)
    held = []
    try:
        for name, value in given.items():
            owner, _, leaf = name.rpartition(".")
            place = module.get_submodule(owner) if owner else module
            slots = _slots(place, leaf)
            held.append((slots, leaf, slots[leaf]))
            slots[leaf] = value
        arguments = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*arguments, **(kwargs or {}))
    finally:
        for slots, leaf, value in reversed(held):
            slots[leaf] = value


def _merged(dicts: Any) -> dict[str, Tensor]:
    if isinstance(dicts, dict):
        return dict(dicts)
    if not isinstance(dicts, Sequence) or not all(isinstance(one, dict) for one in dicts):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}"
        )
    merged: dict[str, Tensor] = {}
    repeated = {
        name
        for i, one in enumerate(dicts)
        for other in dicts[:i]
        for name in one.keys() & other.keys()
    }
    if repeated:
        raise ValueError(
            f"{sorted(repeated)} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    for one in dicts:
        merged.update(one)
    return merged


def _own_tensors(module: Any) -> dict[str, Tensor]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _check_names(given: dict[str, Tensor], own: dict[str, Tensor]) -> None:
    problems = []
    unexpected, missing = sorted(given.keys() - own.keys()), sorted(own.keys() - given.keys())
    if unexpected:
        problems.append(f"Unexpected key(s): {', '.join(unexpected)}.")
    if missing:
        problems.append(f"Missing key(s): {', '.join(missing)}.")
    if problems:
        raise RuntimeError("Error(s) in reparametrizing:\n\t" + "\n\t".join(problems))


def _tied(given: dict[str, Tensor], own: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same replacement under every name that a replaced tensor has in the module."""
    names_of: dict[int, list[str]] = {}
    for name, tensor in own.items():
        names_of.setdefault(id(tensor), []).append(name)
    found = dict(given)
    for name, value in given.items():
        for other in names_of[id(own[name])] if name in own else ():
            if other in given and given[other] is not value:
                raise ValueError(
                    f"functional_call got multiple values for keys {names_of[id(own[name])]}, "
                    "which are tied. Consider using tie_weights=False"
                )
            found[other] = value
    return found


def _slots(module: Any, name: str) -> dict[str, Any]:
    """Where a module keeps the tensor of this name."""
    for slots in (module._parameters, module._buffers):
        if name in slots:
            found: dict[str, Any] = slots
            return found
    raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and buffers of modules of one kind, stacked for `vmap` over `functional_call`."""
    from .._ops.public import FUNCTIONS

    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(named: list[dict[str, Any]], leaf: bool) -> dict[str, Any]:
        out = {}
        for name in named[0]:
            tensors = [one[name] for one in named]
            if leaf and len({t.requires_grad for t in tensors}) > 1:
                raise RuntimeError(
                    f"Expected {name} from each model to have the same .requires_grad"
                )
            joined = FUNCTIONS["stack"](tensors).detach()
            out[name] = joined.requires_grad_(tensors[0].requires_grad) if leaf else joined
        return out

    return (
        stacked([dict(m.named_parameters()) for m in models], True),
        stacked([dict(m.named_buffers()) for m in models], False),
    )
