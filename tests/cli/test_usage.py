"""Asked wrongly, `taut` exits with 2 and says what to do; asked for help, it shows an example."""

from __future__ import annotations

import pytest

from tautograd._cli.commands import COMMANDS
from tautograd._cli.main import main
from tautograd._version import __version__

WRONG = [
    # arguments, what the message must hold
    ([], "which command?"),
    (["rum"], "did you mean 'run'?"),
    (["zzz"], "there is: run"),
    (["--verison"], "unknown option --verison"),
    (["run"], "which script?"),
    (["run", "--as-torch"], "which script?"),
    (["run", "-m"], "which module?"),
    (["run", "--as-troch", "script.py"], "unknown option --as-troch"),
    (["run", "no_such.py"], "there is no file 'no_such.py'"),
    (["run", "no/such/script.py"], "there is no file 'no/such/script.py'"),
    (["run", "scirpt.py"], "did you mean 'script.py'?"),
    (["run", "."], "is a folder"),
    (["run", "-m", "no_such_module"], "no module named 'no_such_module'"),
    (["run", "-m", "no_such_package.module"], "no module named 'no_such_package.module'"),
    (["run", "-m", "empty_package"], "no __main__ module"),
    (["run", "-m", "sys"], "holds no Python code"),
]


@pytest.mark.parametrize(
    ("arguments", "phrase"), WRONG, ids=[" ".join(a) or "nothing" for a, _ in WRONG]
)
def test_wrong_use_exits_2_and_says_why(workshop, arguments, phrase):
    workshop.write("script.py", "print('ran')\n")
    workshop.write("empty_package/__init__.py", "")
    got = workshop.taut(*arguments)
    assert got.returncode == 2
    assert phrase in got.stderr
    assert "--help" in got.stderr
    assert "Traceback" not in got.stderr
    assert got.stdout == ""


@pytest.mark.parametrize("arguments", [["--help"], *([c.name, "--help"] for c in COMMANDS)])
def test_help_shows_an_example(capsys, arguments):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    assert "example" in shown
    assert "  taut " in shown


def test_help_lists_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert all(command.name in shown and command.summary in shown for command in COMMANDS)


def test_version(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"tautograd {__version__}\n"


def test_python_dash_m_tautograd_is_the_same_command(workshop):
    got = workshop.python("-m", "tautograd", "--version")
    assert (got.returncode, got.stdout) == (0, f"tautograd {__version__}\n")
    workshop.write("script.py", "import sys; print(sys.argv)\n")
    assert (
        workshop.python("-m", "tautograd", "run", "script.py", "a").stdout == "['script.py', 'a']\n"
    )


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_a_mistake_is_told_in_three_lines(capsys, name):
    with pytest.raises(SystemExit) as stopped:
        main([name, "--no-such-option", "x"])
    assert stopped.value.code == 2
    usage, error, advice = capsys.readouterr().err.splitlines()
    assert usage.startswith(f"usage: taut {name}")
    assert error.startswith(f"taut {name}: error: ")
    assert "--help" in advice
