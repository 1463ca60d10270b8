"""`taut doctor` as a user runs it: the script's own output, errors and exit status pass through."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests import processes

TAUT = "import sys; from tautograd._cli.main import main; sys.exit(main())"
BUG = """
    import {engine}
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    for step in range(20):
        loss = torch.nn.functional.mse_loss(model(x), y)
        {clear}
        loss.backward()
        optimizer.step()
        {extra}
    print("trained", step)
"""


class Workshop:
    """A folder with scripts in it, and ways to run them."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.folder = folder
        self.environment = {
            **{k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM", "COLUMNS")},
            "PYTHONPATH": str(source),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
            "TERM": "xterm",
            "COLUMNS": "100",
        }

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")

    def loop(self, engine="tautograd as torch", clear="", extra="", name="train.py"):
        self.write(name, BUG.format(engine=engine, clear=clear or "pass", extra=extra or "pass"))

    def python(self, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments], cwd=self.folder, env=self.environment,
            stdout=subprocess.PIPE, stderr=options.pop("stderr", subprocess.PIPE), text=True,
            timeout=120, check=False,
        )  # fmt: skip

    def doctor(self, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
        command = ["-c", TAUT, "doctor", *arguments]
        return processes.run(command, cwd=self.folder, env=self.environment, **options)


@pytest.fixture
def shop(tmp_path: Path, project: Path) -> Workshop:
    return Workshop(tmp_path, project / "src")


@pytest.mark.parametrize(
    ("engine", "options", "name"),
    [
        ("torch", (), "torch"),
        ("torch", ("--as-torch",), "tautograd"),
        ("tautograd as torch", (), "tautograd"),
    ],
)
def test_the_engine_is_the_one_that_the_script_imports(shop, engine, options, name):
    shop.loop(engine)
    found = shop.doctor(*options, "train.py")
    assert found.returncode == 1
    assert found.stdout == "trained 19\n"
    assert "train.py:10: TG101 accumulated-gradients [error] after step 1" in found.stderr
    assert "10 | loss.backward()" in found.stderr
    assert f"taut doctor: 1 finding (1 error) in 20 optimizer steps of {name} " in found.stderr
    assert "\x1b[" not in found.stderr


def test_a_clean_script(shop):
    shop.loop(clear="optimizer.zero_grad()")
    found = shop.doctor("train.py")
    assert (found.returncode, found.stdout) == (0, "trained 19\n")
    assert "no finding in 20 optimizer steps of tautograd" in found.stderr


def test_a_script_that_imports_no_engine_just_runs(shop):
    shop.write("plain.py", "import sys\nprint(sys.argv, __name__, 'torch' in sys.modules)\n")
    found = shop.doctor("plain.py", "--steps", "x")
    assert (found.returncode, found.stdout) == (0, "['plain.py', '--steps', 'x'] __main__ False\n")
    assert "nothing to judge: neither torch nor tautograd was used" in found.stderr


def test_modules_of_the_script_are_watched_whatever_their_names(shop):
    shop.write(
        "parts.py",
        """
        from torch.optim import SGD
        from torch.nn.functional import mse_loss
        class Trainer:
            loss = staticmethod(mse_loss)
        """,
    )
    shop.write(
        "package/train.py",
        """
        from parts import SGD, Trainer
        import torch
        model = torch.nn.Linear(2, 1)
        optimizer = SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            Trainer.loss(model(torch.ones(1, 2)), torch.ones(1, 1)).backward()
            optimizer.step()
        """,
    )
    found = shop.doctor("--as-torch", "-m", "package.train")
    assert found.returncode == 1
    assert "package/train.py:7: TG101" in found.stderr


def test_steps(shop):
    shop.loop()
    found = shop.doctor("--steps", "5", "train.py")
    assert (found.returncode, found.stdout) == (1, "")
    assert "in 5 optimizer steps" in found.stderr
    assert "stopped after 5 steps, as asked" in found.stderr


def test_json_is_all_of_stdout(shop):
    shop.loop(extra="step == 3 and __import__('os').system('echo child')")
    found = shop.doctor("--json", "train.py")
    report = json.loads(found.stdout)
    assert found.returncode == 1
    assert sorted(found.stderr.split()) == ["19", "child", "trained"]
    assert report["verdict"] == "findings"
    assert [f["code"] for f in report["findings"]] == ["TG101"]
    assert report["findings"][0]["site"]["line"] == 10
    assert set(report["history"]) == {"steps", "norms", "ratios", "losses", "curve", "broken"}


def test_files_annotations_and_silence(shop):
    shop.loop()
    found = shop.doctor(
        "--quiet", "--github", "--sarif", "out.sarif", "--html", "out.html", "train.py"
    )
    assert (found.returncode, found.stderr) == (1, "")
    printed, annotation = found.stdout.splitlines()
    assert printed == "trained 19"
    assert annotation.startswith(
        "::error file=train.py,line=10,title=TG101 accumulated-gradients::"
    )
    log = json.loads((shop.folder / "out.sarif").read_text(encoding="utf-8"))
    assert log["runs"][0]["results"][0]["ruleId"] == "TG101"
    assert "TG101" in (shop.folder / "out.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("engine", ["torch", "tautograd as torch"])
def test_a_failure_passes_through_and_the_report_follows(shop, engine):
    shop.loop(engine, extra="step == 4 and loss.backward()")
    plain = shop.python("train.py")
    found = shop.doctor("train.py")
    assert (plain.returncode, plain.stdout) == (1, "")
    assert (found.returncode, found.stdout) == (3, "")  # Python's 1 would be findings
    assert "a second time" in plain.stderr
    # tautograd goes another way through its own code where backward is watched from inside.
    own = re.compile(r'  File "[^"]*src/tautograd/_autograd[^\n]*\n(    [^\n]*\n)*')
    assert own.sub("", found.stderr).startswith(own.sub("", plain.stderr))
    report = found.stderr.partition("\ntrain.py:10: TG101")[2]
    assert report
    assert "; ended by RuntimeError." in report


@pytest.mark.parametrize(
    ("statement", "status", "said"),
    [
        ("sys.exit(3)", 3, ""),
        ("sys.exit(1)", 3, ""),  # 1 is for findings alone
        ("sys.exit(257)", 3, ""),  # of which the system keeps the 1
        ("sys.exit(256)", 3, ""),  # and of which it would make success
        ("sys.exit(-1)", 255, ""),
        ("sys.exit('no data')", 3, "no data\n"),
        ("sys.exit(0)", 1, ""),  # the findings' own
        ("sys.exit()", 1, ""),
        ("raise KeyError(7)", 3, "KeyError: 7\n"),
    ],
)
def test_exits(shop, statement, status, said):
    shop.loop(extra=f"if step == 4: import sys; {statement}")
    found = shop.doctor("train.py")
    assert found.returncode == status
    before, _, report = found.stderr.partition("\ntrain.py:10: TG101")
    assert before.endswith(said)
    assert "in 5 optimizer steps" in report


def test_an_exit_of_0_from_a_clean_script_is_0(shop):
    shop.loop(clear="optimizer.zero_grad()", extra="if step == 4: raise SystemExit(0)")
    assert shop.doctor("--quiet", "train.py").returncode == 0


def test_control_c_reports_what_was_seen(shop):
    interrupt = (
        "import os, signal; signal.signal(2, signal.default_int_handler); os.kill(os.getpid(), 2)"
    )
    shop.loop(extra=f"if step == 4: {interrupt}")
    found = shop.doctor("train.py")
    assert found.returncode == shop.python("train.py").returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in found.stderr
    report = found.stderr.partition("KeyboardInterrupt")[2]
    assert "TG101" in report
    assert "; interrupted." in report


def test_threads_are_waited_for(shop):
    shop.write(
        "train.py",
        """
        import threading, time
        import tautograd as torch
        def train():
            time.sleep(0.3)
            model = torch.nn.Linear(2, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(4):
                model(torch.ones(1, 2)).sum().backward()
                optimizer.step()
        threading.Thread(target=train).start()
        """,
    )
    assert "TG101" in shop.doctor("train.py").stderr


POOLS = {
    "our own": """
        torch.set_num_threads(2)
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Flatten())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            model(torch.ones(16, 3, 32, 32)).sum().backward()
            optimizer.step()
        """,
    "one of the script's that it does not shut down": """
        from concurrent.futures import ThreadPoolExecutor
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        def step():
            time.sleep(0.1)
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
        pool = ThreadPoolExecutor(1)
        for _ in range(4):
            pool.submit(step)
        """,
    "one that a thread of the script's uses": """
        from concurrent.futures import ThreadPoolExecutor
        import threading
        def train():
            model = torch.nn.Linear(2, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(4):
                model(torch.ones(1, 2)).sum().backward()
                optimizer.step()
            threading.Thread(target=time.sleep, args=(0.1,)).start()
        ThreadPoolExecutor(3).submit(train).result()
        """,
}


@pytest.mark.parametrize("pool", POOLS)
def test_pools_of_threads_come_to_an_end(shop, pool):
    """What they were given is done and reported; nobody waits for a thread that waits for work."""
    shop.write("train.py", "\n        import time, torch" + POOLS[pool])
    found = shop.doctor("--as-torch", "train.py", timeout=60)
    assert found.returncode == 1
    assert "TG101" in found.stderr


@pytest.mark.slow
@pytest.mark.parametrize("how", ["model = torch.compile(model{})", "model.compile({})"])
def test_a_compiled_model_is_watched_from_outside(shop, how):
    shop.loop("torch", extra="pass")
    text = (shop.folder / "train.py").read_text(encoding="utf-8")
    option = ", backend='eager'" if "torch" in how else "backend='eager'"
    text = text.replace("optimizer = ", f"{how.format(option)}\noptimizer = ")
    (shop.folder / "train.py").write_text(text, encoding="utf-8")
    found = shop.doctor("train.py")
    assert (found.returncode, found.stdout) == (1, "trained 19\n")
    assert found.stderr.startswith("\ntrain.py:11: TG101"), "no warning of the doctor's making"
    assert "parameters: weight, bias\n" in found.stderr
    assert "A model was compiled: what its layers and losses are given is not seen" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("missing.py",), "there is no file 'missing.py'"),
        ((), "which script?"),
        (("--select", "TG1O1", "train.py"), "no rule has the code or name 'TG1O1'"),
        (("--steps", "0", "train.py"), "--steps"),
        (("--html", "no/folder.html", "train.py"), "cannot write 'no/folder.html'"),
        (("--explain", "TG1O1"), "did you mean 'TG101'?"),
    ],
)
def test_what_cannot_run_is_2(shop, arguments, message):
    shop.write("train.py", "print('ran')")
    found = shop.doctor(*arguments)
    assert (found.returncode, found.stdout) == (2, "")
    assert message in found.stderr


