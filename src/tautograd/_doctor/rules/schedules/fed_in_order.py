"""Data in an order that teaches nothing: one class after the other, one batch or one epoch for ever: TG907."""

from __future__ import annotations

import ast
import weakref
from itertools import groupby
from typing import Any

from ...._user_code.sites import Site
from ...watch.events import Iteration, Loss, Step
from ...watch.syntax import function_around, holds, nodes_in
from ..base import Rule


class FedInOrder(Rule):
    """Batches come one class after the other, every step takes the first one, or epochs repeat one shuffle."""

    code = "TG907"
    name = "fed-in-order"
    severity = "warning"
    why = (
        "A step follows the batch it sees. If batch after batch is of one class, the model learns to say that "
        "class, and then the next; if it is always the same batch, it learns that batch by heart. A shuffle that is "
        "the same in every epoch, by a sampler that is not told the epoch or a cycle that keeps the first, makes the "
        "same batches again."
    )
    quiet = (
        "Samplers of one rank, cycles over loaders that do not shuffle or that the run does not exhaust; batches that mix classes, rare classes, losses of a domain or of real and fake (each line one class), "
        "loaders that shuffle, and loaders of one batch."
    )
    sure = "Certain that the batches were so; that it was not meant is all but certain."
    refute = "The classes are meant to come one by one, as in continual learning."
    fix = "loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)"
    example = """
  torch.manual_seed(0)
  y = torch.arange(48) // 16
  x = torch.randn(48, 3) + y.unsqueeze(1)
+ order = torch.randperm(48)
+ x, y = x[order], y[order]
  model = torch.nn.Linear(3, 3)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  for i in range(0, 48, 8):
      optimizer.zero_grad()
-     torch.nn.functional.cross_entropy(model(x[i : i + 8]), y[i : i + 8]).backward()  # here
+     torch.nn.functional.cross_entropy(model(x[i : i + 8]), y[i : i + 8]).backward()
      optimizer.step()
"""
    batch = 4  # samples that a batch must have, to say anything
    enough = 5  # batches
    firsts = 8  # steps in a row that took the first batch of a new iterator

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.classes: dict[Any, list[int | None]] = {}  # line of a loss -> the class of each batch
        self.began: dict[int, tuple[Any, int, Site | None]] = {}  # loader -> times in this step
        self.in_a_row: dict[int, int] = {}
        self.said = False
        self.epochs: dict[int, tuple[Any, int, int]] = {}  # sampler -> its epoch, times begun with it
        self.cycles: list[tuple[Any, int, int, Site]] = []  # loader, batches, steps before, line

    def on_loss(self, event: Loss) -> None:
        if event.function not in ("cross_entropy", "nll_loss") or not event.input.requires_grad:
            return
        target = event.target
        if target.is_floating_point() or target.dim() != 1 or len(target) < self.batch:
            return
        first = target[0]
        seen = self.classes.setdefault(event.site, [])
        seen.append(int(first) if bool((target == first).all()) else None)
        runs = [(kind, len(list(run))) for kind, run in groupby(seen)]
        kinds = [kind for kind, _ in runs]
        if len(seen) < self.enough or None in kinds or not 1 < len(kinds) == len(set(kinds)):
            return
        if min(length for _, length in runs[:-1]) > 1 or len(kinds) > 3:
            self.report(
                f"Each of {len(seen)} batches in a row holds samples of a single class, "
                f"{len(kinds)} classes one after the other: the data are sorted and not shuffled.",
                event.site, figures={"classes": seen[:24]},
            )  # fmt: skip

    def on_iteration(self, event: Iteration) -> None:
        loader = event.loader
        _, times, _ = self.began.get(id(loader), (None, 0, None))
        self.began[id(loader)] = weakref.ref(loader), times + 1, event.site
        self._look_at_epoch(loader, event.site)
        self.cycles = [c for c in self.cycles if c[0]() is not loader]
        if event.site is not None and _is_kept(event.site) and _shuffles(loader):
            self.cycles.append((weakref.ref(loader), len(loader), self.doctor.steps, event.site))

    def _look_at_epoch(self, loader: Any, site: Site | None) -> None:
        """A sampler of one rank draws its shuffle by a seed and the epoch that it was told."""
        sampler = getattr(loader, "sampler", None)
        epoch = getattr(sampler, "epoch", None)
        shuffles = getattr(sampler, "shuffle", False) and hasattr(sampler, "set_epoch")
        if not shuffles or not isinstance(epoch, int) or getattr(sampler, "num_replicas", 1) < 2:
            return
        known, last, times = self.epochs.get(id(sampler), (None, epoch, 0))
        times = times + 1 if known is not None and known() is sampler and last == epoch else 1
        self.epochs[id(sampler)] = weakref.ref(sampler), epoch, times
        if times == 3:
            self.report(
                f"Epochs in a row in which the sampler was in its epoch {epoch}: it shuffles by a seed and that "
                "number, so that the samples of this rank and their order are the same in every epoch.",
                site, figures={"epoch": epoch},
                fix="loader.sampler.set_epoch(epoch)  # before each epoch",
            )  # fmt: skip

    def at_end(self) -> None:
        for _, many, before, site in self.cycles:
            if self.doctor.steps - before > many:
                self.report(
                    f"itertools.cycle keeps the {many} batches of its first turn, with their order and what "
                    "was drawn for them, and gives the same tensors again and again: this loader shuffles once.",
                    site, figures={"batches": many},
                    fix="# a generator instead: while True: yield from loader",
                )  # fmt: skip

    def after_step(self, event: Step) -> None:
        if self.said or (not self.began and not self.in_a_row):
            return
        began, self.began = self.began, {}
        self.in_a_row = {key: self.in_a_row.get(key, 0) + 1 for key in began}
        for key, (reference, _, site) in began.items():
            loader = reference()
            if self.in_a_row[key] == self.firsts and loader is not None and _is_fixed(loader):
                self.said = True
                self.report(
                    f"For {self.firsts} steps in a row the loader of {len(loader)} batches was begun anew, so "
                    "each step had its first batch: always the same one.",
                    site, figures={"batches": len(loader)},
                    fix="batches = iter(loader)  # before the loop; then next(batches) in it",
                )  # fmt: skip


def _is_fixed(loader: Any) -> bool:
    """Whether a loader begins with the same batch every time, and has others."""
    sampler = type(getattr(loader, "sampler", None)).__name__
    try:
        return sampler == "SequentialSampler" and len(loader) > 1
    except TypeError:  # of a stream: nobody knows how many
        return False


def _shuffles(loader: Any) -> bool:
    return type(getattr(loader, "sampler", None)).__name__ in ("RandomSampler", "WeightedRandomSampler")


def _is_kept(site: Site) -> bool:
    """Whether a loader is begun by itertools.cycle."""
    function = function_around(site)
    for node in nodes_in(function) if function is not None else ():
        if isinstance(node, ast.Call) and holds(node, site.line) and node.args:
            name = node.func
            last = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
            if last == "cycle":
                return True
    return False
