"""Terms of a loss that push only what is not stepped: TG408."""

from __future__ import annotations

from typing import Any

from ...._user_code.sites import Site
from ...watch.events import Backward, Clear, Step
from ...watch.graph_walk import leaves_of, node_name
from ..base import Rule

_SCALES = ("Mul", "Div", "Neg")  # by a number, where one factor has no history
_Key = tuple[Site | None, int]


class TermWithoutEffect(Rule):
    """A term of the loss reaches nothing that its step moves, and what it does reach is cleared unread."""

    code = "TG408"
    name = "term-without-effect"
    why = (
        "The generator's loss may have several terms. One that is taken of a detached fake gives gradients to "
        "the discriminator alone; those are thrown away, and the generator never hears of it."
    )
    quiet = "Terms whose gradients any step uses, losses of a single term, and terms of what no optimizer holds."
    sure = "Certain: the gradients of this term were cleared before any step, each time."
    fix = "term = criterion(discriminator(fake), real)  # of the fake itself, without detach()"
    example = """
  torch.manual_seed(0)
  F = torch.nn.functional
  g, d = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
  g_optimizer = torch.optim.SGD(g.parameters(), lr=0.01)
  d_optimizer = torch.optim.SGD(d.parameters(), lr=0.01)
  for _ in range(8):
      real, fake = torch.randn(8, 2), g(torch.randn(8, 2))
      g_optimizer.zero_grad()
-     (F.mse_loss(d(fake.detach()), torch.ones(8, 1)) + F.l1_loss(fake, real)).backward()  # here
+     (F.mse_loss(d(fake), torch.ones(8, 1)) + F.l1_loss(fake, real)).backward()
      g_optimizer.step()
      d_optimizer.zero_grad()
      F.mse_loss(d(real), torch.ones(8, 1)).backward()
      d_optimizer.step()
"""
    enough = 3  # times

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.terms: list[tuple[_Key, set[int]]] = []  # of the backwards since the last step
        self.pending: dict[_Key, set[int]] = {}  # without effect on their step; may serve another's
        self.used: set[_Key] = set()
        self.lost: dict[_Key, int] = {}

    def before_backward(self, event: Backward) -> None:
        if not self.doctor.pulse.close or len(event.roots) != 1:
            return
        found = _terms(event.roots[0].grad_fn)
        if len(found) > 1:
            self.terms += [
                ((event.site, i), {id(leaf) for leaf in leaves_of(node, 4000)})
                for i, node in enumerate(found)
            ]

    def before_step(self, event: Step) -> None:
        mine = {id(p) for p in event.parameters}
        for key, ids in list(self.pending.items()):
            if ids & mine:
                self.used.add(key)
                del self.pending[key]
        terms, self.terms = self.terms, []
        by_line: dict[Any, list[tuple[_Key, set[int]]]] = {}
        for key, ids in terms:
            by_line.setdefault(key[0], []).append((key, ids))
        held = self.doctor.held()
        for entries in by_line.values():
            if not any(ids & mine for _, ids in entries):
                continue
            for key, ids in entries:
                if ids and not ids & mine and key not in self.used and all(i in held for i in ids):
                    self.pending[key] = ids

    def before_clear(self, event: Clear) -> None:
        cleared = {id(p) for p in event.parameters}
        for key, ids in list(self.pending.items()):
            if not ids <= cleared:
                continue
            del self.pending[key]
            self.lost[key] = self.lost.get(key, 0) + 1
            if self.lost[key] == self.enough and key not in self.used:
                by_id = {id(p): p for p in event.parameters}
                self.report(
                    f"A term of this loss gives gradients to {len(ids)} parameters of another optimizer alone, "
                    "which are cleared before it steps: the term has no effect.",
                    key[0], parameters=self.doctor.names(by_id[i] for i in ids),
                    figures={"times": self.lost[key]},
                )  # fmt: skip


def _terms(node: Any, depth: int = 0) -> list[Any]:
    """The nodes that a loss is the sum of, behind numbers they are multiplied by."""
    if node is None or depth > 12:
        return []
    name = node_name(node)
    given = [n for n, _ in node.next_functions if n is not None]
    if name in ("Add", "Sub"):
        return [term for n in given for term in _terms(n, depth + 1)]
    if name in _SCALES and len(given) == 1:
        return _terms(given[0], depth + 1)
    return [node]
