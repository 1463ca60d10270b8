"""Whose a parameter is: the modules that ran, searched only where something is suspected."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .registry import Known


def roots(known: Known) -> list[Any]:
    """The modules that ran and that are in no other of them."""
    alive = [m for reference in known.models if (m := reference()) is not None]
    inside = {id(part) for m in alive for part in m.modules() if part is not m}
    return [m for m in alive if id(m) not in inside]


class Owners:
    """Where the parameters of all modules that ran are, as they are now."""

    def __init__(self, known: Known) -> None:
        self.places: dict[int, list[tuple[Any, Any, str]]] = {}  # root, module, path
        self.listed: dict[int, tuple[str, str]] = {}  # root -> attribute, and its place there
        for root in roots(known):
            self._look_for_lists(root)
            for prefix, module in root.named_modules():
                for name, parameter in module._parameters.items():
                    if parameter is not None:
                        path = f"{prefix}.{name}" if prefix else name
                        self.places.setdefault(id(parameter), []).append((root, module, path))

    def _look_for_lists(self, root: Any) -> None:
        for module in root.modules():
            for name, value in vars(module).items():
                if name.startswith("_") or not isinstance(value, (list, tuple, dict)):
                    continue
                pairs = value.items() if isinstance(value, dict) else enumerate(value)
                for place, part in itertools.islice(pairs, 1000):
                    if hasattr(part, "named_parameters"):
                        self.listed.setdefault(id(part), (name, f"{name}[{place!r}]"))

    def modules(self, parameter: Any) -> list[Any]:
        """The modules that hold a parameter directly."""
        return [module for _, module, _ in self.places.get(id(parameter), ())]

    def roots(self, parameter: Any) -> list[Any]:
        return [root for root, _, _ in self.places.get(id(parameter), ())]

    def owned(self, parameter: Any) -> bool:
        return id(parameter) in self.places

    def names(self, known: Known, parameters: Iterable[Any]) -> list[str]:
        """Paths, also of parameters that came into a model after it was first seen."""
        found, parameters = [], list(parameters)
        for parameter in parameters:
            places = self.places.get(id(parameter))
            if not places:
                found.append(known.ledger.name(parameter))
                continue
            root, _, path = places[0]
            inside = self.listed.get(id(root))
            found.append(path if inside is None else f"{inside[1]}.{path}")
        if len(set(found)) < len(found):  # paths in several models
            return [known.ledger.name(p) for p in parameters]
        return found

    def list_of(self, parameter: Any) -> str:
        """The attribute, a plain list, tuple or dict, that hides a parameter's module from its model."""
        return next(
            (self.listed[id(root)][0] for root in self.roots(parameter) if id(root) in self.listed),
            "",
        )


def is_resting(modules: list[Any]) -> bool:
    """Whether modules are all in eval mode: their author does not mean to train them."""
    return bool(modules) and not any(module.training for module in modules)
