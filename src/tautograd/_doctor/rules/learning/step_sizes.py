"""Steps out of all proportion to the weights: TG803, and steps that climb the error: TG804."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import median
from typing import Any

from ...._user_code.sites import Site
from ...state.gradient_ledger import parameters_of
from ...state.parameter_owners import Owners
from ...state.step_measures import norms
from ...watch.events import Backward, Sample, Schedule, Step
from ...watch.graph_walk import leaves, node_name
from ..base import Rule
from ..training_loop import training


class _Run:
    """What is known of one optimizer's steps."""

    def __init__(self, event: Sample, made: Site | None) -> None:
        self.kind, self.made = type(event.optimizer).__name__, made
        self.first = event.step
        self.losses: list[float] = []
        self.moves: list[float] = []  # the largest update against its weight, matrices only
        self.rates: list[float] = []
        self.gradients: list[float] = []
        self.weights = [p for p in event.parameters if p.dim() > 1]
        self.sizes = norms(event.engine, [p.detach() for p in self.weights]) if self.weights else []
        self.names: list[str] = []
        self.told = False


class RateOutOfScale(Rule):
    """Updates that are nothing beside the weights, or throw them about, or a decay that eats them."""

    code = "TG803"
    name = "rate-out-of-scale"
    severity = "warning"
    why = (
        "A step usually moves weights by a thousandth of their size or so. At a millionth of that "
        "nothing is learned in any run; at a third of it every step undoes the one before."
    )
    quiet = (
        "Rates under a schedule, small ones of a fine-tuning (1e-7 and more), the first steps, large steps "
        "under which the loss does not grow, and optimizers of your own."
    )
    sure = "The sizes are measured; that they are not meant is likely."
    refute = "The loss comes down in the same run."
    fix = "optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
