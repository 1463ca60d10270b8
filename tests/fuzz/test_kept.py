"""Every case that the fuzzer once found stays mended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fuzz.registry import target_named
from fuzz.worker import run_case

CASES = sorted((Path(__file__).parent / "kept").glob("*/*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_case_that_was_mended_stays_mended(path: Path) -> None:
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert run_case(target_named(kept["target"]), kept["case"]) is None
