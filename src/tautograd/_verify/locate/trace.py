"""The tape of one run: every call on tensors, with everything needed to run it again in isolation.

Calls are observed by a `TorchFunctionMode`, which both engines have. Custom Functions are invisible to
modes, so their `apply` is intercepted by the interpreter's profiling hook; the calls inside their forward
belong to them. The program is unaffected: arguments and results are passed through unchanged.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from ..._stand_ins.function_mode import FunctionMode
from ..._trees.nests import WITH_DATACLASSES as NESTS
from ..._user_code.owners import Owner, owners
from ..._user_code.stack import own_site
from ..subject.module_paths import ModulePaths
from ..subject.places import version_of
from .leaving import ABOUT_GRAPH, LEAVING, edge_of, name_of_call
from .tape import MODULE_HOOK, Call, Slot, Tape, backward_of


def trace(engine: Any, run: Callable[[], Any]) -> Tape:
    """Run a program once and record its calls."""
    recorder = Recorder(engine)
    with recorder.recording():
        result = run()
    return Tape(recorder.calls, result, recorder.altered, recorder.kept)


def custom_calls(engine: Any, run: Callable[[], Any]) -> list[Call]:
    """Run a program once and record only its calls of custom Functions, which is fast."""
    recorder = Recorder(engine)
    recorder.functions_only = True
    with recorder.recording():
        run()
    return [call for call in recorder.calls if call.custom]


class Recorder:
    """Records what a mode and the profiling hook observe."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.tensor = engine.Tensor
        self.paths = ModulePaths(engine)
        self.calls: list[Call] = []
        self.altered: list[Call] = []
        self.kept: list[Any] = []
        self.boundary: FrameType | None = None
        self.before: Any = None  # the profiling hook that was installed before
        self.functions_only = False  # whether calls that are not custom Functions are left out
        self._apply = engine.autograd.Function.apply.__func__.__code__
        self._ordinal = 0
        self._custom: tuple[FrameType, Call] | None = None  # the Function currently running
        self._checkpoints: list[FrameType] = []
        self._busy = False  # the recorder's own calls are not part of the program
        self._last_copy: dict[int, tuple[Any, Any]] = {}

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Inside, this thread's calls are recorded."""
        before: Any = sys.getprofile()
        if callable(before):
            self.before = before
        elif before is not None:  # a profiler written in C has its own switch
            before.disable()
        self.boundary = sys._getframe(2)
        seen = (
            contextlib.nullcontext() if self.functions_only else FunctionMode(self.engine, self.see)
        )
        with self.paths, seen:
            sys.setprofile(self.profile)
            try:
                yield
            finally:
                sys.setprofile(before if callable(before) else None)
                if before is not None and not callable(before):
                    before.enable()

    # --- what is shown -------------------------------------------------------------------------

    def see(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Handle a call that the mode intercepted."""
        if self._busy:
            return function(*args, **kwargs)
        self._ordinal += 1
        if self._custom is not None:
            return function(*args, **kwargs)
        name = name_of_call(self.engine, function)
        call = self._begin(name, function, args, kwargs, sys._getframe(1))
        if name == "register_hook" and len(args) == 2:
            args = args[0], self._watched_hook(call, args[1])
        result = function(*args, **kwargs)
        self._end(call, result)
        return result

    def profile(self, frame: FrameType, event: str, result: Any) -> None:
        """The interpreter enters or leaves a function."""
        if self.before is not None:
            self.before(frame, event, result)
        if self._busy or frame.f_code is not self._apply:
            return
        if event == "call":
            self._function_begins(frame)
        elif event == "return":
            self._function_ends(frame, result)

    def _function_begins(self, frame: FrameType) -> None:
        if self._custom is not None:
            return
        given = frame.f_locals
        cls = given["cls"]
        name = cls.__name__
        internal = (cls.__module__ or "").partition(".")[0] == self.engine.__name__
        if getattr(cls, "runs_registered", False):  # tautograd's class, a user's rule
            name, internal = given["args"][0]._name.rpartition("::")[2], False
        if internal and name == "CheckpointFunction":
            self._checkpoints.append(frame)
        if internal and name != "BackwardHookFunction":
            return
        args, kwargs = tuple(given["args"]), dict(given["kwargs"])
        self._busy = True
        try:
            call = self._begin(MODULE_HOOK if internal else name, cls.apply, args, kwargs, frame)
        finally:
            self._busy = False
        call.custom = not internal
        if call.custom and self._called_by_the_kit(frame):  # which received the Function itself
            call.site = backward_of(cls) or call.site
        self._custom = frame, call

    def _called_by_the_kit(self, frame: FrameType | None) -> bool:
        """Whether no user code lies between the recorder and a call."""
        while frame is not None and frame is not self.boundary:
            if owners[frame.f_code.co_filename] < Owner.PYTHON:
                return False
            frame = frame.f_back
        return frame is not None

    def _function_ends(self, frame: FrameType, result: Any) -> None:
        if self._checkpoints and self._checkpoints[-1] is frame:
            self._checkpoints.pop()
        elif self._custom is not None and self._custom[0] is frame:
            call = self._custom[1]
            self._custom = None
            self._busy = True
            try:
                if result is not None:  # otherwise it raised
                    self._end(call, result)
            finally:
                self._busy = False

    # --- what is written down ------------------------------------------------------------------

    def _begin(self, name: str, function: Any, args: Any, kwargs: Any, frame: Any) -> Call:
        slots: dict[int, int] = {}
        inputs: list[Any] = []

        def placed(value: Any) -> Any:
            if not isinstance(value, self.tensor):
                return value
            if id(value) not in slots:
                slots[id(value)] = len(inputs)
                inputs.append(value)
            return Slot(slots[id(value)])

        args, kwargs = NESTS.mapped((tuple(args), dict(kwargs)), placed)
        call = Call(
            self._ordinal,
            name,
            function,
            args,
            kwargs,
            inputs,
            [self._copy(t) for t in inputs],
            [bool(t.requires_grad) for t in inputs],
            [edge_of(t) for t in inputs],
            bool(self.engine.is_grad_enabled()),
            checkpointed=bool(self._checkpoints),
            autocast=_autocast(self.engine),
            site=own_site(frame, self.boundary),
            module=self.paths.current,
            engine=self.engine,
        )
        call.random_state = self.engine.get_rng_state() if inputs else None
        call.value = [version_of(t) for t in inputs]
        return call

    def _end(self, call: Call, result: Any) -> None:
        if not call.inputs:
            return
        versions = [version_of(t) for t in call.inputs]
        call.changed = [
            i
            for i, (before, after) in enumerate(zip(call.value, versions, strict=True))
            if before != after
        ]
        given = {id(t) for t in call.inputs}
        tensors = [v for v in NESTS.leaves(result) if isinstance(v, self.tensor)]
        returned = {id(t): t for t in tensors if id(t) not in given}
        written = {id(call.inputs[i]): call.inputs[i] for i in call.changed}
        call.outputs = list({**returned, **written}.values())
        call.value = None if tensors else result
        if not call.outputs and call.name not in LEAVING and call.name not in ABOUT_GRAPH:
            return
        call.nodes = [edge_of(t) for t in call.outputs]
        if bool((self.engine.get_rng_state() == call.random_state).all()):
            call.random_state = None
        self.calls.append(call)

    def _copy(self, tensor: Any) -> Any:
        """A tensor's current values; the previous copy if they have not changed."""
        known = self._last_copy.get(id(tensor))
        if known is not None and known[0] is tensor and known[1].shape == tensor.shape:
            held = tensor.detach()
            if known[1].dtype == held.dtype and _same(known[1], held):
                return known[1]
        copy = tensor.detach().clone()
        self._last_copy[id(tensor)] = tensor, copy
        return copy

    def _watched_hook(self, call: Call, hook: Any) -> Any:
        """Wrap a hook on a gradient to record whether it returns a different one."""

        def watching(gradient: Any) -> Any:
            before = gradient.detach().clone()
            found = hook(gradient)
            now = gradient if found is None else found
            same = now.shape == before.shape and _same(now.detach(), before)
            if not same and not any(one is call for one in self.altered):
                self.altered.append(call)
            return found

        return watching


def _same(one: Any, other: Any) -> bool:
    """Whether two tensors have the same values; NaN equals NaN."""
    return bool(((one == other) | ((one != one) & (other != other))).all())


def _autocast(engine: Any) -> Any:
    return engine.get_autocast_dtype("cpu") if engine.is_autocast_enabled("cpu") else None
