"""`taut view` as a user runs it, on either engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests import processes

TAUT = "import sys; from tautograd._cli.main import main; sys.exit(main())"
SQUARE = """
    import tautograd as torch
    x = torch.tensor(3.0, requires_grad=True)
    for step in range(3):
        x.grad = None
        y = x ** 2
        y.backward()
        print("step", step, x.grad.item())
        with torch.no_grad():
            x -= 1
"""
TRAIN = """
    import sys
    import torch
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    for step in range(6):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    print("trained", sys.argv[1:])
"""


@pytest.fixture
def taut(tmp_path, project):
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(project / "src"), "OMP_NUM_THREADS": "1"}
        return processes.run(["-c", TAUT, "view", *arguments], cwd=tmp_path, env=environment)

    for name, text in (("square.py", SQUARE), ("train.py", TRAIN)):
        (tmp_path / name).write_text(textwrap.dedent(text), encoding="utf-8")
    return run


def test_the_page_of_one_pass(taut, tmp_path):
    done = taut("--step", "2", "square.py")
    assert (done.returncode, done.stdout) == (0, "step 0 6.0\n")
    assert done.stderr == "written: square.view.html\n"
    page = (tmp_path / "square.view.html").read_text(encoding="utf-8")
    assert "∂y/∂x" in page
    assert "y = x ** 2" in page


def test_json_is_all_of_stdout(taut, tmp_path):
    done = taut("--json", "square.py")
    graph = json.loads(done.stdout)
    assert done.returncode == 0
    assert [node["symbol"] for node in graph["nodes"]] == ["x", "y"]
    assert graph["nodes"][0]["gradients"]["0"]["values"] == 6.0
    assert not list(tmp_path.glob("*.html"))


def test_a_pass_that_never_came(taut):
    done = taut("--step", "9", "square.py")
    assert done.returncode == 2
    assert "it ran backward() 3 times only" in done.stderr


def test_a_script_that_fails_keeps_its_own_end(taut, tmp_path):
    (tmp_path / "broken.py").write_text("import tautograd\nraise SystemExit(7)\n", encoding="utf-8")
    assert taut("broken.py").returncode == 7
    (tmp_path / "broken.py").write_text("x = 1\nboom\n", encoding="utf-8")
    done = taut("broken.py")
    assert done.returncode == 3
    assert done.stderr.count("Traceback") == 1
    assert "tautograd" not in done.stderr.replace(str(tmp_path), "")


def test_a_script_that_catches_everything_goes_on(taut, tmp_path):
    text = """
        import tautograd as torch
        x = torch.tensor(1.0, requires_grad=True)
        for step in range(3):
            try:
                (x * (step + 1)).backward()
            except BaseException as error:
                print(type(error).__name__)
        print(x.grad.item())
    """
    (tmp_path / "stubborn.py").write_text(textwrap.dedent(text), encoding="utf-8")
    done = taut("--json", "stubborn.py")
    assert done.returncode == 0
    assert done.stderr == "Seen\n6.0\n"
    assert json.loads(done.stdout)["nodes"][0]["gradients"]["0"]["values"] == 1.0


def test_not_finite_is_something_found(taut, tmp_path):
    text = "import tautograd as t\nx = t.tensor(0.0, requires_grad=True)\nx.log().backward()\n"
    (tmp_path / "log.py").write_text(text, encoding="utf-8")
    assert taut("log.py").returncode == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "which script?"),
        (("nope.py",), "there is no file 'nope.py'"),
        (("-o", "no/where.html", "square.py"), "there is no folder"),
        (("-o", "page.png", "square.py"), "ends in .html"),
        (("--step", "0", "square.py"), "above 0"),
        (("--steps", "3", "square.py"), "--steps is for --run"),
    ],
)
def test_wrong_use_is_explained(arguments, message, capsys, tmp_path, monkeypatch):
    from tautograd._cli.main import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "square.py").write_text("", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["taut"])
    with pytest.raises(SystemExit) as ended:
        main(["view", *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_training_script_of_pytorch(taut, tmp_path):
    done = taut("-o", "page.html", "--step", "3", "train.py", "--epochs", "2")
    assert (done.returncode, done.stdout) == (0, "")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "on torch" in page
    assert "0.weight" in page


def test_as_torch(taut, tmp_path):
    done = taut("--as-torch", "-o", "page.html", "train.py")
    assert done.returncode == 0
    assert "on tautograd" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_page_of_a_run_and_its_event_files(taut, tmp_path):
    done = taut("--run", "--as-torch", "--tensorboard", "events", "-o", "run.html", "train.py", "a")
    assert (done.returncode, done.stdout) == (0, "trained ['a']\n")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "Gradient norm, layer by layer" in page
    found = scalars(next((tmp_path / "events").iterdir()))
    assert len(found["loss"]) == 6
    assert set(found) == {"loss"} | {
        f"{kind}/{layer}.{part}"
        for kind in ("gradient norm", "update to weight")
        for layer in (0, 2)
        for part in ("weight", "bias")
    }


def scalars(path: Path) -> dict[str, dict[int, float]]:
    """The numbers of an event file, read by its format: length, checksum, message, checksum."""
    from tensorboardX.proto.event_pb2 import Event

    found: dict[str, dict[int, float]] = {}
    content = path.read_bytes()
    while content:
        size = int.from_bytes(content[:8], "little")
        event = Event.FromString(content[12 : 12 + size])
        content = content[16 + size :]
        for value in event.summary.value:
            found.setdefault(value.tag.replace("_", " "), {})[event.step] = value.simple_value
    return found


def test_event_files_need_a_package(monkeypatch):
    from tautograd._doctor.report import events_file

    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(events_file.NoWriter, match=r"tautograd\[tensorboard\]"):
        events_file.write_events({"history": None, "findings": []}, "nowhere")


def test_an_error_of_the_engine_ends_at_the_users_line(taut, tmp_path):
    (tmp_path / "several.py").write_text(
        "import tautograd as torch\n\n\ndef main():\n    x = torch.ones(3, requires_grad=True)\n"
        "    (x * 2).backward()\n\n\nmain()\n",
        encoding="utf-8",
    )
    done = taut("several.py")
    assert done.returncode == 3
    *frames, message = done.stderr.splitlines()
    assert message.startswith("RuntimeError: grad can be implicitly created only for scalar")
    named = [line.strip() for line in frames if line.startswith("  File ")]
    assert [line.rpartition(", ")[2] for line in named] == ["in <module>", "in main"]
    assert all("several.py" in line for line in named)


def test_frames_after_the_engine_are_kept(taut, tmp_path):
    """The engine calls the user's rule, and that is where the error is."""
    (tmp_path / "custom.py").write_text(
        textwrap.dedent("""
            import tautograd as torch

            class Bad(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    return x * 2

                @staticmethod
                def backward(ctx, g):
                    raise KeyError("mine")

            Bad.apply(torch.ones((), requires_grad=True)).backward()
        """),
        encoding="utf-8",
    )
    done = taut("custom.py")
    assert done.returncode == 3
    assert done.stderr.splitlines()[-2:] == [
        '    raise KeyError("mine")',
        "KeyError: 'mine'",
    ]
    assert "Bad.apply(" in done.stderr


