"""The sound training loop that many rules' examples depart from, said once."""

from __future__ import annotations


def training(
    loop: str = "",
    *,
    before: str = "",
    model: str = "torch.nn.Linear(3, 1)",
    optimizer: str = "torch.optim.SGD(model.parameters(), lr=0.01)",
    scheduler: str = "",
    data: str = "x, y = torch.randn(8, 3), torch.randn(8, 1)",
    steps: int = 0,
) -> str:
    """An example: a seed, a model, its optimizer and data, then `loop`, or as many plain `steps`.

    `loop` and `before`, which stands before the model, are lines of a diff as in `Rule.example`.
    """
    made = (f"model = {model}", f"optimizer = {optimizer}", scheduler, data)
    setup = "\n".join(f"  {line}" for line in made if line)
    return f"\n  torch.manual_seed(0){before.rstrip()}\n{setup}{loop or plain_steps(steps)}"


def plain_steps(number: int) -> str:
    """The end of an example: a loop in which nothing is wrong."""
    return f"""
  for _ in range({number}):
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(model(x), y).backward()
      optimizer.step()
"""
