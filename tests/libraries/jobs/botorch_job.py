"""BoTorch's core: a Gaussian process fitted, and acquisition functions maximised."""

import warnings

import torch
from botorch import fit_gpytorch_mll
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound, qExpectedImprovement
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from botorch.test_functions import Branin
from gpytorch.mlls import ExactMarginalLogLikelihood

warnings.simplefilter("ignore")
torch.set_num_threads(1)
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

problem = Branin(negate=True)
low, high = problem.bounds
points = low + (high - low) * torch.rand(8, 2)
values = problem(points).unsqueeze(-1)
print(f"{values.mean().item():.4f}")
for _ in range(2):
    model = SingleTaskGP(
        points, values, input_transform=Normalize(d=2), outcome_transform=Standardize(m=1)
    )
    likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
    fit_gpytorch_mll(likelihood)
    posterior = model.posterior(points[:3] + 0.1)
    print([f"{m:.2f}" for m in posterior.mean.squeeze(-1).tolist()])
    best, value = optimize_acqf(
        LogExpectedImprovement(model, best_f=values.max()), bounds=problem.bounds, q=1,
        num_restarts=3, raw_samples=16,
    )  # fmt: skip
    print([f"{b:.2f}" for b in best.squeeze(0).tolist()], f"{value.item():.3f}")
    points = torch.cat([points, best])
    values = torch.cat([values, problem(best).unsqueeze(-1)])
bound = UpperConfidenceBound(model, beta=0.2)
several = qExpectedImprovement(model, values.max(), SobolQMCNormalSampler(torch.Size([32]), seed=1))
candidates = (low + (high - low) * torch.rand(2, 2)).requires_grad_()
total = bound(candidates[:1].unsqueeze(0)).sum() + several(candidates.unsqueeze(0)).sum()
total.backward()
print(f"{total.item():.3f}", [f"{g:.3f}" for g in candidates.grad.flatten().tolist()])
