"""`[layer] * n`: one layer, listed n times: TG310."""

from __future__ import annotations

import ast
from typing import Any

from ...._user_code.sites import site_at
from ...._user_code.stack import user_frames
from ...watch.events import Registration
from ...watch.syntax import function_around, nodes_in
from ..base import Rule


class LayerMultiplied(Rule):
    """A list of layers is made by multiplying a list of one: all of them are the same layer."""

    code = "TG310"
    name = "layer-multiplied"
    severity = "warning"
    why = (
        "`[nn.Linear(8, 8)] * 3` makes one layer and lists it three times. Whatever one of them learns, all of "
        "them have learned: the model has a third of the weights it was written with."
    )
    quiet = "Layers that are shared by name, in a loop over one layer, or listed one by one."
    sure = "Certain that it is one layer; that it should be several is likely."
    refute = "The layers are meant to share their weights."
    fix = "layers = torch.nn.ModuleList([torch.nn.Linear(8, 8) for _ in range(3)])"
    example = """
  torch.manual_seed(0)
- layers = torch.nn.ModuleList([torch.nn.Linear(4, 4)] * 3)  # here
+ layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)])
  optimizer = torch.optim.SGD(layers.parameters(), lr=0.01)
  x, y = torch.randn(8, 4), torch.randn(8, 4)
  for _ in range(3):
      optimizer.zero_grad()
      hidden = x
      for layer in layers:
          hidden = torch.tanh(layer(hidden))
      torch.nn.functional.mse_loss(hidden, y).backward()
      optimizer.step()
"""

    def on_registered(self, event: Registration) -> None:
        nn, owner = event.engine.nn, event.owner
        if event.name != "1" or not isinstance(owner, (nn.ModuleList, nn.Sequential)):
            return
        if owner._modules.get("0") is not event.new or not any(
            True for _ in event.new.parameters()
        ):
            return
        frames = user_frames(1)
        if frames and event.site is not None and _multiplies(frames[0], event.site.line):
            self.report(
                f"All entries of this list are one {type(event.new).__name__}: multiplying a list repeats what "
                "is in it, and copies nothing.",
                event.site,
            )  # fmt: skip


def _multiplies(frame: Any, line: int) -> bool:
    """Whether the statement in this line multiplies a list in which something is called."""
    function = function_around(site_at(frame))
    for node in nodes_in(function) if function is not None else ():
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            listed = [s for s in (node.left, node.right) if isinstance(s, ast.List)]
            here = node.lineno <= line <= (node.end_lineno or line) or node.lineno == line
            if here and any(isinstance(e, ast.Call) for s in listed for e in s.elts):
                return True
    return False
