"""Parameters that the loss reaches and no optimizer holds, and the other way round: TG301, TG302.

Both rules look at the leaves of the loss's graph in the first steps, and again when a parameter or a
module was replaced or fewer parameters got a gradient than the time before.
"""

from __future__ import annotations

import weakref
from typing import Any

from ..events import Backward, ModuleCall, Registration, Step
from ..graph import leaves
from ..ledger import parameters_of
from ..owners import Owners, is_resting, roots
from ..patches import Patches
from ..sites import Site
from .base import Rule

WALKS = 6  # backwards whose graph is walked in any case
SAMPLE = 2048  # entries of a parameter that are compared to see whether it moves
ENOUGH = 3  # steps in which a parameter was forgotten


class _Forgotten:
    """A parameter that a loss reaches and no optimizer holds."""

    def __init__(self, parameter: Any) -> None:
        self.parameter = weakref.ref(parameter)
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


class _Replacement:
    """A parameter, or a module's parameters, that made room for others."""

    def __init__(self, event: Registration, old: list[Any], new: list[Any]) -> None:
        self.site = event.site
        self.old = [weakref.ref(p) for p in old]
        self.new = [weakref.ref(p) for p in new]


class _Watch:
    """What both rules know; one for each doctor."""

    def __init__(self, doctor: Any) -> None:
        self.doctor = weakref.ref(doctor)
        self.walks = 0
        self.again = 0
        self.forgotten: dict[int, _Forgotten] = {}
        self.settled: dict[int, Any] = {}  # parameters that are fine, or were told
        self.reached: dict[int, set[int]] = {}  # leaves since the last step of each optimizer
        self.replaced: list[_Replacement] = []
        self.counts: dict[Site | None, int] = {}
        self.order: dict[int, int] = {}  # modules with parameters of their own -> last call
        self.inputs: set[int] = set()  # tensors that a module was given
        self.patches: Patches | None = None
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
                self.forgotten[key] = _Forgotten(leaf)
            elif self._is_a_number(leaf) or key in self._attributes(doctor):
                self.forgotten[key] = _Forgotten(leaf)
                self._listen(event.engine)
        if self.forgotten and not self.again:
            self.again = 1

    def _is_a_number(self, leaf: Any) -> bool:
        """A temperature, a weight of a loss: one number is no data, unless a module was given it."""
        return bool(leaf.numel() == 1) and id(leaf) not in self.inputs

    def _attributes(self, doctor: Any) -> set[int]:
        """Plain tensors that a module which ran has as attributes, and that are no inputs."""
        parts = [m for root in roots(doctor) for m in root.modules()]
        return {id(value) for m in parts for value in vars(m).values()} - self.inputs

    def _listen(self, engine: Any) -> None:
        """A tensor whose gradient is asked for by name is an input (of a differential equation)."""
        if self.patches is not None:
            return

        def watching(original: Any) -> Any:
            def grad(outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
                given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
                self.settle([t for t in given if id(t) in self.forgotten])
                return original(outputs, inputs, *args, **kwargs)

            return grad

        self.patches = Patches()
        self.patches.function(engine.autograd, "grad", watching)
        self.patches.everywhere()

    def stop_listening(self) -> None:
        if self.patches is not None:
            self.patches.undo()
            self.patches = None

    def after_backward(self, event: Backward) -> None:
        """Fewer gradients than the last time in this line: something has changed."""
        number = len(event.reached)
        if number < self.counts.get(event.site, 0):
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

    def on_registered(self, event: Registration) -> None:
        if event.old is None or event.old is event.new:
            return
        old, new = _parameters(event.old), _parameters(event.new)
        if old and new:
            for earlier in self.replaced:  # what was there may itself have come later
                if any(p is r() for p in old for r in earlier.new):
                    old += [p for r in earlier.old if (p := r()) is not None]
            self.replaced = [*self.replaced[-50:], _Replacement(event, old, new)]
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


_watches: weakref.WeakKeyDictionary[Any, _Watch] = weakref.WeakKeyDictionary()


def _watch_of(doctor: Any) -> _Watch:
    found = _watches.get(doctor)
    if found is None:
        found = _watches[doctor] = _Watch(doctor)
    return found


class OptimizerHoldsDead(Rule):
    """An optimizer holds parameters that were replaced; the loss reaches the new ones, it does not."""

    code = "TG302"
    name = "optimizer-holds-dead"
    why = (
        "An optimizer holds the parameters it was given, not the model. If they are replaced after "
        "that (a new head, a copy of the model, a pruned weight), it goes on with the old ones, "
        "which nothing uses, and the new ones never learn."
    )
    quiet = (
        "Parameters that are held and not used now (experts, other phases, frozen ones), as long as "
        "no others stand in their place."
    )
    fix = "optimizer = torch.optim.SGD(model.parameters(), lr)  # after the replacement"
    bug = """
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
model[2] = torch.nn.Linear(4, 1)  # here
x, y = torch.randn(8, 3), torch.randn(8, 1)
for _ in range(6):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""
    fixed = """
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
model[2] = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for _ in range(6):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.watch = _watch_of(doctor)

    def before_backward(self, event: Backward) -> None:
        self.watch.before_backward(event)

    def after_backward(self, event: Backward) -> None:
        self.watch.after_backward(event)

    def after_step(self, event: Step) -> None:
        self.watch.after_step(event)

    def on_registered(self, event: Registration) -> None:
        self.watch.on_registered(event)

    def at_end(self) -> None:
        self.watch.stop_listening()

    def before_step(self, event: Step) -> None:
        watch = self.watch
        parameters = watch.forgotten_for(ENOUGH - 1)
        now = watch.reached.get(id(event.optimizer))
        if not parameters or now is None:
            return
        dead = [p for p in event.parameters if p.requires_grad and id(p) not in now]
        if not dead:
            return
        forgotten = {id(p): p for p in parameters}
        gone = {id(p) for p in dead}
        for replacement in reversed(watch.replaced):
            old = [p for r in replacement.old if (p := r()) is not None and id(p) in gone]
            new = [p for r in replacement.new if (p := r()) is not None and id(p) in forgotten]
            if old and new:
                self._say(event, replacement.site, old, new)
                watch.settle(new)
        rest = [p for p in parameters if id(p) in watch.forgotten]
        if len(dead) == len(event.parameters) and _same_shapes(dead, rest):
            if any(p.grad is not None for p in dead):
                return  # their gradients come from elsewhere
            made = self.doctor.made_at.get(id(event.optimizer))
            self._say(event, made or event.site, dead, rest)
            watch.settle(rest)

    def _say(self, event: Step, site: Site | None, old: list[Any], new: list[Any]) -> None:
        made = self.doctor.made_at.get(id(event.optimizer))
        where = "" if made is None or made == site else f" (made in line {made.line})"
        names = Owners(self.doctor).names(self.doctor, new)
        self.report(
            f"{len(new)} parameters that the loss reaches came in the place of {len(old)} that the "
            f"optimizer{where} holds: it steps the old ones, and the new ones never change.",
            site, fix_site=made, parameters=names,
            figures={"held and unused": len(old), "used and not held": len(new)},
        )  # fmt: skip


def _same_shapes(one: list[Any], other: list[Any]) -> bool:
    return bool(one) and sorted(tuple(p.shape) for p in one) == sorted(
        tuple(p.shape) for p in other
    )


class NotInOptimizer(Rule):
    """Trainable parameters that the loss reaches, and that no optimizer holds."""

    code = "TG301"
    name = "not-in-optimizer"
    why = (
        "Layers in a plain Python list, a second network, a temperature, or a parameter that is made "
        "later are not in the list that the optimizer was given. Their gradients are computed and never used."
    )
    quiet = (
        "Parameters of any optimizer, parameters that are updated by hand, modules in eval mode, a "
        "loop that trains an input only, and a model of which only the last part was given to the "
        "optimizer (a linear probe)."
    )
    fix = "optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])"
    bug = """
torch.manual_seed(0)
encoder, decoder = torch.nn.Linear(3, 2), torch.nn.Linear(2, 3)
optimizer = torch.optim.Adam(encoder.parameters())  # here
x = torch.randn(8, 3)
for _ in range(6):
    encoder.zero_grad()
    decoder.zero_grad()
    torch.nn.functional.mse_loss(decoder(encoder(x)), x).backward()
    optimizer.step()
"""
    fixed = """
torch.manual_seed(0)
encoder, decoder = torch.nn.Linear(3, 2), torch.nn.Linear(2, 3)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
x = torch.randn(8, 3)
for _ in range(6):
    encoder.zero_grad()
    decoder.zero_grad()
    torch.nn.functional.mse_loss(decoder(encoder(x)), x).backward()
    optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.watch = _watch_of(doctor)

    def before_backward(self, event: Backward) -> None:
        self.watch.before_backward(event)

    def after_backward(self, event: Backward) -> None:
        self.watch.after_backward(event)

    def on_module(self, event: ModuleCall) -> None:
        self.watch.on_module(event)

    def after_step(self, event: Step) -> None:
        watch = self.watch
        watch.after_step(event)
        reached = watch.just_reached
        parameters = watch.forgotten_for(ENOUGH)
        if not watch.forgotten:
            watch.stop_listening()
        if not parameters or not reached:
            return
        mine = [p for p in event.parameters if id(p) in reached]
        if not mine:
            return
        watch.settle(parameters)
        owners = Owners(self.doctor)
        if not any(owners.owned(p) for p in mine) and any(owners.owned(p) for p in parameters):
            return  # what is trained is an input of the model
        mode = [m for p in mine for m in owners.modules(p)]
        if not is_resting(mode):
            parameters = [p for p in parameters if not is_resting(owners.modules(p))]
        if not parameters or self._is_probe(owners, mine, parameters):
            return
        made = self.doctor.made_at.get(id(event.optimizer))
        names = owners.names(self.doctor, parameters)
        hidden = next(filter(None, map(owners.list_of, parameters)), "")
        fix = self.fix
        if hidden:
            fix = f"self.{hidden} = torch.nn.ModuleList(...)  # not a plain list: its layers are not found"
        self.report(
            f"{len(parameters)} trainable parameters are reached by the loss, but no optimizer "
            "holds them: they never change.",
            made or event.site, parameters=names, fix=fix,
            figures={"not held": len(parameters), "held": len(parameters_of(event.optimizer))},
            key=(self.code, made or event.site),
        )  # fmt: skip

    def at_end(self) -> None:
        self.watch.stop_listening()

    def _is_probe(self, owners: Owners, mine: list[Any], rest: list[Any]) -> bool:
        """Whether the held ones are whole last layers of the model that the others belong to."""
        models = {id(r) for p in rest for r in owners.roots(p)}
        if len(models) != 1 or any({id(r) for r in owners.roots(p)} != models for p in mine):
            return False
        if not all(owners.owned(p) for p in rest):
            return False
        last = {id(m) for p in mine for m in owners.modules(p)}
        first = {id(m) for p in rest for m in owners.modules(p)}
        order = self.watch.order
        if last & first or not all(m in order for m in last | first):
            return False
        return max(order[m] for m in first) < min(order[m] for m in last)
