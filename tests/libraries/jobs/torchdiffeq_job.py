"""torchdiffeq: a neural ODE trained through the solver and by the adjoint."""

import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint

torch.manual_seed(0)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3)


start, times = torch.tensor([[2.0, 0.0]]), torch.linspace(0.0, 1.0, 6)
truth = torch.stack([start * (1 - 0.5 * t) for t in times])
for solve in (odeint, odeint_adjoint):
    field = Field()
    optimizer = torch.optim.RMSprop(field.parameters(), lr=1e-3)
    for _ in range(3):
        optimizer.zero_grad()
        loss = (solve(field, start, times, method="rk4") - truth).abs().mean()
        loss.backward()
        optimizer.step()
        print(solve.__name__, f"{loss.item():.5f}")
print(f"{odeint(Field(), start, times, method='dopri5')[-1].sum().item():.4f}")
