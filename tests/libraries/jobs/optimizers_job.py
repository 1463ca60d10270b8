"""lion-pytorch, torch-optimizer, pytorch-optimizer: optimizers of others, each for a few steps."""

import torch
import torch_optimizer
from lion_pytorch import Lion
from pytorch_optimizer import AdaBelief, AdamP, Adan, Ranger21

torch.manual_seed(0)
inputs, wanted = torch.randn(32, 5), torch.randn(32, 2)
for make in (
    lambda p: Lion(p, lr=1e-2, weight_decay=0.1),
    lambda p: torch_optimizer.RAdam(p, lr=1e-2),
    lambda p: torch_optimizer.Yogi(p, lr=1e-2),
    lambda p: torch_optimizer.Lookahead(torch_optimizer.DiffGrad(p, lr=1e-2), k=3),
    lambda p: AdaBelief(p, lr=1e-2),
    lambda p: AdamP(p, lr=1e-2),
    lambda p: Adan(p, lr=1e-2),
    lambda p: Ranger21(p, num_iterations=8, lr=1e-2),
):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    optimizer = make(model.parameters())
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), wanted)
        loss.backward()
        optimizer.step()
        losses.append(f"{loss.item():.4f}")
    print(type(optimizer).__name__, *losses)
