"""The leaves that a loss reaches: which of them no optimizer holds, and what was replaced.

They are looked at in the first steps, and again when a parameter or a module was replaced or fewer
parameters got a gradient than the time before. One watch serves all rules of a doctor.
"""

from __future__ import annotations

import weakref
from typing import Any

from ...._stand_ins.group import StandIns
from ...._user_code.sites import Site
from ...state.parameter_owners import roots
from ...watch.events import Backward, Freeze, ModuleCall, Registration, Step
from ...watch.graph_walk import leaves

WALKS = 6  # backwards whose graph is walked in any case
SAMPLE = 2048  # entries of a parameter that are compared to see whether it moves
ENOUGH = 3  # steps in which a parameter was forgotten
FEW = 64  # entries of a plain tensor that may be weights of losses, and no data


class Forgotten:
    """A parameter that a loss reaches and no optimizer holds."""

    def __init__(self, parameter: Any, is_number: bool = False) -> None:
        self.parameter = weakref.ref(parameter)
        self.is_number = is_number  # a plain tensor of one entry, which may be moved later, by hand
        self.version = parameter._version
        self.values = _some(parameter)
        self.steps = 0
        self.reached = True  # since the last step

    def moved(self, parameter: Any) -> bool:
        """Whether somebody updates it by hand (through `.data`, no version tells)."""
        return bool(parameter._version != self.version) or bool(
            (_some(parameter) != self.values).any()
        )


def _some(parameter: Any) -> Any:
    return parameter.detach().reshape(-1)[:SAMPLE].clone()


class Replacement:
    """A parameter, or a module's parameters, that made room for others."""

    def __init__(self, event: Registration, old: list[Any], new: list[Any]) -> None:
        self.site = event.site
        self.old = [weakref.ref(p) for p in old]
        self.new = [weakref.ref(p) for p in new]


