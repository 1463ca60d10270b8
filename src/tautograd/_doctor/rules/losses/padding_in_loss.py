"""Padding that a loss counts as if it were text: TG505."""

from __future__ import annotations

import weakref
from typing import Any

from ...watch.events import Loss, ModuleCall
from ..base import Rule


class PaddingInLoss(Rule):
    """A loss over tokens asks for the padding, which the embedding knows to mean nothing."""

    code = "TG505"
    name = "padding-in-loss"
    severity = "warning"
    why = (
        "Where most positions are padding, most of the loss is about padding: the model learns to say it, and "
        "a low loss says nothing about the text."
    )
    quiet = (
        "Targets that are no tokens of the embedding (another number of classes or of positions), losses "
        "that ignore the padding, losses of each position (reduction='none'), which the loop weighs itself, "
        "and embeddings without padding_idx."
    )
    sure = "Certain that the padding is counted; that it should not be is all but certain."
    refute = "The token that pads is also a token of the text, such as an end."
    fix = "loss = torch.nn.functional.cross_entropy(logits, targets, ignore_index=0)"
    example = """
  torch.manual_seed(0)
  embed = torch.nn.Embedding(9, 6, padding_idx=0)
  head = torch.nn.Linear(6, 9)
  optimizer = torch.optim.Adam([*embed.parameters(), *head.parameters()], lr=0.01)
  text = torch.randint(1, 9, (4, 6))
  text[:, 4:] = 0
  for _ in range(4):
      optimizer.zero_grad()
-     loss = torch.nn.functional.cross_entropy(head(embed(text[:, :-1])).transpose(1, 2), text[:, 1:])  # here
+     logits = head(embed(text[:, :-1])).transpose(1, 2)
+     loss = torch.nn.functional.cross_entropy(logits, text[:, 1:], ignore_index=0)
      loss.backward()
      optimizer.step()
"""
    share = 0.05  # of the targets

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.tables: dict[int, tuple[Any, int, int]] = {}  # embedding -> its padding, positions

    def on_module(self, event: ModuleCall) -> None:
        module = event.module
        if not isinstance(module, event.engine.nn.Embedding) or module.padding_idx is None:
            return
        if event.grad_mode and event.args and bool((event.args[0] == module.padding_idx).any()):
            positions = int(event.args[0].numel())
            self.tables[id(module)] = weakref.ref(module), int(module.padding_idx), positions

    def on_loss(self, event: Loss) -> None:
        if event.function not in ("cross_entropy", "nll_loss") or not self.tables:
            return
        target, given = event.target, event.input
        if event.options.get("reduction", "mean") == "none":
            return
        if not given.requires_grad or target.is_floating_point() or given.dim() < 2:
            return
        for reference, pad, positions in self.tables.values():
            table = reference()
            if (
                table is None
                or table.num_embeddings != given.shape[1]
                or target.numel() != positions
            ):
                continue
            part = float((target == pad).float().mean())
            if event.options.get("ignore_index", -100) != pad and self.share <= part < 1.0:
                self.report(
                    f"{part:.0%} of the targets are {pad}, with which the embedding pads: the loss asks for "
                    "padding as for any word.",
                    event.site, figures={"padding": part},
                    fix=f"loss = torch.nn.functional.cross_entropy(logits, targets, ignore_index={pad})",
                )  # fmt: skip
