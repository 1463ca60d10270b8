"""higher: an inner loop that is differentiated through, as in MAML."""

import higher
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
outer = torch.optim.Adam(model.parameters(), lr=0.01)
inner = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 2), torch.randn(8, 1)
for _ in range(3):
    outer.zero_grad()
    with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (fast, step):
        for _ in range(2):
            step.step(torch.nn.functional.mse_loss(fast(x), y))
        loss = torch.nn.functional.mse_loss(fast(x), y)
        loss.backward()
    outer.step()
    print(f"{loss.item():.5f}")