- optimizer = torch.optim.Adam(model.parameters(), lr=10.0)
+ optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
  x, y = torch.randn(32, 3), torch.randn(32, 1)
  for _ in range(40):
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(model(x), y).backward()
-     optimizer.step()  # here
+     optimizer.step()
"""
    enough = 20  # measured steps before anything is said
    tiny = 1e-6  # of a weight's size, in a step: less is nothing,
    small = 1e-7  # where the learning rate is no more than this
    large = 0.3
    thrown = 3.0  # times a weight's size, in one of the first steps
    worse = 10.0  # times the first loss
    eaten = 0.1  # of the weights' size is left
    decay = 0.05  # of the weights goes in each step

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.runs: dict[int, _Run] = {}
        self.scheduled: set[int] = set()
        self.steps: dict[int, Site | None] = {}

    def on_schedule(self, event: Schedule) -> None:
        self.scheduled.add(id(event.optimizer))

    def before_step(self, event: Step) -> None:
        self.steps[id(event.optimizer)] = event.site

    def on_sample(self, event: Sample) -> None:
        optimizer = event.optimizer
        if not type(optimizer).__module__.startswith(event.engine.__name__ + "."):
            return
        run = self.runs.get(id(optimizer))
        if run is None:
            made = self.doctor.made_at.get(id(optimizer))
            run = self.runs[id(optimizer)] = _Run(event, made)
        moved = [
            r for r, p in zip(event.ratios, event.parameters, strict=True)
            if p.dim() > 1 and math.isfinite(r)
        ]  # fmt: skip
        if run.told or not moved or len(run.moves) > 200:
            return
        run.moves.append(max(moved))
        run.losses.append(event.loss)
        run.rates.append(max(float(g.get("lr", 0.0) or 0.0) for g in optimizer.param_groups))
        run.gradients.append(max((n for n in event.norms if math.isfinite(n)), default=0.0))
        if len(run.moves) >= self.enough:
            run.names = self.doctor.names(event.parameters)
            self._judge(event, run)

    def _judge(self, event: Sample, run: _Run) -> None:
        losses = [v for v in run.losses if math.isfinite(v)]
        first, last = median(losses[:3] or [0.0]), median(losses[-5:] or [0.0])
        usual = median(run.moves[3:])
        thrown = max(run.moves[:3])
        if thrown > self.thrown and self._is_worse(losses):
            self._say(
                event, run,
                f"One of the first steps moves weights by {thrown:.0f} times their size, and the loss is "
                f"{max(losses[1:4]) / losses[0]:.0f} times what it was after it.",
                f"lr={_power(run.rates[0] * 0.003 / thrown)}", {"moved": thrown, "losses": losses[:6]},
            )  # fmt: skip
        elif usual > self.large and first > 0 and last > self.worse * first:
            self._say(
                event, run,
                f"A step moves weights by {usual:.0%} of their size, and after {len(run.moves)} steps the "
                f"loss is {last / first:.0f} times what it was.",
                f"lr={_power(run.rates[-1] * 0.003 / usual)}", {"moved": usual, "loss": [first, last]},
            )  # fmt: skip
        else:
            self._eaten(event, run)

    def _is_worse(self, losses: list[float]) -> bool:
        """Thrown up at once, and not come down again soon."""
        first = losses[0] if losses else 0.0
        return first > 0 and max(losses[1:4]) > 5 * first and median(losses[2:15]) > 2 * first

    def _eaten(self, event: Sample, run: _Run) -> None:
        if run.kind not in ("SGD", "AdamW") or not run.sizes or min(run.sizes) == 0.0:
            return
        taken = min(
            float(g.get("lr", 0.0)) * float(g.get("weight_decay", 0.0) or 0.0)
            for g in event.optimizer.param_groups
        )
        if taken < self.decay:
            return
        now = norms(event.engine, [p.detach() for p in run.weights])
        left = max(b / a for a, b in zip(run.sizes, now, strict=True))
        if left < self.eaten:
            self._say(
                event, run,
                f"Weight decay takes {taken:.0%} of the weights in every step: after {len(run.moves)} steps "
                f"{left:.1%} of them is left.",
                "weight_decay=1e-2", {"taken": taken, "left": left},
            )  # fmt: skip

    def at_end(self) -> None:
        for key, run in self.runs.items():
            rate = max(run.rates, default=1.0)
            if run.told or key in self.scheduled or len(run.moves) < self.enough or not rate:
                continue
            if rate > self.small or max(run.moves) > self.tiny or min(run.gradients) < 1e-6:
                continue
            self.report(
                f"With a learning rate of {rate:g} a step moves no weight by more than {max(run.moves):.0e} "
                f"of its size: {self.doctor.steps} steps have changed nothing.",
                self.steps.get(key), parameters=run.names, fix_site=run.made, step=run.first,
                fix=f"optimizer = torch.optim.{run.kind}(model.parameters(), lr=1e-3)  # not {rate:g}",
                figures={"learning rate": rate, "moved": max(run.moves)},
            )  # fmt: skip

    def _say(
        self, event: Sample, run: _Run, message: str, better: str, figures: dict[str, Any]
    ) -> None:
        run.told = True
        self.report(
            message, self.steps.get(id(event.optimizer)), parameters=run.names, fix_site=run.made,
            fix=f"optimizer = torch.optim.{run.kind}(model.parameters(), {better})", figures=figures,
        )  # fmt: skip


def _power(value: float) -> str:
    return f"{10.0 ** math.floor(math.log10(max(value, 1e-8))):g}"


_ERRORS = frozenset(
    (
        "MseLoss", "NllLoss", "NllLoss2D", "L1Loss", "SmoothL1Loss", "HuberLoss",
        "BinaryCrossEntropy", "BinaryCrossEntropyWithLogits",
    )
)  # fmt: skip


class Ascent(Rule):
    """An error, such as a cross entropy, is made larger: its sign is turned, or the optimizer maximizes."""

    code = "TG804"
    name = "error-maximized"
    why = (
        "A step goes against the gradient. With a minus before an error, or with maximize=True, it goes up: "
        "the model learns to be as wrong as it can."
    )
    quiet = (
        "Losses that have other terms, rewards and likelihoods, adversaries (another optimizer is there, or "
        "what is moved is an input), and errors that do not grow."
    )
    sure = "Certain that the error is what is maximized, and that it grows."
    refute = "It is meant: something is to be unlearned."
    fix = "loss = criterion(output, target)  # without the minus"
    example = training(
        """
  for _ in range(30):
      optimizer.zero_grad()
