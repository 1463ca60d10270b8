"""timm: a small vision transformer and a small ResNet, one training step each."""

import timm
import torch

torch.manual_seed(0)
models = {
    "vit": timm.create_model(
        "vit_tiny_patch16_224", img_size=32, patch_size=8, embed_dim=24, depth=2, num_heads=2,
        num_classes=5,
    ),
    "resnet": timm.create_model("resnet10t", num_classes=5),
}  # fmt: skip
images, labels = torch.randn(2, 3, 32, 32), torch.tensor([1, 3])
for name, model in models.items():
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(name, f"{loss.item():.4f}")
