"""Two that should be one, and one that should be two: TG304."""

from __future__ import annotations

import weakref
from typing import Any

from ...._user_code.sites import Site
from ...state.parameter_owners import Owners
from ...watch.events import Registration, Step
from ..base import Rule

STEPS = 3  # steps of each optimizer after which it is looked at


class _Slot:
    """A place for a parameter: a module and a name."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = weakref.ref(owner), name
        self.site: Site | None = None  # where it was last replaced

    def now(self) -> Any:
        owner = self.owner()
        return None if owner is None else owner._parameters.get(self.name)


class StateAliased(Rule):
    """Tied weights that came apart or became copies, shared state, a count of steps that is wrong."""

    code = "TG304"
    name = "state-aliased"
    why = (
        "Tied weights are one Parameter under two names. A clone, or a cast of each name by itself, "
        "makes two of them, which part with the first step. And two parameters that share a buffer "
        "of the optimizer, or their memory, are stepped with each other's history; a shared count of "
        "steps runs ahead, and the corrections of Adam's first steps end too soon."
    )
    quiet = (
        "Layers of one kind that start from equal values (ensembles, twins), copies that are not "
        "trained (teachers, target networks), and weights untied one by one on purpose."
    )
    fix = "head.weight = embedding.weight  # the same Parameter, not a copy"
    example = """
  torch.manual_seed(0)
  words, head = torch.nn.Embedding(7, 4), torch.nn.Linear(4, 7, bias=False)
