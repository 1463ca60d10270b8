"""What to say about a name that is not there: which one it was, and the nearest one there is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# Below this likeness a suggestion misleads more often than it helps ("complex" for "compile").
_LIKENESS = 0.66
# Parts of PyTorch that are known by name and are not here: no other name is what was meant.
_OF_PYTORCH = frozenset(
    (
        *(
            "ao",
            "cond",
            "distributed",
            "distributions",
            "export",
            "func",
        ),
        *(
            "futures",
            "fx",
            "jit",
            "library",
            "masked",
            "monitor",
            "mps",
            "mtia",
        ),
        *("nested", "onnx", "overrides", "package", "profiler", "quantization", "sparse"),
        *(
            "tensorboard",
            "torchvision",
            "xpu",
            "while_loop",
            "quantize_per_tensor",
        ),
    )
)


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
    found = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=_LIKENESS)
    if not found:
        return None
    return max(by_folded[found[0]], key=lambda c: difflib.SequenceMatcher(None, c, name).ratio())


def missing_name(module_name: str, name: str, candidates: Iterable[str]) -> str:
    """The message for `module_name.name`, which tautograd lacks.

    >>> missing_name("torch.nn", "functionl", ["functional", "Linear"])
    "tautograd has no 'torch.nn.functionl'; did you mean 'torch.nn.functional'?"

    In a module's ``__getattr__``, raise it with the name given::

        def __getattr__(name: str) -> object:
            raise AttributeError(missing_name(__name__, name, globals()), name=name)

    Given a name and no object, Python leaves the message alone; otherwise it adds a second
    "Did you mean" of its own.
    """
    public = (candidate for candidate in candidates if not candidate.startswith("_"))
    message = f"tautograd has no '{module_name}.{name}'"
    if name in _OF_PYTORCH:
        return f"{message}, which PyTorch has"
    suggestion = nearest(name, public)
    if suggestion is not None and suggestion != name:
        message += f"; did you mean '{module_name}.{suggestion}'?"
    return message
