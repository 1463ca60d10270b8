"""Gradients that grow without end, and layers that get none: TG801, TG802, by their own history."""

from __future__ import annotations

import math
from collections import deque
from itertools import pairwise
from typing import Any

from ...._user_code.sites import Site
from ...state.step_measures import largest
from ...watch.backward_flow import Passage, line_of
from ...watch.events import Backward, Hook, Sample, Step
from ...watch.graph_walk import is_leaf_node, node_name
from ..base import Rule


class Exploding(Rule):
    """Gradients, updates and loss grow from step to step, each by itself beyond its own past."""

    code = "TG801"
    name = "exploding"
    severity = "warning"
    why = (
        "Each step is larger than the one before: the learning rate is too high, the loss has the "
        "wrong sign, or a recurrence multiplies. It ends in infinity."
    )
    quiet = (
        "Large gradients as such (a summed loss), one bad batch, a loss that comes down again, and "
        "updates that are small beside their weights."
    )
    fix = "optimizer = torch.optim.SGD(model.parameters(), lr=0.01)  # a smaller learning rate"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Linear(3, 1)
- optimizer = torch.optim.SGD(model.parameters(), lr=3.0)
+ optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  for _ in range(12):
      optimizer.zero_grad()
      loss = torch.nn.functional.mse_loss(model(x), y)
-     loss.backward()  # here
+     loss.backward()
      optimizer.step()
"""
    rises = 5  # steps in a row in which the norm grew
    growth = 30.0  # of the norm and of the loss over them
    moved = 0.1  # of a weight's size, in every step: the least that is alarming
    burst = 1000.0  # growth of norm and loss in one step
    thrown = 10.0  # of a weight's size, in one step

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.past: dict[int, deque[tuple[float, float, float]]] = {}
        self.backward: Site | None = None

    def after_backward(self, event: Backward) -> None:
        self.backward = event.site

    def on_sample(self, event: Sample) -> None:
        past = self.past.setdefault(id(event.optimizer), deque(maxlen=64))
        norm = math.sqrt(sum(min(n, 1e150) ** 2 for n in event.norms))
        ratios = [r for r in event.ratios if not math.isnan(r)]
        past.append((norm, max(ratios, default=0.0), abs(event.loss)))
        self._at_once(event, past)
        recent = list(past)[-self.rises - 1 :]
        if len(recent) <= self.rises:
            return
        norms, moves, losses = zip(*recent, strict=True)
        if not all(b > a * 1.05 for a, b in pairwise(norms)):
            return
        if not all(b > a for a, b in pairwise(losses)):
            return
        largest_before = max(n for n, *_ in list(past)[: -self.rises])
        smallest = max(norms[0], 1e-30)
        if norms[-1] < self.growth * smallest or norms[-1] < 3 * largest_before:
            return
        if losses[-1] < self.growth * max(losses[0], 1e-30) or min(moves[1:]) < self.moved:
            return
        self._say(
            event, norms, losses,
            f"The norm of the gradients has grown {norms[-1] / smallest:.0f} times in {self.rises} "
            f"steps and the loss with it; a step moves weights by {min(moves[1:]):.0%} of their size "
            "and more.",
        )  # fmt: skip

    def _at_once(self, event: Sample, past: deque[tuple[float, float, float]]) -> None:
        """One step that is out of all proportion to those before and to the weights themselves."""
        if not len(past) >= 3 or not math.isfinite(past[-1][0]):
            return
        norms, moves, losses = zip(*past, strict=True)
        usual, loss = (
            sorted(norms[:-1])[len(past) // 2 - 1],
            sorted(losses[:-1])[len(past) // 2 - 1],
        )
        if norms[-1] < self.burst * usual or losses[-1] < self.burst * loss or not usual * loss:
            return
        if moves[-1] >= self.thrown:
            self._say(
                event, norms[-6:], losses[-6:],
                f"The norm of the gradients is {norms[-1] / usual:.0f} times what was usual in the "
                f"{len(norms) - 1} steps before, the loss {losses[-1] / loss:.0f} times, and "
                f"this step moves weights by {moves[-1]:.0f} times their size.",
            )  # fmt: skip

    def _say(self, event: Sample, norms: Any, losses: Any, message: str) -> None:
        worst = max(zip(event.norms, event.parameters, strict=True), key=lambda pair: pair[0])[1]
        self.report(
            message, self.backward, parameters=self.doctor.names([worst]),
            fix_site=self.doctor.made_at.get(id(event.optimizer)), fix=self._fix(event),
            figures={"norms": [float(f"{n:.4g}") for n in norms],
                     "losses": [float(f"{v:.4g}") for v in losses]},
        )  # fmt: skip

    def _fix(self, event: Sample) -> str:
        """A learning rate with which the first step would have moved weights by a hundredth."""
        rates = {float(g.get("lr", 0.0) or 0.0) for g in event.optimizer.param_groups}
        first = self.past[id(event.optimizer)][0][1]
        if len(rates) != 1 or not (rate := rates.pop()) or not math.isfinite(first):
            return self.fix
        smaller = 10.0 ** math.floor(math.log10(rate * min(0.01 / max(first, 1e-30), 0.1)))
        kind = type(event.optimizer).__name__
        return f"optimizer = torch.optim.{kind}(model.parameters(), lr={smaller:g})  # not {rate:g}"


_FLAT = frozenset(
    (
        "Relu", "Threshold", "Hardtanh", "Tanh", "Sigmoid", "Relu6", "Hardswish", "Gelu", "Clamp",
        "ClampMin", "ClampMax", "Hardsigmoid", "Hardshrink", "Softshrink",
    )
)  # fmt: skip
_MODULE_HOOK = "BackwardHookFunctionBackward"
Stop = tuple[
    str, bool, Site | None
]  # what, whether it cannot be otherwise, and where it was written
_SOFTMAX = frozenset(("Softmax", "LogSoftmax"))
_PRODUCTS = frozenset(("Addmm", "Mm", "Bmm", "Mul", "Dot", "Linear", "Convolution"))


class VanishingOrDead(Rule):
    """A layer gets a gradient of exactly 0 for many steps, or one that moves none of its weights."""

    code = "TG802"
    name = "vanishing-or-dead"
    severity = "warning"
    why = (
        "A relu that is below 0 for every sample, or a tanh that is exactly 1, lets no gradient "
        "through; what lies before it never learns, and nothing brings it back."
    )
    quiet = (
        "A gradient of 0 in the first steps only (LoRA, residual branches that start at 0), losses "
        "with a weight of 0, experts that were not chosen, hinge losses that are met."
    )
    fix = "torch.nn.init.kaiming_normal_(layer.weight)  # and inputs of mean 0, variance 1"
    example = """
  torch.manual_seed(0)
  first, second = torch.nn.Linear(3, 8), torch.nn.Linear(8, 1)
