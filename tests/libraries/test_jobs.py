"""Small jobs of public libraries, unmodified: `taut run --as-torch` prints what PyTorch prints.

Each job trains something for a few steps and prints its losses. The libraries come with the extra
`libraries`; without one of them its job says so.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

JOBS = Path(__file__).parent / "jobs"
NEEDS = {
    "accelerate": ["accelerate"],
    "bert_llama": ["transformers"],
    "botorch": ["botorch"],
    "captum": ["captum"],
    "e3nn": ["e3nn"],
    "einops": ["einops"],
    "fastai": ["fastai"],
    "gpytorch": ["gpytorch"],
    "higher": ["higher"],
    "kornia": ["kornia"],
    "lightning": ["lightning"],
    "metric_learning": ["pytorch_metric_learning"],
    "opacus": ["opacus"],
    "optimizers": ["lion_pytorch", "pytorch_optimizer", "torch_optimizer"],
    "peft": ["peft", "transformers"],
    "skorch": ["skorch"],
    "timm": ["timm"],
    "torch_geometric": ["torch_geometric"],
    "torchaudio": ["torchaudio"],
    "torchdiffeq": ["torchdiffeq"],
    "torchmetrics": ["torchmetrics"],
    "torchsde": ["torchsde"],
    "torchvision": ["torchvision"],
    "transformers": ["transformers"],
    "x_transformers": ["x_transformers"],
}


def printed(*command):
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("job", sorted(NEEDS))
def test_a_library_prints_what_it_prints_on_pytorch(job):
    for name in NEEDS[job]:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: pip install -e '.[libraries]'")
    path = str(JOBS / f"{job}_job.py")
    expected = printed(path)
    assert expected.strip()
    assert printed("-m", "tautograd", "run", "--as-torch", path) == expected


def test_every_job_is_run():
    assert {p.name.removesuffix("_job.py") for p in JOBS.glob("*_job.py")} == set(NEEDS)
