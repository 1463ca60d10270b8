"""What is made anew again and again, and freezing that freezes nothing: TG306, TG307."""

from __future__ import annotations

import ast
from difflib import SequenceMatcher
from typing import Any

from ...._user_code.sites import Site, site_at
from ...._user_code.stack import user_frames
from ...state.parameter_owners import roots
from ...watch.discarded_results import value_of
from ...watch.events import Registration, Step
from ...watch.source_lines import line_like
from ...watch.syntax import function_around, nodes_in
from ..base import Rule
from ..training_loop import plain_steps, training


class MadeAnew(Rule):
    """`forward` replaces one of its module's layers or parameters by a new one, at every call."""

    code = "TG306"
    name = "made-anew"
    why = (
        "A layer that is made in forward has new random weights at each call. No optimizer ever holds the "
        "one that answers, and what was learned is thrown away with the last."
    )
    quiet = "Layers that are made once, at the first call, and those that are replaced between two calls."
    fix = "self.project = torch.nn.Linear(...)  # in __init__, not in forward"
    example = """
  class Net(torch.nn.Module):
      def __init__(self):
          super().__init__()
          self.body = torch.nn.Linear(3, 4)
+         self.head = torch.nn.Linear(4, 1)
      def forward(self, x):
-         self.head = torch.nn.Linear(4, 1)  # here
          return self.head(torch.tanh(self.body(x)))""" + training(model="Net()", steps=6)
    many = 3  # steps in a row before which it was replaced

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.seen: dict[tuple[int, str], list[int]] = {}  # module and name -> steps

    def on_registered(self, event: Registration) -> None:
        if event.old is None or event.new is event.old:
            return
        is_inside = any(
            frame.f_code.co_name == "forward" and frame.f_locals.get("self") is event.owner
            for frame in user_frames()
        )
        if not is_inside:
            return
        steps = self.seen.setdefault((id(event.owner), event.name), [])
        if not steps or steps[-1] != self.doctor.steps:
            steps.append(self.doctor.steps)
        if len(steps) >= self.many and steps[-1] - steps[-self.many] == self.many - 1:
            self.report(
                f"{event.name} of {type(event.owner).__name__} is made anew in every forward: the one that "
                "answers has never been trained.",
                event.site, modules=[type(event.new).__name__],
            )  # fmt: skip


class FreezeWithoutEffect(Rule):
    """`requires_grad = False` is set on a module, or misspelt on a parameter: it trains on."""

    code = "TG307"
    name = "freeze-without-effect"
    why = (
        "requires_grad belongs to tensors. Set on a module, or with another spelling, it is an attribute like "
        "any other: the parameters keep their own, and go on learning."
    )
    quiet = "Modules whose parameters are frozen besides, or that no step moves."
    fix = "model.head.requires_grad_(False)"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
- model[0].requires_grad = False  # here
+ model[0].requires_grad_(False)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
  x, y = torch.randn(8, 3), torch.randn(8, 1)""" + plain_steps(4)

    def before_step(self, event: Step) -> None:
        if self.doctor.steps != 1:  # the models have run by then
            return
        moving = {id(p) for p in event.parameters if p.grad is not None}
        for root in roots(self.doctor):
            for path, module in root.named_modules():
                if vars(module).get("requires_grad") is not False:
                    continue
                mine = [p for p in module.parameters() if p.requires_grad and id(p) in moving]
                if mine:
                    self._say(event, path or type(module).__name__, module, mine)
        self._misspelt(event)

    def _misspelt(self, event: Step) -> None:
        """`require_grad = False`: Python takes any name."""
        found: dict[str, list[Any]] = {}
        for p in event.parameters:
            for name, value in getattr(p, "__dict__", {}).items():
                if value is False and p.requires_grad and p.grad is not None and _is_slip(name):
                    found.setdefault(name, []).append(p)
        for name, moved in found.items():
            site = line_like(rf"\.{name}\s*=\s*False")
            self.report(
                f"A tensor has no switch {name}: setting it to False freezes nothing, and {len(moved)} "
                "parameters are trained.",
                site or event.site, parameters=self.doctor.names(moved),
                fix=site.text.replace(f".{name}", ".requires_grad") if site else "p.requires_grad = False",
            )  # fmt: skip

    def _say(self, event: Step, path: str, module: Any, moved: list[Any]) -> None:
        site, written = _line(module)
        self.report(
            f"requires_grad = False of the module {path} freezes nothing: {len(moved)} of its parameters "
            "are trained.",
            site or event.site, parameters=self.doctor.names(moved),
            fix=f"{written}.requires_grad_(False)" if written else self.fix,
        )  # fmt: skip


def _is_slip(name: str) -> bool:
    """Whether a name is requires_grad, all but a letter or two."""
    return name != "requires_grad" and SequenceMatcher(None, name, "requires_grad").ratio() > 0.85


def _line(module: Any) -> tuple[Site | None, str]:
    """Where the attribute is set, if that is in a function that leads here, and on what."""
    for frame in user_frames():
        here = site_at(frame)
        function = function_around(here)
        for node in nodes_in(function) if function is not None else ():
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
                target = node.targets[0]
                if target.attr == "requires_grad" and value_of(target.value, frame) is module:
                    return Site(here.file, node.lineno, here.function), ast.unparse(target.value)
    return None, ""
