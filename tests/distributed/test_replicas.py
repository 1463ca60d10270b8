"""The doctor across ranks: each mistake between replicas found with its rank and line, on both engines."""

from __future__ import annotations

import json
import runpy

import pytest

from tautograd._cli.main import main
from tests.both import ENGINES
from tests.distributed.ranks import HERE, on_ranks

PROGRAM = HERE / "programs" / "replicas.py"
EXPECTED = runpy.run_path(str(PROGRAM), run_name="program")["EXPECTED"]
LINES = PROGRAM.read_text().splitlines()
NAMES_A_RANK = {"clip", "skip", "seed", "settings", "replica"}


@pytest.mark.parametrize("engine", ENGINES)
def test_found(engine):
    found = on_ranks(engine, 2, "replicas")[0]
    for bug, code in EXPECTED.items():
        codes = [finding["code"] for finding in found[bug]]
        assert codes == ([] if code is None else [code]), (bug, found[bug])
        if code is None:
            continue
        (finding,) = found[bug]
        named = LINES[finding["site"]["line"] - 1].partition("# line: ")[2].split(", ")
        assert bug in named, (bug, finding["site"])
        if bug in NAMES_A_RANK:
            assert "rank 1" in finding["message"], finding["message"]
        if bug == "replica":
            assert finding["parameters"] == ["0.bias"]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["as-torch", "torch"])
@pytest.mark.parametrize(("bug", "status"), [("clip", 1), ("sound", 0)])
def test_command(engine, bug, status, capfd):
    options = ["--as-torch"] if engine == "as-torch" else []
    assert main(["doctor", "--ranks", "3", "--json", *options, str(PROGRAM), bug]) == status
    report = json.loads(capfd.readouterr().out)
    assert [finding["code"] for finding in report["findings"]] == (
        [EXPECTED[bug]] if status else []
    )
    assert report["steps"] == [6, 6, 6]
