"""Inputs that have another target each time they come: TG910."""

from __future__ import annotations

from typing import Any

from ...state.parameter_owners import roots
from ...watch.events import Backward, Loss, ModuleCall
from ..base import Rule
from ..training_loop import training

_ROWS = 4096  # of a run that are remembered
_WIDEST = 4096  # entries of a row that are compared


class PairsChange(Rule):
    """The same samples come again with each other's targets: inputs and targets are not shuffled together."""

    code = "TG910"
    name = "pairs-change"
    why = (
        "A permutation of the inputs alone, or one of its own for the targets, gives every sample the target of "
        "any other. All that can be learned then is the mean of the targets."
    )
    quiet = (
        "Targets that are classes, that are new each time (those of an agent, a teacher, noise), that are the same "
        "for every batch, or of which fewer than 16 differ; models that take more than one tensor; epochs "
        "that are longer than what is looked at closely."
    )
    sure = "Certain: rows of the inputs came again, bit for bit, with a target that another row had had."
    refute = "A sample is meant to have many targets, as in a mapping between two sets."
    fix = "x, y = x[order], y[order]  # one order for both"
    example = training(
        """
  for _ in range(6):
-     x = x[torch.randperm(32)]
+     order = torch.randperm(32)
+     x, y = x[order], y[order]
      for i in (0, 16):
          optimizer.zero_grad()
          loss = torch.nn.functional.mse_loss(model(x[i : i + 16]), y[i : i + 16])
-         loss.backward()  # here
+         loss.backward()
          optimizer.step()
""",
        data="x, y = torch.randn(32, 3), torch.randn(32, 1)",
    )
    enough = 32  # rows that came again
    share = 0.6  # of them with another's target

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.given: Any = None  # what the model was given last
        self.targets: dict[bytes, bytes] = {}  # input -> target
        self.known: set[bytes] = set()  # targets
        self.before: Any = None  # the last batch's targets
        self.again = self.others = 0
        self.is_over = self.is_found = False

    def on_module(self, event: ModuleCall) -> None:
        tensors = [a for a in event.args if isinstance(a, event.engine.Tensor)]
        self.given = None
        if self.is_over or len(tensors) != 1 or not event.grad_mode:
            return
        given = tensors[0]
        is_batch = given.layout is event.engine.strided and not given.is_complex()
        is_batch = is_batch and not given.requires_grad and given.dim() > 1 and given.shape[0] > 1
        if is_batch and any(root is event.module for root in roots(self.doctor)):
            self.given = given

    def on_loss(self, event: Loss) -> None:
        given, self.given = self.given, None
        target = event.target
        if given is None or self.is_over or target.requires_grad or not target.is_floating_point():
            return
        if target.dim() < 1 or target.shape[0] != given.shape[0] or len(self.targets) > _ROWS:
            return
        if (
            str(given.device) != "cpu"
            or max(given.numel(), target.numel()) > _WIDEST * given.shape[0]
        ):
            self.is_over = True
            return
        rows, wanted = _rows(given), _rows(target)
        if wanted == self.before and len(set(wanted)) > 1:
            self.is_over = True  # one for every place of the batch
        self.before = wanted
        for row, one in zip(rows, wanted, strict=True):
            was = self.targets.get(row)
            if was is not None:
                self.again += 1
                if one not in self.known:
                    self.is_over = True  # a new one
                self.others += was != one
            self.known.add(one)
            self.targets[row] = one
        self._judge()

    def _judge(self) -> None:
        if self.is_over or self.again < self.enough:
            return
        self.is_over = True
        if self.others < self.share * self.again or len(self.known) < 16:
            return
        self.is_found = True

    def before_backward(self, event: Backward) -> None:
        if not self.is_found:
            return
        self.is_found = False
        self.report(
            f"{self.others} of {self.again} samples that came again had a target that another sample had had: "
            "inputs and targets are not in one order.",
            event.site, figures={"again": self.again, "with another's target": self.others},
        )  # fmt: skip


def _rows(tensor: Any) -> list[bytes]:
    values = tensor.detach().reshape(tensor.shape[0], -1)
    values = (values.float() if values.is_floating_point() else values).contiguous().numpy()
    return [row.tobytes() for row in values]
