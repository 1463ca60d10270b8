"""What a file says is shown as text: no escape reaches a terminal, and no file ends in a traceback."""

from __future__ import annotations

import contextlib
import copy
import json
import signal
import subprocess
import sys
import time
import unicodedata
from typing import Any

import pytest

from tautograd import evidence
from tautograd._cli.main import main
from tautograd._evidence import files, schema
from tautograd._evidence.canonical import digest_of
from tautograd._evidence.text import comparison_text, evidence_text
from tautograd._files.printable import printable
from tautograd._verify.report.render_text import as_text
from tests.evidence.test_rendering import full_report

STEERING = "\x1b]0;owned\x07\x1b[2J\x7f\x9b31m\r\b\u202e\u2066\u200b\ufeff\u2028\ud800\U000e0041\n"


def test_ordinary_text_stays_as_it_is():
    for text in ("", "plain", "été", "日本語", "x² ± 1e-9 → ∂", "😀", "\\x1b", "שלום"):
        assert printable(text) == text


def test_what_steers_a_terminal_is_written_out():
    shown = printable(STEERING)
    assert shown.isascii()
    assert shown.isprintable()
    assert shown.startswith(r"\x1b]0;owned\x07\x1b[2J\x7f\x9b31m\r\x08\u202e")
    assert shown.endswith(r"\ud800\U000e0041\n")
    assert printable(shown) == shown


def test_lines_are_kept_where_they_are_wanted():
    assert printable("a\n\tb\x1b", lines=True) == "a\n\tb\\x1b"
    assert printable("a\n\tb") == r"a\n\tb"


def test_no_character_that_steers_is_left():
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            assert printable(chr(code)).isascii()


def poisoned(value: Any, key: str = "") -> Any:
    """The same with every free text in it hostile."""
    if isinstance(value, dict):
        return {name: poisoned(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item, key) for item in value]
    return STEERING + value if isinstance(value, str) else value


@pytest.fixture
def poison(saved, tmp_path):
    """Evidence that is as the schema says, every text that it may choose hostile."""
    content = json.loads(saved.read_text())
    for path in list(_texts(content)):
        changed = copy.deepcopy(content)
        inside = changed
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = STEERING + inside[path[-1]]
        if not schema.problems(changed):
            content = changed
    content["runtime"]["installed"] = {STEERING: STEERING}
    content["settings"][STEERING] = STEERING
    content["figures"]["others"] = {STEERING: {STEERING: [STEERING]}}
    content["report"]["behaviour"] = {STEERING: [STEERING]}
    content["report"].update(poisoned(full_report().to_dict()))
    content["digest"] = digest_of(content)
    path = tmp_path / "poison.json"
    path.write_text(json.dumps(content))
    return path


def _texts(value: Any, path: tuple[Any, ...] = ()) -> Any:
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _texts(value[key], (*path, key))
    elif isinstance(value, str):
        yield path


def assert_plain(text: str, most: int) -> None:
    assert text.replace("\n", "").isprintable()
    text.encode()
    assert "owned" in text
    assert len(text.splitlines()) <= most, "a line feed in a name made a line of its own"


@pytest.mark.parametrize("torch", ["tautograd"], indirect=True)
def test_every_text_of_a_file_is_shown_as_text(poison, saved, capsys):
    content = evidence.load(poison)
    assert_plain(evidence_text(content), 100)
    found = evidence.diff(saved, poison)
    for everything in (False, True):
        assert_plain(comparison_text(found, everything=everything), 2000)
    for arguments in (
        ["evidence", "show", str(poison)],
        ["evidence", "show", "--json", str(poison)],
        ["evidence", "diff", "--all", str(saved), str(poison)],
        ["evidence", "diff", "--json", str(saved), str(poison)],
        ["replay", str(poison)],
    ):
        with contextlib.suppress(SystemExit):
            main(arguments)
        printed = capsys.readouterr()
        assert (printed.out + printed.err).replace("\n", "").isprintable(), arguments


def test_a_report_is_printed_as_text():
    report = full_report()
    report.name, report.notes = STEERING, [STEERING]
    assert_plain(as_text(report), 60)
    coloured = as_text(report, colour=True)
    assert coloured.startswith("\x1b[31mWRONG\x1b[0m  \\x1b]0;owned")


