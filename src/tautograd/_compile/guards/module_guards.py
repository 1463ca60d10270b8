"""Modules that take part in a recording: what of them the record depends on, and must not change.

A record holds for the modes, settings and hooks that its modules had. Setting any attribute of any module
moves a counter on (`_autograd/effects.py`); who writes into `__dict__` or `_buffers` moves none, so the members are
the same objects as well, as long as nothing needs to be looked at.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..._autograd.modes import modes
from ..._stand_ins.slots import WhileAnybody
from ..._tensor.tensor import Tensor
from ...nn.modules.module import Module
from ..record.varying_numbers import Spot
from .outside_variables import frozen

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_MEMBERS = ("_parameters", "_buffers", "_modules")
_OWN = __name__.partition(".")[0]


class Modules:
    """The modules that took part, and all modules in them, as they were before."""

    def __init__(self) -> None:
        self.found: dict[int, tuple[Module, Any]] = {}
        self._left_out: set[tuple[int, str]] = set()
        self.contents: list[
            tuple[str, Any, Any]
        ] = []  # lists and dictionaries of the user's modules
        self.members: list[tuple[dict[str, Any], str, Any]] = []  # as they were when all held
        self.lengths: list[tuple[dict[str, Any], int]] = []

    def note(self, module: Module) -> None:
        if id(module) in self.found:
            return
        for part in module.modules():
            if id(part) not in self.found:
                self.found[id(part)] = part, self._state(part)
                if not type(part).__module__.startswith(_OWN + "."):
                    self._note_contents(part)

    def _note_contents(self, module: Module) -> None:
        for name, value in vars(module).items():
            if type(value) in (list, dict, set) and not name.startswith("_"):
                self.contents.append((f"{type(module).__name__}.{name}", value, frozen(value)))

    def tensors(self) -> set[int]:
        """The parameters and buffers of all modules, and tensors that are plain attributes."""
        places = [
            place
            for module, _ in self.found.values()
            for place in (vars(module), module._parameters, module._buffers)
        ]
        return {id(v) for place in places for v in place.values() if isinstance(v, Tensor)}

    def settle(self, tape: Any, lines: Any) -> None:
        """After a recording: no module's attribute may have changed, for a replay would not change it."""
        for module, state in self.found.values():
            now = self._state(module)
            for name in (*now, *state):
                if now.get(name, ...) != state.get(name, ...):
                    tape.refuse(
                        f"{type(module).__name__}'s attribute `{name}`, a Python value that changes "
                        "at each call,",
                        "attribute",
                        lines.storing(name),
                    )
                    return

    def hold(self) -> bool:
        """Whether every module is as it was recorded."""
        return all(self._state(module) == state for module, state in self.found.values())

    def remember(self) -> None:
        """What modules hold now is right."""
        self.members, self.lengths = [], []
        for module, _ in self.found.values():
            own = vars(module)
            self.members += [
                (own, name, value)
                for name, value in own.items()
                if name[:1] != "_" and (id(module), name) not in self._left_out
            ]
            for place in [own[name] for name in (*_HOOKS, *_MEMBERS) if name in own]:
                self.members += [(place, name, value) for name, value in place.items()]
                self.lengths.append((place, len(place)))

    def are_untouched(self) -> bool:
        """Whether modules hold the very same objects."""
        if any(len(place) != length for place, length in self.lengths):
            return False
        return all(place.get(name) is value for place, name, value in self.members)

    def spots(self) -> list[tuple[Spot, Any]]:
        """The attributes that can hold a number, with what was there."""
        return [
            (Spot(vars(module), name), float.fromhex(was[1]))
            for module, state in self.found.values()
            for name, was in state.items()
            if was[:1] == (float,)
        ]

    def leave_out(self, keys: set[Any]) -> None:
        """Do not ask any more what these attributes are: a record takes them as inputs."""
        for module, state in self.found.values():
            for name in [name for name in state if (id(vars(module)), name) in keys]:
                self._left_out.add((id(module), name))
                del state[name]

    def _state(self, module: Module) -> dict[str, Any]:
        """A module's modes, settings and hooks, and which tensors and modules it holds."""
        own = module.__dict__
        state: dict[str, Any] = {}
        for name, value in own.items():
            if name in _HOOKS:
                state[name] = tuple(value)
            elif name in _MEMBERS:
                state[name] = tuple((k, id(v)) for k, v in value.items())
            elif not isinstance(value, OrderedDict) and (id(module), name) not in self._left_out:
                state[name] = frozen(value)
        return state


@contextmanager
def noting(found: Modules) -> Iterator[None]:
    """Note each module that this thread calls."""
    with _calls:
        modes.modules_seen = found
        try:
            yield
        finally:
            modes.modules_seen = None


def stop_in_child() -> None:
    """After a fork: nobody notes modules."""
    _calls.stop_in_child()
    modes.modules_seen = None


def _noting_calls(before: Any) -> Any:
    def __call__(self: Module, *args: Any, **kwargs: Any) -> Any:
        found = modes.__dict__.get("modules_seen")
        if found is not None:
            found.note(self)
        return before(self, *args, **kwargs)

    return __call__


_calls = WhileAnybody(lambda: [(Module, "__call__", _noting_calls)])
