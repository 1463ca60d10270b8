"""What to say about a name that is not there: which one it was, and the nearest one there is."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

# Below this likeness a suggestion misleads more often than it helps ("complex" for "compile").
_LIKENESS = 0.66
# Modules that a name may have been meant to be taken from (`nn.relu` is `nn.functional.relu`).
_USUAL_HOMES = (
    *("torch", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils", "torch.optim"),
    *("torch.nn.utils.rnn", "torch.optim.lr_scheduler", "torch.utils.data", "torch.autograd"),
    *(
        "torch.autograd.functional",
        "torch.linalg",
        "torch.distributions",
        "torch.fft",
        "torch.func",
    ),
)


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, other, one).ratio()


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like `name`, or None when none is near.

    >>> nearest("functionl", ["functional", "init", "Linear"])
    'functional'
    >>> nearest("linear", ["Linear", "lerp"])
    'Linear'
    """
    # Letter case is the commonest slip (nn.linear, optim.adam), so it only breaks ties (torch has
    # both tensor and Tensor).
    by_folded: dict[str, list[str]] = {}
    for candidate in sorted(set(candidates) - {""}):
        by_folded.setdefault(candidate.casefold(), []).append(candidate)
    wanted = name.casefold()
    found = difflib.get_close_matches(wanted, by_folded, n=4, cutoff=_LIKENESS)
    if not found:
        return None
    # Of those that are as like, the one with most letters in their places: TG101 for TG1O1, not TG911.
    found.sort(key=lambda c: (-_likeness(wanted, c), -sum(map(str.__eq__, c, wanted))))
    return max(by_folded[found[0]], key=lambda c: difflib.SequenceMatcher(None, c, name).ratio())


def missing_name(module_name: str, name: str, candidates: Iterable[str]) -> str:
    """The message for `module_name.name`, which tautograd lacks.

    >>> missing_name("torch.nn", "functionl", ["functional", "Linear"])
    "tautograd has no 'torch.nn.functionl'; did you mean 'torch.nn.functional'?"
    >>> missing_name("torch", "Adam", ["amax"])
    "tautograd has no 'torch.Adam'; did you mean 'torch.optim.Adam'?"
    >>> missing_name("torch", "mtia", ["mT"])
    "tautograd has no 'torch.mtia', which PyTorch has: it is for Meta's accelerators"
    """
    from ._names.table import is_public

    path = f"{module_name}.{name}"
    message = f"tautograd has no '{path}'"
    if is_public(path):
        return f"{message}, which PyTorch has{said_of(path)}"
    suggestion = suggested(module_name, name, candidates)
    return f"{message}; did you mean '{suggestion}'?" if suggestion else message


class _ToldWhenRead(str):
    """The message of an error that most who catch it do not read (`hasattr`): the search waits for `str(error)`."""

    __slots__ = ("_tell",)
    _tell: Callable[[], str]

    def __str__(self) -> str:
        return self._tell()

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def no_attribute(
    module_name: str, name: str, candidates: Iterable[str] | Callable[[], Iterable[str]]
) -> AttributeError:
    """The error that a module's ``__getattr__`` raises.

    It has the name and no object: given both, Python adds a "Did you mean" of its own to the message.
    """
    message = _ToldWhenRead(f"tautograd has no '{module_name}.{name}'")
    message._tell = lambda: missing_name(
        module_name, name, candidates() if callable(candidates) else candidates
    )
    return AttributeError(message, name=name)


def said_of(path: str) -> str:
    """Why a name of PyTorch's is not here, and what to use instead, to follow "which PyTorch has"."""
    from ._names.reasons import reason

    why, instead = reason(path)
    return (f": it is {why}" if why else "") + (f" (use {instead})" if instead else "")


def suggested(module_name: str, name: str, candidates: Iterable[str]) -> str | None:
    """The path that was most likely meant: the same name in another module, or one nearly the same here."""
    from ._names.table import homes_of

    public = [candidate for candidate in candidates if not candidate.startswith("_")]
    found = nearest(name, public)
    if found is None or found.casefold() != name.casefold():
        engine, _, within = module_name.partition(".")
        homes = [home for home in homes_of(name) if home in _USUAL_HOMES]
        for home in sorted(homes, key=lambda home: not home.startswith(f"torch.{within}")):
            if _is_here(f"{home}.{name}"):
                return f"{home}.{name}".replace("torch", engine, 1)
    return f"{module_name}.{found}" if found is not None and found != name else None


def _is_here(path: str) -> bool:
    from ._names.resolve import is_here

    return is_here(path)
