"""Command lines of `taut` with hostile arguments, in a folder with something to lose.

Each runs in a fork of the worker, by `main(argv)`, with its output caught. It may end in a documented
status, say why in words, and write what it was asked for; nothing else.
"""

from __future__ import annotations

import argparse
import codecs
import contextlib
import functools
import hashlib
import json
import os
import random
import resource
import signal
import stat
import sys
import tempfile
import threading
import time
import traceback
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fuzz import unheard
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
    "torchy.py": CLEAN.replace("tautograd as torch", "torch"),
    "cookie.py": "# -*- coding: nosuch -*-\nimport torch\n",
    "deep.py": "x = " + "(" * 5000,
    "odd.py": "import torch\ntorch.nosuch\x1b[2J\ntorch.\u202enosuch = torch.nn.Nosuch()\n\0",
    "names.py": "import torch as t\nfrom torch import nosuch as \uff54\nt.nn.Nosuch; t.fft.\u202e\n",
    "key": "-----BEGIN OPENSSH PRIVATE KEY-----\nmine\n",
    "new.json.sig": "mine",
    "mine.svg": "<svg/>",
    "mine.md": "mine",
    "pyproject.toml": "[project]\nname = 'mine'\n",
}
PATHS = [
    *FILES, "new.html", "new.json", "new.sarif", "new.py", "folder", "folder/new.html", "pipe",
    "pipe.html", "link.html", "out.html", "loop.html", "missing/new.html", "/dev/null", "/dev/full",
    "/dev/stdout", "/proc/self/mem", "../outside/canary.html", "", ".", "-", "--", "x" * 300 + ".html",
    "nul\0.html", "\x1b]0;evil\x07.html", "bidi\u202e.html", "half\udcff.html", "new.HTML", "a\nb.html",
    "evidence.json", "~", "con.html", " .html", "new.svg", "new.png", "new.gif", "new.dot", "out.svg",
    "pipe.svg", "report.json", "new.md", "-new.json",
]  # fmt: skip
# A script may come through a pipe, and is waited for as Python does.
_NO_PIPES = [path for path in PATHS if not path.startswith("pipe")]
TEXTS = ["", "TG101", "TG1", "\x1b[31m", "\u202e", "\udcff", "0", "-1", "1", "9" * 5000, "٣", "1e9", "nan",
         "3x4", "3:float32,2", "0", "x", "scalar", "=2.5", "3:nosuch", "99999999999x9", "tautograd",
         "torch ", "layers:square", "layers.py:square", "layers.py:fails", "layers.py:value", "layers.py:",
         ":", "::", "layers.py:square.__globals__", "no\x1bmodule:fn", "chain-rule", "3", "--help"]  # fmt: skip
CODE = ["__import__('os').mkdir('RAN')", "n=__import__('os').mkdir('RAN')", "; mkdir RAN", "$(mkdir RAN)",
        "`mkdir RAN`", "n=4,m=3", "n=[[[[]]]]", "-oProxyCommand=mkdir RAN", "{0.__class__}", "%s%n"]  # fmt: skip
"""What an argument would do if anything took it for code; the folder is looked for afterwards."""
NOT_COMMANDS = ("rum", "", "--version", "\x1b[31m")
STATUSES = {0, 1, 2, 3, 130}
LIMIT = 60.0  # `--deep`, `--fix` and ranks start processes
PIPED = "piped.py"
"""A script that comes through a pipe, once."""
SCRIPTS = [
    "train.py", "clean.py", "fails.py", "exits.py", "torchy.py", "tr\x1b[2Jain\udcff.py", PIPED,
]  # fmt: skip


@dataclass(frozen=True)
class Option:
    """What the parser of a command knows of one of its options."""

    names: tuple[str, ...]
    takes: str
    """"nothing", "file" or "text"."""


