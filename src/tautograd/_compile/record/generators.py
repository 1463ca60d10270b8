"""Seeds and states of random generators on the tape: they are set and read again at every replay.

Numbers that are drawn come onto the tape by themselves (`_tensor/draws.py`). For the length of a recording
the methods that set or give a generator's state are ones that note what they do.
"""

from __future__ import annotations

from typing import Any

from ..._autograd.modes import modes
from ..._tensor.random_state import Generator
from ..._tensor.tensor import make
from ..program.ir import Call
from .patched import Replaced
from .tensor_data import pause

_SETTING = ("manual_seed", "seed", "set_state", "set_offset")
_original: Any = {name: getattr(Generator, name) for name in (*_SETTING, "get_state")}
_inherited = {name for name in _original if name not in vars(Generator)}


def _noted(name: str, method: Any) -> Any:
    """A method that sets a state: it happens, and happens again in its place at each replay."""

    def call(self: Any, *args: Any) -> Any:
        tape = modes.recorder
        if tape is None or tape.dead or tape.paused:
            return method(self, *args)
        arrays = tuple(arg._data if name == "set_state" else arg for arg in args)
        again = _set_again if name == "set_state" else method
        tape.note(Call(again, (self, *tape.views(arrays)), {}, (), effect=True, name=name))
        with pause(tape):
            return method(self, *args)

    return call


def _set_again(generator: Any, state: Any) -> None:
    generator.set_state(make(state))


def _state(generator: Any) -> Any:
    return generator.get_state()._data


def _get_state(self: Any) -> Any:
    tape = modes.recorder
    if tape is None or tape.dead or tape.paused:
        return _original["get_state"](self)
    with pause(tape):
        found = tape.call(_state, (self,), {}, "get_state")
    return make(found)


def _put() -> None:
    for name, method in _original.items():
        setattr(Generator, name, _get_state if name == "get_state" else _noted(name, method))


def _restore() -> None:
    for name, method in _original.items():
        if name in _inherited:
            delattr(Generator, name)
        else:
            setattr(Generator, name, method)


# Within it what is done to the states of generators is noted.
noting_seeds = Replaced(_put, _restore)
