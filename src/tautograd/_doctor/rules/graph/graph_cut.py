"""Graphs that are cut between a parameter and the loss: TG401.

Suspected of it are parameters that an optimizer holds and that never got a gradient in its first steps.
The next iteration is then traced, call by call: if the loss depends on their values but not through
the graph, the call where the graph ends is named, once some more steps have shown that it stays so.
"""

from __future__ import annotations

import ast
import weakref
from typing import Any

from ...._user_code.sites import Site
from ...._verify.locate.leaving import WITHOUT_SLOPE
from ...state.parameter_owners import Owners, is_resting
from ...watch.backward_flow import Passage
from ...watch.events import Backward, Clear, Step
from ...watch.graph_walk import leaves, leaves_of
from ...watch.iteration_trace import Arrival, Cut, Tracer, has_steps, live_leaves
from ...watch.source_flow import is_conditional
from ...watch.syntax import function_around, nodes_in
from ..base import Rule
from .cut_by_hand import CutByHand
from .mended_line import without_cut
from .wrong_backward import has_own_backward, line_of_backward

SUSPICION = 2  # steps without a gradient before an iteration is traced,
PATIENCE = 8  # steps of all optimizers before it is told: a warm-up may be meant;
AT_LEAST = 4  # of them, of this one
TRACES = 5  # iterations that are traced at most
WALKS = 4  # backwards whose graph is searched for operations without slope

_HOW = {
    "data": ".data",
    "__float__": "float()",
    "__int__": "int()",
    "__array__": "a NumPy array",
    "no_grad": "a part that runs without recording (no_grad, or a checkpoint)",
    "grad": "autograd.grad() without create_graph=True",
    "Parameter": "a leaf that was given its value (a Parameter made anew, or .data)",
    "gt": "a comparison",
    "lt": "a comparison",
    "ge": "a comparison",
    "le": "a comparison",
    "eq": "a comparison",
    "ne": "a comparison",
}


_CUTS = ("detach", "data", "item", "numpy", "tolist")
_INSTEAD = {
    "detach": "use the tensor itself, all the way: without detach(), and without what it was for",
    "item": "use the tensor itself, not its number: without .item()",
    "tolist": "use the tensor itself, not its numbers: without .tolist()",
    "data": "use the tensor itself, not its .data",
    "numpy": "compute with the tensor itself, not with a NumPy array",
    "__array__": "compute with the tensor itself, not with a NumPy array",
    "__float__": "use the tensor itself, not its number: without float()",
    "__int__": "use the tensor itself, not its number: without int()",
    "no_grad": "run this part with gradients: without torch.no_grad()",
    "grad": "say create_graph=True, so that the gradient has a history as well",
    "Parameter": "use the computed tensor itself, not a Parameter that was given its value",
    "argmax": "take a soft choice, softmax(scores), in the place of argmax",
}


def named(cut: Cut) -> str:
    """How the graph was left, in words."""
    return _HOW.get(cut.how, f"{cut.how}()")


def mended(cut: Cut) -> str:
    """The line itself without what cuts, or what to do instead."""
    text = cut.site.text if cut.site is not None else ""
    code = without_cut(text.partition("  #")[0]) if cut.how in _CUTS else None
    if code is not None:
        note = "the tensor, not its number" if cut.how == "item" else f"without {named(cut)}"
        return f"{code}  # {note}"
    if cut.how in _INSTEAD:
        return f"# {_INSTEAD[cut.how]}"
    if cut.how in WITHOUT_SLOPE:
        return "# train with the value itself; round only what is shown or stored"
    if _HOW.get(cut.how) == "a comparison":
        return "# use something smooth, such as sigmoid, in the place of the comparison"
    return f"# compute this without {_HOW.get(cut.how, cut.how + '()')}, so that the graph goes on"


def _place(cut: Cut) -> Site | None:
    """The line to name: of a Parameter that its function makes, where that is written."""
    function = function_around(cut.site) if cut.site is not None else None
    if cut.how != "Parameter" or cut.site is None or function is None:
        return cut.site
    made = [
        node.lineno
        for node in nodes_in(function)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Parameter")
    ] or [
        node.lineno
        for node in nodes_in(function)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).endswith(".data")
    ]
    return Site(cut.site.file, made[0], cut.site.function) if len(made) == 1 else cut.site


class _Case:
    """What is known of one optimizer's starved parameters."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = weakref.ref(optimizer)
        self.steps = 0  # of the optimizer, with starved parameters
        self.traced = False
        self.cuts: list[tuple[Cut, list[Any]]] = []  # and weak references to what it starves
        self.aside: tuple[Site | None, list[Any]] | None = None  # a loss of its own without a path
        self.told = False


class GraphCut(Rule):
    """The loss depends on a parameter, but the graph was cut on the way: it gets no gradient."""

    code = "TG401"
    name = "graph-cut"
    why = (
        "detach(), .data, item(), NumPy, no_grad, argmax and comparisons hand on a value without its "
        "history. If that is the only way from a parameter to the loss, it never learns, although "
        "the loss depends on it; round() has a history, but its slope is zero."
    )
    quiet = (
        "Parameters that get a gradient on any other way, or now and then; modules whose output is "
        "not in the loss, that do not run, or that are in eval mode; cuts under a condition."
    )
    fix = "features = backbone(x)  # without detach()"
    example = """
  torch.manual_seed(0)
  backbone, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
  optimizer = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.01)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  for _ in range(9):
      optimizer.zero_grad()
