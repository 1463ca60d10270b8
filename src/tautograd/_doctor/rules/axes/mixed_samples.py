"""Samples of a batch that leak into each other, where the shapes prove it: TG904."""

from __future__ import annotations

from typing import Any

from ...watch.backward_flow import Passage, line_of
from ...watch.events import Backward, Loss, ModuleCall, Step, View
from ...watch.graph_walk import is_leaf_node, node_name, nodes
from ..base import Rule
from .exchanged_axes import exchanged, scattered_classes
from .sequence_axes import (
    OF_SCORES,
    OVER_BATCH,
    Layers,
    Sequences,
    log_softmax_of_rows,
    softmax_over_batch,
)
from .sequence_rows import SequenceRows
from .similarities import ACROSS, NORMS, norm_across, norm_of_the_divided

_LOSSES = frozenset(
    ("NllLoss", "MseLoss", "L1Loss", "SmoothL1Loss", "BinaryCrossEntropyWithLogits")
)
_PICKS = frozenset(("Index", "Gather"))  # of one entry of each row, as a likelihood by hand does
_VIEWS = frozenset(("View", "UnsafeView", "ReshapeAlias", "Reshape"))
_OVER_CLASSES = frozenset(("LogSoftmax", "Softmax", "NllLoss", "NllLoss2D"))


