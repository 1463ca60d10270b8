"""`taut run --check` names every missing name with its line, and runs nothing."""

from __future__ import annotations

import json

import pytest

# A program, and what is said of it: (line, name, in PyTorch, guarded, sure).
PROGRAMS = {
    "import torch\ntorch.relu(torch.ones(3))\n": [],
    "import torch\ntorch.mtia.synchronize()\n": [(2, "torch.mtia.synchronize", True, False, True)],
    "import torch.nn as nn\nnn.Liner(2, 3)\n": [(2, "torch.nn.Liner", False, False, True)],
    "from torch.nn import Linear, Liner\n": [(1, "torch.nn.Liner", False, False, True)],
    "from torch import nn as layers\nx = layers.functional.rellu\n": [
        (2, "torch.nn.functional.rellu", False, False, True)
    ],
    "import tautograd as torch\ntorch.rellu\n": [(2, "tautograd.rellu", False, False, True)],
    "import torch\nF = torch.nn.functional\ndef f(x):\n    return F.rellu(x)\n": [
        (4, "torch.nn.functional.rellu", False, False, True)
    ],
    # a name that something else binds is unknown
    "import torch\ndef f(torch):\n    return torch.rellu\n": [],
    "import torch\nfor torch in range(3):\n    torch.rellu\n": [],
    "import torch\nF = torch.nn\nF = 3\nF.rellu\n": [],
    "import torch\n[torch.rellu for torch in ()]\n": [],
    "class torch:\n    rellu = 1\nprint(torch.rellu)\n": [],
    "import torch\ndef f():\n    torch = 3\n    return torch.rellu\n": [],
    # a program that looks first
    "try:\n    from torch.mtia import x\nexcept ImportError:\n    x = None\n": [
        (2, "torch.mtia.x", True, True, True)
    ],
    "import torch\nif hasattr(torch, 'rellu'):\n    torch.rellu\nelse:\n    torch.relu\n": [
        (3, "torch.rellu", False, True, True)
    ],
    "import torch\nx = getattr(torch, 'rellu', None)\n": [(2, "torch.rellu", False, True, True)],
    "import torch\nx = getattr(torch, 'rellu')\n": [(2, "torch.rellu", False, False, True)],
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch.mtia import x\n": [],
    "import importlib\nimportlib.import_module('torch.mtia')\n": [
        (2, "torch.mtia", True, False, True)
    ],
    # a method of what may be a tensor
    "def f(x):\n    return x.to_mkldnn()\n": [(2, "torch.Tensor.to_mkldnn", True, False, False)],
    "def f(x):\n    return x.index(3)\n": [],
    # classes say what they have, values are left alone
    "import torch\ntorch.nn.Linear.forwad\ntorch.float32.whatever\n": [
        (2, "torch.nn.Linear.forwad", False, False, True)
    ],
    "import torch\ntorch.x = 3\n": [],
    "from torch.nn import *\nimport torchvision, torch_thing\ntorch_thing.x\n": [],
}


@pytest.mark.parametrize("text", PROGRAMS)
def test_what_is_missing(workshop, text):
    workshop.write("script.py", text)
    got = workshop.taut("run", "--check", "--json", "script.py")
    missing = [
        (f["line"], f["name"], f["in_pytorch"], f["guarded"], f["sure"])
        for f in json.loads(got.stdout)["missing"]
    ]
    assert missing == PROGRAMS[text]
    stops = any(sure and not guarded for *_, guarded, sure in missing)
    assert (got.returncode, got.stderr) == (int(stops), "")


