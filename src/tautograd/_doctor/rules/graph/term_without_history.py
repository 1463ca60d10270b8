"""Terms of a loss that were cut off from what they depend on: TG410.

A parameter that another term trains does not starve, so TG401 has nothing to say of it. But a term of
which nothing is recorded is a number that is added to the loss: the gradient is the same without it. If
that number depends on what the step moves, somebody meant it to be made smaller.
"""

from __future__ import annotations

import weakref
from typing import Any

from ...._user_code.sites import Site
from ...watch.events import Backward, Step
from ...watch.graph_walk import node_name
from ...watch.iteration_trace import Addend, Tracer
from ...watch.source_flow import is_conditional
from ..base import Rule
from .graph_cut import mended, named

SUSPICION = 2  # backwards of a line with a number in the sum, before an iteration is traced
TRACES = 3  # iterations that are traced at most
_DEPTH = 40  # nodes of a sum that are looked at


class TermWithoutHistory(Rule):
    """A term of the loss depends on what the step moves, and has no history: it teaches nothing."""

    code = "TG410"
    name = "term-without-history"
    why = (
        "A loss is a sum, and its gradient is the sum of the gradients of its terms. A term that was computed "
        "from detached values, in NumPy, under no_grad, or from a gradient without create_graph=True is a "
        "number: it is shown in the loss, and pushes nobody."
    )
    quiet = (
        "Numbers that depend on no parameter of the step, terms that were detached as a whole (to be shown), "
        "constants that are used in another place of the formula too, cuts under a condition, and losses of which "
        "no term gives a gradient (TG409)."
    )
    sure = (
        "Certain: nothing leads from this term to a parameter, so the step is the same without it."
    )
    fix = "penalty = criterion(features, target)  # of the features themselves, without detach()"
    example = """
  torch.manual_seed(0)
  model, judge = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1).requires_grad_(False)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
  x, y = torch.randn(8, 3), torch.randn(8, 4)
  for _ in range(9):
      optimizer.zero_grad()
      out = model(x)
-     shown = out.detach()  # here
-     loss = torch.nn.functional.mse_loss(out, y) + judge(shown).square().mean()
+     loss = torch.nn.functional.mse_loss(out, y) + judge(out).square().mean()
      loss.backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.seen: dict[Site | None, int] = {}  # backwards of a sum with a number in it
        self.tracer: Tracer | None = None
        self.traced: Any = None  # the optimizer whose iteration is traced
        self.traces = 0
        self.found: list[Addend] = []

    def before_backward(self, event: Backward) -> None:
        if len(event.roots) != 1 or not (self.doctor.pulse.close or self.tracer):
            return
        sums = _sums(event.roots[0].grad_fn)
        if not any(None in (n for n, _ in node.next_functions) for node in sums):
            return
        self.seen[event.site] = self.seen.get(event.site, 0) + 1
        if self.tracer is not None:
            for addend in self.tracer.addends:
                total = addend.total()
                if total is not None and any(total.grad_fn is node for node in sums):
                    self.found.append(addend)

    def before_step(self, event: Step) -> None:
        if self.tracer is None:
            return
        if self.traced() is not event.optimizer:
            self.tracer.is_paused = True
            return
        self._stop()
        found, self.found = self.found, []
        if found and not any(p.grad is not None and bool(p.grad.any()) for p in event.parameters):
            return  # no term teaches anything: TG409 says why
        mine = {id(p): p for p in event.parameters}
        for addend in found:
            if addend.is_alone:
                self._judge(addend, mine)

    def after_step(self, event: Step) -> None:
        if self.tracer is not None:
            self.tracer.is_paused = False
        elif self.traces < TRACES and max(self.seen.values(), default=0) >= SUSPICION:
            moved = [p for p in event.parameters if p.requires_grad]
            tracer = Tracer(event.engine, moved, self.doctor)
            if moved and tracer.start():
                self.tracer, self.traced = tracer, weakref.ref(event.optimizer)
                self.traces += 1
                self.seen = {}

    def _judge(self, addend: Addend, mine: dict[int, Any]) -> None:
        cuts = [cut for cut in addend.cuts if cut.site is not None and cut.of & mine.keys()]
        # The last call that cut the most of them off: a layer may detach something on its way.
        cut = max(cuts, key=lambda c: (len(c.of & mine.keys()), c.number), default=None)
        if cut is None or is_conditional(cut.stack):
            return
        parameters = [mine[i] for i in cut.of if i in mine]
        self.report(
            f"A term of the loss depends on {len(parameters)} parameters, and its history ends in this line, at "
            f"{named(cut)}: it is a number to the gradient, and has no effect.",
            cut.site, parameters=self.doctor.names(parameters), fix=mended(cut),
            figures={"parameters": len(parameters)},
        )  # fmt: skip

    def _stop(self) -> None:
        if self.tracer is not None:
            self.tracer.stop()
            self.tracer = None

    def at_end(self) -> None:
        self._stop()


def _sums(node: Any) -> list[Any]:
    """The nodes of sums and differences that a loss ends in, behind numbers they are multiplied by."""
    found: list[Any] = []
    waiting = [node]
    while waiting and len(found) < _DEPTH:
        node = waiting.pop()
        if node is None:
            continue
        given = [n for n, _ in node.next_functions if n is not None]
        name = node_name(node)
        if name in ("Add", "Sub", "Rsub"):
            found.append(node)
            waiting += given
        elif name in ("Mul", "Div", "Neg") and len(given) == 1:
            waiting += given
    return found
