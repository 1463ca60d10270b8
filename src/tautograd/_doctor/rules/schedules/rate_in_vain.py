"""Learning rates that are written where no step reads them: TG914."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from ...._user_code.sites import Site
from ...state.courses import rate_of
from ...watch.events import Sample, Step
from ...watch.syntax import function_around, nodes_in, tree_of
from ..base import Rule
from ..training_loop import training

_KEYS = frozenset(("learning_rate", "learningrate", "lrate", "rate", "l_r", "ler"))


class RateInVain(Rule):
    """The learning rate is changed where no step reads it, or in one of several groups that began alike."""

    code = "TG914"
    name = "rate-in-vain"
    severity = "warning"
    why = (
        "A step reads the rate of each of its groups, `group['lr']`, and nothing else. A number that the "
        "optimizer was once given, an attribute `lr`, its defaults or another key are not looked at again; and a "
        "group that the loop forgets keeps its first rate."
    )
    quiet = (
        "Groups that began with different rates, optimizers of one's own, rates that are also written where they "
        "are read, and variables that are used for anything else."
    )
    sure = "Certain that no step has read it."
    refute = "The groups are meant to part."
    fix = "for group in optimizer.param_groups: group['lr'] = rate"
    example = training(
        """
  for step in range(9):
-     optimizer.lr = 0.05 * 0.9**step  # here
+     optimizer.param_groups[0]["lr"] = 0.05 * 0.9**step
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(model(x), y).backward()
      optimizer.step()
