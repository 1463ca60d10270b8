"""Whose a parameter is: the modules that ran, searched only where something is suspected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .doctor import Doctor


def roots(doctor: Doctor) -> list[Any]:
    """The modules that ran and that are in no other of them."""
    alive = [m for reference in doctor.models if (m := reference()) is not None]
    inside = {id(part) for m in alive for part in m.modules() if part is not m}
    return [m for m in alive if id(m) not in inside]


class Owners:
    """Where the parameters of all modules that ran are, as they are now."""

    def __init__(self, doctor: Doctor) -> None:
        self.places: dict[int, list[tuple[Any, Any, str]]] = {}  # root, module, path
        for root in roots(doctor):
            for prefix, module in root.named_modules():
                for name, parameter in module._parameters.items():
                    if parameter is not None:
                        path = f"{prefix}.{name}" if prefix else name
                        self.places.setdefault(id(parameter), []).append((root, module, path))

    def modules(self, parameter: Any) -> list[Any]:
        """The modules that hold a parameter directly."""
        return [module for _, module, _ in self.places.get(id(parameter), ())]

    def roots(self, parameter: Any) -> list[Any]:
        return [root for root, _, _ in self.places.get(id(parameter), ())]

    def owned(self, parameter: Any) -> bool:
        return id(parameter) in self.places

    def names(self, doctor: Doctor, parameters: Iterable[Any]) -> list[str]:
        """Paths, also of parameters that came into a model after it was first seen."""
        found = []
        for parameter in parameters:
            places = self.places.get(id(parameter))
            found.append(places[0][2] if places else doctor.ledger.name(parameter))
        return found


def is_resting(modules: list[Any]) -> bool:
    """Whether modules are all in eval mode: their author does not mean to train them."""
    return bool(modules) and not any(module.training for module in modules)
