"""The sound training loop that many rules' examples depart from, said once."""

from __future__ import annotations


def training(
    loop: str = "",
    *,
    before: str = "",
    model: str = "torch.nn.Linear(3, 1)",
    lr: float = 0.01,
    scheduler: str = "",
    data: str = "x, y = torch.randn(8, 3), torch.randn(8, 1)",
    steps: int = 0,
) -> str:
    """An example: a seed, a model, its optimizer and data, then `loop`, or as many plain `steps`.

    `loop`, `before` (which stands before the model) and `scheduler` are lines of a diff as in `Rule.example`.
    """
    points = f"\n  {data}" if data else ""  # else the loop draws its own
    return f"""
  torch.manual_seed(0){before.rstrip()}
  model = {model}
  optimizer = torch.optim.SGD(model.parameters(), lr={lr}){scheduler.rstrip()}{points}{loop or plain_steps(steps)}"""


def plain_steps(number: int) -> str:
    """The end of an example: a loop in which nothing is wrong."""
    return f"""
  for _ in range({number}):
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(model(x), y).backward()
      optimizer.step()
"""
