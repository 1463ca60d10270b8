"""The tape of a compiled function: tensors, optimizers' updates, effects in Python, and hooks."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..._tensor.tensor import Tensor
from ..._user_code.owners import internal
from ...optim._elementwise import Elementwise
from ..messages.errors import cannot_record
from ..optimizers.param_group_settings import Settings
from ..optimizers.updates import Fixed, Update, record_update
from ..program.ir import Call
from ..run.numpy_calls import filled_in, has_late
from .symbols import without_symbols
from .tape import Tape, reveal
from .tensor_data import Lifting, pause


class Recording(Lifting):
    """The tape of a compiled function: tensors, optimizers' updates and effects in Python."""

    def __init__(self) -> None:
        super().__init__()
        self.effects: list[Callable[[], Any]] = []
        self.updates: list[Update] = []
        self.fixed: list[Fixed] = []
        self.stand_ins: dict[int, tuple[Tensor, Tensor]] = {}
        self.settings = Settings([])
        self.may_follow = True  # whether a number may be a symbol
        self.may_split = False  # where Python asks for a tensor's value
        self.splits: list[
            tuple[int, str, Any]
        ] = []  # effects before it, what was asked for, the line
        self.exchanges = 0  # started without waiting, with other processes
        self.under_way: set[int] = set()  # those that nobody has waited for yet
        self.crosses_processes = False

    def update(self, optimizer: Any, group: Any, number: int, members: Any, states: Any) -> None:
        """Called by an optimizer that is asked to step."""
        found = record_update(self, optimizer, group, number, members, states)
        for update in found:
            update.written = self.settings.written_in(update.real)
        self.effects.extend(found)
        self.updates.extend(found)

    def stepping(self, optimizer: Any) -> None:
        """Called before an optimizer steps."""
        plain = not any(group.get("differentiable") for group in optimizer.param_groups)
        computed = isinstance(optimizer, Elementwise) and plain
        self.settings.know(optimizer)
        self.settings.pin(optimizer, self.scalars, computed)
        self.note_settings()
        if not computed:
            with pause(self):
                self.fixed.append(Fixed.of(optimizer))

    def read(self, recorded: Any, what: str, truth: bool) -> Any:
        """Called where a tensor's value is asked for; None where the program cannot be split."""
        from .graph_breaks import read

        return read(self, recorded, what, truth)

    def note_check(self, array: Any, holds: Any) -> None:
        """Called where a condition on values is looked at."""
        if self.calls_noted is not None:
            self.calls_noted.check(array, holds)

    def can_undo(self) -> bool:
        """Whether a decision by a tensor's value may turn out otherwise at a replay."""
        from ..run.rollback import can_undo

        return can_undo(self.effects) and not self.crosses_processes

    def note_settings(self) -> None:
        """Note what the function has written into optimizers' groups."""
        self.effects.extend(self.settings.changes(self.scalars))

    def effect(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Called where Python's own state changes; a call inside such a call belongs to it."""
        if self.paused or self.dead:
            return function(*args, **kwargs)
        _refuse_tensors(self, function, (args, kwargs))
        self.note_settings()
        late = self.views((args, kwargs))
        args, kwargs = without_symbols((args, kwargs))
        with pause(self):
            result = function(*args, **kwargs)
        if has_late(late):
            args, kwargs = late
            self.effects.append(lambda: _call_late(function, args, kwargs))
        else:
            self.effects.append(lambda: function(*args, **kwargs))
        self.settings.look()
        return result

    def exchange(
        self, again: Any, args: tuple[Any, ...], written: list[Any], run: Callable[[], Any]
    ) -> Any:
        """Called where other processes take part: it happens, and in its place at each replay."""
        if self.calls_noted is not None:
            self.calls_noted.force(f"`{again.__name__}`, in which other processes take part,")
        self.crosses_processes = True
        plain = [reveal(array) for array in written]
        for array in plain:
            self._begin_from_content(array)
        changed = tuple([self.view(array) for array in plain])
        self.note(Call(again, self.views(args), {}, (), changed, effect=True, name=again.__name__))
        with pause(self):
            return run()

    def next_exchange(self) -> int:
        """The number of work that is started without waiting."""
        self.exchanges += 1
        self.under_way.add(self.exchanges)
        return self.exchanges

    def waited_for(self, number: int) -> None:
        self.under_way.discard(number)

    def ended(self) -> None:
        """Called when the function has returned."""
        if self.under_way and not self.dead:
            self.refuse("a collective that nobody waits for inside of the function", "wait")

    def asked(self, what: str, advice: str) -> None:
        """Called where a tensor's values would leave the engine."""
        if not (self.paused or self.dead):
            self.refuse(what, advice)

    def writes_leaf(self, tensor: Tensor) -> None:
        """Called before a write into a leaf is refused: it may only stand in for an argument."""
        if id(tensor) in self.stand_ins:
            raise cannot_record("a write into an argument that has a history", "clone")

    def hooked(self, hook: Any, args: Any, kwargs: Any) -> Any:
        """Called with each hook of the user's; one that only looks on cannot be recorded."""
        if self.calls_noted is not None:
            self.calls_noted.hooked()
        before = len(self.program.instructions), len(self.effects)
        result = hook(*args, **kwargs)
        after = len(self.program.instructions), len(self.effects)
        again = self.calls_noted is not None and self.calls_noted.runs_again
        if result is None and before == after and not (self.dead or again) and _is_users(hook):
            self.refuse(f"{_named(hook)}, which only looks on,", "hook")
        return result


def _call_late(function: Any, args: Any, kwargs: Any) -> Any:
    return function(*filled_in(args, None), **filled_in(kwargs, None))  # type: ignore[arg-type]


def _is_users(hook: Any) -> bool:
    code = getattr(inspect.unwrap(hook), "__code__", None)
    return code is None or not internal[code.co_filename]


def _named(hook: Any) -> str:
    code = getattr(inspect.unwrap(hook), "__code__", None)
    name = getattr(hook, "__qualname__", type(hook).__name__)
    return f"the hook `{name}`" + (f" ({code.co_filename}:{code.co_firstlineno})" if code else "")


def _refuse_tensors(tape: Tape, function: Any, value: Any) -> None:
    if isinstance(value, Tensor):
        name = getattr(function, "__qualname__", str(function))
        tape.refuse(
            f"a tensor's value given to Python code ({name})",
            "schedule" if name.endswith(".step") else "item",
        )
    if isinstance(value, (tuple, list)):
        for part in value:
            _refuse_tensors(tape, function, part)
    elif isinstance(value, dict):
        _refuse_tensors(tape, function, tuple(value.values()))
