"""e3nn: a network that turns with its input, its gates and its spherical harmonics."""

import torch
from e3nn import o3

torch.manual_seed(0)
irreps_in, irreps_out = o3.Irreps("2x0e + 1x1o"), o3.Irreps("4x0e + 2x1o")
harmonics = o3.spherical_harmonics([0, 1, 2], torch.randn(4, 3), normalize=True)
print(harmonics.shape, harmonics.sum(0))
linear = o3.Linear(irreps_in, irreps_out)
product = o3.FullyConnectedTensorProduct(irreps_in, "1x0e + 1x1o", irreps_out)
optimizer = torch.optim.Adam([*linear.parameters(), *product.parameters()], lr=0.05)
x, y = irreps_in.randn(8, -1), o3.Irreps("1x0e + 1x1o").randn(8, -1)
norm = o3.Norm(irreps_out)
for step in range(4):
    optimizer.zero_grad()
    loss = (norm(linear(x) + product(x, y)) - 1).square().mean()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f}")
turn = o3.rand_matrix()
before = product(x @ irreps_in.D_from_matrix(turn).T, y @ o3.Irreps("0e+1o").D_from_matrix(turn).T)
after = product(x, y) @ irreps_out.D_from_matrix(turn).T
print((before - after).abs().max() < 1e-4)
