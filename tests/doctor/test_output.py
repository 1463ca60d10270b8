"""What is said: text, JSON, SARIF and annotations, and files that are whole or not there."""

from __future__ import annotations

import json
import math
import os
import types

import pytest

import tautograd as torch
from tautograd import doctor
from tautograd._doctor import callbacks
from tautograd._doctor.report.render_text import as_text
from tautograd._doctor.report.report import as_json
from tautograd._doctor.report.sarif import as_sarif, github_lines

from .reports import Said, finding, rendered, several


@pytest.fixture
def said(tmp_path, monkeypatch) -> Said:
    monkeypatch.setenv("COLUMNS", "100")
    return several(tmp_path)


def test_text(said, tmp_path):
    text = as_text(rendered(said), root=str(tmp_path))
    assert text.startswith(
        """\
train.py:6: TG101 accumulated-gradients [error] after step 2, seen 38 times
  Nothing was cleared.
       6 | loss.backward()
         | ^^^^^^^^^^^^^^^ here
       3 | optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
         | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ change this line
  parameters: layers.0.weight, layers.1.weight, layers.2.weight, layers.3.weight and 5 more
  figures:    norm: 0.1235; ratio: inf; backwards: 3
  why:        Gradients accumulate.
  fix:        optimizer.zero_grad()
              loss.backward()
"""
    )
    assert text.endswith(
        """\
code   name                    severity  step  times  line
TG101  accumulated-gradients   error        2     38  train.py:6
TG101  accumulated-gradients   error       30     38  train.py:5
TG403  step-without-gradients  warning      2      1  train.py:7
TG404  stale-graph             info         0     38  (no line)

taut doctor: 4 findings (2 errors, 1 warning, 1 info) in 40 optimizer steps of torch 2.13.0.
More about a code: taut doctor --explain TG101"""
    )
    assert text.count("why:") == 3, "said once for a code"
    assert "TG404 stale-graph [info] before the first step" in text


def test_the_verdict_says_what_else_there_is_to_say(said):
    said.ignored, said.ending = 2, "interrupted"
    assert "; 2 ignored; interrupted.\n" in str(said)
    clean = Said([])
    assert str(clean) == "taut doctor: no finding in 40 optimizer steps of torch 2.13.0."
    clean.steps, clean.stepped = 0, {}
    assert "nothing to judge: torch 2.13.0 was used, but no optimizer was made" in str(clean)


