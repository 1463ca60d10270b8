"""torchsde: paths of a stochastic differential equation, and its drift and noise fitted to where they should end."""

import torch
import torchsde


class Equation(torch.nn.Module):
    """A drift and a diagonal noise, both learned."""

    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.drift = torch.nn.Sequential(
            torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3)
        )
        self.spread = torch.nn.Linear(3, 3)

    def f(self, t, y):
        """The drift."""
        return self.drift(y) * torch.cos(t)

    def g(self, t, y):
        """The noise."""
        return torch.sigmoid(self.spread(y)) * 0.3


torch.manual_seed(0)
equation = Equation()
start = torch.randn(8, 3)
times = torch.linspace(0, 1, 6)
optimizer = torch.optim.Adam(equation.parameters(), lr=0.02)
for step in range(5):
    noise = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(8, 3), entropy=step)
    optimizer.zero_grad()
    paths = torchsde.sdeint(equation, start, times, bm=noise, method="euler", dt=0.1)
    loss = (paths[-1] - 1.0).square().mean()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f}")
noise = torchsde.BrownianInterval(
    t0=0.0, t1=1.0, size=(8, 3), entropy=7, levy_area_approximation="space-time"
)
start.requires_grad_()
ends = torchsde.sdeint_adjoint(equation, start, times, bm=noise, method="milstein", dt=0.1)[-1]
ends.sum().backward()
print(ends.mean(0), start.grad.sum(0))
