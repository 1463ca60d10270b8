"""`taut run script.py` does what `python script.py` does, to the letter."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

SCRIPTS = {
    "says who and where it is": """
        import sys, os
        print(__name__, sys.argv, os.path.basename(__file__), os.path.isabs(__file__))
        print(os.path.basename(sys.path[0]) == os.path.basename(os.getcwd()))
        print(__spec__, __package__, __doc__, type(__loader__).__name__, sorted(globals()))
        print(sys.modules["__main__"].__dict__ is globals())
    """,
    "imports its neighbour": "import neighbour\nprint(neighbour.VALUE)\n",
    "raises": """
        def inner():
            raise ValueError("on purpose")
        def outer():
            try:
                inner()
            except ValueError as error:
                raise RuntimeError("and again") from error
        outer()
    """,
    "fails in an import": "import broken_neighbour\n",
    "misses a module": "import no_such_module_anywhere\n",
    "has a syntax error": "x = (1,\n\ny = 2 2\n",
    "exits with a number": "import sys; print('out'); sys.exit(7)\n",
    "exits with a message": "import sys; sys.exit('that is all')\n",
    "exits with nothing": "import sys; sys.exit()\n",
    "runs atexit handlers": "import atexit; atexit.register(print, 'bye'); 1 / 0\n",
    "has a hook of its own": """
        import sys, traceback
        def hook(kind, error, tb):
            print("hooked", kind.__name__, len(traceback.extract_tb(error.__traceback__)))
        sys.excepthook = hook
        1 / 0
    """,
    "pickles a class of its own": """
        import pickle
        class Thing: pass
        print(type(pickle.loads(pickle.dumps(Thing()))) is Thing)
    """,
    "declares its encoding": "# -*- coding: latin-1 -*-\nprint('fine')\n",
    "raises a group": "raise ExceptionGroup('several', [ValueError(1), TypeError(2)])\n",
}


@pytest.fixture
def furnished(workshop):
    workshop.write("neighbour.py", "VALUE = 41 + 1\n")
    workshop.write("broken_neighbour.py", "def f():\n    return 1 / 0\nf()\n")
    workshop.write("package/__init__.py", "")
    workshop.write(
        "package/__main__.py", "import sys; print(__name__, __package__, sys.argv[1:])\n"
    )
    workshop.write(
        "package/module.py",
        "import os, sys\nfrom . import __name__ as p\n"
        "print(p, __spec__.name, os.path.basename(sys.argv[0]), sys.argv[1:], sys.path[0])\n"
        "print(sorted(globals()))\n",
    )
    workshop.write("package/raises.py", "raise KeyError('gone')\n")
    workshop.write("broken_package/__init__.py", "import no_such_module_anywhere\n")
    workshop.write("broken_package/module.py", "")
    return workshop


# `own_hook` is set by the script after taut's: how many frames it sees is not taut's to say.
@pytest.mark.parametrize("what", [name for name in SCRIPTS if name != "has a hook of its own"])
def test_a_script_behaves_as_under_python(furnished, what):
    furnished.write("script.py", SCRIPTS[what])
    arguments = ("script.py", "one", "--two", "-h", "--", "--as-torch")
    expected = furnished.python(*arguments)
    got = furnished.taut("run", *arguments)
    assert (got.returncode, got.stdout, got.stderr) == (
        expected.returncode,
        expected.stdout,
        expected.stderr,
    )


def test_a_hook_set_by_the_script_is_called(furnished):
    furnished.write("script.py", SCRIPTS["has a hook of its own"])
    got = furnished.taut("run", "script.py")
    assert got.stdout.startswith("hooked ZeroDivisionError")
    assert got.returncode == 1


@pytest.mark.parametrize("module", ["package", "package.module"])
def test_a_module_behaves_as_under_python(furnished, module):
    expected = furnished.python("-m", module, "one", "--two", "-m", "--")
    got = furnished.taut("run", "-m", module, "one", "--two", "-m", "--")
    assert (got.returncode, got.stdout, got.stderr) == (0, expected.stdout, expected.stderr)


@pytest.mark.parametrize("module", ["package.raises", "broken_package.module"])
def test_a_module_that_fails_shows_its_own_traceback_only(furnished, module):
    got = furnished.taut("run", "-m", module)
    expected = furnished.python("-m", module)
    assert got.returncode == expected.returncode == 1
    assert got.stderr.splitlines()[-1].startswith(("KeyError", "ModuleNotFoundError"))
    assert "_cli" not in got.stderr
    assert "runpy" not in got.stderr


def test_a_script_in_another_folder_finds_its_neighbours(furnished):
    furnished.write("deep/er/script.py", "import local; print(local.V, __file__)\n")
    furnished.write("deep/er/local.py", "V = 1\n")
    got = furnished.taut("run", "deep/er/script.py")
    assert got.stdout == furnished.python("deep/er/script.py").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_ctrl_c_ends_it_as_it_ends_python(furnished):
    script = (
        "import os, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background has none\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "print('late')\n"
    )
    furnished.write("script.py", script)
    got = furnished.taut("run", "script.py")
    expected = furnished.python("script.py")
    assert got.returncode == expected.returncode == -signal.SIGINT
    assert got.stderr == expected.stderr


def test_the_script_reads_standard_input(furnished):
    path = furnished.write("script.py", "print(input()[::-1])\n")
    command = "import sys; from tautograd._cli.main import main; sys.exit(main())"
    got = subprocess.run(
        [sys.executable, "-c", command, "run", str(path)],
        input="abc\n",
        text=True,
        capture_output=True,
        check=True,
        env=furnished._environment,
    )
    assert got.stdout == "cba\n"


@pytest.mark.parametrize("command", ["run", "view", "doctor"])
def test_without_pytorch_a_pytorch_script_is_told_of_the_other_way(workshop, command):
    workshop.write("train.py", "import torch\nprint(torch.ones(2).sum().item())\n")
    with_torch = workshop.taut(command, "--as-torch", "train.py")
    assert with_torch.stdout == "2.0\n"
    assert "not installed" not in with_torch.stderr
    # As it is where there is no PyTorch, in whatever environment the tests run.
    workshop.write(
        "torch.py", "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n"
    )
    done = workshop.taut(command, "train.py")
    assert done.returncode == (1 if command == "run" else 3)
    message = done.stderr.index("ModuleNotFoundError: No module named 'torch'\n")
    hint = "PyTorch is not installed here; '--as-torch' before the script runs it on tautograd.\n"
    assert done.stderr.index(hint) > message
    assert done.stderr.count(hint) == 1