-     loss = -torch.nn.functional.mse_loss(model(x), y)
-     loss.backward()  # here
+     loss = torch.nn.functional.mse_loss(model(x), y)
+     loss.backward()
      optimizer.step()
""",
        lr=0.05,
        data="x, y = torch.randn(32, 3), torch.randn(32, 1)",
    )
    enough = 15  # measured steps
    share = 0.8  # of the steps in which the error grew,
    grown = 1.5  # and to so many times the first

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.sign = 0  # of the error in the loss: 0 if the loss is something else
        self.leaves: list[Any] = []
        self.backward: Site | None = None
        self.errors: list[float] = []
        self.said = False
        self.stepped: set[int] = set()  # optimizers

    def after_step(self, event: Step) -> None:
        self.stepped.add(id(event.optimizer))

    def before_backward(self, event: Backward) -> None:
        if self.said or not self.doctor.pulse.is_thorough:
            return
        self.sign = _sign(event.roots)
        self.backward = event.site
        self.leaves = leaves(event.roots) if self.sign else []

    def on_sample(self, event: Sample) -> None:
        groups = event.optimizer.param_groups
        climbs = all(bool(g.get("maximize", False)) for g in groups)
        if self.said or not self.sign or climbs != (self.sign > 0):
            return
        self.errors.append(abs(event.loss))
        if len(self.errors) >= self.enough and self._grows() and self._is_alone(event):
            self.said = True
            self.report(
                f"{'The optimizer maximizes' if climbs else 'What is minimized is minus'} an error: it has "
                f"grown from {self.errors[0]:.3g} to {self.errors[-1]:.3g}.",
                self.doctor.made_at.get(id(event.optimizer)) if climbs else self.backward,
                parameters=self.doctor.names(event.parameters),
                fix="optimizer = ...  # without maximize=True" if climbs else self.fix,
                figures={"error": [self.errors[0], self.errors[-1]]},
            )  # fmt: skip

    def _grows(self) -> bool:
        errors = self.errors
        rises = sum(b > a for a, b in pairwise(errors))
        return rises >= self.share * (len(errors) - 1) and errors[-1] > self.grown * errors[0] > 0

    def _is_alone(self, event: Sample) -> bool:
        """Whether one optimizer trains all that the error depends on, and that is a model."""
        held = {id(p) for p in parameters_of(event.optimizer)}
        owners = Owners(self.doctor)
        mine = all(id(leaf) in held and owners.owned(leaf) for leaf in self.leaves)
        return len(self.stepped) == 1 and bool(self.leaves) and mine


def _sign(roots: tuple[Any, ...]) -> int:
    """1 if the loss is an error, -1 if it is minus an error, 0 if it is anything else."""
    node, sign = (roots[0].grad_fn, 1) if len(roots) == 1 else (None, 1)
    for _ in range(4):
        if node is None:
            return 0
        name = node_name(node)
        if name in _ERRORS:
            return sign
        if name in ("Pow", "Abs"):
            return sign if _is_error_by_hand(node) else 0
        if name in ("Index", "Gather") and node_name(node.next_functions[0][0]) == "LogSoftmax":
            return -sign  # the likelihood of the right class: minus an error
        if name not in ("Neg", "Mean", "Sum"):
            return 0
        sign = -sign if name == "Neg" else sign
        node = node.next_functions[0][0]
    return 0


def _is_error_by_hand(node: Any) -> bool:
    """Whether a square or an absolute value is of a difference to what has no history: a target."""
    if node_name(node) == "Pow" and getattr(node, "_saved_exponent", None) != 2:
        return False
    given = node.next_functions[0][0]
    if given is None or node_name(given) != "Sub":
        return False
    return sum(n is not None for n, _ in given.next_functions) == 1
