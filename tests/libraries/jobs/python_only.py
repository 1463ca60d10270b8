"""torchvision without its compiled part, which is built for one release of PyTorch alone.

Import this first: torchvision asks for these operations by name while it is imported.
"""

import torch

for name in ("nms", "qnms"):
    schema = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    torch.library.define(f"torchvision::{name}", schema)
