"""Batch norm that counts a batch twice: TG603."""

from __future__ import annotations

import sys
import weakref
from types import FrameType
from typing import Any

from ...._user_code.owners import Owner, owners
from ...._user_code.sites import Site
from ...._user_code.stack import site_of
from ...watch.events import Backward, ModuleCall
from ..base import Rule
from .mode_dependent import counts_batches


class DoubleBatchNorm(Rule):
    """Running statistics of a batch norm move a second time, when a checkpoint runs it again."""

    code = "TG603"
    name = "double-batch-norm"
    severity = "warning"
    why = (
        "Activation checkpointing runs its block again in backward. A batch norm inside sees every "
        "batch twice, so that its running statistics move twice as fast as momentum says."
    )
    quiet = "Batch norms in eval mode, and those whose momentum was adapted to it (0.0513 for 0.1)."
    fix = "x = self.norm(checkpoint(self.block, x, use_reentrant=False))  # the norm outside of it"
    example = """
  torch.manual_seed(0)
  import importlib
  nn = torch.nn
  checkpoint = importlib.import_module(torch.__name__ + ".utils.checkpoint").checkpoint
- block = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU())
- head = nn.Linear(8, 1)
- optimizer = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.01)
+ layer, norm, head = nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)
+ optimizer = torch.optim.SGD([*layer.parameters(), *norm.parameters(), *head.parameters()], lr=0.01)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  for _ in range(5):
      optimizer.zero_grad()
-     hidden = checkpoint(block, x, use_reentrant=False)  # here
+     hidden = norm(checkpoint(layer, x, use_reentrant=False)).relu()
      nn.functional.mse_loss(head(hidden), y).backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.norms: dict[int, tuple[Any, Site | None]] = {}
        self.versions: dict[int, int] | None = None  # only while a backward runs
        self.twice: dict[int, int] = {}

    def on_module(self, event: ModuleCall) -> None:
        module = event.module
        if self.versions is None and id(module) not in self.norms and counts_batches(module):
            self.norms[id(module)] = weakref.ref(module), _checkpointed()

    def before_backward(self, event: Backward) -> None:
        self.versions = {}
        for key, (reference, _) in list(self.norms.items()):
            module = reference()
            if module is None:
                del self.norms[key]
            elif module.training and counts_batches(module):
                self.versions[key] = module.num_batches_tracked._version

    def after_backward(self, event: Backward) -> None:
        versions, self.versions = self.versions or {}, None
        moved = []
        for key, version in versions.items():
            module = self.norms[key][0]()
            if module is not None and module.num_batches_tracked._version != version:
                momentum = module.momentum
                if momentum is not None and round(momentum, 3) == momentum:
                    moved.append(key)
        for key in moved:
            self.twice[key] = self.twice.get(key, 0) + 1
        if moved and self.twice[moved[0]] == 2:
            module, site = self.norms[moved[0]]
            self.report(
                f"{len(moved)} batch norms ran again during backward, and counted the batch a second "
                "time.",
                site or event.site, modules=[type(module()).__name__],
                figures={"batch norms": len(moved)},
            )  # fmt: skip


def _checkpointed() -> Site | None:
    """The user's line that called the checkpoint in which this runs."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        is_engines = owners[frame.f_code.co_filename] is Owner.ENGINE
        if is_engines and "checkpoint" in frame.f_globals.get("__name__", "").split("."):
            return site_of(frame)
        frame = frame.f_back
    return None
