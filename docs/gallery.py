"""Writes the pages of the gallery: graphs and runs, each one file, as `taut view` and the doctor make them."""

from __future__ import annotations

import contextlib
import io
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tautograd as torch
from tautograd import doctor, view
from tautograd._doctor.report.page import as_page
from tautograd._doctor.report.report import plain
from tautograd._doctor.rules import RULES
from tautograd._doctor.rules.base import Rule

nn = torch.nn


def square() -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    return y  # noqa: RET504  (the line names it)


def network() -> Any:
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    x, target = torch.randn(16, 2), torch.randn(16, 1)
    loss = nn.functional.mse_loss(model(x), target)
    return loss  # noqa: RET504


def convolution() -> Any:
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 49, 10)
    )
    images, labels = torch.randn(4, 1, 16, 16), torch.tensor([1, 7, 3, 3])
    loss = nn.functional.cross_entropy(model(images), labels)
    return loss  # noqa: RET504


def attention() -> Any:
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    loss = layer(torch.randn(2, 8, 16)).pow(2).mean()
    return loss  # noqa: RET504


class GPT(nn.Module):
    """A language model of two blocks, from letters to the scores of the next."""

    def __init__(self, letters: int = 20, width: int = 16, length: int = 8) -> None:
        super().__init__()
        self.letter = nn.Embedding(letters, width)
        self.place = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, 4, 4 * width, dropout=0.0, batch_first=True, norm_first=True
            )
            for _ in range(2)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, letters)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

    def forward(self, text: Any) -> Any:
        h = self.letter(text) + self.place(torch.arange(text.shape[1]))
        for block in self.blocks:
            h = block(h, src_mask=self.mask)
        return self.head(self.norm(h))


def language_model() -> Any:
    model = GPT()
    text = torch.randint(20, (2, 9))
    scores = model(text[:, :-1])
    loss = nn.functional.cross_entropy(scores.reshape(-1, 20), text[:, 1:].reshape(-1))
    return loss  # noqa: RET504


def vanishing() -> Any:
    layers: list[Any] = []
    for _ in range(6):
        layers += [nn.Linear(8, 8), nn.Sigmoid()]
    model = nn.Sequential(*layers, nn.Linear(8, 1))
    x, target = torch.randn(16, 8), torch.randn(16, 1)
    loss = nn.functional.mse_loss(model(x), target)
    return loss  # noqa: RET504


def cut_off() -> Any:
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    scale = x.detach().norm()
    loss = (x * scale).sum()
    return loss  # noqa: RET504


def not_a_number() -> Any:
    x = torch.tensor([1.0, 0.0], requires_grad=True)
    loss = (x.sqrt() * x.log()).sum()
    return loss  # noqa: RET504


PAGES: dict[str, tuple[str, Callable[[], Any]]] = {
    "square": ("x · x, the smallest graph; drag x", square),
    "network": ("A network of two layers; drag a weight", network),
    "convolution": ("A convolution: its filters as pictures", convolution),
    "attention": ("A layer of a transformer", attention),
    "gpt": ("A GPT of two blocks", language_model),
    "vanishing": ("A gradient that vanishes on its way through six sigmoids", vanishing),
    "cut": ("A gradient that is cut by `detach()`", cut_off),
    "nan": ("Where NaN comes from", not_a_number),
}


def write_gallery(folder: Path) -> None:
    """Write each page into a folder, with a small picture of it; a run for every rule of the doctor."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (_, program) in PAGES.items():
        torch.manual_seed(0)
        drawn = view(program)
        drawn.save(folder / f"{name}.html", source=True)
        drawn.save(folder / f"{name}.svg")
    for rule in RULES:
        (folder / f"{rule.code}.html").write_text(broken_and_mended(rule), encoding="utf-8")


def broken_and_mended(rule: type[Rule]) -> str:
    """The page of a run that breaks a rule, with the loss of the mended one on the same axis."""
    with tempfile.TemporaryDirectory() as folder:
        broken = _watched(rule.bug, Path(folder, "broken.py"), deep=rule.deep)
        mended = _watched(rule.fixed, Path(folder, "mended.py"), deep=rule.deep)
        both = all(run["history"] and run["history"]["curve"]["steps"] for run in (broken, mended))
        return as_page(broken, folder, other=mended if both else None)


def _watched(source: str, file: Path, *, deep: bool) -> Any:
    """The doctor's report of a program that lies in a file of its own."""
    file.write_text(source.strip() + "\n", encoding="utf-8")
    code = compile(file.read_text(encoding="utf-8"), str(file), "exec")
    with (
        warnings.catch_warnings(),  # the engine itself warns of some mistakes
        contextlib.redirect_stdout(io.StringIO()),
        doctor(engines=[torch], deep=deep) as found,
    ):
        warnings.simplefilter("ignore")
        exec(code, {"torch": torch, "__name__": "__main__"})
    return {**plain(found), "script": file.name}
