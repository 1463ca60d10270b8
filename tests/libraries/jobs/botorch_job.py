"""botorch: a Gaussian process fitted to a few points, and where to look next."""

import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

torch.manual_seed(0)
points = torch.rand(8, 2, dtype=torch.float64)
values = (points - 0.4).norm(dim=-1, keepdim=True)
model = SingleTaskGP(points, values)
fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
print(f"{model.posterior(points[:1]).mean.item():.3f}")
acquisition = LogExpectedImprovement(model, best_f=values.max())
box = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
found, best = optimize_acqf(acquisition, box, q=1, num_restarts=2, raw_samples=8)
print([round(v, 2) for v in found[0].tolist()], f"{best.item():.2f}")
