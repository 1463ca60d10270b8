"""A run that is interrupted, saved and resumed gives the losses, bit for bit, of one that is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tautograd
from tests.both import same


def begun(torch: Any, lower: str | None) -> dict[str, Any]:
    """What takes part in training: all of it goes into a checkpoint."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    return {
        "model": model,
        "optimizer": optimizer,
        "schedule": torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 6),
        "scaler": torch.amp.GradScaler("cpu", growth_interval=4, enabled=lower == "float16"),
    }


def epochs(torch: Any, parts: dict[str, Any], lower: str | None, count: int) -> list[float]:
    source = torch.Generator().manual_seed(7)
    x = torch.randn(40, 6, generator=source)
    target = torch.randint(0, 3, (40,), generator=source)
    data = torch.utils.data.TensorDataset(x, target)
    model, optimizer, scaler = parts["model"], parts["optimizer"], parts["scaler"]
    kind = torch.bfloat16 if lower is None else getattr(torch, lower)
    losses = []
    for _ in range(count):
        for inputs, labels in torch.utils.data.DataLoader(data, 8, shuffle=True):
            optimizer.zero_grad()
            with torch.autocast("cpu", kind, enabled=lower is not None):
                loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        parts["schedule"].step()
    return losses


def resumed(torch: Any, path: Path, lower: str | None) -> tuple[list[float], list[float]]:
    """The losses of one run, and of one that is saved after two epochs and goes on from the file."""
    torch.manual_seed(1)
    whole = epochs(torch, begun(torch, lower), lower, 5)
    torch.manual_seed(1)
    parts = begun(torch, lower)
    first = epochs(torch, parts, lower, 2)
    state = {name: part.state_dict() for name, part in parts.items()}
    torch.save({**state, "random": torch.get_rng_state()}, path)
    torch.manual_seed(99)
    parts = begun(torch, lower)
    loaded = torch.load(path, weights_only=True)
    torch.set_rng_state(loaded["random"])
    for name, part in parts.items():
        part.load_state_dict(loaded[name])
    return whole, first + epochs(torch, parts, lower, 3)


@pytest.mark.parametrize("lower", [None, "bfloat16", "float16"])
def test_bit_for_bit(tmp_path: Path, lower: str | None) -> None:
    whole, parts = resumed(tautograd, tmp_path / "run.pt", lower)
    assert parts == whole
    assert min(whole) < whole[0]


@same
def test_the_losses_are_those_of_pytorch(torch: Any, tmp_path: Path) -> Any:
    whole, parts = resumed(torch, tmp_path / "run.pt", None)
    return [round(loss, 4) for loss in whole], [round(loss, 4) for loss in parts]