-     features = torch.tanh(backbone(x)).detach()  # here
+     features = torch.tanh(backbone(x))
      torch.nn.functional.mse_loss(head(features), y).backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.cases: dict[int, _Case] = {}
        self.tracer: Tracer | None = None
        self.traced: Any = None  # the optimizer whose iteration is traced
        self.traces = 0
        self.walks = 0
        self.flat: dict[int, Any] = {}  # parameters behind operations without slope
        self.sloped: set[int] = set()  # parameters that a gradient gets to
        self.backwards = 0
        self.sites: list[Site | None] = []  # of the backwards that were traced
        self.by_hand = CutByHand(doctor)
        self.refused: dict[int, Any] = {}  # parameters for which a Function's backward gave None
        self.cleared = self.others = 0  # those before the last clear, and another optimizer's step

    def after_backward(self, event: Backward) -> None:
        self.by_hand.after_backward(event)

    def before_backward(self, event: Backward) -> None:
        self.backwards += 1
        for cut, starved in self.by_hand.before_backward(event):
            self._say(cut, starved, self.doctor.names(starved), self.backwards)
        if self.tracer is not None:
            self.tracer.arrive(event.roots)
            self.sites.append(event.site)
        if self.walks >= WALKS:
            return
        self.walks += 1
        if has_steps(event.roots):
            live = {id(leaf) for leaf in live_leaves(event.roots)}
            self.sloped |= live
            for leaf in leaves(event.roots):
                if id(leaf) not in live:
                    self.flat[id(leaf)] = weakref.ref(leaf)
        else:
            self.sloped.update(id(leaf) for leaf in leaves(event.roots))

    def on_passage(self, event: Backward, passage: Passage) -> None:
        """A Function of the user's own whose backward gives None on the way to a parameter."""
        cls = getattr(passage.node, "_forward_cls", None)
        if not isinstance(cls, type) or not has_own_backward(cls):
            return
        for (node, _), left in zip(passage.node.next_functions, passage.left, strict=False):
            if node is not None and left is None:
                self.refused.update((id(leaf), cls) for leaf in leaves_of(node, 200))

    def before_clear(self, event: Clear) -> None:
        optimizer = self.traced() if self.tracer is not None else None
        if optimizer is not None:
            held = {id(p) for group in optimizer.param_groups for p in group["params"]}
            if any(id(p) in held for p in event.parameters):
                self.cleared = len(self.sites)

    def before_step(self, event: Step) -> None:
        if self.tracer is None:
            return
        if self.traced() is not event.optimizer:
            self.others, self.tracer.is_paused = len(self.sites), True
            return
        tracer, self.tracer = self.tracer, None
        tracer.stop()
        self._conclude(event, tracer)

    # --- suspicion -----------------------------------------------------------------------------

    def _starved(self, parameters: list[Any]) -> list[Any]:
        found = []
        account = self.doctor.ledger.account
        for p in parameters:
            if not p.requires_grad or not p.numel():
                continue
            if p.grad is None:
                if not account(p).seen:
                    found.append(p)
            elif self.flat and id(p) in self.flat and id(p) not in self.sloped:
                found.append(p)
        return found

    def after_step(self, event: Step) -> None:
        if self.tracer is not None:
            self.tracer.is_paused = False
        case = self.cases.get(id(event.optimizer))
        if case is None or case.optimizer() is not event.optimizer:
            case = self.cases[id(event.optimizer)] = _Case(event.optimizer)
        found = case.cuts or case.aside or self.refused
        if case.told or (case.traced and not found and self.tracer is None):
            return
        starved = self._starved(event.parameters) if self.backwards else []
        if not starved:
            case.told = case.steps > 0
            return
        case.steps += 1
        if case.steps >= SUSPICION and not case.traced and self.traces < TRACES:
            if self.tracer is None and not self._is_compiled():
                tracer = Tracer(event.engine, starved, self.doctor)
                if tracer.start():
                    self.tracer, self.traced = tracer, weakref.ref(event.optimizer)
                    case.traced = True
                    self.traces += 1
                    self.sites, self.cleared, self.others = [], 0, 0
        elif case.steps >= AT_LEAST and self.doctor.steps >= PATIENCE:
            self._tell(case, event.parameters)

    def _is_compiled(self) -> bool:
        """Compiled code cannot be watched call by call."""
        alive = (m for reference in self.doctor.models if (m := reference()) is not None)
        return any(type(m).__name__ == "OptimizedModule" for m in alive)

    # --- what the trace shows ------------------------------------------------------------------

    def _own(self, tracer: Tracer) -> list[tuple[Arrival, Site | None]]:
        """The backwards whose gradients this step is to use: what was cleared, and what another
        optimizer has stepped on, is another loss's business."""
        arrived = list(zip(tracer.arrivals, self.sites, strict=True))
        return arrived[max(self.cleared, self.others) :] or arrived[self.cleared :] or arrived

    def _conclude(self, event: Step, tracer: Tracer) -> None:
        case = self.cases[id(event.optimizer)]
        own = self._own(tracer)
        live = frozenset().union(*(a.live for a in tracer.arrivals))
        cuts = {cut for a, _ in own for cut in a.cuts}
        starved = [p for p in self._starved(event.parameters) if id(p) not in live]
        by_line: dict[Any, tuple[Cut, dict[int, Any]]] = {}
        for cut in cuts:
            if cut.site is None or is_conditional(cut.stack):
                continue
            mine = {id(p): p for p in starved if id(p) in cut.of}
            if mine:
                by_line.setdefault(cut.site, (cut, {}))[1].update(mine)
        case.cuts = [(cut, [weakref.ref(p) for p in m.values()]) for cut, m in by_line.values()]
        elsewhere = {i for a in tracer.arrivals for cut in a.cuts for i in cut.of}
        lost = [p for p in starved if id(p) in elsewhere]
        if not case.cuts and lost and len(starved) == len(event.parameters):
            # Another loss takes their values, as it should; their own does not.
            case.aside = own[-1][1], [weakref.ref(p) for p in lost]

    def _tell(self, case: _Case, parameters: list[Any]) -> None:
        case.told = True
        starved = {id(p): p for p in self._starved(parameters)}
        owners = Owners(self.doctor)
        others = [m for p in parameters if id(p) not in starved for m in owners.modules(p)]
        resting = is_resting(others)
        told: set[int] = set()
        if case.aside is not None:
            self._tell_aside(case.aside, starved, owners)
        for cls in {self.refused[i] for i in starved if i in self.refused}:
            mine = [p for i, p in starved.items() if self.refused.get(i) is cls]
            told |= {id(p) for p in mine}
            self._say_refused(cls, mine, owners.names(self.doctor, mine))
        for cut, references in sorted(case.cuts, key=lambda one: (-len(one[1]), one[0].site or ())):
            mine = [p for r in references if (p := r()) is not None and id(p) in starved]
            if not resting:
                mine = [p for p in mine if not is_resting(owners.modules(p))]
            if not mine or told >= {id(p) for p in mine}:
                continue
            told |= {id(p) for p in mine}
            self._say(cut, mine, owners.names(self.doctor, mine), case.steps)

    def _say(self, cut: Cut, starved: list[Any], names: list[str], steps: int) -> None:
        ends = "the slope is zero" if cut.how in WITHOUT_SLOPE else "the graph ends"
        self.report(
            f"The loss depends on {len(starved)} parameters that never get a gradient: {ends} in "
            f"this line, at {named(cut)}.",
            _place(cut), parameters=names, fix=mended(cut),
            figures={"starved": len(starved), "steps": steps},
        )  # fmt: skip

    def _say_refused(self, cls: type, starved: list[Any], names: list[str]) -> None:
        self.report(
            f"{cls.__name__}.backward gives None for what {len(starved)} parameters made: they never get a "
            "gradient, and an optimizer holds them.",
            line_of_backward(cls), parameters=names, figures={"starved": len(starved)},
            fix="# return the gradient of every input that is to be trained",
        )  # fmt: skip

    def _tell_aside(
        self, aside: tuple[Site | None, list[Any]], starved: dict[int, Any], owners: Owners
    ) -> None:
        site, references = aside
        mine = [p for r in references if (p := r()) is not None and id(p) in starved]
        if mine:
            self.report(
                f"The step after this backward is that of {len(mine)} parameters, and its loss depends "
                "on none of them: nothing that they make goes into it.",
                site, parameters=owners.names(self.doctor, mine),
                why="An optimizer moves its parameters by the gradient of the loss before its step. "
                "What they make goes only into another loss, which is detached from them, as it should be.",
                fix="# compute this loss from what these parameters make, without detach()",
                figures={"parameters": len(mine)},
            )  # fmt: skip

    def at_end(self) -> None:
        self.by_hand.stop()
        if self.tracer is not None:
            self.tracer.stop()
            self.tracer = None
        for reference in self.doctor.optimizers:
            optimizer = reference()
            case = self.cases.get(id(optimizer))
            found = case is not None and (case.cuts or case.aside or self.refused)
            if case is not None and found and not case.told and case.steps >= AT_LEAST:
                held = [p for group in optimizer.param_groups for p in group["params"]]
                self._tell(case, held)