def test_refusals_are_text():
    assert str(evidence.EvidenceError(STEERING)).isprintable()
    assert str(evidence.CannotRun(f"a\n{STEERING}")).replace("\n", "").isprintable()


# ---- files that are none -------------------------------------------------------------------------

HEAD = b'{"format": "tautograd evidence", "version": 1, '
RAW = {
    "deep arrays": HEAD + b'"report": ' + b"[" * 90_000 + b"]" * 90_000 + b"}",
    "deep objects": HEAD + b'"report": ' + b'{"a":' * 90_000 + b"1" + b"}" * 90_000 + b"}",
    "just too deep": HEAD + b'"report": ' + b"[" * 150 + b"]" * 150 + b"}",
    "an integer of 5,000 digits": HEAD + b'"made": ' + b"9" * 5_000 + b"}",
    "an integer of 400 digits": HEAD + b'"made": ' + b"9" * 400 + b"}",
    "a float that is none": HEAD + b'"made": 1e999}',
    "minus infinity": HEAD + b'"made": -Infinity}',
    "NaN": HEAD + b'"made": NaN}',
    "a field twice": HEAD + b'"a": 1, "a": 2}',
    "a field twice, among many": b"{" + b",".join(b'"%d":1' % i for i in range(10**5)) + b',"7":1}',
    "a key of a megabyte": HEAD + b'"' + b"x" * 10**6 + b'": 1}',
    "a version of a megabyte": b'{"format": "tautograd evidence", "version": "'
    + b"x" * 10**6
    + b'"}',
    "many values": HEAD + b'"a": [' + b"1," * 2**20 + b"1]}",
    "many brackets": b"[" + b"[]," * 2**20 + b"[]]",
    "a lone surrogate": HEAD + rb'"\ud800": "\udfff"}',
    "a null character": HEAD + rb'"\u0000": 1}' + b"\0",
    "UTF-16": '{"format": "tautograd evidence"}'.encode("utf-16"),
    "UTF-7": b"+AHs-",
    "a byte order mark": b"\xef\xbb\xbf{}",
    "overlong UTF-8": b'{"\xc0\xaf": 1}',
    "a pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x04evil\x94.",
    "a zip": b"PK\x03\x04" + b"\0" * 100,
    "two contents": HEAD + b'"a": 1}{}',
    "a comment": b"/* */ {}",
    "a string": b'"' + b"x" * 10**6 + b'"',
    "a number": b"1",
    "null": b"null",
}


@pytest.mark.parametrize("name", RAW)
def test_a_file_that_is_no_evidence_is_refused_in_words(name, tmp_path, capsys):
    path = tmp_path / "file.json"
    path.write_bytes(RAW[name])
    for command in (["evidence", "show"], ["replay"], ["evidence", "diff", str(path)]):
        started = time.process_time()
        with pytest.raises(SystemExit) as stopped:
            main([*command, str(path)])
        assert stopped.value.code == 2
        said = capsys.readouterr().err
        assert "error: " in said
        assert len(said) < 2000
        assert time.process_time() - started < 2


def test_too_many_bytes_are_not_read(tmp_path, capsys):
    path = tmp_path / "file.json"
    with path.open("wb") as file:
        file.truncate(10 * 2**30)  # of nothing: it takes no room
    with pytest.raises(evidence.EvidenceError, match="too large for evidence"):
        evidence.load(path)


def test_a_folder_and_a_name_that_is_none(tmp_path, capsys):
    for name in (str(tmp_path), "", "\0", "a\x1b[2Jb", "x" * 5000, "\ud800"):
        with pytest.raises(SystemExit) as stopped:
            main(["evidence", "show", name])
        assert stopped.value.code == 2
        assert capsys.readouterr().err.replace("\n", "").isprintable()


HOSTILE = [
    None,
    True,
    -1,
    0,
    10**299,
    1.5,
    "",
    "nan",
    [],
    {},
    [[]],
    {"": {}},
    [None],
    ["x"],
    {"kind": 1},
]


