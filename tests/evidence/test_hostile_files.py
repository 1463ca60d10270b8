"""A corpus of hostile evidence files: nothing is imported, nothing is run, and each is refused in words."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.evidence import hostile, watched


@pytest.fixture(scope="module")
def tried(template, source, tmp_path_factory) -> dict[str, dict[str, Any]]:
    """What came of each file, in one process that watches itself."""
    import shutil

    folder = tmp_path_factory.mktemp("hostile") / "project"
    shutil.copytree(template("tautograd"), folder)
    hostile.fill(folder)
    files = folder.parent / "files"
    files.mkdir()
    sound = (folder / "fn.json").read_bytes()
    (files / "sound.json").write_bytes(sound)
    (files / "other.json").write_bytes(
        hostile.forged(hostile.Builder(folder).about("traps.py", "none"))
    )
    warm = [
        ["evidence", "show", str(files / "sound.json")],
        ["replay", str(files / "other.json")],
        ["replay", str(files / "none.json")],
    ]
    names, commands = [], []
    for number, (name, data) in enumerate(hostile.corpus(folder)):
        path = files / f"{number}.json"
        path.write_bytes(data)
        for command in (["replay", str(path)], ["evidence", "show", str(path)]):
            names.append(f"{command[0]}: {number}: {name}")
            commands.append(command)
    manifest = files / "manifest.json"
    manifest.write_text(json.dumps([*warm, *commands]))
    before = _state_of(folder)
    lines = _watched(folder, source, manifest)
    assert _state_of(folder) == before
    assert len(lines) == len(names)
    return dict(zip(names, lines, strict=True))


def _watched(folder: Path, source: Path, manifest: Path) -> list[dict[str, Any]]:
    script = Path(watched.__file__)
    got = subprocess.run(
        [sys.executable, "-P", str(script), str(manifest)],
        cwd=folder,
        env={"PYTHONPATH": str(source), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert got.stderr == ""
    return [json.loads(line) for line in got.stdout.splitlines()]


def _state_of(folder: Path) -> list[tuple[str, int]]:
    return sorted((str(p), p.lstat().st_mtime_ns) for p in folder.rglob("*"))


def test_the_corpus_is_large(tried):
    assert len(tried) // 2 > 400


def test_nothing_is_imported_or_run(tried):
    for name, found in tried.items():
        assert found["events"] == [], name
        assert found["modules"] == [], name
        assert found["path"] == [], name


def test_each_replay_is_refused_in_words(tried):
    for name, found in tried.items():
        if name.startswith("replay"):
            assert found["status"] == 2, (name, found)
            assert found["out"] == ""
            assert "taut replay: error: " in found["err"], name


def test_each_can_be_shown_or_is_refused_in_words(tried):
    for name, found in tried.items():
        assert found["status"] in (0, 2), (name, found["status"])
        if found["status"] == 2:
            assert "error: " in found["err"], name


def test_nothing_takes_long(tried):
    assert max(found["seconds"] for found in tried.values()) < 2


def test_what_is_printed_is_printable(tried):
    for name, found in tried.items():
        printed = (found["out"] + found["err"]).replace("\n", "")
        assert printed.isprintable(), name