def test_the_programs_own_modules_are_read_and_not_run(workshop):
    workshop.write("script.py", "from common import nn, layers\nimport package.deep\nnn.Liner\n")
    workshop.write("common.py", "import layers\nfrom torch import nn\nraise SystemExit('ran')\n")
    workshop.write("layers.py", "from common import *\nnn.Cnov2d\n")
    workshop.write("package/__init__.py", "from torch import optim as optimizers\n")
    workshop.write("package/deep.py", "from . import optimizers\noptimizers.Adm\n")
    got = workshop.taut("run", "--check", "script.py")
    assert got.stdout.splitlines() == [
        "script.py:3: torch.nn.Liner: neither PyTorch nor tautograd has it; did you mean torch.nn.Linear?",
        "layers.py:2: torch.nn.Cnov2d: neither PyTorch nor tautograd has it; did you mean torch.nn.Conv2d?",
        "package/deep.py:2: torch.optim.Adm: neither PyTorch nor tautograd has it; did you mean torch.optim.Adam?",
        "5 names of PyTorch's in 5 files: 3 missing here",
    ]
    assert got.returncode == 1


def test_a_module_and_its_package(workshop):
    workshop.write("job/__init__.py", "")
    workshop.write("job/__main__.py", "from .parts import F\nF.relu\nF.rellu\n")
    workshop.write("job/parts.py", "import torch.nn.functional as F\n")
    got = workshop.taut("run", "--check", "-m", "job")
    assert got.stdout.splitlines()[0].startswith("job/__main__.py:3: torch.nn.functional.rellu")


@pytest.mark.parametrize(
    ("name", "text", "phrase"),
    [
        ("script.py", "x = (1,\n", "script.py:1: not Python"),
        ("script.py", "x = '\\x00\x00'\n", "script.py"),
        ("other.py", "", "No such file"),
    ],
)
def test_what_cannot_be_read(workshop, name, text, phrase):
    workshop.write(name, text)
    got = workshop.taut("run", "--check", "script.py")
    assert got.returncode == 2
    assert phrase in got.stderr


def test_all_here_is_said(workshop):
    workshop.write("script.py", "import torch\ntorch.zeros(3)\n")
    got = workshop.taut("run", "--check", "script.py")
    assert (got.returncode, got.stdout) == (0, "2 names of PyTorch's in 1 file: all here\n")


def test_json_goes_with_check(workshop):
    workshop.write("script.py", "")
    got = workshop.taut("run", "--json", "script.py")
    assert got.returncode == 2
    assert "--json goes with --check" in got.stderr


HOSTILE = {
    "a sum of many terms": "import torch\nx = " + "+".join(["1"] * 2500),
    "functions in functions": "import torch\nx = " + "lambda: " * 600 + "torch.y",
    "attributes of attributes": "import torch\ntorch" + ".a" * 900,
    "parentheses": "x = " + "(" * 5000,
    "an encoding that is none": "# -*- coding: nosuch -*-\nimport torch\n",
    "a zero byte": "import torch\n\0",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_cannot_be_read_is_an_error_in_words(workshop, text):
    workshop.write("script.py", text)
    got = workshop.taut("run", "--check", "script.py")
    assert got.returncode == 2
    assert got.stderr.startswith("taut run: error: script.py:")
    assert "Traceback" not in got.stderr


def test_a_long_chain_of_modules_is_read(workshop):
    for number in range(400):
        workshop.write(f"m{number}.py", f"import m{number + 1}\n")
    workshop.write("m400.py", "import torch\ntorch.nosuch\n")
    got = workshop.taut("run", "--check", "m0.py")
    assert got.stdout.splitlines()[0].startswith("m400.py:2: torch.nosuch")


@pytest.mark.parametrize("module", ["", ".", "..", "a..b", "../m0", "nosuch"])
def test_modules_that_are_none(workshop, module):
    got = workshop.taut("run", "--check", "-m", module)
    assert got.returncode == 2
    assert "Traceback" not in got.stderr


def test_a_name_that_no_file_can_have(workshop):
    long = "n" * 300
    workshop.write("script.py", f"import {long}\nimport torch\ntorch.ones(1)\n")
    assert workshop.taut("run", "--check", "script.py").returncode == 0
    refused = workshop.taut("run", "-m", "--check", long)
    assert (refused.returncode, "to run" in refused.stderr) == (2, True), refused.stderr
