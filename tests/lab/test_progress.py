"""The file of progress: whole or the old one, set aside when damaged, left alone when newer."""

from __future__ import annotations

import json
import os

import pytest

from tautograd._lab import progress as module
from tautograd._lab.progress import ForeignFile, NewerProgress, Progress, default_path
from tautograd._lab.workshop import set_aside


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lab" / "progress.json"


def test_what_is_noted_is_there_the_next_time(path):
    progress = Progress(path)
    assert progress.current is None
    progress.at("chain-rule", "predict")
    progress.answered("chain-rule", "predict", "24", right=True, tries=1)
    progress.at("chain-rule", "run")
    again = Progress(path)
    assert again.current == "chain-rule"
    assert again.step("chain-rule") == "run"
    assert again.answers("chain-rule") == {"predict": {"given": "24", "right": True, "tries": 1}}
    assert again.state("chain-rule") == "at step 3 of 6: run"
    again.finished("chain-rule")
    assert Progress(path).state("chain-rule") == "finished"
    again.begin_again("chain-rule")
    assert Progress(path).step("chain-rule") == "idea"
    assert Progress(path).is_finished("chain-rule")


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"\xff\xfe", b"[]", b"null", b'{"format": "other"}', b"[" * 100_000,
        b'{"format": "tautograd lab progress", "version": 1}',
        b'{"format": "tautograd lab progress", "version": 1, "lessons": []}',
        b'{"format": "tautograd lab progress", "version": 1, "lessons": {"a": 3}}',
        b'{"format": "tautograd lab progress", "version": "1", "lessons": {}}',
    ],
)  # fmt: skip
def test_a_damaged_file_is_kept_and_said(path, content):
    path.parent.mkdir()
    for number in (1, 2):
        path.write_bytes(content)
        progress = Progress(path)
        assert len(progress.notes) == 1
        assert "is damaged" in progress.notes[0]
        assert path.with_name(f"progress-{number}.json").read_bytes() == content
        progress.at("chain-rule", "idea")
        assert Progress(path).step("chain-rule") == "idea"


def test_odd_values_inside_do_no_harm(path):
    path.parent.mkdir()
    lessons = {"a": {"step": 7, "answers": [], "finished": None}, "b": {"step": "dance"}}
    content = {"format": module.FORMAT, "version": 1, "lessons": lessons, "current": 5}
    path.write_text(json.dumps(content))
    progress = Progress(path)
    assert progress.notes == []
    assert progress.current is None
    assert progress.step("a") is progress.step("b") is None
    progress.answered("a", "predict", "1", right=False, tries=1)
    assert Progress(path).answers("a")["predict"]["given"] == "1"


def test_a_newer_file_is_left_alone(path):
    path.parent.mkdir()
    text = json.dumps({"format": module.FORMAT, "version": 2, "lessons": {}})
    path.write_text(text)
    with pytest.raises(NewerProgress, match="a later version"):
        Progress(path)
    assert path.read_text() == text
    assert os.listdir(path.parent) == ["progress.json"]


def test_an_interrupted_write_leaves_the_old_file(path, monkeypatch):
    progress = Progress(path)
    progress.at("chain-rule", "run")
    before = path.read_bytes()

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        progress.at("chain-rule", "mend")
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["progress.json"]


def test_what_cannot_be_written_is_said_once_and_the_lesson_goes_on(path):
    path.parent.write_text("a file where the folder should be")
    progress = Progress(path)
    progress.at("chain-rule", "idea")
    progress.at("chain-rule", "run")
    assert len(progress.notes) == 1
    assert progress.step("chain-rule") == "run"


def test_where_it_is_by_default(monkeypatch, tmp_path):
    monkeypatch.delenv(module.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_path() == tmp_path / "tautograd" / "lab" / "progress.json"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/somewhere")
    assert str(default_path()) == "/somewhere/.local/share/tautograd/lab/progress.json"
    monkeypatch.setenv(module.VARIABLE, "/elsewhere/mine.json")
    assert str(default_path()) == "/elsewhere/mine.json"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no folder of descriptors here")
@pytest.mark.parametrize("content", [b"", b"{"])
def test_a_descriptor_is_not_moved_though_a_plain_file_is_behind_it(tmp_path, content):
    """As /dev/stdout is, where output goes to a file: root had moved it."""
    with open(tmp_path / "output", "w+b", buffering=0) as file:
        file.write(content)
        link = tmp_path / "stdout"
        link.symlink_to(f"/proc/self/fd/{file.fileno()}")
        with pytest.raises(ForeignFile, match="not a regular file"):
            Progress(link, is_chosen=True)
        with pytest.raises(OSError, match="not a plain file"):
            set_aside(link)
    assert sorted(os.listdir(tmp_path)) == ["output", "stdout"]
