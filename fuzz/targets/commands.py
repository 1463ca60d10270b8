"""Command lines of `taut` with hostile arguments, in a folder with something to lose.

Each runs in a fork of the worker, by `main(argv)`, with its output caught. It may end in a documented
status, say why in words, and write what it was asked for; nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import re
import resource
import signal
import stat
import sys
import tempfile
import time
import traceback
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fuzz.target import Case, Target

TRAIN = """
import tautograd as torch
model = torch.nn.Linear(2, 1)
model.register_parameter("na\\x1b[2Jme\\udcff", torch.nn.Parameter(torch.ones(1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    (model(torch.ones(1, 2)) * model._parameters["na\\x1b[2Jme\\udcff"]).sum().backward()  # \u202e here
    optimizer.step()
"""
CLEAN = TRAIN.replace("    (model", "    optimizer.zero_grad()\n    (model")
LAYERS = """
import tautograd as torch
from typing import Annotated
def square(x: Annotated[torch.Tensor, "3"]): return (x * x).sum()
def fails(x: Annotated[torch.Tensor, "2"]): raise ValueError("ON PURPOSE \\x1b[31m")
value = 3
"""
FILES = {
    "train.py": TRAIN,
    "clean.py": CLEAN,
    "fails.py": "raise SystemError('ON PURPOSE')\n",
    "exits.py": "import sys; sys.exit(1)\n",
    "layers.py": LAYERS,
    "tr\x1b[2Jain\udcff.py": TRAIN,
    "notes.html": "<p>mine</p>",
    "data.json": '{"mine": 1}',
    "mine.sarif": '{"mine": 1}',
    "model.pt": "mine",
    "empty.html": "",
    "pyproject.toml": "[project]\nname = 'mine'\n",
}
PATHS = [
    *FILES, "new.html", "new.json", "new.sarif", "new.py", "folder", "folder/new.html", "pipe",
    "pipe.html", "link.html", "out.html", "loop.html", "missing/new.html", "/dev/null", "/dev/full",
    "/dev/stdout", "/proc/self/mem", "../outside/canary.html", "", ".", "-", "--", "x" * 300 + ".html",
    "nul\0.html", "\x1b]0;evil\x07.html", "bidi\u202e.html", "half\udcff.html", "new.HTML", "a\nb.html",
    "evidence.json", "~", "con.html", " .html",
]  # fmt: skip
# A script may come through a pipe, and is waited for as Python does.
_NO_PIPES = [path for path in PATHS if not path.startswith("pipe")]
TEXTS = ["", "TG101", "TG1", "\x1b[31m", "\u202e", "\udcff", "0", "-1", "1", "9" * 5000, "٣", "1e9", "nan",
         "3x4", "3:float32,2", "0", "x", "scalar", "=2.5", "3:nosuch", "99999999999x9", "tautograd",
         "torch ", "layers:square", "layers.py:square", "layers.py:fails", "layers.py:value", "layers.py:",
         ":", "::", "layers.py:square.__globals__", "no\x1bmodule:fn", "chain-rule", "3", "--help"]  # fmt: skip
OPTIONS = {
    "run": ["-m", "--as-torch"],
    "doctor": ["--steps", "--look-at", "--select", "--ignore", "--json", "--sarif", "--html", "--github",
               "--quiet", "--explain", "--list", "--force", "-m", "--tensorboard"],
    "view": ["-o", "--output", "--step", "--json", "--run", "--steps", "--force", "-m"],
    "verify": ["--inputs", "--inputs-from", "--inputs-file", "--checkpoint", "--mode", "--order", "--seed",
               "--train", "--eval", "--evidence", "--html", "--force", "--json", "--quiet"],
    "replay": ["--inputs", "--seed", "--exact", "--all", "--json", "--quiet", "--checkpoint"],
    "evidence": ["show", "diff", "schema", "--json", "--all"],
    "lab": ["--list", "--auto", "--again", "--progress", "--notebook", "--json", "--engine"],
    "rum": [], "": [], "--version": [], "\x1b[31m": [],
}  # fmt: skip
VALUED = re.compile(
    r"--(steps|look-at|select|ignore|sarif|html|explain|tensorboard|output|step|inputs|inputs-from|"
    r"inputs-file|checkpoint|mode|order|seed|evidence|progress|notebook|engine)$|-o$"
)
PATH_OPTIONS = ("--sarif", "--html", "-o", "--output", "--evidence", "--progress", "--notebook",
                "--tensorboard", "--checkpoint", "--inputs-file")  # fmt: skip
STATUSES = {0, 1, 2, 3, 130}
LIMIT = 30.0


class Commands(Target):
    """No argument does harm."""

    name = "commands"
    share = 0.5
    limit = LIMIT + 5
    memory = 0

    def prepare(self) -> None:
        import tautograd as torch
        import tautograd._cli.main
        import tautograd._doctor.doctor
        import tautograd._doctor.report.page
        import tautograd._doctor.report.sarif
        import tautograd._evidence.job
        import tautograd._lab.lessons
        import tautograd._verify.report.render_html
        import tautograd._view.view

        with tempfile.TemporaryDirectory() as folder:
            report = torch.verify(lambda x: (x * x).sum(), torch.ones(3, dtype=torch.float64))
            self._evidence = Path(report.save(Path(folder) / "once.json")).read_bytes()

    def case(self, rng: random.Random) -> Case:
        command = rng.choice([*OPTIONS, "doctor", "view", "verify"])
        argv = [command]
        for option in rng.sample(OPTIONS[command], rng.randint(0, min(4, len(OPTIONS[command])))):
            argv.append(option)
            if VALUED.match(option) and rng.random() < 0.95:
                is_path = option in PATH_OPTIONS and rng.random() < 0.9
                argv.append(rng.choice(PATHS if is_path else TEXTS))
        scripts = ["train.py", "clean.py", "fails.py", "exits.py", "tr\x1b[2Jain\udcff.py"]
        for _ in range(rng.randint(0, 2)):
            chosen = scripts if command in ("run", "doctor", "view") else TEXTS
            argv.append(rng.choice(rng.choice((chosen, chosen, _NO_PIPES, TEXTS))))
        if rng.random() < 0.05 and not {"pipe", "pipe.html"} & set(argv):
            rng.shuffle(argv)
        encoding = rng.choice(("utf-8", "utf-8", "ascii", "latin-1"))
        return {"argv": argv, "encoding": encoding}

    def check(self, case: Case, counts: Counter[str]) -> str | None:
        if not hasattr(self, "_evidence"):
            self.prepare()
        counts["commands"] += 1
        argv = [str(argument) for argument in case["argv"]]
        with tempfile.TemporaryDirectory() as place, _folder(Path(place), self._evidence) as folder:
            before = _state(Path(place))
            status, out, err = _run(argv, folder, case["encoding"])
            after = _state(Path(place))
        return (
            _wrong_status(argv, status, out, err)
            or _wrong_words(argv, out, err)
            or _harm(argv, before, after)
        )

    def smaller(self, case: Case) -> Iterator[Case]:
        argv = case["argv"]
        for place in range(len(argv) - 1, -1, -1):
            yield {**case, "argv": argv[:place] + argv[place + 1 :]}
        if case["encoding"] != "utf-8":
            yield {**case, "encoding": "utf-8"}


@contextlib.contextmanager
def _folder(place: Path, evidence: bytes) -> Iterator[Path]:
    """A folder with all kinds of things in it, beside one that is nobody's business."""
    folder = place / "folder"
    (folder / "folder").mkdir(parents=True)
    (place / "outside").mkdir()
    (place / "outside" / "canary.html").write_text("mine")
    for name, text in FILES.items():
        (folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    (folder / "evidence.json").write_bytes(evidence)
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "pipe.html")
    (folder / "link.html").symlink_to("notes.html")
    (folder / "out.html").symlink_to("../outside/canary.html")
    (folder / "loop.html").symlink_to("loop.html")
    yield folder


def _state(place: Path) -> dict[str, tuple[int, str]]:
    """What is where: kind and permissions, and what is in it."""
    found = {}
    for root, folders, files in os.walk(place):
        for name in (*folders, *files):
            path = os.path.join(root, name)
            mode = os.lstat(path).st_mode
            content = ""
            if stat.S_ISLNK(mode):
                content = os.readlink(path)
            elif stat.S_ISREG(mode):
                content = hashlib.sha256(Path(path).read_bytes()).hexdigest()
            found[os.path.relpath(path, place)] = mode, content
    return found


def _run(argv: list[str], folder: Path, encoding: str) -> tuple[int | None, str, str]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            _be_taut(argv, folder, encoding, out.fileno(), err.fileno())
        status, end = None, time.monotonic() + LIMIT
        while time.monotonic() < end:
            done, code = os.waitpid(child, os.WNOHANG)
            if done:
                status = os.waitstatus_to_exitcode(code)
                break
            time.sleep(0.002)
        else:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(_text(file.read()))
        return status, texts[0], texts[1]


def _text(data: bytes) -> str:
    """A page that goes to stdout is UTF-8, whatever the encoding of the stream."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _be_taut(argv: list[str], folder: Path, encoding: str, out: int, err: int) -> None:
    """In the child: the process that `taut` would be."""
    status = 99
    try:
        with open("/proc/self/statm", "rb") as file:
            most = int(file.read().split()[0]) * resource.getpagesize() + (4 << 30)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        os.chdir(folder)
        os.environ.update(
            HOME=str(folder / "home"), XDG_DATA_HOME=str(folder / "data"), TMPDIR=str(folder)
        )
        os.environ.pop("TAUTOGRAD_LAB_PROGRESS", None)
        tempfile.tempdir = str(folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - the streams of a process
        sys.stdout = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115
        sys.stderr = open(  # noqa: SIM115
            2, "w", encoding=encoding, errors="backslashreplace", closefd=False
        )
        from tautograd._cli.main import main

        status = main(argv)
    except SystemExit as exit:
        code = exit.code
        status = code if isinstance(code, int) else 0 if code is None else 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except Exception:
            traceback.print_exc()
            status = 98
        finally:
            os._exit(status & 0xFF)


def _wrong_status(argv: list[str], status: int | None, out: str, err: str) -> str | None:
    told = f"{argv!r}\nstatus {status}\n{out[-2000:]}\n{err[-2000:]}"
    command = argv[0] if argv else ""
    if status is None:
        return f"taut {command} did not end\n{told}"
    if status not in STATUSES:
        return f"taut {command} ended with status {status}\n{told}"
    if status == 1 and command == "doctor" and "finding" not in out + err and "--quiet" not in argv:
        return f"taut doctor says 1 and no finding\n{told}"
    if status == 2 and not (out + err).strip() and "--quiet" not in argv:
        return f"taut {command} fails without a word\n{told}"
    return None


def _wrong_words(argv: list[str], out: str, err: str) -> str | None:
    command = argv[0] if argv else ""
    both = out + err
    if "mistake of tautograd's own" in both:
        last = [line for line in both.splitlines() if line and not line.startswith(" ")][-2:]
        return f"taut {command}: an internal error, {last[0][:60]}\n{argv!r}\n{both[-3000:]}"
    is_scripts_own = (
        command in ("run", "doctor", "view") and "Traceback" in both
    ) or 'File "' in both
    if "Traceback" in both and ("ON PURPOSE" not in both and "/_cli/" in both):
        return f"taut {command}: a traceback\n{argv!r}\n{both[-3000:]}"
    if is_scripts_own:
        return None  # as Python prints it
    for character in set(both) - set("\n\t"):
        if unicodedata.category(character) in ("Cc", "Cs") or character in "\u202e\u202d\u2066":
            return f"taut {command}: a control character\n{argv!r} {character!r}\n{both[-3000:]!r}"
    return None


def _harm(
    argv: list[str], before: dict[str, tuple[int, str]], after: dict[str, tuple[int, str]]
) -> str | None:
    command = argv[0] if argv else ""
    told = f"{argv!r}"
    for name, state in before.items():
        base = os.path.basename(name)
        if base == "empty.html" or ("--force" in argv and base in argv and state[1]):
            continue
        if name in ("folder", "outside"):
            continue
        if "--force" in argv and base in ("canary.html", "notes.html"):
            continue  # through the links to them
        if after.get(name) != state:
            return f"taut {command} changed a file of somebody else's\n{name!r} {told}"
    for name in after.keys() - before.keys():
        if name.endswith(".part"):
            return f"taut {command} left something behind\n{name!r} {told}"
        if name.startswith("outside") and "../outside/canary.html" not in argv:
            return f"taut {command} wrote outside of its folder\n{name!r} {told}"
    return None


TARGET = Commands()
