"""Probabilities where their logarithm is wanted, or the other way round: TG503."""

from __future__ import annotations

from typing import Any

from ...._user_code.sites import Site
from ...watch.events import Loss
from ..base import Rule
from .loss_makers import maker_of

POSITIVE = 0.02  # a log-probability is at most 0, or log(1 + eps)
LOOKS = 3  # calls of a line whose numbers are read


class NllOfProbabilities(Rule):
    """`nll_loss` or `kl_div` gets probabilities where it wants their logarithm, or the reverse."""

    code = "TG503"
    name = "nll-of-probabilities"
    why = (
        "nll_loss takes log-probabilities and applies no logarithm: of probabilities it is only their "
        "mean, of plain scores it has no lower bound. kl_div takes the logarithm of the model's "
        "probabilities first, then the target's probabilities, and its mean should be over the batch."
    )
    quiet = (
        "Inputs that come from log_softmax, and what has no negative and no positive sign to it."
    )
    fix = "loss = torch.nn.functional.nll_loss(torch.log_softmax(logits, dim=1), target)"
    example = """
  torch.manual_seed(0)
  F = torch.nn.functional
  model = torch.nn.Linear(4, 3)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  x, y = torch.randn(8, 4), torch.randint(3, (8,))
  for _ in range(5):
      optimizer.zero_grad()
-     output = F.softmax(model(x), dim=1)
-     loss = F.nll_loss(output, y)  # here
+     output = F.log_softmax(model(x), dim=1)
+     loss = F.nll_loss(output, y)
      loss.backward()
      optimizer.step()
"""
    divergence = (
        "torch.nn.functional.kl_div(log_probabilities, target_probabilities, reduction='batchmean')"
    )

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.looked: dict[Site | None, int] = {}

    def on_loss(self, event: Loss) -> None:
        if event.function == "nll_loss":
            self._likelihood(event)
        elif event.function == "kl_div":
            self._divergence(event)

    def _may_look(self, event: Loss) -> bool:
        self.looked[event.site] = self.looked.get(event.site, 0) + 1
        return self.looked[event.site] <= LOOKS

    def _likelihood(self, event: Loss) -> None:
        maker = maker_of(event.input)
        if maker in ("LogSoftmax", "Log", "LogSigmoid", "") or not event.input.requires_grad:
            return
        if maker == "Softmax" or (self._may_look(event) and _are_probabilities(event.input)):
            self.report("The input is probabilities; nll_loss wants their logarithm.", event.site)
        elif self.looked.get(event.site, LOOKS + 1) <= LOOKS and _highest(event.input) > POSITIVE:
            self.report(
                "The input has positive entries, so it is no log-probability: nll_loss of plain scores "
                "has no lower bound.",
                event.site,
            )

    def _divergence(self, event: Loss) -> None:
        given, wanted, options = event.input, event.target, event.options
        if not (given.requires_grad or wanted.requires_grad):
            return
        makers = maker_of(given), maker_of(wanted)
        looks = self._may_look(event)
        plain = makers[0] == "Softmax" or (
            makers[0] not in ("LogSoftmax", "Log") and looks and _are_probabilities(given)
        )
        in_log = bool(options.get("log_target", False))
        target_is_log = not in_log and (
            makers[1] == "LogSoftmax" or (looks and makers[1] != "Softmax" and _lowest(wanted) < 0)
        )
        if plain and target_is_log:
            message = "The arguments are swapped: kl_div wants the logarithm first."
        elif plain:
            message = "The input is probabilities; kl_div wants their logarithm."
        elif target_is_log:
            message = "The target is a logarithm, and log_target=True is not said."
        elif in_log and (makers[1] == "Softmax" or (looks and _are_probabilities(wanted))):
            message = "log_target=True, but the target is probabilities."
        elif options.get("reduction", "mean") == "mean" and given.dim() > 1 and given.requires_grad:
            self.report(
                "reduction='mean' divides by the number of classes as well as by the batch: this is "
                "not the divergence, but that over its number of classes.",
                event.site, severity="warning", fix=self.divergence,
                figures={"divided by": int(given.numel()), "batch": int(given.shape[0])},
            )  # fmt: skip
            return
        else:
            return
        self.report(message, event.site, fix=self.divergence)


def _are_probabilities(tensor: Any) -> bool:
    """Whether all entries are in [0, 1], and add up to 1 along a dimension."""
    tensor = tensor.detach()
    if tensor.dim() == 0 or not tensor.numel() or not tensor.is_floating_point():
        return False
    tensor = tensor.double()
    if float(tensor.min()) < 0 or float(tensor.max()) > 1:
        return False
    dims = {tensor.dim() - 1, min(1, tensor.dim() - 1)}
    return any(
        tensor.shape[dim] > 1 and bool(((tensor.sum(dim) - 1).abs() < 0.02).all()) for dim in dims
    )


def _highest(tensor: Any) -> float:
    return float(tensor.detach().max()) if tensor.numel() else 0.0


def _lowest(tensor: Any) -> float:
    return float(tensor.detach().min()) if tensor.numel() else 0.0
