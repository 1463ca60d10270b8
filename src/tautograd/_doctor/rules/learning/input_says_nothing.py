"""Inputs that say nothing: TG805."""

from __future__ import annotations

from typing import Any

from ...._user_code.sites import Site
from ...._user_code.stack import user_site
from ...state.parameter_owners import roots
from ...watch.events import Loss, ModuleCall
from ..base import Rule
from ..training_loop import training


class InputSaysNothing(Rule):
    """All samples of a batch are the same input, and their targets are not."""

    code = "TG805"
    name = "input-says-nothing"
    why = (
        "A model that is given the same for every sample can only learn the mean of their targets."
    )
    quiet = (
        "Batches of fewer than 8, models that take more than one tensor, targets that are all the same, and inputs of "
        "nothing but 1 (a constant is learned)."
    )
    sure = "Certain: the rows were compared."
    refute = "The samples differ by something that the model finds elsewhere."
    fix = "# look at what makes this input: a mask of zeros, a slice, a constant"
    example = training(
        """
- mask = torch.zeros(16, 3)
+ mask = torch.ones(16, 3)
  for _ in range(6):
      optimizer.zero_grad()
-     output = model(x * mask)  # here
+     output = model(x * mask)
      torch.nn.functional.mse_loss(output, y).backward()
      optimizer.step()
""",
        data="x, y = torch.randn(16, 3), torch.randn(16, 1)",
    )
    many = 4  # batches
    rows = 8

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.call: tuple[Any, Any, Site | None] | None = None  # module, input, line
        self.seen = 0

    def on_module(self, event: ModuleCall) -> None:
        tensors = [a for a in event.args if isinstance(a, event.engine.Tensor)]
        if len(tensors) != 1 or not event.grad_mode or self.seen < 0 or tensors[0].requires_grad:
            return
        given = tensors[0]
        if given.dim() > 1 and given.shape[0] >= self.rows and given.numel() <= 1_000_000:
            self.call = event.module, given, user_site()

    def on_loss(self, event: Loss) -> None:
        call, self.call = self.call, None
        if call is None or self.seen < 0:
            return
        module, given, site = call
        if not any(root is module for root in roots(self.doctor)):
            return  # a part of the model may well be given constants: positions, queries
        target = event.target
        if not target.dim() or target.shape[0] != given.shape[0]:
            return
        is_same = bool((given == given[:1]).all())
        if not is_same or bool((given == 1).all()):
            self.seen = -1  # it says something
        elif bool((target != target[:1]).any()):
            self.seen += 1
            if self.seen == self.many:
                self.report(
                    f"All {given.shape[0]} samples of the batch are the same to the model, and their targets "
                    "are not.",
                    site or event.site,
                )  # fmt: skip