class MixedSamples(Rule):
    """Axes are exchanged by a view or taken for each other, or a softmax or a norm goes over the batch."""

    code = "TG904"
    name = "mixed-samples"
    severity = "warning"
    why = (
        "view() reads the same numbers in the same order: from (T, B, D) to (B, T, D) it puts parts "
        "of different samples into one row. A softmax over axis 0 lets samples compete."
    )
    quiet = (
        "Everything else that mixes samples: batch norm, contrastive losses, attention over a batch, "
        "axes of equal length. Only what the shapes prove is told, or what a copy of the model answers."
    )
    fix = "hidden = hidden.permute(1, 0, 2)  # instead of view()"
    example = """
  torch.manual_seed(0)
  body, head = torch.nn.Linear(3, 4), torch.nn.Linear(20, 1)
  optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)
  x, y = torch.randn(5, 6, 3), torch.randn(6, 1)  # (time, batch, features)
  for _ in range(4):
      optimizer.zero_grad()
      hidden = body(x).tanh()
-     hidden = hidden.view(6, 5, 4)  # here
+     hidden = hidden.permute(1, 0, 2)
      loss = torch.nn.functional.mse_loss(head(hidden.flatten(1)), y)
      loss.backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        # Place in the graph, name of the node, what is to be said of it.
        self.pending: tuple[int, str, dict[str, str]] | None = None
        self.said = False
        self.batch = 0  # samples that a classifier's loss saw
        self.losses: set[int] = set()  # log-softmaxes that go straight into a negative likelihood
        self.scored: set[int] = set()  # views that go straight into a softmax or a likelihood
        self.divided: set[int] = set()  # norms by which what they are of is divided
        self.sequences = Sequences()
        self.layers = Layers()
        self.rows = SequenceRows()
        self.taken = 0  # iterations in which a layer took samples for moments

    def on_module(self, event: ModuleCall) -> None:
        if not self.said:
            self.sequences.on_module(event)
            self.layers.on_module(event)
            self.rows.on_module(event)

    def on_loss(self, event: Loss) -> None:
        if self.said:
            return
        asked = self.rows.over_samples(event, self.layers.seen)
        if asked is not None:
            self.said = True
            self.report(site=asked[0] or event.site, **asked[1])
            return
        found = self.layers.over_samples(tuple(event.input.shape))
        if found is not None and event.target.shape[:1] == event.input.shape[:1]:
            self.taken += 1  # what the loop does with the output may say more
            if self.taken == 4:
                self.said = True
                self.report(site=found[0] or event.site, **found[1])

    def before_backward(self, event: Backward) -> None:
        self.doctor.lines.stop(self.code)
        if self.said or not self.doctor.pulse.is_thorough:
            self.sequences.forget()
            return
        found = list(nodes(event.roots, 3000))
        self.batch = 0
        if self.pending is not None:
            number, name, details = self.pending
            self.pending, self.said = None, True
            same = number < len(found) and found[number].name() == name
            site = (line_of(found[number]) if same else None) or event.site
            self.report(site=site, **details)
        places = {node: i for i, node in enumerate(found)}
        self._look_at_axes(found, places)
        self.scored = {
            places[following]
            for node in found
            if node_name(node) in _OVER_CLASSES
            for following, _ in node.next_functions[:1]
            if following is not None and node_name(following) in _VIEWS
        }
        self.divided = {
            places[norm]
            for node in found
            if node_name(node) == "Div" and (norm := norm_of_the_divided(node)) is not None
        }
        self.losses = {
            places[following]
            for node in found
            if node_name(node) == "NllLoss"
            for following, _ in node.next_functions[:1]
            if following is not None
            and node_name(following) == "LogSoftmax"
            and getattr(following, "_saved_dim", None) == 0
        }

    def _look_at_axes(self, found: list[Any], places: dict[Any, int]) -> None:
        node, details = self.sequences.last_sample(found)
        self.sequences.forget()
        if node is None:
            node, details = softmax_over_batch(found), OVER_BATCH
        if node is None:
            node, details = log_softmax_of_rows(found), OF_SCORES
        if node is None:
            node, details = norm_across(found), ACROSS
        if node is not None and not self.said:
            self._found(places[node], node, **details)

    def on_passage(self, event: Backward, passage: Passage) -> None:
        if self.said or self.pending is not None:
            return
        name = node_name(passage.node)
        is_loss = name in _LOSSES and passage.left[0] is not None and passage.left[0].dim() == 2
        if is_loss or (name in _PICKS and _one_of_each_row(passage)):
            self.batch = int(passage.left[0].shape[0])
        elif name == "Softmax" and self._shares_out(passage):
            self._found(
                passage.number, passage.node,
                f"A softmax goes over the {self.batch} samples of the batch, not over the entries of each: "
                "they compete with each other.",
                fix="weights = scores.softmax(1)  # over the entries of each sample",
            )  # fmt: skip
        elif passage.number in self.divided and (message := self._of_all(passage)):
            fix = "features = torch.nn.functional.normalize(features, dim=1)"
            self._found(passage.number, passage.node, message, fix=fix)
        elif name in NORMS and self._over_the_batch(passage):
            self._found(
                passage.number,
                passage.node,
                f"A norm is taken over the {self.batch} samples of the batch, not over the features of "
                "each: every sample is divided by what the others are.",
            )
        if passage.number in self.losses and passage.came[0] is not None:
            if passage.came[0].dim() == 2 and passage.came[0].shape[1] > 1:
                message = (
                    "log_softmax goes over the samples, and the loss takes it for one over classes."
                )
                self._found(passage.number, passage.node, message)
        elif name in _VIEWS and len(passage.left) == 1:
            before, after = passage.left[0], passage.came[0]
            if before is None or after is None:
                return
            message = exchanged(before.shape, after.shape)
            if not message and passage.number in self.scored:
                message = scattered_classes(before.shape, after.shape)
            if message:
                self._found(passage.number, passage.node, message)

    def on_view(self, event: View) -> None:
        """The same of what has no gradient: the input itself."""
        if self.said or not event.engine.is_grad_enabled():
            return
        message = exchanged(event.before, event.after)
        if message:
            self.said = True
            self.report(message, event.site)

    def _shares_out(self, passage: Passage) -> bool:
        """Over the first axis of (samples, entries), where the loss has a row for each sample."""
        came = passage.came[0]
        if came is None or came.dim() != 2 or getattr(passage.node, "_saved_dim", None) != 0:
            return False
        rows, entries = (int(n) for n in came.shape)
        return rows == self.batch > 1 and 1 < entries != rows

    def _over_the_batch(self, passage: Passage) -> bool:
        """Of a classifier's inner values, not of a weight, with the axis kept to divide by it."""
        before, after = passage.left[0], passage.came[0]
        if before is None or after is None or before.dim() != 2 or after.dim() != 2:
            return False
        following = passage.node.next_functions[0][0]
        if following is None or is_leaf_node(following):
            return False
        rows, features = (int(n) for n in before.shape)
        return rows == self.batch > 1 and tuple(after.shape) == (1, features) and features > 1

    def _of_all(self, passage: Passage) -> str:
        """What is wrong where (samples, features) is divided by one norm, or by norms laid along the wrong
        axis."""
        before, after = passage.left[0], passage.came[0]
        if before is None or after is None or before.dim() != 2:
            return ""
        rows, features = (int(n) for n in before.shape)
        if rows != self.batch or rows < 2 or features < 2:
            return ""
        if after.dim() == 0 and rows != features:
            return (
                f"One norm is taken of all {rows} samples together, and each is divided by it: how long a "
                "sample is depends on the others."
            )
        axes = tuple(getattr(passage.node, "_saved_dim", None) or ())
        if after.dim() == 1 and rows == features and axes in ((1,), (-1,), (2**64 - 1,)):
            return (
                f"Each of the {rows} samples has its norm, but without keepdim=True they are laid along the "
                "features: feature j of every sample is divided by the norm of sample j."
            )
        return ""

    def _found(self, number: int, node: Any, message: str, **details: str) -> None:
        details["message"] = message
        self.pending = number, node.name(), details
        site = line_of(node)
        if site is not None:
            self.pending, self.said = None, True
            self.report(site=site, **details)

    def after_step(self, event: Step) -> None:
        if self.pending is not None:
            self.doctor.lines.ask(event.engine, self.code)

    def at_end(self) -> None:
        if self.pending is not None:
            self.report(site=None, **self.pending[2])


def _one_of_each_row(passage: Passage) -> bool:
    before, after = passage.left[0], passage.came[0]
    if before is None or after is None or before.dim() != 2:
        return False
    rows, entries = (int(n) for n in before.shape)
    return after.numel() == rows > 1 and entries > 1
