"""timm: two small models of its registry trained with its own loss, optimizer, schedule and average."""

import python_only  # noqa: F401
import timm
import torch
from timm.data import Mixup
from timm.loss import LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV2, accuracy

torch.set_num_threads(1)
torch.manual_seed(0)


def small(name):
    """A model of the registry, cut down to what trains in a second."""
    if name == "vit":
        return timm.create_model(
            "vit_tiny_patch16_224", img_size=32, patch_size=8, embed_dim=48, depth=2, num_heads=3,
            num_classes=5, drop_path_rate=0.1,
        )  # fmt: skip
    return timm.create_model(name, num_classes=5, in_chans=3)


pictures, labels = torch.randn(8, 3, 32, 32), torch.randint(5, (8,))
for name, optimizer_name in (("vit", "adamw"), ("resnet10t", "lamb"), ("test_convnext", "nadamw")):
    model = small(name)
    optimizer = create_optimizer_v2(model, opt=optimizer_name, lr=1e-3, weight_decay=0.05)
    schedule = CosineLRScheduler(optimizer, t_initial=4, warmup_t=1, warmup_lr_init=1e-4)
    average = ModelEmaV2(model, decay=0.9)
    smooth = LabelSmoothingCrossEntropy(0.1)
    model.train()
    for step in range(4):
        loss = smooth(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step(step + 1)
        average.update(model)
        print(f"{name} {step} {loss.item():.4f} {optimizer.param_groups[0]['lr']:.6f}")
    with torch.no_grad():
        top = accuracy(average.module.eval()(pictures), labels, topk=(1, 3))
    print([round(float(t), 2) for t in top], sum(p.numel() for p in model.parameters()))

mixup = Mixup(mixup_alpha=0.8, cutmix_alpha=0.0, num_classes=5)
import numpy as np  # noqa: E402

np.random.seed(0)  # noqa: NPY002  (what Mixup draws from)
mixed, soft = mixup(pictures.clone(), labels)
print(f"{SoftTargetCrossEntropy()(small('vit').eval()(mixed), soft).item():.4f}")
features = timm.create_model("resnet10t", features_only=True, out_indices=(1, 2))
print([tuple(f.shape) for f in features(pictures)])
