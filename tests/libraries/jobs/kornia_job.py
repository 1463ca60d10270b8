"""kornia: filters, colours and a warp that is fitted to a picture by its gradient."""

import kornia
import torch

torch.manual_seed(0)
image = torch.rand(1, 3, 16, 16)
print(f"{kornia.filters.gaussian_blur2d(image, (3, 3), (1.0, 1.0)).sum().item():.3f}")
print(f"{kornia.filters.sobel(image).sum().item():.3f}")
print(
    f"{kornia.color.rgb_to_lab(image).sum().item():.2f}",
    f"{kornia.color.rgb_to_hsv(image).sum().item():.2f}",
)
angle = torch.tensor([5.0], requires_grad=True)
target = kornia.geometry.transform.rotate(image, torch.tensor([20.0]))
optimizer = torch.optim.Adam([angle], lr=2.0)
for step in range(4):
    loss = (kornia.geometry.transform.rotate(image, angle) - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.4f}", f"{angle.item():.3f}")
print(f"{kornia.losses.ssim_loss(image, target, 5).item():.4f}")
