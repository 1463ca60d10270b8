"""Changes in source: what is written, that only what holds is offered, and what `--diff` and `--fix` do with it."""

from __future__ import annotations

import os
import py_compile
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tautograd._cli.doctor.trial import Aside
from tautograd._doctor.fixes import offer
from tautograd._doctor.fixes.offer import Outcome, holds, mended
from tautograd._doctor.fixes.source import Source
from tautograd._doctor.report.rule_pages import rule_called
from tautograd._user_code.owners import Owner, owners
from tautograd._user_code.sites import Site
from tests import processes

LOOP = """\
import tautograd as torch

torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for _ in range(9):
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""


def finding(code, file, line, **more):
    given = {
        "message": "", "severity": "error", "follows": "", "fix": "", "figures": {},
        "fix_site": None, "name": code,
    }  # fmt: skip
    return SimpleNamespace(code=code, site=Site(str(file), line), **{**given, **more})


def test_statements_are_put_before_after_and_elsewhere():
    source = Source("a = 1\nfor i in b:\n    c(i)\n    d(i)\n")
    c, d = source.statement(3), source.statement(4)
    assert source.insert_before(c, "e()") == "a = 1\nfor i in b:\n    e()\n    c(i)\n    d(i)\n"
    assert source.moved(d, before=source.statement(1)) == "d(i)\na = 1\nfor i in b:\n    c(i)\n"
    assert source.moved(c, after=d) == "a = 1\nfor i in b:\n    d(i)\n    c(i)\n"
    alone = Source("if a:\n    b()\n")
    assert alone.delete(alone.statement(2)) == "if a:\n    pass\n"


def test_columns_are_counted_in_bytes():
    source = Source('name = "äöü"; x = f(y)\n')
    call = source.calls(source.tree, "f")[0]
    assert source.replace((call, "y")) == 'name = "äöü"; x = y\n'


def test_a_block_loses_its_with():
    source = Source("with torch.no_grad():\n    a = b\n    c = d\ne = f\n")
    assert source.unwrapped(source.statements[0]) == "a = b\nc = d\ne = f\n"


def test_every_writer_that_is_there_is_asked(tmp_path):
    """Writers are found by their folder: a module that no list names was never loaded."""
    for path in Path(offer.__file__).parent.glob("*.py"):
        if "@writes(" in path.read_text(encoding="utf-8"):
            assert f"{offer.__package__}.{path.stem}" in sys.modules, path.stem
    file = tmp_path / "loop.py"
    file.write_text(rule_called("TG313").bug.strip() + "\n", encoding="utf-8")
    lines = file.read_text(encoding="utf-8").splitlines()
    found = finding("TG313", file, 1 + [line.endswith("# here") for line in lines].index(True))
    ((_, fix),) = mended([found], 9, lambda changed: Outcome([], 9))
    assert fix is not None
    assert "+            out = torch.tanh(layer(out))" in fix.diff()


def test_only_what_holds_is_offered(tmp_path):
    file = tmp_path / "loop.py"
    file.write_text(LOOP, encoding="utf-8")
    found = finding("TG101", file, 9)
    tried = []

    def try_it(changed):
        tried.append(changed[str(file)])
        return Outcome([] if len(tried) == 2 else [found], 9)

    ((_, fix),) = mended([found], 9, try_it)
    assert fix.after == tried[1]
    assert "+    optimizer.zero_grad()" in fix.diff()
    ((_, none),) = mended([found], 9, lambda changed: Outcome([found], 9))
    assert none is None


@pytest.mark.parametrize(
    ("outcome", "is_good"),
    [
        (Outcome([], 9), True),
        (Outcome([finding("TG504", "f", 1, severity="info")], 9), True),
        (Outcome([finding("TG504", "f", 1)], 9), False),
        (Outcome([finding("TG101", "f", 1)], 9), False),
        (Outcome([], 0), False),
        (Outcome([], 1), False),
        (Outcome([], 9, "RuntimeError()"), False),
    ],
)
def test_a_change_holds_if_the_finding_is_gone_and_no_other_came(outcome, is_good):
    mine = finding("TG101", "f", 1)
    assert holds(mine, [mine], 9, outcome) is is_good


def doctor(*arguments, folder):
    return processes.run(
        ["-m", "tautograd", "doctor", *arguments], cwd=folder, env=os.environ, timeout=600
    )


@pytest.mark.slow
@pytest.mark.parametrize("owner", [owner for owner in Owner if owner != Owner.USERS])
def test_nothing_but_a_file_of_the_users_is_changed(owner, tmp_path, monkeypatch):
    file = tmp_path / "loop.py"
    file.write_text(LOOP)
    found, tried = finding("TG101", file, 9), []
    monkeypatch.setitem(owners, str(file), owner)
    assert [fix for _, fix in mended([found], 9, tried.append)] == [None]
    assert tried == []


def test_a_changed_module_is_read_as_it_is_changed(tmp_path):
    """Although it was compiled before, and nothing compiled of the change stays."""
    module = tmp_path / "training.py"
    module.write_text(LOOP, encoding="utf-8")
    (tmp_path / "main.py").write_text("import training\n", encoding="utf-8")
    compiled = py_compile.compile(str(module), doraise=True)
    with open(compiled, "rb") as file:
        before = file.read()
    options = {"is_module": False, "as_torch": False, "steps": 9, "select": [], "ignore": []}
    aside = Aside(["main.py"], str(tmp_path), **options)
    cleared = LOOP.replace(
        "    loss.backward()\n", "    optimizer.zero_grad()\n    loss.backward()\n"
    )
    assert [f.code for f in aside({str(module): LOOP}).findings] == ["TG101"]
    outcome = aside({str(module): cleared})
    assert (outcome.findings, outcome.steps, outcome.error) == ([], 9, "")
    with open(compiled, "rb") as file:
        assert file.read() == before


def test_diff_shows_and_fix_writes_what_was_tried(tmp_path):
    script = tmp_path / "loop.py"
    script.write_text(LOOP, encoding="utf-8")
    os.utime(script, (1, 1))
    shown = doctor("--diff", "loop.py", folder=tmp_path)
    assert shown.returncode == 1
    assert "+++ b/loop.py" in shown.stdout
    assert "zero_grad()" in shown.stdout
    assert script.read_text(encoding="utf-8") == LOOP
    done = doctor("--fix", "loop.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "written: loop.py" in done.stderr
    assert script.read_text(encoding="utf-8").count("optimizer.zero_grad()") == 1
    assert doctor("loop.py", folder=tmp_path).returncode == 0


ALL_WITH_ALL = """\
import tautograd as torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x, y = torch.randn(16, 4), torch.randn(16)
for _ in range(9):
    pred = model(x)
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "loss",
    [
        "torch.sqrt(((pred - y) ** 2).mean() + 1e-8)",
        "((pred - y) ** 2).mean() + 1e-3 * model.weight.pow(2).sum()",
        pytest.param("((pred - y) ** 2).mean()", marks=pytest.mark.slow),
        pytest.param("((pred - y).unsqueeze(-1) ** 2).mean()", marks=pytest.mark.slow),
        pytest.param("((pred - y) ** 2).mean().unsqueeze(-1)", marks=pytest.mark.slow),
    ],
)
def test_shapes_are_mended_where_they_meet(loss, tmp_path):
    """An axis that a difference gets afterwards hides nothing, and is no way to mend it."""
    (tmp_path / "train.py").write_text(ALL_WITH_ALL.format(loss=loss))
    shown = doctor("--diff", "train.py", folder=tmp_path)
    assert "TG504" in shown.stdout + shown.stderr
    assert f"+    loss = {loss.replace('pred - y', 'pred.squeeze(-1) - y')}" in shown.stdout


@pytest.mark.slow
def test_a_file_that_was_changed_meanwhile_is_left_alone(tmp_path):
    script = tmp_path / "loop.py"
    text = LOOP + "open('loop.py', 'a').write('# by another\\n')\n"
    script.write_text(text, encoding="utf-8")
    done = doctor("--fix", "loop.py", folder=tmp_path)
    assert "was changed since" in done.stderr
    assert "optimizer.zero_grad()" not in script.read_text(encoding="utf-8")