@functools.cache
def options() -> dict[str, tuple[Option, ...]]:
    """Every option of every command, as its parser has them, so that none is forgotten."""
    from tautograd._cli.main import build_parser

    found: dict[str, tuple[Option, ...]] = dict.fromkeys(NOT_COMMANDS, ())
    (commands,) = (a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    for name, parser in commands.choices.items():
        nested = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        parts = {f"{name} {key}": part for action in nested for key, part in action.choices.items()}
        for words, part in (parts or {name: parser}).items():
            found[words] = tuple(
                _option(action) for action in part._actions if action.option_strings
            )
    return found


def _option(action: argparse.Action) -> Option:
    if action.nargs == 0:
        return Option(tuple(action.option_strings), "nothing")
    is_file = str(action.metavar) in ("FILE", "DIR", "REPORT", "KEY", "FOLDER")
    return Option(tuple(action.option_strings), "file" if is_file else "text")


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
        with tautograd._doctor.doctor.Doctor(engines=[torch]) as found:
            (torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum()).backward()
        from tautograd._doctor.report.report import plain

        self._report = json.dumps(plain(found), default=str).encode()

    def case(self, rng: random.Random) -> Case:
        known = options()
        command = rng.choice([*known, "doctor", "view", "verify", "doctor", "view"])
        argv = command.split(" ")
        for option in rng.sample(known[command], rng.randint(0, min(4, len(known[command])))):
            argv.append(rng.choice(option.names))
            if option.takes != "nothing" and rng.random() < 0.95:
                is_file = option.takes == "file" and rng.random() < 0.9
                argv.append(rng.choice(PATHS if is_file else rng.choice((TEXTS, TEXTS, CODE))))
        for _ in range(rng.randint(0, 2)):
            runs = argv[0] in ("run", "doctor", "view", "summary", "launch")
            chosen = SCRIPTS if runs else TEXTS
            argv.append(rng.choice(rng.choice((chosen, chosen, _NO_PIPES, TEXTS))))
        if rng.random() < 0.05 and not {"pipe", "pipe.html", "pipe.svg"} & set(argv):
            rng.shuffle(argv)
        encoding = rng.choice(("utf-8", "utf-8", "ascii", "latin-1"))
        return {"argv": argv, "encoding": encoding}

    def check(self, case: Case, counts: Counter[str]) -> str | None:
        if not hasattr(self, "_evidence"):
            self.prepare()
        counts["commands"] += 1
        argv = [str(argument) for argument in case["argv"]]
        with (
            tempfile.TemporaryDirectory() as place,
            _folder(
                Path(place), {"evidence.json": self._evidence, "report.json": self._report}
            ) as folder,
        ):
            before = _state(Path(place)), _devices()
            status, out, err = _run(argv, folder, case["encoding"])
            after = _state(Path(place))
            if _devices() != before[1]:
                return f"taut {argv[0]} has replaced a device\n{argv!r}\n{before[1]}\n{_devices()}"
        return (
            _wrong_status(argv, status, out, err)
            or _wrong_words(argv, out, err)
            or _harm(argv, before[0], after)
        )

    def smaller(self, case: Case) -> Iterator[Case]:
        argv = case["argv"]
        for place in range(len(argv) - 1, -1, -1):
            yield {**case, "argv": argv[:place] + argv[place + 1 :]}
        if case["encoding"] != "utf-8":
            yield {**case, "encoding": "utf-8"}


@contextlib.contextmanager
def _folder(place: Path, made: dict[str, bytes]) -> Iterator[Path]:
    """A folder with all kinds of things in it, beside one that is nobody's business."""
    folder = place / "folder"
    (folder / "folder").mkdir(parents=True)
    (place / "outside").mkdir()
    (place / "outside" / "canary.html").write_text("mine")
    for name, text in FILES.items():
        (folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    for name, content in made.items():
        (folder / name).write_bytes(content)
    for name in ("pipe", "pipe.html", "pipe.svg", PIPED):
        os.mkfifo(folder / name)
    (folder / "out.svg").symlink_to("mine.svg")
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


def _devices() -> list[str]:
    """The system's own files, of which a command that may write them might make another."""
    return sorted(
        f"{name} {stat.filemode(entry.stat(follow_symlinks=False).st_mode)}"
        for entry in os.scandir("/dev")
        if (name := entry.name).startswith(("std", "null", "full", "zero", "fd"))
    )


def _run(argv: list[str], folder: Path, encoding: str) -> tuple[int | None, str, str]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            _be_taut(argv, folder, encoding, out.fileno(), err.fileno())
        writer = threading.Thread(target=_write_once, args=(folder / PIPED,), daemon=True)
        writer.start()
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
        reader = os.open(folder / PIPED, os.O_RDONLY | os.O_NONBLOCK)  # if nobody else was one
        writer.join()
        os.close(reader)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(_text(file.read()))
        return status, texts[0], texts[1]


def _write_once(pipe: Path) -> None:
    with contextlib.suppress(BrokenPipeError), pipe.open("w") as file:
        file.write(TRAIN)


def _text(data: bytes) -> str:
    """A page that goes to stdout is UTF-8, whatever the encoding of the stream; text may stand before it."""
    return data.decode("utf-8", "latin-1 elsewhere")


def _as_latin(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("latin-1 elsewhere", _as_latin)


def _be_taut(argv: list[str], folder: Path, encoding: str, out: int, err: int) -> None:
    """In the child: the process that `taut` would be."""
    status = 99
    unheard.as_python()
    try:
        with open("/proc/self/statm", "rb") as file:
            most = int(file.read().split()[0]) * resource.getpagesize() + (4 << 30)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        os.chdir(folder)
        os.environ.update(
            HOME=str(folder / "home"),
            XDG_DATA_HOME=str(folder / "data"),
            TMPDIR=str(folder),
            BROWSER="true",
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
    if status is None and "(Ctrl-C ends it)" in err + out:
        return None  # a live page, which is there until then
    if status is None:
        return f"taut {command} did not end\n{told}"
    if status not in STATUSES and command != "launch":  # whose status is that of a rank
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
    ignored = [line for line in both.splitlines() if line.startswith("Exception i")]
    if ignored:  # "ignored in", "in thread"
        return f"taut {command}: {ignored[0][:60]}\n{argv!r}\n{both[-3000:]}"
    is_scripts_own = (
        command in ("run", "doctor", "view", "summary", "launch") and "Traceback" in both
    ) or 'File "' in both
    if "Traceback" in both and ("ON PURPOSE" not in both and "/_cli/" in both):
        return f"taut {command}: a traceback\n{argv!r}\n{both[-3000:]}"
    launches = command == "launch" and ("taut launch: rank" in both or "[mpiexec@" in both)
    if is_scripts_own or launches:
        return None  # as Python prints it, or MPI's launcher
    for character in set(both) - set("\n\t"):
        if unicodedata.category(character) in ("Cc", "Cs") or character in "\u202e\u202d\u2066":
            return f"taut {command}: a control character\n{argv!r} {character!r}\n{both[-3000:]!r}"
    return None


def _harm(
    argv: list[str], before: dict[str, tuple[int, str]], after: dict[str, tuple[int, str]]
) -> str | None:
    command = argv[0] if argv else ""
    told = f"{argv!r}"
    if any(name.endswith("RAN") for name in after):
        return f"taut {command} ran what an argument said\n{told}"
    for name, state in before.items():
        base = os.path.basename(name)
        if (
            "--fix" in argv
            and base in argv
            and base in SCRIPTS
            and after.get(name, state)[0] == state[0]
        ):
            continue  # the script that is to be mended
        if base == "empty.html" or ("--force" in argv and base in argv and state[1]):
            continue
        if name in ("folder", "outside"):
            continue
        if "--summary" in argv and base == "mine.md":
            continue  # which is added to
        if "--force" in argv and base in ("canary.html", "notes.html", "mine.svg"):
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
