"""What is left out: by comments, by options, by pyproject.toml, whose mistakes are named."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import tautograd as torch
from tautograd._doctor.config import Config, ConfigError, find_config
from tautograd._doctor.doctor import doctor
from tautograd._doctor.report.findings import Finding
from tautograd._doctor.report.inline_ignores import ignored_by_comment
from tautograd._doctor.report.rule_pages import UnknownRule, codes_of, rule_called
from tautograd._user_code.sites import Site

LOOP = """
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for _ in range(5):
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward(){comment}
    optimizer.step()
"""


def watched(tmp_path, comment="", **options):
    file = tmp_path / "loop.py"
    file.write_text(LOOP.format(comment=comment), encoding="utf-8")
    with doctor(engines=[torch], **options) as found:
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), {"torch": torch})
    return found


@pytest.mark.parametrize(
    ("comment", "ignored"),
    [
        ("", 0),
        ("  # taut: ignore[TG101]", 1),
        ("  # taut: ignore[TG403, TG101]", 1),
        ("  # taut: ignore[TG403]", 0),
        ("  # taut: ignore", 1),
        ("  # of no interest", 0),
        ("  # taut: ignored in all cases", 0),
        ("  #taut:ignore[tg101]  and why", 1),
    ],
)
def test_a_comment_on_the_line(tmp_path, comment, ignored):
    found = watched(tmp_path, comment)
    assert found.ignored == ignored
    assert [f.code for f in found.findings] == ([] if ignored else ["TG101"])
    assert ("; 1 ignored" in str(found)) == bool(ignored)


def test_a_comment_at_the_end_of_a_long_statement(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("x = f(\n    1,\n)  # taut: ignore[TG101]\ny = 2  # taut: ignore[TG403]\n")

    def ignored(code: str, line: int) -> bool:
        return ignored_by_comment(Finding(code, "", "", site=Site(str(file), line)))

    assert ignored("TG101", 1)
    assert ignored("TG101", 3)
    assert not ignored("TG403", 1), "the next statement's"
    assert ignored("TG403", 4)
    assert not ignored("TG101", 9)
    other = Finding("TG101", "", "", site=Site(str(file), 4), fix_site=Site(str(file), 1))
    assert ignored_by_comment(other), "on the line to change"


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ({"select": ["TG1"]}, ["TG101"]),
        ({"select": ["TG4"]}, []),
        ({"ignore": ["TG101"]}, []),
        ({"ignore": ["TG4"]}, ["TG101"]),
        ({"select": ["TG"], "ignore": ["TG1"]}, []),
    ],
)
def test_options(tmp_path, options, codes):
    assert [f.code for f in watched(tmp_path, **options).findings] == codes


def test_codes_names_and_beginnings():
    assert codes_of(["TG101", "tg4", " meeting-losses ", ""]) == ("TG101", "TG4", "TG105")
    assert rule_called("accumulated-gradients") is rule_called("tg101")


@pytest.mark.parametrize(
    ("text", "hint"),
    [("TG1O1", "TG101"), ("acumulated-gradients", "accumulated-gradients"), ("XYZ", "--list")],
)
def test_an_unknown_code_names_the_nearest(text, hint):
    with pytest.raises(UnknownRule, match=hint):
        codes_of([text])


def write(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(textwrap.dedent(text), encoding="utf-8")


def test_the_nearest_file_with_the_table_counts(tmp_path):
    inner = tmp_path / "inner" / "deep"
    inner.mkdir(parents=True)
    write(tmp_path / "inner", "[tool.other]\nx = 1\n")
    write(
        tmp_path,
        """
        [tool.tautograd.doctor]
        select = ["TG1", "leaf-loss"]
        ignore = ["TG104"]
        steps = 7
        per-file-ignores = { "inner/*.py" = ["TG1"] }
        """,
    )
    found = find_config(inner)
    assert (found.select, found.ignore, found.steps) == (("TG1", "TG402"), ("TG104",), 7)
    assert Path(found.file) == tmp_path / "pyproject.toml"
    assert found.leaves_out(Finding("TG101", "", "", site=Site(str(inner / "a.py"), 1)))
    assert not found.leaves_out(Finding("TG402", "", "", site=Site(str(inner / "a.py"), 1)))
    assert not found.leaves_out(Finding("TG101", "", "", site=Site(str(tmp_path / "a.py"), 1)))
    assert not found.leaves_out(Finding("TG101", "", ""))


def test_no_file_is_no_configuration(tmp_path):
    assert find_config(tmp_path) == Config()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("selct = []", "has no key 'selct'; did you mean 'select'?"),
        ("colour = 1", "has no key 'colour'; there is: select, ignore, steps, per-file-ignores"),
        ("select = 'TG1'", r"doctor\.select must be a list of codes"),
        ("ignore = [1]", r"doctor\.ignore must be a list of codes"),
        ("ignore = ['TG1O1']", r"doctor\.ignore: no rule .* 'TG1O1'; did you mean 'TG101'\?"),
        ("steps = 0", r"doctor\.steps must be a whole number above 0, not 0"),
        ("steps = true", r"doctor\.steps must be"),
        ("per-file-ignores = ['a']", r"doctor\.per-file-ignores must be a table"),
        ("per-file-ignores = {'a.py' = ['Q']}", r'per-file-ignores."a.py": no rule .* \'Q\''),
        ("select = [", "pyproject.toml: "),
    ],
)
def test_mistakes_are_named(tmp_path, text, message):
    write(tmp_path, f"[tool.tautograd.doctor]\n{text}\n")
    with pytest.raises(ConfigError, match=message):
        find_config(tmp_path)


def test_codes_are_looked_up_in_code_as_on_the_command_line():
    """A string is not a list of letters, of which "T" begins every code."""
    assert doctor(ignore="TG905, accumulated-gradients").ignore == ("TG905", "TG101")
    assert doctor(select="TG9").select == ("TG9",)
    for wrong in ("TG999", ["nonsense"]):
        with pytest.raises(ValueError, match="no rule has the code or name"):
            doctor(ignore=wrong)
    with pytest.raises(ValueError, match="steps: a whole number above 0"):
        doctor(steps=-3)
