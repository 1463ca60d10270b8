"""An evidence file is whole or not there, never overwritten by accident, refused when damaged."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from typing import IO, Any

import pytest

from tautograd import evidence
from tautograd._evidence import files
from tautograd._evidence.canonical import DIGEST, digest_of


def refusal(path: Any) -> str:
    with pytest.raises(evidence.EvidenceError) as refused:
        evidence.load(path)
    assert str(path) in str(refused.value)
    return str(refused.value)


def leaves_of(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(content, (dict, list)) and content:
        for key in content if isinstance(content, dict) else range(len(content)):
            yield from leaves_of(content[key], (*path, key))
    else:
        yield path


def flipped(value: Any) -> Any:
    """The same kind of value, another one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.0000001 + 1e-300
    if isinstance(value, str):
        return (value[:-1] + chr(ord(value[-1]) ^ 1)) if value else "x"
    return {None: 0}.get(value, "x") if value is None else [1]


def test_what_is_saved_is_loaded(saved, report):
    content = evidence.load(saved)
    assert content["verdict"] == report.verdict == "correct"
    assert content["computation"]["engine"] == report.engine
    assert content["report"].pop("assurance")["in_words"] == report.assurance()
    assert content["report"] == json.loads(report.to_json())


def test_every_field_is_protected(saved):
    content = json.loads(saved.read_text(encoding="utf-8"))
    paths = list(leaves_of(content))
    assert len(paths) > 150
    for path in paths:
        changed = copy.deepcopy(content)
        inside = changed
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = flipped(inside[path[-1]])
        assert changed != content
        saved.write_text(json.dumps(changed), encoding="utf-8")
        refusal(saved)


def test_a_field_taken_away_or_added_is_noticed(saved):
    content = json.loads(saved.read_text(encoding="utf-8"))
    for name in content:
        saved.write_text(json.dumps({k: v for k, v in content.items() if k != name}))
        refusal(saved)
    saved.write_text(json.dumps({**content, "more": 1}))
    assert "'more' is not part of the format" in refusal(saved)


def test_a_truncated_file_is_refused(saved):
    text = saved.read_text(encoding="utf-8")
    for size in {*range(0, len(text) - 2, max(1, len(text) // 60)), len(text) - 2}:
        saved.write_text(text[:size], encoding="utf-8")
        said = refusal(saved)
        assert ("is truncated: its end is missing" if size else "is empty") in said


def test_layout_is_not_content(saved):
    content = evidence.load(saved)
    saved.write_text(json.dumps(content, sort_keys=True), encoding="utf-8")
    assert evidence.load(saved) == content


DAMAGED = [
    # what the file holds, what the refusal says
    (b"", "is empty"),
    (b"  \n", "is empty"),
    (b"not json", "is not JSON: line 1"),
    (b"\xff\xfe{}", "not UTF-8"),
    (b"[1, 2]", "is not evidence"),
    (b'"text"', "is not evidence"),
    (b"{}", "'format'"),
    (b'{"format": "tautograd evidence"}', "version None"),
    (b'{"format": "tautograd evidence", "version": 2}', "version 2"),
    (b'{"format": "tautograd evidence", "version": true}', "version True"),
    (b'{"format": "tautograd evidence", "version": 1}', "is missing"),
    (b'{"a": 1, "a": 2}', "'a' is there twice"),
    (b'{"a": NaN}', "NaN is not JSON"),
    (b"[" * 100_000, "nested too deep"),
    (b'{"a":' * 100_000, "nested too deep"),
]


@pytest.mark.parametrize(("data", "phrase"), DAMAGED, ids=[p for _, p in DAMAGED])
def test_what_is_no_evidence_is_refused_with_the_reason(tmp_path, data, phrase):
    path = tmp_path / "file.json"
    path.write_bytes(data)
    assert phrase in refusal(path)


def test_what_cannot_be_read_is_refused_with_the_reason(tmp_path, monkeypatch):
    assert "there is no file" in refusal(tmp_path / "none.json")
    assert "is a folder" in refusal(tmp_path)
    path = tmp_path / "file.json"
    path.write_text("{}")

    def no_permission(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    with (
        monkeypatch.context() as patched
    ):  # (root may read everything, so it is not tried for real)
        patched.setattr("builtins.open", no_permission)
        assert "Permission denied" in refusal(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_is_no_evidence(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)  # nobody writes to it: to wait for that would be to wait for ever
    assert "not a regular file" in refusal(path)


DEVICES = ["/dev/null", "/dev/zero", "/dev/tty", "/proc/self/mem"]


@pytest.mark.parametrize("device", [d for d in DEVICES if os.path.exists(d)])
def test_a_device_is_no_evidence(device):
    refusal(device)


# ---- writing -------------------------------------------------------------------------------------


def names_in(folder: Any) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_that_is_there_is_kept(saved, report, tmp_path):
    before = saved.read_bytes()
    with pytest.raises(FileExistsError, match=r"product\.json.*overwrite=True.*--force"):
        report.save(saved)
    assert saved.read_bytes() == before
    assert report.save(saved, overwrite=True) == saved
    assert evidence.load(saved)["verdict"] == "correct"
    assert names_in(tmp_path) == ["product.json"]


def test_a_file_that_appears_meanwhile_is_kept(saved, tmp_path, monkeypatch):
    content = evidence.load(saved)
    other = tmp_path / "other.json"
    fill = files._fill

    def slowly(file: IO[bytes], data: bytes) -> None:
        fill(file, data)
        other.write_text("somebody else's")

    monkeypatch.setattr(files, "_fill", slowly)
    with pytest.raises(FileExistsError):
        files.write(content, other)
    assert other.read_text() == "somebody else's"
    assert names_in(tmp_path) == ["other.json", "product.json"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_interrupt_leaves_none_or_the_old_one(saved, tmp_path, monkeypatch, overwrite):
    content = evidence.load(saved)
    before = saved.read_bytes()
    path = saved if overwrite else tmp_path / "new.json"

    def interrupted(file: IO[bytes], data: bytes) -> None:
        file.write(data[: len(data) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "_fill", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write(content, path, overwrite=overwrite)
    assert names_in(tmp_path) == ["product.json"]
    assert saved.read_bytes() == before


def test_places_that_cannot_be_written_are_named(report, tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        report.save(tmp_path / "no" / "such" / "file.json")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        report.save(tmp_path, overwrite=True)


def test_what_does_not_fit_the_schema_is_not_written(saved, tmp_path):
    content = evidence.load(saved)
    del content["verdict"]
    with pytest.raises(evidence.EvidenceError, match="'verdict' is missing"):
        files.write(content, tmp_path / "new.json")
    assert names_in(tmp_path) == ["product.json"]


def test_the_digest_is_of_everything_else(saved):
    content = evidence.load(saved)
    assert content[DIGEST] == digest_of(content)
    assert digest_of({**content, DIGEST: "other"}) == content[DIGEST]
