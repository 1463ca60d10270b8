"""Dropout that never goes off: TG602."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from ...._user_code.owners import Owner, foreign, owners
from ...watch.events import Dropout
from ..base import Rule
from .mode_dependent import DROPOUTS, kinds_of


class DropoutAlwaysOn(Rule):
    """Functional dropout, or one made in forward, drops while its module is in eval mode."""

    code = "TG602"
    name = "dropout-always-on"
    why = (
        "F.dropout(x, p) has training=True by default, and a new nn.Dropout is in training mode: "
        "neither hears of model.eval(). Validation and predictions stay noisy."
    )
    quiet = "Calls that say training=True, and dropout modules set to train() for uncertainty."
    fix = "F.dropout(x, p, training=self.training)"
    example = """
  torch.manual_seed(0)
  nn, F = torch.nn, torch.nn.functional
  class Net(nn.Module):
      def __init__(self):
          super().__init__()
          self.layer = nn.Linear(3, 1)
      def forward(self, x):
-         return self.layer(F.dropout(x, 0.5))  # here
+         return self.layer(F.dropout(x, 0.5, self.training))
  model = Net()
  optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  for epoch in range(3):
      model.train()
      optimizer.zero_grad()
      F.mse_loss(model(x), y).backward()
      optimizer.step()
      model.eval()
      with torch.no_grad():
          F.mse_loss(model(x), y)
"""

    def on_dropout(self, event: Dropout) -> None:
        if not event.training or not event.p:
            return
        frame = _outside(sys._getframe(1))
        made: Any = None
        if frame is not None and foreign[frame.f_code.co_filename]:
            made = frame.f_locals.get("self")
            if not isinstance(made, kinds_of(event.engine, DROPOUTS)):
                return  # an engine's own function knows what it does
        elif event.explicit:
            return
        owner = _owner(frame, event.engine.nn.Module, made)
        if owner is None or owner.training:
            return
        if made is not None and any(part is made for part in owner.modules()):
            return
        what = "a dropout that is made in every forward" if made is not None else "dropout"
        self.report(
            f"{type(owner).__name__} is in eval mode, and {what} still drops {event.p:.0%} of the "
            "entries here.",
            event.site, modules=[type(owner).__name__], figures={"p": event.p},
        )  # fmt: skip


def _outside(frame: FrameType | None) -> FrameType | None:
    """The frame that called what the doctor watches."""
    while frame is not None and owners[frame.f_code.co_filename] is Owner.KIT:
        frame = frame.f_back
    return frame


def _owner(frame: FrameType | None, kind: type, made: Any) -> Any:
    """The module in whose method this is."""
    while frame is not None:
        found = frame.f_locals.get("self")
        if isinstance(found, kind) and found is not made:
            return found
        frame = frame.f_back
    return None
