"""Names of models: parameters of two models may have one path, and must not have one name."""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..._user_code.owners import foreign
from ..watch.compiled import plain_path
from .parameter_owners import roots

if TYPE_CHECKING:
    from .registry import Known

MANY = 12  # models, of which a program that makes them all the time has more


def tell_apart(known: Known) -> None:
    """Put the name of its model before each path that two models share."""
    models = roots(known)
    if not 1 < len(models) <= MANY:
        return
    holders: dict[str, dict[int, set[int]]] = {}  # path -> parameter -> models
    for model in models:
        for path, parameter in model.named_parameters():
            holders.setdefault(path, {}).setdefault(id(parameter), set()).add(id(model))
    shared = [held for held in holders.values() if len(held) > 1]
    alike = {model for held in shared for several in held.values() for model in several}
    taken: set[str] = set()
    for model in models:
        if id(model) in alike:
            name = label(model, taken)
            taken.add(name)
            for path, parameter in model.named_parameters():
                known.ledger.account(parameter).name = f"{name}.{plain_path(path)}"


def label(module: Any, taken: set[str]) -> str:
    """What to call a model: the global variable that holds it, or its class, with a number if need be.

    Only global variables: to look at a function's locals would keep their values alive.
    """
    name = _global_variable(module) or type(module).__name__
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}{number}"
    return found


def _global_variable(module: Any) -> str | None:
    frame: FrameType | None = sys._getframe(1)
    seen: set[int] = set()
    while frame is not None:
        variables = frame.f_globals
        if id(variables) not in seen and not foreign[frame.f_code.co_filename]:
            seen.add(id(variables))
            for name, value in list(variables.items()):
                if value is module and not name.startswith("_"):
                    return str(name)
        frame = frame.f_back
    return None