- torch.nn.init.constant_(first.bias, -50.0)
  optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  for _ in range(12):
      optimizer.zero_grad()
      loss = torch.nn.functional.mse_loss(second(torch.relu(first(x))), y)
-     loss.backward()  # here
+     loss.backward()
      optimizer.step()
"""
    many = 7  # steps in a row
    nothing = 1e-7  # of the largest gradient, and of the weight's size: less than its rounding

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.stops: list[Stop] = []  # what let nothing through since the last step
        self.zero: dict[int, int] = {}  # parameter -> steps in a row with a gradient of exactly 0
        self.small: dict[int, int] = {}
        self.stopped = 0  # steps in a row in which something let nothing through
        self.nothing_moves = 0  # steps in a row in which every gradient was exactly 0
        self.backward: Site | None = None
        self.hooks: dict[
            int, Site | None
        ] = {}  # where hooks of parameters and modules were registered
        self.fed: set[int] = set()  # parameters with hooks that a gradient was on its way to

    def after_backward(self, event: Backward) -> None:
        self.backward = event.site

    def on_hook(self, event: Hook) -> None:
        if getattr(event.owner, "_backward_hooks", None):
            self.hooks[id(event.owner)] = event.site

    def _hooks(self, event: Backward, passage: Passage) -> None:
        """A hook of a module that gives zeros; and which parameters with hooks are given more than that."""
        for (node, _), left in zip(passage.node.next_functions, passage.left, strict=False):
            if node is None or left is None or not is_leaf_node(node):
                continue
            if node.variable._backward_hooks and largest(event.engine, left) > 0:
                self.fed.add(id(node.variable))
        if node_name(passage.node) != _MODULE_HOOK or max(passage.leaving, default=1.0) > 0.0:
            return
        if max(passage.arrived, default=0.0) > 0:
            sites = set(self.hooks.values())
            site = sites.pop() if len(sites) == 1 else line_of(passage.node)
            self.stops.append(("a backward hook of a module", True, site))

    def on_passage(self, event: Backward, passage: Passage) -> None:
        operation = node_name(passage.node)
        if self.hooks:
            self._hooks(event, passage)
        if operation in _SOFTMAX:
            self._softmax(passage)
        if operation in _FLAT:
            if max(passage.leaving, default=1.0) == 0.0 and max(passage.arrived, default=0.0) > 0:
                self.stops.append((passage.name, False, line_of(passage.node)))
        elif operation in _PRODUCTS and max(passage.arrived, default=0.0) > 0:
            # The gradients of both factors: what is added has always one.
            both = passage.left[-2:] if operation == "Addmm" else passage.left[:2]
            if all(g is not None and largest(event.engine, g) == 0.0 for g in both):
                self.stops.append((passage.name, False, line_of(passage.node)))

    def _softmax(self, passage: Passage) -> None:
        """A softmax over an axis of size one gives ones, whatever it is given."""
        axis, came = getattr(passage.node, "_saved_dim", None), passage.came[0]
        if axis is None or came is None or not came.dim():
            return
        axis = (int(axis) + 2**63) % 2**64 - 2**63  # PyTorch keeps -1 as an unsigned number
        if came.shape[axis] == 1 and came.numel() > 1:
            name = f"{passage.name}, over an axis of size one,"
            self.stops.append((name, True, line_of(passage.node)))

    def _all_dead(self, event: Sample, stops: list[Stop]) -> None:
        """Every gradient is exactly 0, step after step, because something lets nothing through."""
        is_met = event.loss == 0 and not any(by_shape for _, by_shape, _ in stops)  # a hinge
        self.nothing_moves = self.nothing_moves + 1 if stops and event.norms and not is_met else 0
        if self.nothing_moves == self.many:
            self.report(
                f"All {len(event.norms)} gradients have been exactly 0 for {self.many} steps: "
                f"{stops[0][0]} lets nothing through, and nothing can bring it back.",
                stops[0][2] or self.backward, parameters=self.doctor.names(event.parameters),
                figures={"operation": stops[0][0], "steps": self.many}, severity="error",
            )  # fmt: skip

    def before_step(self, event: Step) -> None:
        self.stopped = self.stopped + 1 if self.stops else 0

    def after_step(self, event: Step) -> None:
        is_next = self.many - 1 in (
            self.stopped,
            self.nothing_moves,
        )  # the line is told with the next
        self.doctor.lines.ask_while(is_next, event.engine, self.code)

    def on_sample(self, event: Sample) -> None:
        stops, self.stops = self.stops, []
        top = max((n for n in event.norms if math.isfinite(n)), default=0.0)
        if top == 0.0 or not self.doctor.pulse.is_thorough:
            self.zero, self.small = {}, {}
            self._all_dead(event, stops)
            return
        self.nothing_moves = 0
        rate = {
            id(p): float(g.get("lr", 0.0) or 0.0)
            for g in event.optimizer.param_groups
            for p in g["params"]
        }
        dead, vanished = [], []
        for p, norm, ratio in zip(event.parameters, event.norms, event.ratios, strict=True):
            self.zero[id(p)] = self.zero.get(id(p), 0) + 1 if norm == 0.0 else 0
            tiny = 0.0 < norm < self.nothing * top and ratio < self.nothing and rate[id(p)] > 0
            self.small[id(p)] = self.small.get(id(p), 0) + 1 if tiny else 0
            if self.zero[id(p)] >= self.many:
                dead.append(p)
            elif self.small[id(p)] >= self.many:
                vanished.append((p, norm))
        for p in dead:
            if id(p) in self.fed and p._backward_hooks:
                self.report(
                    f"A hook of this parameter has made its gradient exactly 0 for {self.many} steps, while "
                    "others learn.",
                    self.hooks.get(id(p)) or self.backward, parameters=self.doctor.names([p]),
                    key=(self.code, id(p), "hook"), figures={"steps": self.many},
                    fix="# let the hook keep what is to be trained, or freeze it with requires_grad_(False)",
                )  # fmt: skip
        if dead and stops and self.stopped >= self.many:
            names = self.doctor.names(dead)
            stop = next((s for s in stops if s[1]), stops[0])
            self.report(
                f"{len(dead)} parameters have had a gradient of exactly 0 for {self.many} steps, while "
                f"others learn: {stop[0]} lets nothing through.",
                (stop[2] if stop[1] else None) or self.backward, parameters=names, fix_site=stop[2],
                figures={"operation": stop[0], "steps": self.stopped},
            )  # fmt: skip
        if any(
            p.dim() > 1 for p, _ in vanished
        ):  # a bias before a normalisation has none by nature
            names = self.doctor.names(p for p, _ in vanished)
            least = min(n for _, n in vanished)
            self.report(
                f"The gradients of {len(vanished)} parameters are nothing ({least:.1e}) beside the "
                f"largest ({top:.1e}), and have moved no weight for {self.many} steps.",
                self.backward, parameters=names, key=(self.code, "vanishing"),
                figures={"norm": least, "largest norm": top},
            )  # fmt: skip
