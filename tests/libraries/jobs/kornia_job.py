"""kornia: filters, colours and a warp, with a gradient through them."""

import kornia
import torch

torch.manual_seed(0)
image = torch.rand(1, 3, 8, 8, requires_grad=True)
grey = kornia.color.rgb_to_grayscale(image)
blurred = kornia.filters.gaussian_blur2d(grey, (3, 3), (1.0, 1.0))
turned = kornia.geometry.transform.rotate(blurred, torch.tensor([30.0]))
edges = kornia.filters.sobel(turned)
loss = edges.mean() + kornia.color.rgb_to_hsv(image).sum() * 0.001
loss.backward()
print(f"{loss.item():.4f} {image.grad.norm().item():.3f}")
print([f"{v:.3f}" for v in turned.flatten()[:6].tolist()])