@pytest.mark.parametrize("columns", ["40", "80", "300"])
def test_lines_fit_the_terminal(tmp_path, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    long = finding(tmp_path / "no such file.py", why="word " * 60, message="word " * 60, fix="x")
    lines = Said([long]).report().split("\n")
    assert max(len(line) for line in lines[1:-3]) <= min(int(columns), 100)


def test_json_is_as_the_standard_has_it(said):
    def no_constants(name):
        raise AssertionError(name)

    report = json.loads(as_json(rendered(said)), parse_constant=no_constants)
    assert report == said.to_dict()
    assert report["findings"][0]["figures"]["ratio"] == "inf"
    assert report["history"]["norms"]["layers.0.weight"][7] == "nan"
    assert report["history"]["norms"]["layers.0.weight"][8] is None
    number, line = report["findings"][0]["site"]["around"][0]
    assert (number, line.partition(" ")[0]) == (3, "optimizer")
    assert math.isnan(said.history.norms["layers.0.weight"][7])


def test_sarif(said, tmp_path):
    log = json.loads(as_sarif(rendered(said), str(tmp_path)))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["TG101", "TG403", "TG404"]
    assert [result["level"] for result in run["results"]] == ["error", "error", "warning", "note"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
    first = run["results"][0]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "train.py", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 6, "snippet": {"text": "loss.backward()"}}
    assert first["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 3
    assert "locations" not in run["results"][3]


def test_github(said, tmp_path):
    lines = list(github_lines(rendered(said), str(tmp_path)))
    assert lines[0].startswith("::error file=train.py,line=6,title=TG101 accumulated-gradients::No")
    assert "optimizer.zero_grad()%0Aloss.backward()" in lines[0]
    assert [line.split(" ")[0] for line in lines] == ["::error", "::error", "::warning", "::notice"]
    assert "\n" not in "".join(lines)


@pytest.mark.parametrize(
    ("name", "beginning"),
    [("a.json", "{"), ("a.sarif", "{"), ("a.html", "<!doc"), ("b.HTM", "<!doc")],
)
def test_save_goes_by_the_suffix(said, tmp_path, name, beginning):
    said.save(tmp_path / name)
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(beginning)
    assert sorted(os.listdir(tmp_path)) == sorted([name, "train.py"])


def test_save_is_whole_or_not_at_all(said, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"saved as \.json, \.sarif or \.html, not as '\.txt'"):
        said.save(tmp_path / "a.txt")
    path = tmp_path / "a.json"
    path.write_text("as it was")
    monkeypatch.setattr(os, "replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        said.save(path)
    assert path.read_text() == "as it was"
    assert sorted(os.listdir(tmp_path)) == ["a.json", "train.py"]


def train(clear: bool, steps: int = 6) -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        if clear:
            optimizer.zero_grad()
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()


def test_a_context_prints_nothing_until_asked(capsys):
    with doctor(engines=[torch]) as found:
        train(clear=False)
    assert capsys.readouterr() == ("", "")
    found.show()
    assert capsys.readouterr().out == f"{found}\n" == f"{found.report()}\n"
    assert "TG101" in str(found)
    assert "\x1b[31mTG101" in found.report(colour=True)


# ---- other people's loops --------------------------------------------------------------------------


class Hooks:
    """Any hook there may be; none does anything."""

    def __getattr__(self, name):
        if name.startswith("on_"):
            return lambda *args, **kwargs: None
        raise AttributeError(name)


class Callback(Hooks):
    """A stand-in for Lightning's."""


class TrainerCallback(Hooks):
    """A stand-in for Hugging Face's."""


def test_callbacks_need_a_trainer(monkeypatch):
    for name in callbacks.BASES:
        monkeypatch.delitem(callbacks.sys.modules, name, raising=False)
    with pytest.raises(RuntimeError, match="import lightning or transformers first"):
        doctor.callback()


@pytest.mark.parametrize("trainer", ["lightning.pytorch", "transformers", "both"])
@pytest.mark.parametrize("fails", [False, True])
def test_callbacks_watch_from_begin_to_end(monkeypatch, capsys, trainer, fails):
    for name, kind in callbacks.BASES.items():
        if trainer in (name, "both"):
            base = {"Callback": Callback, "TrainerCallback": TrainerCallback}[kind]
            monkeypatch.setitem(callbacks.sys.modules, name, types.SimpleNamespace(**{kind: base}))
        else:
            monkeypatch.delitem(callbacks.sys.modules, name, raising=False)
    callback = doctor.callback(engines=[torch], select=["TG101"])
    model = torch.nn.Linear(1, 1)
    callback.on_init_end(None, None, None)
    if trainer == "transformers":
        callback.on_train_begin(None, None, None, model=model)
        callback.on_step_begin(None, None, None)
        train(clear=False)
        callback.on_train_end(None, None, None, model=model)
    else:
        callback.on_train_start(None, model)
        train(clear=False)
        if fails:
            callback.on_exception(None, model, ValueError())
        else:
            callback.on_train_end(None, model)
    assert [f.code for f in callback.doctor.findings] == ["TG101"]
    assert "TG101" in capsys.readouterr().err
    train(clear=False)
    assert callback.doctor.steps == 6, "it has stopped watching"


def test_a_count_says_how_many_steps_were_looked_at(said):
    said.findings[0].count = 11
    said.steps, said.looked = 30, 12
    assert "seen 11 times (12 of 30 steps were looked at closely)" in str(said)