@pytest.mark.parametrize("torch", ["tautograd"], indirect=True)
def test_any_field_of_another_type_is_refused_or_shown(saved, capsys):
    content = json.loads(saved.read_text())
    shown = refused = 0
    for path in {
        tuple("*" if isinstance(k, int) else k for k in p): p for p in _fields(content)
    }.values():
        for value in HOSTILE:
            changed = copy.deepcopy(content)
            inside = changed
            for key in path[:-1]:
                inside = inside[key]
            inside[path[-1]] = value
            changed["digest"] = digest_of(changed)
            try:
                checked = files._checked(changed, "it")
            except evidence.EvidenceError:
                refused += 1
                continue
            shown += 1
            evidence_text(checked)
            comparison_text(evidence.diff(content, checked), everything=True)
            comparison_text(evidence.diff(checked, content))
    assert shown > 100
    assert refused > 500


def _fields(value: Any, path: tuple[Any, ...] = ()) -> Any:
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from _fields(value[key], (*path, key))
    elif isinstance(value, list) and value:
        yield from _fields(value[0], (*path, 0))


def test_kinds_in_kinds_are_checked_in_linear_time():
    """A list of lists of lists: each level was once checked as a list, a tuple and a dictionary."""
    value: Any = {"kind": "value", "value": []}
    for _ in range(40):
        value = {"kind": "list", "items": [value]}
    rules = {"$ref": "#/$defs/value", "$defs": schema.schema()["$defs"]}
    started = time.process_time()
    assert schema.problems(value, rules)
    assert time.process_time() - started < 1


def test_a_pattern_ends_where_the_text_does():
    assert schema.problems("00ff\n", {"pattern": "^[0-9a-f]{4}$"})


# ---- interrupted ---------------------------------------------------------------------------------


@pytest.mark.parametrize("torch", ["tautograd"], indirect=True)
def test_an_interrupt_ends_a_replay_within_a_second(tmp_path, saved):
    (tmp_path / "slow.py").write_text(
        "import time\ndef fn(x, y):\n    print('running', flush=True)\n    time.sleep(60)\n    return x\n"
    )
    replaying = subprocess.Popen(
        [sys.executable, "-m", "tautograd", "replay", str(saved), "slow.py:fn"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert replaying.stdout is not None
    assert replaying.stdout.readline() == "running\n"
    started = time.perf_counter()
    replaying.send_signal(signal.SIGINT)
    _, said = replaying.communicate(timeout=30)
    assert time.perf_counter() - started < 10  # a second on an idle machine; the function takes 60
    assert replaying.returncode == 130
    assert "interrupted" in said
    assert "Traceback" not in said


RAISED = {
    "no Exception": "class E(BaseException): pass\nerror = E('\\x1b[2J')",
    "an error that cannot be printed": """
class E(Exception):
    def __str__(self): raise self
    __repr__ = __str__
error = E()
""",
    "neither": """
class E(BaseException):
    def __str__(self): raise self
    __repr__ = __str__
error = E()
""",
    "an end that cannot be printed": """
class Code:
    def __str__(self): raise ValueError('\\x1b')
    __repr__ = __str__
error = SystemExit(Code())
""",
}


@pytest.mark.parametrize("raised", RAISED.values(), ids=RAISED)
@pytest.mark.parametrize("place", ["raise error\n", "def fn(x): raise error\n"])
def test_whatever_code_raises_ends_in_words(tmp_path, monkeypatch, capsys, raised, place):
    (tmp_path / "raising.py").write_text(f"import tautograd\n{raised}\n{place}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "raising", raising=False)
    with pytest.raises(SystemExit) as stopped:
        main(["verify", "raising.py:fn", "--inputs", "3"])
    assert stopped.value.code == 2
    printed = capsys.readouterr().err
    assert "raising.py" in printed
    assert printed.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "arguments", [[STEERING], ["replay", f"--{STEERING}"], ["evidence", STEERING]]
)
def test_what_was_typed_is_shown_as_text_too(capsys, arguments):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    printed = capsys.readouterr().err
    assert all(char.isprintable() or char == "\n" for char in printed)
