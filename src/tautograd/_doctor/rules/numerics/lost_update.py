"""Steps that change nothing: rounded away, skipped for ever, or written into a copy: TG702."""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from typing import Any

from ...._user_code.sites import Site
from ...._user_code.source_lines import refuse_devices
from ...._user_code.stack import user_frames
from ...state.step_measures import part
from ...watch.discarded_results import new_discarded
from ...watch.events import Backward, Clear, Sample, Scaler, Schedule, Step
from ..base import Rule


class LostUpdate(Rule):
    """Weights stay as they are, though their gradients are not 0."""

    code = "TG702"
    name = "lost-update"
    why = (
        "A weight in bfloat16 has 8 bits: an update below half of its last one is rounded away, "
        "every time. Nothing is learned, and the loss only looks as if it had converged."
    )
    quiet = (
        "A learning rate of 0 in some groups, at first or under a scheduler, one that is still rising, "
        "optimizers of your own (which may round by "
        "chance or keep what was lost), and a few skipped steps of a GradScaler."
    )
    fix = (
        "model = model.float()  # and torch.autocast(..., dtype=torch.bfloat16) around the forward"
    )
    example = """
  torch.manual_seed(0)
- model = torch.nn.Linear(3, 1).bfloat16()
+ model = torch.nn.Linear(3, 1)
  optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.0)
  x, y = torch.randn(8, 3).bfloat16(), torch.randn(8, 1).bfloat16()
  for _ in range(8):
      optimizer.zero_grad()
-     loss = torch.nn.functional.mse_loss(model(x), y)
+     with torch.autocast("cpu", dtype=torch.bfloat16):
+         output = model(x.float())
+     loss = torch.nn.functional.mse_loss(output.float(), y.float())
      loss.backward()
-     optimizer.step()  # here
+     optimizer.step()
"""
    share = 0.9  # of the entries with a gradient that did not move
    low = 4  # steps in a row, for weights of less than 32 bits,
    full = 8  # and for others, if no weight moved at all
    skips = 8  # steps in a row that a scaler skipped

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.still: dict[int, int] = {}  # parameter -> samples in a row in which it stood still
        self.unmoved: dict[int, int] = {}  # optimizer -> samples in a row that moved nothing at all
        self.rates: dict[int, list[float]] = {}  # optimizer -> learning rates of the last sample
        self.steps: dict[int, Site | None] = {}  # where optimizers step
        self.scaler: Site | None = None
        self.frozen: dict[int, tuple[Any, int]] = {}  # parameter -> values, windows without a step
        self.written: Site | None = None
        self.resting: dict[int, _Resting] = {}  # optimizers whose learning rate has always been 0
        self.scheduled: set[int] = set()
        self.read: set[Any] = set()  # functions whose source was read for results thrown away
        self.any_moved = False  # whether a step has ever moved anything

    def on_schedule(self, event: Schedule) -> None:
        self.scheduled.add(id(event.optimizer))

    def before_step(self, event: Step) -> None:
        self.steps[id(event.optimizer)] = event.site
        for found in new_discarded(self, event, self.read):
            if not found.of_gradient:
                self.report(
                    found.message, found.site, parameters=self.doctor.names([found.parameter]),
                    fix=found.fix, why="clamp(), mul(), lerp() and their kin give a new tensor.",
                )  # fmt: skip

    # --- rounded away --------------------------------------------------------------------------

    def on_sample(self, event: Sample) -> None:
        optimizer = event.optimizer
        groups = optimizer.param_groups
        rates = [float(group.get("lr", 0.0) or 0.0) for group in groups]
        before, self.rates[id(optimizer)] = self.rates.get(id(optimizer)), rates
        rising = before is not None and len(before) == len(rates) and rates > before
        rate = {
            id(p): r for r, g in zip(rates, groups, strict=True) for p in g["params"]
        }  # fmt: skip
        own = type(optimizer).__module__.startswith(event.engine.__name__ + ".")
        self._rest(event, own and not any(rates) and id(optimizer) not in self.scheduled)
        moves = any(ratio > 0 for ratio in event.ratios)
        unmoved = self.unmoved[id(optimizer)] = (
            0 if moves else self.unmoved.get(id(optimizer), 0) + 1
        )
        short, long = [], []
        for p, norm, unchanged in zip(event.parameters, event.norms, event.unchanged, strict=True):
            if norm == 0:  # this step cannot tell
                continue
            lost = unchanged > self.share and math.isfinite(norm) and norm > 0
            if not lost or rising or not own or not rate.get(id(p)):
                self.still[id(p)] = 0
                continue
            count = self.still[id(p)] = self.still.get(id(p), 0) + 1
            if p.element_size() < 4:
                if count >= self.low:
                    short.append((p, unchanged))
            elif unchanged == 1.0 and count >= self.full:
                long.append((p, unchanged))
        found = short or (long if unmoved >= self.full else [])
        if found:
            self._say(event, found)
        self._overflow(event)

    # --- a learning rate of 0 ------------------------------------------------------------------

    def _rest(self, event: Sample, is_zero: bool) -> None:
        key = id(event.optimizer)
        moving = [n for n in event.norms if math.isfinite(n) and n > 0]
        if any(ratio != 0 for ratio in event.ratios):
            self.any_moved = True
        elif is_zero and moving:
            if key not in self.resting:
                self.resting[key] = _Resting(event, self.doctor)
            self.resting[key].samples += 1
            return
        self.resting.pop(key, None)

    def at_end(self) -> None:
        """Only now: a learning rate that began with 0 may have risen at any time."""
        for key, resting in self.resting.items():
            if self.any_moved or key in self.scheduled or resting.samples < self.full:
                continue
            self.report(
                f"The learning rate is 0 in all of {resting.samples} steps that were measured: no weight "
                "has moved, though the gradients are not 0.",
                self.steps.get(key), parameters=resting.names, fix_site=resting.made, step=resting.step,
                why="A step is the learning rate times a direction: with 0 it goes nowhere.",
                fix=f"optimizer = torch.optim.{resting.kind}(model.parameters(), lr=1e-3)  # not 0",
                key=(self.code, key), figures={"learning rate": 0.0, "steps": resting.samples},
            )  # fmt: skip

    # --- said ----------------------------------------------------------------------------------

    def _say(self, event: Sample, found: list[tuple[Any, float]]) -> None:
        if min(p.element_size() for p, _ in found) >= 4:
            self._say_full(event, found)
            return
        kinds = sorted({str(p.dtype).rpartition(".")[2] for p, _ in found})
        share = min(unchanged for _, unchanged in found)
        self.report(
            f"Of {len(found)} parameters in {' and '.join(kinds)} at least {share:.0%} of the entries "
            "that have a gradient are not moved by the step, again and again: the update is less than "
            "their rounding.",
            self.steps.get(id(event.optimizer)), parameters=self.doctor.names(p for p, _ in found),
            fix_site=self.doctor.made_at.get(id(event.optimizer)),
            figures={"share unmoved": round(share, 4), "dtypes": kinds},
        )  # fmt: skip

    def _say_full(self, event: Sample, found: list[tuple[Any, float]]) -> None:
        """Weights of full precision: it is the step that is too small."""
        kinds = sorted({str(p.dtype).rpartition(".")[2] for p, _ in found})
        rates = sorted({float(g.get("lr", 0.0) or 0.0) for g in event.optimizer.param_groups})
        said = " and ".join(f"{rate:g}" for rate in rates)
        self.report(
            f"No entry of {len(found)} parameters in {' and '.join(kinds)} is moved by the step, again "
            f"and again, though the gradients are not 0: with a learning rate of {said} the update is "
            "below half a unit in the last place of the weights.",
            self.steps.get(id(event.optimizer)), parameters=self.doctor.names(p for p, _ in found),
            fix_site=self.doctor.made_at.get(id(event.optimizer)),
            why="An update that is less than half of a weight's last digit is rounded away, every time: "
            "the learning rate is too small for anything to be learned.",
            fix=f"optimizer = torch.optim.{type(event.optimizer).__name__}(model.parameters(), lr=1e-3)"
            f"  # not {said}",
            figures={"learning rate": rates, "dtypes": kinds},
        )  # fmt: skip

    def _overflow(self, event: Sample) -> None:
        """Finite gradients and weights that are not: eps is 0 in the weights' dtype."""
        for p, norm, ratio in zip(event.parameters, event.norms, event.ratios, strict=True):
            if not math.isfinite(norm) or math.isfinite(ratio) or p.element_size() >= 4:
                continue
            for group in event.optimizer.param_groups:
                eps = group.get("eps")
                if eps and any(q is p for q in group["params"]):
                    if not float(event.engine.tensor(eps, dtype=p.dtype).item()):
                        self.report(
                            f"eps={eps} is 0 in {str(p.dtype).rpartition('.')[2]}: the update divides "
                            "by 0.",
                            self.steps.get(id(event.optimizer)),
                            parameters=self.doctor.names([p]),
                            fix_site=self.doctor.made_at.get(id(event.optimizer)),
                        )
                    return

    # --- skipped for ever ----------------------------------------------------------------------

    def on_scaler(self, event: Scaler) -> None:
        if event.how == "step":
            self.scaler = event.site
        skipped = self.doctor.numbers.skipped
        if event.how == "update" and skipped >= self.skips and self._is_hopeless(event):
            self.report(
                f"The scaler has skipped {skipped} steps in a row: the scaled gradients are never "
                "finite, and nothing is learned.",
                self.scaler, figures={"skipped": skipped},
                fix="scaler.update()  # lets the scale fall; a NaN has another cause",
            )  # fmt: skip

    def _is_hopeless(self, event: Scaler) -> bool:
        """Whether the scale does not fall, or has fallen without any use."""
        return self.doctor.numbers.skipped >= 24 or not self._falls(event.scaler)

    def _falls(self, scaler: Any) -> bool:
        now = float(scaler.get_scale())
        last, self._scale = getattr(self, "_scale", math.inf), now
        return now < last

    # --- written nowhere -----------------------------------------------------------------------

    def before_backward(self, event: Backward) -> None:
        if self.doctor.steps == 0 and len(self.frozen) and self.written is None:
            self.written = _copy_written(user_frames())

    def before_clear(self, event: Clear) -> None:
        if self.doctor.steps:
            return
        held = self.doctor.held()
        windows = []
        for p in event.parameters:
            account = self.doctor.ledger.account(p)
            if p.grad is None or not account.added:
                continue
            if id(p) in held:
                return
            values = part(p)[:64].tolist()  # a new .data does not move the version
            before, count = self.frozen.get(id(p), (None, 0))
            count = count + 1 if values == before else 1
            self.frozen[id(p)] = values, count
            windows.append((count, p))
        if windows and min(count for count, _ in windows) >= self.full:
            site = self.written or _copy_written(user_frames())
            if site is not None:
                self.report(
                    "The update is written into a new tensor or a copy: in "
                    f"{windows[0][0]} backwards no parameter has moved.",
                    site, parameters=self.doctor.names(p for _, p in windows),
                    fix="p.sub_(lr * p.grad)  # in place, under torch.no_grad()",
                )  # fmt: skip


