"""gpytorch: an exact Gaussian process fitted by its marginal likelihood."""

import gpytorch
import torch

torch.manual_seed(0)


class Process(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


x = torch.linspace(0, 1, 20)
y = torch.sin(6.0 * x) + 0.1 * torch.randn(20)
likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Process(x, y, likelihood)
model.train()
likelihood.train()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
for _ in range(5):
    optimizer.zero_grad()
    loss = -objective(model(x), y)
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
model.eval()
likelihood.eval()
with torch.no_grad():
    print([round(v, 3) for v in likelihood(model(torch.tensor([0.25, 0.75]))).mean.tolist()])
