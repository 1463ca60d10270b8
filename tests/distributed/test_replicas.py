"""The doctor across ranks: each mistake between replicas found with its rank and line, on both engines."""

from __future__ import annotations

import importlib
import json
import runpy

import pytest

from tautograd._cli.main import main
from tautograd._doctor.ranks.notes import Notes
from tests.both import ENGINES
from tests.distributed.ranks import HERE, on_ranks

PROGRAM = HERE / "programs" / "replicas.py"
EXPECTED = runpy.run_path(str(PROGRAM), run_name="program")["EXPECTED"]
LINES = PROGRAM.read_text().splitlines()
NAMES_A_RANK = {"clip", "skip", "seed", "settings", "replica", "states"}


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
        assert ("states differ" in finding["message"]) == (bug == "states")
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


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["as-torch", "torch"])
def test_a_batch_that_other_ranks_do_not_have(engine, capfd):
    """The job fails, since the last batch waits for a rank that has ended; the doctor says why."""
    options = ["--as-torch"] if engine == "as-torch" else []
    # A rank of PyTorch that ends while others still connect to it may be aborted, which is a status of its own.
    assert main(["doctor", "--ranks", "2", "--json", *options, str(PROGRAM), "uneven"]) > 1
    report = json.loads(capfd.readouterr().out)
    (finding,) = report["findings"]
    assert finding["code"] == "TGR04"
    assert "rank 1 began 8 batches, the others 7" in finding["message"]
    assert "# line: uneven" in LINES[finding["site"]["line"] - 1]


@pytest.mark.parametrize("engine", ENGINES)
def test_notes_are_taken_where_the_package_hides_a_module(engine, tmp_path, monkeypatch):
    """`torch.optim` has no `optimizer` after `import torch`, though the module is there."""
    module = importlib.import_module(engine)
    monkeypatch.delattr(module.optim, "optimizer", raising=False)
    notes = Notes(module, tmp_path / "rank0.jsonl")
    notes.start()
    notes.end()
