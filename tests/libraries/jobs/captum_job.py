"""captum: what a trained classifier looked at, by five ways of attribution."""

import torch
from captum.attr import DeepLift, FeatureAblation, InputXGradient, IntegratedGradients, Saliency

torch.manual_seed(0)
inputs = torch.randn(64, 6)
labels = (inputs[:, 0] * inputs[:, 1] > 0).long()
model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for _ in range(20):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")

model.eval()
sample = inputs[:3].clone().requires_grad_()
found, delta = IntegratedGradients(model).attribute(sample, target=1, return_convergence_delta=True)
print("integrated gradients", found.sum(0), delta.abs().max() < 0.5)
print("saliency", Saliency(model).attribute(sample, target=1).sum(0))
print("input times gradient", InputXGradient(model).attribute(sample, target=0).sum(0))
print("DeepLift", DeepLift(model).attribute(sample, torch.zeros_like(sample), target=1).sum(0))
print("ablation", FeatureAblation(model).attribute(sample, target=1).sum(0))