""",
        lr=0.05,
    )

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.known: dict[int, _Known] = {}  # by the number that `courses` has for an optimizer
        self.sites: dict[int, Site | None] = {}

    def before_step(self, event: Step) -> None:
        self.sites.setdefault(self.doctor.courses.owner(event.optimizer), event.site)

    def on_sample(self, event: Sample) -> None:
        optimizer = event.optimizer
        if type(optimizer).__module__.split(".")[:2] != [event.engine.__name__, "optim"]:
            return  # one's own may read what it likes
        owner = self.doctor.courses.owner(optimizer)
        if owner not in self.known:
            self.known[owner] = _Known(optimizer, self.doctor.made_at.get(id(optimizer)))
        self.known[owner].look(optimizer)

    def at_end(self) -> None:
        for owner, known in self.known.items():
            site = self.sites.get(owner)
            if site is None or known.steps < 3:
                continue
            scheduled = any(course.owner == owner for course in self.doctor.courses.all)
            if known.is_constant:
                self._unread(known, site)
                if not scheduled:
                    self._variable(known)
            elif not scheduled:
                self._one_group(known, site)

    def _unread(self, known: _Known, site: Site) -> None:
        """The groups stay, and something beside them that looks like a rate does not."""
        for where, values in known.beside.items():
            if len(values) < 2 and where != "lr":
                continue
            if not values or all(value == known.first[0] for value in values):
                continue
            line = _line(site, _WRITES[where]) or site
            place = {"lr": "`optimizer.lr`", "defaults": "the optimizer's defaults"}.get(
                where, f"the key {where!r} of its groups"
            )
            self.report(
                f"A rate is written to {place}, which no step reads: the rate has been {known.first[0]:g} all "
                "along.",
                line, fix_site=site, key=(self.code, site, where),
                figures={"rate": known.first[0], "written": [float(f"{v:.4g}") for v in values[-3:]]},
            )  # fmt: skip
            return

    def _variable(self, known: _Known) -> None:
        """The name that was given as the rate changes in the loop, and nobody reads it any more."""
        made = known.made
        function = function_around(made) if made is not None else None
        if made is None or function is None:
            return
        name = next(
            (
                keyword.value.id
                for node in nodes_in(function)
                if isinstance(node, ast.Call) and node.lineno <= made.line <= (node.end_lineno or 0)
                for keyword in node.keywords
                if keyword.arg == "lr" and isinstance(keyword.value, ast.Name)
            ),
            None,
        )
        line = _decays_unread(function, name, made.line) if name is not None else None
        if line is not None:
            self.report(
                f"`{name}` is changed here, and the optimizer was given its first value: the rate has been "
                f"{known.first[0]:g} all along.",
                Site(made.file, line, made.function), fix_site=made, key=(self.code, made, "name"),
                fix=f"for group in optimizer.param_groups: group['lr'] = {name}",
            )  # fmt: skip

    def _one_group(self, known: _Known, site: Site) -> None:
        """Groups that began with one rate: the first moves, another never does."""
        moved = [i for i, rates in enumerate(known.groups) if len(rates) >= 3]
        still = [
            i
            for i, rates in enumerate(known.groups)
            if len(rates) == 1 and moved and known.first[i] == known.first[moved[0]]
        ]
        if moved and still and known.gets[still[0]]:
            self.report(
                f"The rate of group {moved[0]} is changed by hand, and group {still[0]}, which began with the "
                f"same, stays at {known.first[still[0]]:g}.",
                _line(site, _WRITES["group"]) or site, fix_site=site, key=(self.code, site, "group"),
                figures={"groups": len(known.groups), "changed": moved, "left": still},
            )  # fmt: skip


class _Known:
    """The rates of one optimizer, as its steps found them, and what else looks like one."""

    def __init__(self, optimizer: Any, made: Site | None) -> None:
        self.made = made
        groups = range(len(optimizer.param_groups))
        self.first = [rate_of(optimizer, i) for i in groups]
        self.groups: list[list[float]] = [[] for _ in groups]  # rates, each once
        self.gets = [False for _ in groups]  # whether a group gets gradients
        self.beside: dict[str, list[float]] = {}
        self.default = optimizer.defaults.get("lr")
        self.steps = 0

    @property
    def is_constant(self) -> bool:
        return all(len(rates) <= 1 for rates in self.groups)

    def look(self, optimizer: Any) -> None:
        self.steps += 1
        for i, group in enumerate(optimizer.param_groups[: len(self.groups)]):
            rate = rate_of(optimizer, i)
            if rate not in self.groups[i] and len(self.groups[i]) < 50:
                self.groups[i].append(rate)
            self.gets[i] = self.gets[i] or any(p.grad is not None for p in group["params"])
            for key in _KEYS & group.keys():
                self._note(key, group[key])
        if "lr" in vars(optimizer):
            self._note("lr", optimizer.lr)
        is_same = len(optimizer.param_groups) == len(self.groups)  # a new group takes the defaults
        if is_same and optimizer.defaults.get("lr") != self.default:
            self._note("defaults", self.default)
            self._note("defaults", optimizer.defaults["lr"])

    def _note(self, where: str, value: Any) -> None:
        values = self.beside.setdefault(where, [])
        if isinstance(value, int | float) and value not in values and len(values) < 50:
            values.append(float(value))


def _targets(tree: ast.AST) -> Iterator[ast.expr]:
    for node in nodes_in(tree):
        if isinstance(node, ast.Assign):
            yield from node.targets
        elif isinstance(node, ast.AugAssign):
            yield node.target


def _line(site: Site, is_meant: Callable[[ast.expr], bool]) -> Site | None:
    """The one line of a file that writes to such a place; None if there are several."""
    function = function_around(site)
    for scope in (function, tree_of(site.file)):
        found = [target for target in _targets(scope) if is_meant(target)] if scope else []
        if len(found) == 1:
            return Site(site.file, found[0].lineno, site.function)
    return None


def _has_key(target: ast.expr, key: str) -> bool:
    is_key = isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant)
    return is_key and target.slice.value == key  # type: ignore[attr-defined]


_WRITES: dict[str, Callable[[ast.expr], bool]] = {
    "lr": lambda target: isinstance(target, ast.Attribute) and target.attr == "lr",
    "defaults": lambda target: _has_key(target, "lr") and "defaults" in ast.unparse(target),
    "group": lambda target: _has_key(target, "lr") and "param_groups[" in ast.unparse(target),
}
for _key in _KEYS:
    _WRITES[_key] = lambda target, key=_key: _has_key(target, key)  # type: ignore[misc]


def _decays_unread(function: ast.AST, name: str, made: int) -> int | None:
    """The line in a loop that changes a name of itself, if nothing but that and printing reads it after `made`."""
    loops = [n for n in nodes_in(function) if isinstance(n, ast.For | ast.While)]
    changed: list[ast.stmt] = [
        node
        for loop in loops
        for node in ast.walk(loop)
        if (isinstance(node, ast.AugAssign) and ast.unparse(node.target) == name)
        or (
            isinstance(node, ast.Assign)
            and [ast.unparse(t) for t in node.targets] == [name]
            and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.value))
        )
    ]
    changed = [node for node in changed if node.lineno > made]
    if not changed:
        return None
    allowed = {id(n) for node in changed for n in ast.walk(node)}
    for node in nodes_in(function):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "tqdm.write"):
            allowed |= {id(n) for n in ast.walk(node)}
    reads = [n for n in nodes_in(function) if isinstance(n, ast.Name) and n.id == name]
    for node in reads:
        if isinstance(node.ctx, ast.Load) and id(node) not in allowed and node.lineno > made:
            return None
    return min(node.lineno for node in changed)