class Watch:
    """What both rules know; one for each doctor."""

    def __init__(self, doctor: Any) -> None:
        self.doctor = weakref.ref(doctor)
        self.walks = 0
        self.again = 0
        self.forgotten: dict[int, Forgotten] = {}
        self.settled: dict[int, Any] = {}  # parameters that are fine, or were told
        self.reached: dict[int, set[int]] = {}  # leaves since the last step of each optimizer
        self.replaced: list[Replacement] = []
        self.counts: dict[Site | None, int] = {}
        self.order: dict[int, int] = {}  # modules with parameters of their own -> last call
        self.inputs: set[int] = set()  # tensors that a module was given
        self.stand_ins: StandIns | None = None
        self.last_event = self.last_step = 0
        self.just_reached: set[int] = set()  # of the step that was just made

    def before_backward(self, event: Backward) -> None:
        doctor = self.doctor()
        if doctor is None or event.number == self.last_event:
            return
        self.last_event = event.number
        if self.walks >= WALKS and not self.again:
            return
        if event.options.get("inputs") is not None:
            return
        self.walks += 1
        self.again = max(0, self.again - 1)
        found = {id(leaf): leaf for leaf in leaves(event.roots)}
        held = doctor.held()
        for optimizer in {id(o): o for o in held.values()}.values():
            self.reached.setdefault(id(optimizer), set()).update(found)
        for key, leaf in found.items():
            if key in held:
                self.forgotten.pop(key, None)
                continue
            known = self.settled.get(key)
            if known is not None and known() is leaf:
                continue
            before = self.forgotten.get(key)
            if before is not None and before.parameter() is leaf:
                before.reached = True
            elif isinstance(leaf, event.engine.nn.Parameter):
                self.forgotten[key] = Forgotten(leaf)
            elif (is_own := key in self._attributes(doctor)) or self._is_a_number(leaf):
                self.forgotten[key] = Forgotten(leaf, not is_own or leaf.numel() == 1)
                self._listen(event.engine)
        if self.forgotten and not self.again:
            self.again = 1

    def _is_a_number(self, leaf: Any) -> bool:
        """A temperature, weights of losses: one number, or the same one several times, is no data, unless a
        module was given it."""
        if id(leaf) in self.inputs or leaf.numel() > FEW:
            return False
        values = leaf.detach().reshape(-1)
        return bool((values == values[:1]).all())

    def _attributes(self, doctor: Any) -> set[int]:
        """Plain tensors that a module which ran has as attributes, and that are no inputs."""
        parts = [m for root in roots(doctor) for m in root.modules()]
        return {id(value) for m in parts for value in vars(m).values()} - self.inputs

    def _listen(self, engine: Any) -> None:
        """A tensor whose gradient is asked for by name is an input (of a differential equation)."""
        if self.stand_ins is not None:
            return

        def watching(original: Any) -> Any:
            def grad(outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
                given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
                self.settle([t for t in given if id(t) in self.forgotten])
                return original(outputs, inputs, *args, **kwargs)

            return grad

        self.stand_ins = StandIns()
        self.stand_ins.function(engine.autograd, "grad", watching)
        self.stand_ins.everywhere()

    def stop_listening(self) -> None:
        if self.stand_ins is not None:
            self.stand_ins.end()
            self.stand_ins = None

    def after_backward(self, event: Backward) -> None:
        """Fewer or more gradients than the last time in this line: something has changed."""
        number = len(event.reached)
        if number != self.counts.get(event.site, number):
            self.again = ENOUGH + 1
        self.counts[event.site] = number

    def after_step(self, event: Step) -> None:
        """Count the steps in which the forgotten were forgotten."""
        if event.number == self.last_step:
            return
        self.last_step = event.number
        self.just_reached = self.reached.pop(id(event.optimizer), set())
        for key, one in list(self.forgotten.items()):
            parameter = one.parameter()
            if parameter is None or not parameter.requires_grad:
                del self.forgotten[key]
            elif one.moved(parameter):
                self.settle([parameter])
            elif one.reached:
                one.steps += 1
                one.reached = False

    def on_freeze(self, event: Freeze) -> None:
        """What is thawed in mid-run should be held by someone."""
        doctor = self.doctor()
        if event.on and doctor is not None and doctor.steps:
            held = doctor.held()
            if any(not p.requires_grad and id(p) not in held for p in event.parameters):
                self.again = ENOUGH + 1
                doctor.wake()

    def on_registered(self, event: Registration) -> None:
        if event.old is None or event.old is event.new:
            return
        old, new = _parameters(event.old), _parameters(event.new)
        if old and new:
            for earlier in self.replaced:  # what was there may itself have come later
                if any(p is r() for p in old for r in earlier.new):
                    old += [p for r in earlier.old if (p := r()) is not None]
            self.replaced = [*self.replaced[-50:], Replacement(event, old, new)]
            self.again = ENOUGH + 1
            doctor = self.doctor()
            if doctor is not None and doctor.steps:
                held = doctor.held()
                if any(id(p) in held for p in old):
                    doctor.wake()

    def on_module(self, event: ModuleCall) -> None:
        if event.module._parameters:
            self.order[id(event.module)] = event.number
        for value in event.args:
            if isinstance(value, event.engine.Tensor) and value.requires_grad and value.is_leaf:
                self.inputs.add(id(value))

    def forgotten_for(self, steps: int) -> list[Any]:
        """The parameters that were forgotten in so many steps."""
        found = ((one, one.parameter()) for one in self.forgotten.values())
        return [p for one, p in found if p is not None and one.steps >= steps]

    def settle(self, parameters: list[Any]) -> None:
        for p in parameters:
            self.forgotten.pop(id(p), None)
            self.settled[id(p)] = weakref.ref(p)


def _parameters(value: Any) -> list[Any]:
    return list(value.parameters()) if hasattr(value, "parameters") else [value]


_watches: weakref.WeakKeyDictionary[Any, Watch] = weakref.WeakKeyDictionary()


def watch_of(doctor: Any) -> Watch:
    found = _watches.get(doctor)
    if found is None:
        found = _watches[doctor] = Watch(doctor)
    return found
