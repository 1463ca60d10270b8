"""Calling a module with other parameters than its own, and stacking those of several modules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..._tensor.tensor import Tensor


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
    own = _own_tensors(module) if tie_weights or strict else {}
    placed = _tied(given, own) if tie_weights else given
    if strict:
        _check_names(module, placed, own)
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    originals: dict[str, Any] = {}
    try:
        for name, value in placed.items():
            given_value: Any = value
            if not isinstance(given_value, (Tensor, type(None))):
                raise TypeError(f"{given_value} is not an instance of torch.Tensor")
            originals[name] = _swap(module, name, value)
            found = originals[name]
            if found is not None and found is not _MISSING and not isinstance(found, Tensor):
                leaf = name.rpartition(".")[2]
                raise TypeError(f"attribute `{leaf}`: {found} is not an instance of torch.Tensor")
        return module(*arguments, **(kwargs or {}))
    finally:
        for name, value in reversed(originals.items()):  # a module may have several names
            left = _swap(module, name, value)
            if name in given and left is not _MISSING:
                given[name] = left  # what the call assigned in its place


_MISSING: Any = object()


def _swap(module: Any, name: str, value: Any) -> Any:
    """Put a tensor under a dotted name, and return what was there."""
    path, _, leaf = name.rpartition(".")
    owner = module.get_submodule(path) if path else module
    for held in (owner._parameters, owner._buffers):
        if leaf in held:
            found = held[leaf]
            if value is _MISSING:
                del held[leaf]
            else:
                held[leaf] = value
            return found
    found = getattr(owner, leaf, _MISSING)
    if value is not _MISSING:
        setattr(owner, leaf, value)
    elif found is not _MISSING:
        delattr(owner, leaf)
    return found


def _merged(dicts: Any) -> dict[str, Tensor]:
    """One dictionary: the one given, or all those in a sequence."""
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}"
        )
    if not all(isinstance(one, dict) for one in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    counts = Counter(name for one in dicts for name in one)
    repeated = [name for name, times in counts.items() if times > 1]
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous"
        )
    return {name: value for one in dicts for name, value in one.items()}


def _own_tensors(module: Any) -> dict[str, Tensor]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _check_names(module: Any, given: dict[str, Tensor], own: dict[str, Tensor]) -> None:
    problems = [
        f"{what} key(s): {', '.join(map(repr, sorted(names)))}."
        for what, names in (
            ("Unexpected", given.keys() - own.keys()),
            ("Missing", own.keys() - given.keys()),
        )
        if names
    ]
    if problems:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(problems)
        )


def _tied(given: dict[str, Tensor], own: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same replacement under every name that a replaced tensor has in the module."""
    names_of: dict[int, list[str]] = {}
    for name, tensor in own.items():
        names_of.setdefault(id(tensor), []).append(name)
    found = dict(given)
    for name, value in given.items():
        names = names_of[id(own[name])] if name in own else [name]
        if any(given.get(other, value) is not value for other in names):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. "
                "Consider using tie_weights=False"
            )
        found.update(dict.fromkeys(names, value))
    return found


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and buffers of modules of one kind, stacked for `vmap` over `functional_call`."""
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    parameters = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return _stacked(parameters), _stacked(buffers)


def _stacked(models: list[dict[str, Any]]) -> dict[str, Any]:
    """The tensors of each name as one, a leaf if they want gradients."""
    from ..._ops.declare.public import FUNCTIONS

    out = {}
    for name in models[0]:
        tensors = [one[name] for one in models]
        wanted = {t.requires_grad for t in tensors}
        if len(wanted) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        joined = FUNCTIONS["stack"](tensors)
        out[name] = joined.detach().requires_grad_() if wanted == {True} else joined
    return out
