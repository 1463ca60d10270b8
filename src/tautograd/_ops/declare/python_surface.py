"""What PyTorch too writes in Python (modules, optimizers, helpers): its accidents, put in words.

Such functions have no signatures that a failed call could be held against. They are wrapped where they
are published, all of a module's in one line (`speak(globals(), __all__)`); a call that succeeds pays
for one more call of Python's. Only what a program calls itself is put in words: a function that our own
code calls lets its accident pass, so that the outermost one speaks, which is the one that the program knows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, TypeVar

from .guarding import PACKAGE, in_words, is_guarded, with_handler, written

Function = TypeVar("Function", bound=Callable[..., Any])


def speak(
    namespace: dict[str, Any], names: Iterable[str], methods: tuple[str, ...] = ("__init__",)
) -> None:
    """Wrap the functions of these names, and these methods of the classes, bases of ours included."""
    for name in names:
        value = namespace.get(name)
        if isinstance(value, FunctionType):
            namespace[name] = spoken(value, name)
        elif isinstance(value, type):
            for each in value.__mro__:
                if each.__module__.startswith(PACKAGE):
                    _speak_methods(each, methods)


def _speak_methods(kind: type, methods: tuple[str, ...]) -> None:
    for method in methods:
        fn = vars(kind).get(method)
        if isinstance(fn, FunctionType):
            setattr(kind, method, _wrapped(fn, None))


def spoken(fn: Function, name: str) -> Function:
    """A function whose accidents come out in words; the same one however often it is asked for."""
    known: Any = getattr(fn, "in_words", None)
    if known is None or known.__wrapped__ is not fn:
        known = _wrapped(fn, name)
        fn.in_words = known  # type: ignore[attr-defined]
    return known  # type: ignore[no-any-return]


_HANDLER = """
            better = _said(_error, _name, *given)
            if better is None:
                raise
            raise better from _error
"""


def _wrapped(fn: Any, name: str | None) -> Any:
    if is_guarded(fn):
        return fn
    label = name or fn
    call = with_handler(fn, _HANDLER, _name=label, _said=_said)
    written(fn, label, _said)  # of Python in PyTorch, too: a program may look at its code
    return call


def _said(
    error: Exception,
    name: str | FunctionType,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Exception | None:
    """What to raise in place of an error; `name` is the method itself where it belongs to a class."""
    if sys._getframe(2).f_globals.get("__name__", "").startswith(PACKAGE):
        return None
    if not isinstance(name, str):
        method, name = name.__name__, type(args[0]).__name__
        if method != "__init__":
            name += f".{method}"
        args = args[1:]
    return in_words(error, name, args, kwargs, tensors=False)
