"""No finding at all on loops that are sound but unusual, nor on the project's examples.

On both engines. The run prints how many were accused.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.both import ENGINES, shared_out

from .corpus import SOUND
from .corpus.judge import engine as load
from .corpus.judge import findings, told

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("demo", "shared"))
FEW_STEPS = {"char_gpt": ("--steps", "5", "--write", "20")}
TAUT = "import sys; from tautograd._cli.main import main; sys.exit(main())"


@pytest.mark.parametrize(("name", "engine"), shared_out(SOUND))
def test_a_sound_loop_is_not_accused(name, engine, count):
    case = SOUND[name]
    loop = case.loop(load(engine))
    count("sound loops")
    found = findings(loop)
    if found:
        count("sound loops accused")
    assert not found, f"accused though sound: {case.why}\n{told(found)}"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_not_accused(name, engine, count, project):
    as_torch = ["--as-torch"] if engine == "tautograd" else []
    arguments = [str(FOLDER / f"{name}.py"), *FEW_STEPS.get(name, ("--steps", "20"))]
    environment = {**os.environ, "PYTHONPATH": str(project / "src"), "OMP_NUM_THREADS": "1"}
    count("examples")
    result = subprocess.run(
        [sys.executable, "-c", TAUT, "doctor", *as_torch, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if result.returncode:
        count("examples accused")
    assert result.returncode == 0, result.stdout + result.stderr


def test_there_are_enough_sound_loops():
    assert len(SOUND) >= 60