- head.weight = torch.nn.Parameter(words.weight.detach().clone())  # here
- optimizer = torch.optim.SGD([*words.parameters(), *head.parameters()], lr=0.1)
+ head.weight = words.weight
+ optimizer = torch.optim.SGD(words.parameters(), lr=0.1)
  x = torch.arange(7)
  for _ in range(6):
      optimizer.zero_grad()
      torch.nn.functional.cross_entropy(head(words(x)), (x + 1) % 7).backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.slots: dict[int, list[_Slot]] = {}  # by parameter, which is alive while one has it
        self.known: dict[int, Any] = {}  # weak references to these parameters
        self.tied: list[tuple[Any, list[_Slot]]] = []
        self.copies: list[tuple[Any, Any, Site | None]] = []  # of, copy, line
        self.looked: dict[int, int] = {}
        self.counts: dict[int, float] = {}  # steps of each parameter's state, before a step

    # --- what was put where --------------------------------------------------------------------

    def on_registered(self, event: Registration) -> None:
        new, old = event.new, event.old
        if not isinstance(new, event.engine.nn.Parameter) or new is old:
            return
        slot = self._slot(event) if old is not None else None
        if slot is None:
            slot = _Slot(event.owner, event.name)
        slot.site = event.site
        if old is not None:
            self._see_copy(event)
        places = self._places(new)
        places.append(slot)
        if len(places) == 2:
            self.tied.append((weakref.ref(new), places))

    def _places(self, parameter: Any) -> list[_Slot]:
        known = self.known.get(id(parameter))
        if known is None or known() is not parameter:
            if len(self.known) > 10_000:
                dead = [key for key, reference in self.known.items() if reference() is None]
                for key in dead:
                    del self.known[key], self.slots[key]
            self.known[id(parameter)] = weakref.ref(parameter)
            self.slots[id(parameter)] = []
        return self.slots[id(parameter)]

    def _slot(self, event: Registration) -> _Slot | None:
        """The place that a parameter leaves, if it is known."""
        known = self.known.get(id(event.old))
        if known is None or known() is not event.old:
            return None
        found = [s for s in self.slots[id(event.old)] if s.owner() is event.owner]
        return next((s for s in found if s.name == event.name), None)

    def _see_copy(self, event: Registration) -> None:
        """A parameter that is put in another's place and equals one of another kind of layer."""
        new = event.new
        shape = tuple(new.shape)
        if new.ndim != 2 or len(self.copies) > 20:
            return
        for reference in list(self.known.values()):
            other = reference()
            if other is None or other is new or other is event.old or other.dtype != new.dtype:
                continue
            owners = [o for s in self.slots[id(other)] if (o := s.owner()) is not None]
            if not owners or any(o is event.owner for o in owners):
                continue
            same_kind = any(type(o) is type(event.owner) for o in owners)
            turned = tuple(other.shape) == shape[::-1] and shape[0] != shape[1]
            if turned if same_kind else tuple(other.shape) == shape:
                values = other.detach().t() if turned and same_kind else other.detach()
                if other.device == new.device and _equal(values, new.detach()):
                    self.copies.append((reference, weakref.ref(new), event.site))
                    return

    # --- what an optimizer does with it --------------------------------------------------------

    def before_step(self, event: Step) -> None:
        key = id(event.optimizer)
        count = self.looked[key] = self.looked.get(key, 0) + 1
        if count != STEPS:
            return
        stepped = {id(p) for p in event.parameters if p.requires_grad and p.grad is not None}
        for original, copy, site in self.copies:
            one, other = original(), copy()
            if one is not None and other is not None and {id(one), id(other)} <= stepped:
                self._say(
                    "This weight is a copy of another layer's: they were equal, and are trained "
                    "apart. Tied weights are one Parameter.",
                    site, [one, other],
                )  # fmt: skip
        for original, slots in self.tied:
            now = {id(p): p for s in slots if (p := s.now()) is not None}
            first = original()
            if (
                len(now) > 1
                and not (first is not None and id(first) in now)
                and set(now) <= stepped
            ):
                sites = [s.site for s in slots if s.site is not None]
                self._say(
                    f"This was one Parameter under {len(slots)} names; now each name has its own, "
                    "and they are trained apart.",
                    sites[-1] if sites else self.doctor.made_at.get(key), list(now.values()),
                )  # fmt: skip
        self._look_at_memory(event)
        self.counts = {id(p): float(count) for p, count in _counts(event) if p.grad is not None}

    def after_step(self, event: Step) -> None:
        if self.looked.get(id(event.optimizer)) == STEPS:
            self.looked[id(event.optimizer)] += 1
            self._look_at_state(event)
            self._look_at_counts(event)

    def _look_at_memory(self, event: Step) -> None:
        """Parameters that are different objects over the same memory."""
        seen: dict[Any, Any] = {}
        groups = event.optimizer.param_groups
        if not any(g.get("momentum", 1) or g.get("weight_decay", 1) for g in groups):
            return  # plain descent moves such memory by the sum, as if it were one
        for p in event.parameters:
            if not p.numel() or not p.requires_grad:
                continue
            other = seen.setdefault(_address(p), p)
            if other is not p and other.grad is not None and p.grad is not None:
                made = self.doctor.made_at.get(id(event.optimizer))
                self._say(
                    "Two parameters of this optimizer lie in the same memory: each step moves it "
                    "twice, with two histories.",
                    made or event.site, [other, p],
                )  # fmt: skip
                return

    def _look_at_state(self, event: Step) -> None:
        """Buffers of the optimizer that two parameters share."""
        tensor = event.engine.Tensor
        seen: dict[Any, tuple[Any, str]] = {}
        for p, state in event.optimizer.state.items():
            if not isinstance(p, tensor) or not isinstance(state, dict):
                continue
            for name, value in state.items():
                if not isinstance(value, tensor) or not value.numel():
                    continue
                other, known = seen.setdefault(_address(value), (p, name))
                if other is not p and known == name and name != "step":
                    self._say(
                        f"Two parameters share one '{name}' in this optimizer's state: each step "
                        "mixes their histories.",
                        event.site, [other, p], fix=f"optimizer.state[p][{name!r}] = value.clone()",
                    )  # fmt: skip
                    return

    def _look_at_counts(self, event: Step) -> None:
        """A count of steps that several parameters share, and each of them moves."""
        before, self.counts = self.counts, {}
        shared: dict[Any, list[Any]] = {}
        for p, count in _counts(event):
            if id(p) in before and float(count) - before[id(p)] > 1:
                shared.setdefault(_address(count), []).append(p)
        for parameters in shared.values():
            if len(parameters) > 1:
                self._say(
                    f"{len(parameters)} parameters share one 'step' in this optimizer's state: a step "
                    f"counts as {len(parameters)}.",
                    event.site, parameters, fix="optimizer.state[p]['step'] = step.clone()",
                )  # fmt: skip
                return

    def _say(self, message: str, site: Site | None, parameters: list[Any], **more: Any) -> None:
        names = Owners(self.doctor).names(self.doctor, parameters)
        self.report(message, site, parameters=names, figures={"parameters": len(names)}, **more)


def _counts(event: Step) -> list[tuple[Any, Any]]:
    """The parameters whose state counts steps in a tensor, and that."""
    tensor, state = event.engine.Tensor, event.optimizer.state
    found = [(p, state[p].get("step")) for p in event.parameters if isinstance(state.get(p), dict)]
    return [(p, step) for p, step in found if isinstance(step, tensor) and step.numel() == 1]


def _address(tensor: Any) -> Any:
    return tensor.device, tensor.data_ptr(), tuple(tensor.shape)


def _equal(one: Any, other: Any) -> bool:
    """The same values, and not a constant that many layers start from."""
    return bool((one == other).all()) and bool((one != one.reshape(-1)[0]).any())
