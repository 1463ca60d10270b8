"""Reports are not lost, nothing foreign is overwritten, and the exit status says what happened."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys

import pytest

from tautograd._cli.main import main
from tests import processes

TRAIN = """
import tautograd as torch
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_parameter({name!r}, torch.nn.Parameter(torch.randn(3, 1)))
    def forward(self, x):
        return x @ self._parameters[{name!r}]
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(4):
    model(torch.ones(2, 3)).sum().backward()  {comment}
    optimizer.step()
{extra}
"""
COMMAND = "import sys; from tautograd._cli.main import main; sys.exit(main())"


@pytest.fixture
def shop(workshop):
    def write(name="train.py", parameter="weight", comment="", extra=""):
        text = TRAIN.format(name=parameter, comment=comment, extra=extra)
        (workshop.folder / name).write_bytes(text.encode())

    workshop.train = write
    write()
    return workshop


# ---- what is there already -----------------------------------------------------------------------------

FOREIGN = [
    # options, the file that is in the way, what is said
    (("doctor", "--html", "model.py"), "model.py", "ends in .html"),
    (("doctor", "--html", "notes.html"), "notes.html", "--force"),
    (("doctor", "--html", "link.html"), "notes.html", "--force"),
    (("doctor", "--sarif", "data.json"), "data.json", "--force"),
    (("doctor", "--sarif", "model.py"), "model.py", "ends in .sarif"),
    (("view", "-o", "model.py"), "model.py", "ends in .html"),
    (("view", "-o", "notes.html"), "notes.html", "--force"),
    (("view", "--run", "-o", "notes.html"), "notes.html", "--force"),
    (("view",), "train.view.html", "--force"),
    (("view", "--run"), "train.run.html", "--force"),
    (("verify", "--html", "model.py"), "model.py", "ends in .html"),
    (("verify", "--html", "notes.html"), "notes.html", "--force"),
    (("verify", "--evidence", "model.py"), "model.py", "ends in .json"),
    (("verify", "--evidence", "data.json"), "data.json", "--force"),
    (("lab", "--progress", "model.py"), "model.py", "left alone"),
    (("lab", "--progress", "data.json"), "data.json", "left alone"),
]


@pytest.mark.parametrize(
    ("options", "name", "said"), FOREIGN, ids=lambda v: " ".join(v) if type(v) is tuple else None
)
def test_what_somebody_else_made_is_left_alone_and_nothing_is_run(
    options, name, said, shop, capsys, monkeypatch
):
    monkeypatch.chdir(shop.folder)
    shop.write("train.py", "open('it ran', 'w').close()\n")
    shop.write("model.py", "x = 1\n")
    shop.write("notes.html", "<p>mine</p>\n")
    shop.write("data.json", "{}\n")
    (shop.folder / "link.html").symlink_to("notes.html")
    if not (shop.folder / name).exists():
        shop.write(name, "mine\n")
    before = (shop.folder / name).read_bytes()
    last = {"verify": ["train.py:f"], "lab": ["1"]}.get(options[0], ["train.py"])
    with pytest.raises(SystemExit) as stopped:
        main([*options, *last])
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err
    assert (shop.folder / name).read_bytes() == before
    assert not (shop.folder / "it ran").exists()
    assert not [n for n in os.listdir(shop.folder) if n.endswith(".part")]


def test_our_own_and_empty_ones_are_replaced_and_others_with_force(shop):
    for _ in range(2):
        assert (
            shop.taut("doctor", "--html", "a.html", "--sarif", "a.sarif", "train.py").returncode
            == 1
        )
    page, log = (shop.folder / "a.html").read_text(), (shop.folder / "a.sarif").read_text()
    assert "TG101" in page
    # Those of versions that wrote no mark are known, too.
    shop.write("a.html", re.sub('<meta name="generator"[^>]*>', "", page))
    shop.write("b.html", "")
    shop.write("c.html", "<p>mine</p>")
    assert shop.taut("doctor", "--html", "a.html", "train.py").returncode == 1
    assert shop.taut("doctor", "--html", "b.html", "train.py").returncode == 1
    assert shop.taut("doctor", "--force", "--html", "c.html", "train.py").returncode == 1
    for name in ("a.html", "b.html", "c.html"):
        assert "TG101" in (shop.folder / name).read_text()
    assert json.loads(log)["runs"]


def test_two_reports_are_not_written_to_one_file(shop):
    (shop.folder / "page.sarif").symlink_to("page.html")
    done = shop.taut(
        "doctor", "--force", "--html", "page.html", "--sarif", "page.sarif", "train.py"
    )
    assert done.returncode == 2
    assert "another report" in done.stderr
    assert not (shop.folder / "page.html").exists()


def test_a_file_that_the_script_itself_makes_meanwhile_is_kept(shop):
    shop.train(extra="open('out.html', 'w').write('the result of a long run')")
    done = shop.taut("doctor", "--html", "out.html", "train.py")
    assert done.returncode == 2
    assert (shop.folder / "out.html").read_text() == "the result of a long run"
    kept = re.search(r"a page is kept as (\S+)", done.stderr)[1]
    with open(kept, encoding="utf-8") as file:
        assert "TG101" in file.read()
    os.unlink(kept)


# ---- places that cannot be written ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["no/page.html", "", "a\0.html", "folder", "x" * 300 + ".html"])
@pytest.mark.parametrize("command", [("doctor", "--html"), ("view", "-o"), ("verify", "--html")])
def test_a_place_that_cannot_be_written_is_told_before_anything_runs(
    command, name, shop, capsys, monkeypatch
):
    monkeypatch.chdir(shop.folder)
    shop.write("train.py", "open('it ran', 'w').close()\n")
    (shop.folder / "folder").mkdir()
    with pytest.raises(SystemExit) as stopped:
        main([*command, name, "train.py" if command[0] != "verify" else "train.py:f"])
    assert stopped.value.code == 2
    assert "Traceback" not in capsys.readouterr().err
    assert not (shop.folder / "it ran").exists()


def test_pages_go_to_pipes_and_descriptors(shop):
    code = f"{COMMAND[:-2]}['doctor', '--quiet', '--html', '/dev/stdout', 'train.py']))"
    done = shop.python("-c", code)
    assert done.returncode == 1
    assert done.stdout.startswith("<!doctype html>")
    assert done.stdout.endswith("</html>\n")
    assert shop.taut("doctor", "--html", "/dev/null", "train.py").returncode == 1
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    os.mkfifo(shop.folder / "pipe.html")
    done = shop.taut("doctor", "--html", "pipe.html", "train.py")
    assert done.returncode == 2  # nobody reads it, and nobody waits for that
    assert "TG101" in done.stderr


@pytest.mark.parametrize("options", [(), ("--quiet",), ("--json",)])
def test_a_disk_that_fills_up_during_the_run(options, shop):
    shop.train(
        extra="import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"
    )
    done = shop.taut("doctor", *options, "--html", "page.html", "--sarif", "log.sarif", "train.py")
    assert done.returncode == 2
    assert "cannot write" in done.stderr
    assert "TG101" in done.stderr  # the report, if nothing else is left of it
    assert sorted(os.listdir(shop.folder)) == ["train.py"]


@pytest.mark.parametrize(
    "command", ["doctor --json", "view --json", "doctor --list", "evidence schema"]
)
def test_a_full_disk_behind_stdout_is_no_success(command, shop):
    with open("/dev/full", "wb") as full:
        target = ["train.py"] if "--json" in command else []
        done = processes.run(
            ["-c", COMMAND, *command.split(), *target],
            stdout=full.fileno(),
            cwd=shop.folder,
            env=shop._environment,
        )
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    if command == "doctor --json":
        assert "TG101" in done.stderr


@pytest.mark.parametrize("closed", [0, 1, 2])
@pytest.mark.parametrize("command", ["doctor train.py", "doctor --json train.py", "doctor --list"])
def test_a_process_without_one_of_its_streams(command, closed, shop):
    done = shop.python(
        "-c",
        f"import os, subprocess, sys; os.close({closed}); "
        f"sys.exit(subprocess.call([sys.executable, '-c', {COMMAND!r}, *{command.split()!r}]))",
    )
    assert done.returncode == (0 if "--list" in command else 1)
    assert "Traceback" not in done.stderr


def test_a_reader_who_leaves_changes_no_status(shop):
    command = f"{sys.executable} -c '{COMMAND}' doctor --json train.py | head -c 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, cwd=shop.folder,
        env=shop._environment, check=True,
    )  # fmt: skip
    assert done.stdout == "{1\n"
    assert "Traceback" not in done.stderr


# ---- names that are no text --------------------------------------------------------------------------

HOSTILE = "we\x1b[31mi\x07rd\udcff\x00\x9b\u202e</script><blink>\n"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_names_that_are_not_utf_8_or_obeyed_by_a_terminal(shop, encoding):
    name = "tr\x1b[2Jain\udcff.py"
    shop.train(name, parameter=HOSTILE, comment="# \u202e \u2028 …")
    shop._environment["PYTHONIOENCODING"] = encoding
    files = ("--html", "p.html", "--sarif", "p.sarif", "--tensorboard", "events")
    command = ["-c", COMMAND, "doctor", *files, name]
    done = processes.run(command, cwd=shop.folder, env=shop._environment, text=False)
    text = done.stderr.decode(encoding)
    assert done.returncode == 1, text
    assert "TG101" in text
    assert "we\\x1b[31mi\\x07rd\\udcff\\x00\\x9b\\u202e" in text
    assert (
        set(map(ord, text)) & {*range(9), *range(11, 32), *range(127, 160), 0x202E, 0x2028} == set()
    )
    page = (shop.folder / "p.html").read_text(encoding="utf-8")
    assert set(map(ord, page)) & {*range(9), *range(11, 32), *range(127, 160), 0x202E} == set()
    assert "<blink>" not in page
    json.loads((shop.folder / "p.sarif").read_bytes())
    assert os.listdir(shop.folder / "events")
    done = shop.taut("doctor", "--json", name)
    assert json.loads(done.stdout)["findings"][0]["parameters"] == [HOSTILE]


def test_pages_of_graphs_with_such_names(shop):
    shop.train("tr\udcff.py", parameter=HOSTILE, comment="# \u202e <script>alert(1)</script>")
    done = shop.python("-c", f"{COMMAND[:-2]}['view', '-o', 'p.html', 'tr\\udcff.py']))")
    assert done.returncode == 0, done.stderr
    page = (shop.folder / "p.html").read_text(encoding="utf-8")
    assert set(map(ord, page)) & {*range(9), *range(11, 32), *range(127, 160), 0x202E} == set()
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1]
    assert HOSTILE in str(json.loads(data)) or repr(HOSTILE)[1:-1] in str(json.loads(data))
    assert "<script>alert" not in page


@pytest.mark.parametrize(
    "arguments",
    [
        ["\x1b[31m"], ["run", "\x1b]0;x\x07.py"], ["run", "-m", "\x1b[2J"], ["doctor", "--select", "\x1b[2J", "x"],
        ["doctor", "--explain", "\x9b2J"], ["doctor", "--steps", "\x1b[2J", "x.py"], ["doctor", "--\x1b[2J"],
        ["view", "-o", "\x1b[2J", "x.py"], ["verify", "\x1b[2J:f"], ["verify", "a\u202e.py:f"],
        ["replay", "\x1b[2J.json"], ["evidence", "show", "\x1b[2J\udcff"], ["evidence", "\x1b[2J"],
        ["lab", "\x1b[2J"], ["lab", "--progress", "\x1b[2J/\0", "1"], ["lab", "--engine", "\x1b[2J"],
    ],
)  # fmt: skip
def test_what_is_said_of_hostile_arguments_is_text(arguments, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    said = capsys.readouterr()
    assert stopped.value.code == 2
    assert said.err.strip()
    assert not any(
        (ord(c) < 32 and c != "\n") or c in "\x7f\x9b\u202e\udcff" for c in said.out + said.err
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["{}"], ["run", "{}.py"], ["doctor", "{}.py"], ["doctor", "--{}", "x.py"],
        ["doctor", "--html", "{}", "x.py"], ["doctor", "--html", "{}/x.html", "x.py"],
        ["view", "-o", "{}", "x.py"], ["verify", "{}:f"], ["verify", "m:f", "--evidence", "{}"],
        ["replay", "{}.json"], ["evidence", "show", "{}.json"], ["lab", "{}"],
    ],
)  # fmt: skip
def test_a_name_begins_no_line_and_has_none_of_our_colours_on_a_terminal(
    arguments, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    name = "a\n\x1b[32mtaut doctor: no finding"
    with pytest.raises(SystemExit) as stopped:
        main([argument.format(name) for argument in arguments])
    said = capsys.readouterr().err
    assert stopped.value.code == 2
    assert "a\\n\\x1b[32mtaut" in said
    assert "\x1b[32m" not in said
    assert not re.search("^taut doctor: no finding", said, re.MULTILINE)


# ---- what a script may do to the process that it runs in ----------------------------------------------

UNKIND = {
    "closes its streams": "sys.stdout.close(); sys.stderr.close()",
    "closes descriptors": "os.close(1); os.close(2)",
    "throws its streams away": "sys.stdout = sys.stderr = open(os.devnull, 'w')",
    "has none": "sys.stdout = sys.stderr = None",
    "has odd ones": "sys.stdout = sys.stderr = object()",
    "closes the descriptors that it did not open": "os.closerange(3, 256)",
    "sends descriptors elsewhere": "log = open('log', 'w'); os.dup2(log.fileno(), 1); os.dup2(log.fileno(), 2)",
    "goes elsewhere": "os.chdir('/')",
    "cannot call deep": "sys.setrecursionlimit(60)",
    "imports nothing any more": "sys.path.clear(); sys.path_hooks.clear(); sys.meta_path.clear()",
    "has no memory left": "import resource; resource.setrlimit(resource.RLIMIT_AS, (1, 1))",
    "has a hook that fails": "sys.excepthook = None; raise KeyError",
    "exits with a message that fails": "class M:\n    __str__ = None\nsys.exit(M())",
    "exits with a status that fails": "class E(SystemExit):\n    code = property(lambda s: 1 / 0)\nraise E",
    "ends with a hostile error": "raise type('E\\x1b[2J', (BaseException,), {'__str__': None})",
}


@pytest.mark.parametrize("how", UNKIND)
def test_the_report_survives_what_the_script_does_to_its_process(how, shop):
    shop.train(extra=f"import os, sys\n{UNKIND[how]}")
    done = shop.taut("doctor", "--html", "page.html", "train.py")
    assert done.returncode in (1, 3) or how == "has no memory left"
    assert (done.returncode == 3) == ("raise" in UNKIND[how] or "exit(" in UNKIND[how])
    assert "TG101" in done.stderr
    assert "mistake of tautograd" not in done.stderr
    if how != "has no memory left":
        assert "TG101" in (shop.folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("option", ["--html", "--json"])
def test_nothing_is_written_to_files_that_a_script_has_opened_under_our_numbers(option, shop):
    shop.train(
        extra="import os\nos.closerange(3, 256)\nmine = [open(f'mine{i}', 'w') for i in range(8)]\n"
        "os.dup2(mine[0].fileno(), 1)\nos.dup2(mine[0].fileno(), 2)"
    )
    done = shop.taut("doctor", option, *["page.html"] * (option == "--html"), "train.py")
    assert done.returncode == 2  # no way leads to stderr any more
    assert {(shop.folder / f"mine{i}").read_text() for i in range(8)} == {""}
    if option == "--html":
        assert "TG101" in (shop.folder / "page.html").read_text(encoding="utf-8")


def test_a_name_of_a_class_of_its_own_is_shown_by_its_characters():
    from tautograd._files.markup import escape
    from tautograd._files.printable import printable

    class Sly(str):
        def isprintable(self):
            return True

        def replace(self, *arguments):
            return self

        def __iter__(self):
            return iter("fine")

    assert printable(Sly("\x1b[31m")) == "\\x1b[31m"
    assert escape(Sly("<b>\x00")) == "&lt;b&gt;\\x00"


@pytest.mark.parametrize(
    "name", ["03-chain-rule.ipynb", "progress.json", "lessons/03-chain-rule/yours.py"]
)
def test_the_lab_does_not_wait_for_a_pipe(name, shop):
    path = shop.folder / "lab" / name
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    options = (
        ("--notebook", "lab") if name.endswith("ipynb") else ("--progress", "lab/progress.json")
    )
    done = processes.run(
        ["-c", COMMAND, "lab", *options, "chain-rule"],
        input="\n" * 50,
        cwd=shop.folder,
        env=shop._environment,
    )
    assert done.returncode == 2, done.stdout[-500:]
    assert "Traceback" not in done.stderr
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_what_is_typed_and_no_text_ends_in_words(shop):
    done = processes.run(
        ["-c", COMMAND, "lab", "--progress", "p.json", "1"],
        input=b"\xff\n",
        cwd=shop.folder,
        env={**shop._environment, "PYTHONIOENCODING": "utf-8:strict"},
        text=False,
    )
    assert done.returncode in (0, 2)
    assert b"Traceback" not in done.stderr


def test_verify_writes_where_it_was_called_wherever_the_code_goes(shop):
    shop.write("f.py", "import os\nos.chdir('/')\ndef f(x): return (x * x).sum()\n")
    done = shop.taut(
        "verify", "f.py:f", "--inputs", "3", "--evidence", "e.json", "--html", "e.html"
    )
    assert done.returncode == 0, done.stderr
    assert (shop.folder / "e.json").exists()
    assert (shop.folder / "e.html").exists()
