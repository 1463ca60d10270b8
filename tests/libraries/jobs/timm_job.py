"""timm: a vision transformer and a residual network of its registry, trained for a few steps."""

import timm
import torch

for name, options in (
    ("vit_tiny_patch16_224", {"img_size": 32, "patch_size": 8, "depth": 2, "embed_dim": 48}),
    ("resnet10t", {}),
    ("mobilenetv3_small_050", {}),
):
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False, num_classes=5, **options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    images, labels = torch.randn(4, 3, 32, 32), torch.tensor([0, 1, 2, 3])
    for step in range(2):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(name, step, f"{loss.item():.3f}")
