"""The doctor across ranks: each mistake between replicas found with its rank and line, on both engines."""

from __future__ import annotations

import importlib
import json
import runpy

import pytest

from tautograd._cli.main import main
from tautograd._doctor.ranks.notes import Notes
from tautograd._doctor.ranks.shared import shared
from tautograd._doctor.report.rule_pages import codes_of
from tests.both import ENGINES
from tests.distributed.ranks import HERE, on_ranks

PROGRAM = HERE / "programs" / "replicas.py"
EXPECTED = runpy.run_path(str(PROGRAM), run_name="program")["EXPECTED"]
LINES = PROGRAM.read_text().splitlines()
NAMES_A_RANK = {
    "clip", "skip", "seed", "settings", "replica", "states", "mode left", "split", "loaded on one", "criterion",
    "scheduler", "nesterov", "evaluated apart", "noise", "clip threshold", "initialised again",
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_found(engine):
    found = on_ranks(engine, 2, "replicas")[0]
    for bug, code in EXPECTED.items():
        codes = [finding["code"] for finding in found[bug]]
        assert codes == ([] if code is None else [code]), (bug, codes, found[bug])
        if code is None:
            continue
        (finding,) = found[bug]
        at = finding["site"]["line"]
        named = [
            name
            for line in LINES[at - 2 : at]
            for name in line.partition("# line: ")[2].split(", ")
        ]
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
@pytest.mark.parametrize(("bug", "ranks"), [("kept", [0, 1]), ("kept on one", [1])])
def test_the_rules_for_one_process_are_applied_to_each(engine, bug, ranks, capfd):
    """What several ranks share is told once, with their numbers."""
    options = ["--as-torch"] if engine == "as-torch" else []
    assert main(["doctor", "--ranks", "2", "--json", *options, str(PROGRAM), bug]) == 1
    report = json.loads(capfd.readouterr().out)
    (finding,) = report["findings"]
    assert (finding["code"], finding["ranks"]) == ("TG101", ranks)
    assert report["unheard"] == report["troubles"] == []


def test_findings_that_ranks_share_are_told_once():
    """The same rule and line is one finding, whatever numbers a rank has in its message."""

    def finding(line, message):
        site = {"file": "train.py", "line": line}
        return {
            "code": "TG101",
            "site": site,
            "fix_site": site,
            "parameters": [],
            "message": message,
        }

    first, second = finding(3, "of 2"), finding(9, "of 1")
    found = shared([[first], [], [finding(3, "of 5"), second]])
    assert found == [{**first, "ranks": [0, 2]}, {**second, "ranks": [2]}]


def test_what_is_not_there_with_ranks_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["doctor", "--ranks", "2", "--html", "page.html", str(PROGRAM)])
    assert "--html is not there with --ranks" in capsys.readouterr().err


def test_rules_across_ranks_are_explained(capsys):
    assert main(["doctor", "--explain", "TGR12"]) == 0
    assert "modes-differ" in capsys.readouterr().out
    assert codes_of(["clipped-on-some-ranks", "TGR1"])[:2] == ("TGR03", "TGR10")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["as-torch", "torch"])
@pytest.mark.parametrize("script", sorted((HERE / "scripts").glob("*.py")), ids=lambda p: p.stem)
def test_sound_scripts_are_left_in_peace(engine, script, capfd, tmp_path, monkeypatch):
    """Shards, pipelines, tensor parallel layers, join, checkpoints: by both kinds of rules."""
    monkeypatch.chdir(tmp_path)
    options = ["--as-torch"] if engine == "as-torch" else []
    main(["doctor", "--ranks", "2", "--json", *options, str(script)])
    report = json.loads(capfd.readouterr().out)
    # Ranks of that script do have the same batches.
    expected = ["TGR09"] if script.stem == "join_uneven" else []
    assert [finding["code"] for finding in report["findings"]] == expected
    assert report["troubles"] == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["as-torch", "torch"])
def test_a_collective_that_one_rank_calls_alone(engine, capfd):
    """The job fails, or the rank waits until its limit; the doctor says for what."""
    options = ["--as-torch"] if engine == "as-torch" else []
    assert main(["doctor", "--ranks", "2", "--json", *options, str(PROGRAM), "left waiting"]) > 1
    (finding,) = json.loads(capfd.readouterr().out)["findings"]
    assert finding["code"] == "TGR14"
    assert "rank 1 called barrier()" in finding["message"]
    assert "# line: left waiting" in LINES[finding["site"]["line"] - 1]


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
