"""fastai: a Learner with its own loop, callbacks, schedule and optimizer, on plain data."""

import torch
import torch.nn as nn
from fastai.basics import DataLoader, DataLoaders, Learner, accuracy, set_seed
from fastai.callback.schedule import fit_one_cycle  # noqa: F401  (a method of Learner's from then on)
from fastai.callback.training import GradientClip
from fastai.losses import LabelSmoothingCrossEntropyFlat
from fastai.optimizer import Adam, ranger

torch.set_num_threads(1)
set_seed(0)
points = torch.randn(96, 6)
labels = (points[:, 0] > points[:, 1]).long() + (points[:, 2] > 0.5).long()
pairs = list(zip(points, labels, strict=True))
loaders = DataLoaders(DataLoader(pairs[:64], bs=16, shuffle=True), DataLoader(pairs[64:], bs=16))

for optimizer in (Adam, ranger):
    set_seed(1)
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
    learner = Learner(
        loaders, model, loss_func=LabelSmoothingCrossEntropyFlat(), opt_func=optimizer, metrics=accuracy,
        cbs=GradientClip(0.5),
    )  # fmt: skip
    with learner.no_bar(), learner.no_logging():
        learner.fit_one_cycle(2, 1e-2)
    print([[f"{v:.4f}" for v in map(float, row)] for row in learner.recorder.values])
    print(
        [f"{v:.4f}" for v in map(float, learner.recorder.losses)], f"{learner.recorder.lrs[-1]:.6f}"
    )
    with learner.no_bar():
        predictions, targets = learner.get_preds()
    print(tuple(predictions.shape), f"{predictions.max().item():.4f}", int(targets.sum()))
