"""torchvision's Python: models, transforms of both kinds, and operations that need no compiled part."""

import python_only  # noqa: F401
import torch
from torchvision import models, transforms, utils
from torchvision.ops import MLP, StochasticDepth, box_area, box_convert, box_iou, sigmoid_focal_loss
from torchvision.transforms import functional as TF
from torchvision.transforms import v2

torch.set_num_threads(1)
torch.manual_seed(0)

pictures, labels = torch.rand(4, 3, 64, 64), torch.randint(5, (4,))
augment = transforms.Compose([
    transforms.RandomCrop(56), transforms.RandomHorizontalFlip(), transforms.ColorJitter(0.2, 0.2, 0.2),
    transforms.Normalize([0.5] * 3, [0.25] * 3),
])  # fmt: skip
augmented = torch.stack([augment(p) for p in pictures])
print(augmented.shape, f"{augmented.mean().item():.4f} {augmented.std().item():.4f}")
turned = TF.rotate(TF.resize(pictures, [48, 48], antialias=True), 30.0)
print(f"{turned.mean().item():.4f}", tuple(TF.five_crop(pictures, 32)[4].shape))
second = v2.Compose(
    [v2.RandomResizedCrop(48, antialias=True), v2.ToDtype(torch.float32, scale=True)]
)
print(f"{second(pictures).mean().item():.4f}", tuple(utils.make_grid(pictures, nrow=2).shape))

for name in ("resnet18", "mobilenet_v3_small", "shufflenet_v2_x0_5", "squeezenet1_1"):
    model = models.get_model(name, weights=None, num_classes=5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(2):
        loss = torch.nn.functional.cross_entropy(model(augmented), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{name} {loss.item():.3f}")
    print(sum(p.numel() for p in model.parameters()))

boxes = torch.tensor([[0.0, 0.0, 4.0, 4.0], [1.0, 1.0, 3.0, 5.0]])
print(box_area(boxes), box_iou(boxes, boxes), box_convert(boxes, "xyxy", "cxcywh"))
net = torch.nn.Sequential(MLP(6, [8, 1]), StochasticDepth(0.3, "row"))
out = net(torch.randn(5, 6))
focal = sigmoid_focal_loss(out, torch.ones(5, 1), reduction="mean")
focal.backward()
print(f"{focal.item():.4f} {net[0][0].weight.grad.norm().item():.4f}")