class _Resting:
    """An optimizer whose learning rate is 0, as long as nothing else was seen."""

    def __init__(self, event: Sample, doctor: Any) -> None:
        self.samples = 0
        self.step = doctor.steps
        self.kind = type(event.optimizer).__name__
        self.names = doctor.names(event.parameters)
        self.made = doctor.made_at.get(id(event.optimizer))


def _copy_written(frames: list[Any]) -> Site | None:
    """The statement that subtracts something with `.grad` from a plain name, and not in a parameter."""
    for frame in frames:
        refuse_devices(frame.f_code.co_filename)
        try:
            lines, first = inspect.getsourcelines(frame.f_code)
            tree = ast.parse(textwrap.dedent("".join(lines)))
        except (OSError, SyntaxError, TypeError):
            continue
        first = max(first, 1)
        for node in ast.walk(tree):
            is_assigned = (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
                and isinstance(node.value, ast.BinOp)
                and isinstance(node.value.op, ast.Sub)
            )
            is_subtracted = (
                isinstance(node, ast.AugAssign)
                and isinstance(node.op, ast.Sub)
                and isinstance(node.target, ast.Name)
            )
            if (is_assigned or is_subtracted) and any(
                isinstance(inner, ast.Attribute) and inner.attr == "grad"
                for inner in ast.walk(node)
            ):
                line = first + node.lineno - 1  # type: ignore[attr-defined]
                return Site(frame.f_code.co_filename, line, frame.f_code.co_name)
    return None
