"""Truth values: PyTorch's parser takes True and False for one, and nothing else that Python calls true or false.

A computation does not need that: `keepdim=1` and `keepdim="no"` are as true to it as True. So this is
looked at where a public function is called, by identity, and only what is neither of the two is held
against the signature, which says whether PyTorch's parser would see it at all.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from .code_holders import holder
from .wrong_argument import WrongArgument

_ANNOTATIONS = frozenset((bool, "bool", "bool | None"))


def truth_values_of(fn: Callable[..., Any]) -> dict[str, int]:
    """The parameters of a function that are truth values, by annotation or default, and their places."""
    code: Any = holder(fn).__code__
    first, last = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    annotated = _ANNOTATIONS.intersection(fn.__annotations__.values())
    defaults = fn.__defaults__ or ()
    if not annotated and not fn.__kwdefaults__ and True not in defaults and False not in defaults:
        return {}  # as for most functions, of which there are hundreds when the package is imported
    known = dict(zip(code.co_varnames[first - len(defaults) : first], defaults, strict=True))
    known |= fn.__kwdefaults__ or {}
    return {
        name: place if place < first else NOWHERE
        for place, name in enumerate(code.co_varnames[:last])
        if fn.__annotations__.get(name) in _ANNOTATIONS or isinstance(known.get(name), bool)
    }


NOWHERE = 1 << 30
"""The place of what is given by name only."""


def check_given(
    name: str,
    truths: dict[str, int],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    frames: int = 2,
) -> None:
    """Refuse what was given for these parameters of a public function, if it is neither True nor False.

    The program is so many frames further out.
    """
    for parameter, place in truths.items():
        value = args[place] if place < len(args) else kwargs.get(parameter, False)
        if value is not False and value is not True:
            refuse_truth(name, parameter, value, sys._getframe(frames))


def refuse_truth(name: str, parameter: str, value: Any, caller: Any = None) -> None:
    """Raise what is wrong with a value that is neither True nor False; nothing where PyTorch takes it.

    To be called from the function that was called from outside (`caller`: from where, otherwise).
    """
    from .guarding import is_inside

    optional = _in_signature(name).get(parameter)
    if optional is None or (optional and value is None) or is_inside(caller or sys._getframe(2)):
        return
    from .signatures.kinds import type_name

    last = name.removeprefix("nn.functional.")
    raise WrongArgument(f"{last}(): argument '{parameter}' must be bool, not {type_name(value)}")


def require_truth(name: str, **values: Any) -> None:
    """Refuse what is neither True nor False, in a function of which the table of signatures knows nothing."""
    for parameter, value in values.items():
        if not isinstance(value, bool):
            from .signatures.kinds import type_name

            raise TypeError(
                f"{name}(): argument '{parameter}' must be bool, not {type_name(value)}"
            )


@functools.cache
def _in_signature(name: str) -> dict[str, bool]:
    """The parameters that are truth values in every overload that has them, and whether None will do."""
    from .signatures import signatures_of

    found: dict[str, set[str]] = {}
    optional: set[str] = set()
    for signature in signatures_of(name):
        for parameter in signature.parameters:
            found.setdefault(parameter.name, set()).add(parameter.kind)
            if parameter.takes_none:
                optional.add(parameter.name)
    return {name: name in optional for name, kinds in found.items() if kinds == {"bool"}}
