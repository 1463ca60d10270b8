"""Seeds and states of random generators on the tape: they are set and read again at every replay.

Numbers that are drawn come onto the tape by themselves (`_tensor/draws.py`). For the length of a recording
the methods that set or give a generator's state are ones that note what they do.
"""

from __future__ import annotations

import functools
from typing import Any

from ..._autograd.modes import modes
from ..._stand_ins.slots import WhileAnybody
from ..._tensor.random_state import Generator
from ..._tensor.tensor import make
from ..program.ir import Call
from .tensor_data import pause

_SETTING = ("manual_seed", "seed", "set_state", "set_offset")


def _noted(name: str, method: Any) -> Any:
    """A method that sets a state: it happens, and happens again in its place at each replay."""

    def call(self: Any, *args: Any) -> Any:
        tape = modes.recorder
        if tape is None or tape.dead or tape.paused:
            return method(self, *args)
        if tape.calls_noted is not None:
            tape.calls_noted.force(f"`{name}` of a generator")
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


def _given(method: Any) -> Any:
    """`get_state`, whose result a replay asks for again."""

    def get_state(self: Any) -> Any:
        tape = modes.recorder
        if tape is None or tape.dead or tape.paused:
            return method(self)
        if tape.calls_noted is not None:
            tape.calls_noted.force("`get_state` of a generator")
        with pause(tape):
            found = tape.call(_state, (self,), {}, "get_state")
        return make(found)

    return get_state


_NOTED: tuple[tuple[Any, str, Any], ...] = (
    *((Generator, name, functools.partial(_noted, name)) for name in _SETTING),
    (Generator, "get_state", _given),
)
# Within it what is done to the states of generators is noted.
noting_seeds = WhileAnybody(lambda: _NOTED)