def test_the_page_of_a_run_leaves_that_of_the_graph_alone(taut, tmp_path):
    assert taut("--as-torch", "train.py").stderr == "written: train.view.html\n"
    graph = (tmp_path / "train.view.html").read_bytes()
    done = taut("--run", "--as-torch", "--steps", "2", "train.py")
    assert "written: train.run.html\n" in done.stderr
    assert (tmp_path / "train.view.html").read_bytes() == graph
    page = (tmp_path / "train.run.html").read_text(encoding="utf-8")
    assert "<h1>taut view --run <code>train.py</code></h1>" in page
    assert " – taut view --run</title>" in page
    again = taut("--as-torch", "train.py")
    assert again.stderr == "written: train.view.html (in place of the one that was there)\n"


@pytest.mark.parametrize("kind", ["svg", "dot"])
def test_a_picture_instead_of_a_page(taut, tmp_path, kind):
    done = taut(f"--{kind}", f"graph.{kind}", "square.py")
    assert done.returncode == 0, done.stderr
    assert f"written: graph.{kind}" in done.stderr
    assert not list(tmp_path.glob("*.html"))
    text = (tmp_path / f"graph.{kind}").read_text(encoding="utf-8")
    assert "y = x ^ 2" in text
    again = taut(f"--{kind}", f"graph.{kind}", "square.py")
    assert again.returncode == 0, "one of ours is replaced"


def test_a_page_without_source_says_nothing_of_the_machine(taut, tmp_path):
    assert taut("--no-source", "-o", "page.html", "square.py").returncode == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "square.py" not in text
    assert str(tmp_path) not in text
    assert taut("square.py").returncode == 0
    assert str(tmp_path) not in (tmp_path / "square.view.html").read_text(encoding="utf-8")
    assert taut("--editor-links", "-o", "links.html", "square.py").returncode == 0
    assert str(tmp_path / "square.py") in (tmp_path / "links.html").read_text(encoding="utf-8")


def test_a_summary_of_a_scripts_model(tmp_path, project):
    (tmp_path / "model.py").write_text(
        "import tautograd as torch\n"
        "print('before')\n"
        "model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))\n"
        "model(torch.ones(4, 2))\n"
        "print('never')\n"
    )
    environment = {"PYTHONPATH": str(project / "src")}
    done = processes.run(
        ["-c", TAUT, "summary", "--json", "model.py"], cwd=tmp_path, env=environment
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["flops"] == 2 * 4 * (2 * 3 + 3 * 1)
    assert [layer["parameters"] for layer in found["layers"]] == [0, 9, 4]
    assert "before" in done.stderr
    assert "never" not in done.stderr
    (tmp_path / "none.py").write_text("print('nothing')\n")
    done = processes.run(["-c", TAUT, "summary", "none.py"], cwd=tmp_path, env=environment)
    assert done.returncode == 2
    assert "no model was called" in done.stderr