def test_the_configuration_of_the_project_counts(shop):
    shop.loop(name="code/train.py")
    shop.write("pyproject.toml", "[tool.tautograd.doctor]\nsteps = 6\nignore = ['TG101']\n")
    found = shop.doctor("code/train.py")
    assert (found.returncode, "no finding in 6 " in found.stderr) == (0, True)
    found = shop.doctor("--ignore", "TG2", "--steps", "7", "code/train.py")
    assert (found.returncode, "in 7 optimizer steps" in found.stderr) == (1, True)
    shop.write("pyproject.toml", "[tool.tautograd.doctor.per-file-ignores]\n'code/*' = ['TG1']\n")
    found = shop.doctor("code/train.py")
    assert (found.returncode, "; 1 ignored" in found.stderr) == (0, True)
    shop.write("pyproject.toml", "[tool.tautograd.doctor]\nselekt = []\n")
    found = shop.doctor("code/train.py")
    assert (found.returncode, found.stdout) == (2, "")
    assert "[tool.tautograd.doctor] has no key 'selekt'; did you mean 'select'?" in found.stderr


def test_pages_of_rules(shop):
    found = shop.doctor("--list")
    assert found.returncode == 0
    assert "TG101  accumulated-gradients" in found.stdout
    found = shop.doctor("--explain", "accumulated-gradients")
    assert found.returncode == 0
    for title in ("What it sees", "Why that is wrong", "Example", "Corrected", "When it stays"):
        assert title in found.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="there is no terminal to look like")
@pytest.mark.parametrize("no_colour", [False, True])
def test_colours_on_a_terminal_only(shop, no_colour):
    shop.loop()
    if no_colour:
        shop.environment["NO_COLOR"] = "1"
    ours, theirs = pty.openpty()
    found = shop.doctor("--steps", "4", "train.py", stderr=theirs)
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 65536):
            text += chunk
    except OSError:  # how a terminal ends
        pass
    os.close(ours)
    assert found.returncode == 1
    assert (b"\x1b[31mTG101\x1b[0m" in text) == (not no_colour)
    assert (b"\x1b" in text) == (not no_colour)
