"""Whose a file is follows from the folder it lies in, whatever that folder is called."""

from __future__ import annotations

import os
import runpy
import sys
import sysconfig
import textwrap

import numpy as np
import pytest
import torch

import tautograd
from tautograd._user_code.owners import Owner, foreign, internal, owners

NAMES = [
    "_doctor", "doctor", "torch", "tautograd", "tautograd/_doctor", "tautograd/_verify", "numpy",
    "my-site-packages", "site-packages", "site-packages-old/torch", "lib/python3.12/site-packages/torch",
    "dist-packages", "transformers", "lightning", "checkpoint", "utils/checkpoint", "<frozen>", "json",
]  # fmt: skip
STDLIB, PACKAGES = sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")


@pytest.mark.parametrize("name", NAMES)
def test_a_project_in_a_folder_of_any_name_is_the_users(tmp_path, name):
    file = str(tmp_path / name / "train.py")
    assert owners[file] is Owner.USERS
    assert not internal[file]
    assert not foreign[file]


@pytest.mark.parametrize(
    ("file", "owner"),
    [
        (tautograd.__file__, Owner.ENGINE),
        (torch.__file__, Owner.ENGINE),
        (torch.optim.__file__, Owner.ENGINE),
        (np.__file__, Owner.ENGINE),
        (os.path.join(os.path.dirname(tautograd.__file__), "_doctor", "doctor.py"), Owner.KIT),
        (os.path.join(os.path.dirname(tautograd.__file__), "_doctor_of_mine.py"), Owner.ENGINE),
        (pytest.__file__, Owner.LIBRARY),
        (os.path.join(PACKAGES, "torch_of_mine", "a.py"), Owner.LIBRARY),
        (os.path.join(PACKAGES, "transformers", "trainer.py"), Owner.FRAMEWORK),
        (os.path.join(PACKAGES, "transformers_of_mine", "trainer.py"), Owner.LIBRARY),
        (os.path.join(PACKAGES, "mine", "transformers", "trainer.py"), Owner.LIBRARY),
        (textwrap.__file__, Owner.PYTHON),
        (STDLIB + "-of-mine/a.py", Owner.USERS),
        (PACKAGES + "-of-mine/a.py", Owner.USERS),
        (torch.__file__.replace(f"{os.sep}torch{os.sep}", f"{os.sep}torchvision{os.sep}"), Owner.LIBRARY),
        ("<frozen importlib._bootstrap>", Owner.PYTHON),
        ("<string>", Owner.GENERATED),
        ("<stdin>", Owner.USERS),
        ("<ipython-input-1-abc>", Owner.USERS),
    ],
)  # fmt: skip
def test_owners(file, owner):
    assert owners[file] is owner


def test_a_link_is_what_it_leads_to(tmp_path):
    (tmp_path / "engine").symlink_to(os.path.dirname(tautograd.__file__))
    assert owners[str(tmp_path / "engine" / "__init__.py")] is Owner.ENGINE


def test_a_relative_name_is_of_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert owners[f"relative_{tmp_path.name}.py"] is Owner.USERS


# A bug in each of the rules that look at the frames around a call, and at checkpoints.
PROGRAM = """
import importlib
import {engine} as torch
nn, F = torch.nn, torch.nn.functional
checkpoint = importlib.import_module("{engine}.utils.checkpoint").checkpoint

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)
    def forward(self, x):
        return self.layer(F.dropout(x, 0.5))

torch.manual_seed(0)
model = Net()
block = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU())
head = nn.Linear(8, 1)
optimizer = torch.optim.SGD([*model.parameters(), *block.parameters(), *head.parameters()], lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for epoch in range(4):
    model.train()
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y) + F.mse_loss(head(checkpoint(block, x, use_reentrant=False)), y)
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        F.mse_loss(model(x), y)
"""


@pytest.mark.parametrize("engine", ["tautograd", "torch"])
@pytest.mark.parametrize(
    "folder",
    ["plain", "_doctor", "torch/utils", "site-packages/torch", "checkpoint", "a/tautograd"],
)
def test_the_doctor_sees_in_a_folder_of_any_name(tmp_path, folder, engine):
    script = tmp_path / folder / "train.py"
    script.parent.mkdir(parents=True)
    script.write_text(PROGRAM.format(engine=engine))
    with tautograd.doctor(engines=[sys.modules[engine]]) as doctor:
        runpy.run_path(str(script))
    lines = {f.code: (f.site.file, f.site.text) for f in doctor.findings}
    assert {"TG602", "TG603"} <= lines.keys()
    assert lines["TG602"] == (str(script), "return self.layer(F.dropout(x, 0.5))")
    assert lines["TG603"][0] == str(script)
    assert "checkpoint(block, x" in lines["TG603"][1]


@pytest.mark.parametrize("folder", ["plain", "torch", "site-packages", "site-packages/torch"])
def test_a_loop_that_never_steps_is_read_in_a_folder_of_any_name(tmp_path, folder):
    script = tmp_path / folder / "train.py"
    script.parent.mkdir(parents=True)
    script.write_text(NEVER_STEPS)
    with tautograd.doctor(engines=[tautograd]) as doctor:
        runpy.run_path(str(script))
    found = [f for f in doctor.findings if f.name == "never-stepped"]
    assert [f.site.text for f in found] == ["optimizer.step"]


NEVER_STEPS = """
import tautograd as torch
torch.manual_seed(0)
layer = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
for _ in range(12):
    optimizer.zero_grad()
    layer(torch.randn(4, 3)).pow(2).mean().backward()
    optimizer.step
"""
