"""Randomly generated data sets with the sizes and classes of popular ones; pictures have their own seed."""

from __future__ import annotations

from typing import Any

SHAPES: dict[str, tuple[tuple[int, ...], int, int]] = {
    "MNIST": ((28, 28), 10, 256),
    "FashionMNIST": ((28, 28), 10, 256),
    "KMNIST": ((28, 28), 10, 256),
    "CIFAR10": ((32, 32, 3), 10, 256),
    "CIFAR100": ((32, 32, 3), 100, 256),
}
"""The size of a picture, the number of classes, and the number of pictures."""


def replace(module: Any) -> None:
    """Install them in place of torchvision's classes, with the same arguments."""
    for name in SHAPES:
        setattr(module, name, _class(name, getattr(module, name)))


def _class(name: str, original: type) -> type:
    import numpy as np
    import torch
    from PIL import Image

    shape, classes, count = SHAPES[name]

    def __init__(
        self: Any,
        root: Any = None,
        train: bool = True,
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
    ) -> None:
        generator = np.random.RandomState(1 if train else 2)
        self.root, self.train = root, train
        self.transform, self.target_transform = transform, target_transform
        pictures = generator.randint(0, 256, (count, *shape)).astype(np.uint8)
        labels = generator.randint(0, classes, count)
        self.classes = [str(i) for i in range(classes)]
        if len(shape) == 2:
            self.data, self.targets = torch.from_numpy(pictures), torch.from_numpy(labels)
        else:
            self.data, self.targets = pictures, labels.tolist()

    def __getitem__(self: Any, index: int) -> Any:
        array = np.asarray(self.data[index])
        picture: Any = Image.fromarray(array)
        label = int(self.targets[index])
        if self.transform is not None:
            picture = self.transform(picture)
        if self.target_transform is not None:
            label = self.target_transform(label)
        return picture, label

    def __len__(self: Any) -> int:
        return count

    return type(
        name, (original,), {"__init__": __init__, "__getitem__": __getitem__, "__len__": __len__}
    )
