"""A seed that is set in every iteration: TG911."""

from __future__ import annotations

from typing import Any

from ...._user_code.sites import Site
from ...watch.events import Backward, Seed
from ..base import Rule


class SameRandomNumbers(Rule):
    """The same seed is set before every backward: noise, masks and dropout are the same in every step."""

    code = "TG911"
    name = "same-random-numbers"
    severity = "warning"
    why = (
        "manual_seed() belongs to the start of a program. In the loop it gives every batch the same noise, the same "
        "dropout mask and the same draws: the model learns these, and not to cope with others."
    )
    quiet = (
        "Seeds that change from step to step, that are set now and then (for a sample to look at), that nothing is "
        "drawn after, and generators of one's own."
    )
    sure = "Certain: the same random numbers were drawn in each of these steps."
    refute = "The same noise is meant, as in a comparison of two models."
    fix = "torch.manual_seed(0)  # once, before the loop"
    example = """
+ torch.manual_seed(0)
  model = torch.nn.Linear(3, 1)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  for _ in range(8):
-     torch.manual_seed(0)  # here
      noisy = x + 0.1 * torch.randn(8, 3)
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(model(noisy), y).backward()
      optimizer.step()
"""
    enough = 5  # backwards in a row

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.seeded: tuple[Site | None, Any, bytes] | None = None  # line, seed, state after it
        self.last: tuple[Site | None, Any, bytes] | None = None  # line, seed, state at the backward
        self.times = 0

    def on_seed(self, event: Seed) -> None:
        if self.doctor.steps:
            self.seeded = event.site, event.seed, _state(event.engine)

    def before_backward(self, event: Backward) -> None:
        seeded, self.seeded = self.seeded, None
        if seeded is None:
            self.times = 0
            return
        line, seed, after = seeded
        now = _state(event.engine)
        if now == after:
            self.times = 0  # nothing was drawn
            return
        is_same = self.last == (line, seed, now)
        self.last, self.times = (line, seed, now), self.times + 1 if is_same else 1
        if self.times == self.enough:
            self.report(
                f"The seed {seed} is set here in every iteration: the same random numbers were drawn in each of the "
                f"last {self.times} steps.",
                line, figures={"seed": seed, "steps": self.times},
            )  # fmt: skip


def _state(engine: Any) -> bytes:
    return bytes(engine.get_rng_state().numpy().tobytes())
