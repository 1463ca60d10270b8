"""Without a GPU: PyTorch's answers, and errors that say what to install."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

import tautograd as torch
from tautograd._arrays.cuda import cuda_backend


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if CuPy had been looked for and not found, wherever the tests run."""
    monkeypatch.setattr(cuda_backend.Found, "backend", None)
    monkeypatch.setattr(cuda_backend.Found, "looked", True)
    monkeypatch.setattr(cuda_backend.Found, "reason", "CuPy is not installed (pip install …)")
    return


def test_questions_have_answers() -> None:
    assert not torch.cuda.is_available()
    assert not torch.cuda.is_initialized()
    assert torch.cuda.device_count() == 0
    assert torch.cuda.memory_allocated() == torch.cuda.max_memory_allocated() == 0
    assert torch.cuda.get_rng_state_all() == []
    assert not torch.accelerator.is_available()
    torch.cuda.manual_seed(3)
    torch.cuda.empty_cache()
    assert str(torch.device("cuda:1")) == "cuda:1"  # a name is no claim


@pytest.mark.parametrize(
    "ask",
    [
        lambda: torch.zeros(2, device="cuda"),
        lambda: torch.tensor([1.0], device="cuda:0"),
        lambda: torch.ones(2).cuda(),
        lambda: torch.ones(2).to("cuda"),
        lambda: torch.nn.Linear(2, 1).cuda(),
        torch.cuda.synchronize,
        torch.cuda.current_device,
        torch.cuda.get_device_name,
        torch.cuda.Stream,
        torch.cuda.Event,
        lambda: torch.cuda.make_graphed_step(lambda: None),
        lambda: torch.device("cuda").__enter__(),
        lambda: torch.set_default_device("cuda"),
    ],
)
def test_what_needs_one_says_what_is_missing(ask: object) -> None:
    with pytest.raises(AssertionError, match=r"Torch not compiled with CUDA enabled: CuPy is not"):
        ask()  # type: ignore[operator]


def test_pinned_memory_needs_one() -> None:
    with pytest.raises(RuntimeError, match="accelerator"):
        torch.ones(2).pin_memory()
    with pytest.raises(RuntimeError, match="pin_memory=True requires a CUDA"):
        torch.zeros(2, pin_memory=True)


def test_loading_for_a_gpu_says_how_to_load_for_the_cpu(tmp_path: object) -> None:
    path = f"{tmp_path}/t.pt"
    torch.save({"x": torch.ones(2)}, path)
    with pytest.raises(RuntimeError, match=r"map_location=torch.device\('cpu'\)"):
        torch.load(path, map_location="cuda")


def test_nothing_of_it_is_imported_until_asked_for() -> None:
    """A program that never names a GPU loads neither CuPy nor what holds its arrays."""
    code = (
        "import sys, tautograd as t; t.nn.Linear(2, 1)(t.ones(3, 2)).sum().backward(); "
        "print([m for m in sys.modules if 'cuda_' in m or 'on_gpu' in m or 'cupy' in m])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
