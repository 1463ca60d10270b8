"""Everything that the project writes: how it is written, and how to tell that a file is whole."""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz import unheard
from fuzz.patience import Patience

DEADLINE = 1.0  # seconds after which an interrupt has not been heard


@dataclass(frozen=True)
class Writer:
    """One thing that is written into a folder."""

    write: Callable[[Path, int], None]
    """Writes it, in a version that the number chooses."""
    check: Callable[[Path], None]
    """Raises unless what is there is whole (or nothing is)."""
    files: tuple[str, ...]
    """All that may be in the folder after a write; names, or patterns of one name each."""


@functools.cache
def _report() -> Any:
    import tautograd as torch

    return torch.verify(lambda x: (x * x).sum(), torch.randn(3, dtype=torch.float64))


@functools.cache
def _evidence() -> dict[str, Any]:

    from tautograd._evidence import gather  # noqa: F401  (so that a child need not import it)
    from tautograd._evidence.files import read

    with tempfile.TemporaryDirectory() as folder:
        return read(_report().save(Path(folder) / "once.json"))


@functools.cache
def _doctor() -> Any:
    import tautograd as torch
    from tautograd._doctor.doctor import Doctor

    with Doctor(engines=[torch]) as found:
        model = torch.nn.Linear(4, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            model(torch.ones(2, 4)).sum().backward()
            optimizer.step()
    return found


@functools.cache
def _view() -> Any:
    import tautograd as torch

    return torch.view((torch.ones(3, requires_grad=True) * 2).sum())


def _write_checkpoint(folder: Path, version: int) -> None:
    import tautograd as torch

    torch.save({"v": torch.full((1000 + version % 7 * 20_000,), version)}, folder / "c.pt")


def _check_checkpoint(folder: Path) -> None:
    import tautograd as torch

    if (folder / "c.pt").exists():
        found = torch.load(folder / "c.pt")["v"]
        assert bool((found == found[0]).all()), "a checkpoint of two versions"


def _write_safetensors(folder: Path, version: int) -> None:
    import tautograd as torch
    import tautograd.safetensors as files

    tensors = {"v": torch.full((1000 + version % 7 * 20_000,), float(version)), "w": torch.ones(3)}
    files.save_file(tensors, folder / "s.safetensors", {"version": str(version)})


def _check_safetensors(folder: Path) -> None:
    import tautograd.safetensors as files

    if (folder / "s.safetensors").exists():
        found = files.load_file(folder / "s.safetensors")["v"]
        assert bool((found == found[0]).all()), "a file of two versions"


def _write_evidence(folder: Path, version: int) -> None:
    from tautograd._evidence.files import write

    write(_evidence(), folder / "e.json", overwrite=True)


def _write_new_evidence(folder: Path, version: int) -> None:
    from tautograd._evidence.files import write

    (folder / "e.json").unlink(missing_ok=True)
    write(_evidence(), folder / "e.json")


def _check_evidence(folder: Path) -> None:
    from tautograd._evidence.files import read

    if (folder / "e.json").exists():
        read(folder / "e.json")


def _write_report(folder: Path, version: int) -> None:
    from tautograd._doctor.report.page import as_page
    from tautograd._doctor.report.report import plain
    from tautograd._files.destinations import PAGE, write

    write(str(folder / "r.html"), as_page(plain(_doctor())), PAGE)


def _write_view(folder: Path, version: int) -> None:
    _view().save(folder / "v.html")


def _check_page(name: str, folder: Path) -> None:
    if (folder / name).exists():
        text = (folder / name).read_text(encoding="utf-8")
        assert text.startswith("<!doctype html>"), "the beginning of a page is missing"
        assert text.endswith("</html>\n"), "the end of a page is missing"


def _write_sarif(folder: Path, version: int) -> None:
    _doctor().save(folder / "r.sarif")


def _write_notebook(folder: Path, version: int) -> None:
    from tautograd._lab.notebook import write

    write("chain-rule", folder, "tautograd")


def _write_progress(folder: Path, version: int) -> None:
    from tautograd._lab.progress import STEPS, Progress

    progress = Progress(folder / "progress.json")
    assert not progress.notes, progress.notes
    progress.at("chain-rule", STEPS[version % len(STEPS)])
    assert not progress.notes, OSError(progress.notes[0])


def _write_shares(folder: Path, version: int) -> None:
    import tautograd as torch
    from tautograd.distributed import checkpoint

    state = {"v": torch.full((1000 + version % 7 * 20_000,), version), "n": version}
    try:
        checkpoint.save(state, checkpoint_id=folder)
    except checkpoint.CheckpointException as error:
        raise OSError(str(error)) from error
    assert len(list(folder.glob("*.distcp"))) == 1, "shares of an earlier save were left"


def _check_shares(folder: Path) -> None:
    import tautograd as torch
    from tautograd.distributed import checkpoint

    if (folder / ".metadata").exists():
        found: dict[str, Any] = {"n": 0}
        checkpoint.load(found, checkpoint_id=folder)
        found["v"] = torch.zeros(1000 + found["n"] % 7 * 20_000, dtype=torch.int64)
        checkpoint.load(found, checkpoint_id=folder)
        assert bool((found["v"] == found["n"]).all()), "a checkpoint of two versions"


@functools.cache
def _drawn(suffix: str) -> bytes:
    """A picture of each kind; PNG and GIF are bytes that Chromium drew, here of any content."""
    from tautograd._files.destinations import MADE_BY

    if suffix in ("svg", "dot"):
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / f"once.{suffix}"
            _view().save(path)
            return path.read_bytes()
    return MADE_BY + bytes(range(256)) * 200


def _write_picture(suffix: str, folder: Path, version: int) -> None:
    from tautograd._files.destinations import PICTURES, write

    write(str(folder / f"p.{suffix}"), _drawn(suffix), PICTURES[suffix])


def _check_picture(suffix: str, folder: Path) -> None:
    path = folder / f"p.{suffix}"
    assert not path.exists() or path.read_bytes() == _drawn(suffix), "a part of a picture"


@functools.cache
def _summary() -> Any:
    import tautograd as torch

    return torch.summary(torch.nn.Linear(2, 2), torch.ones(1, 2))


def _write_summary(folder: Path, version: int) -> None:
    _summary().save(folder / "m.html")


_SOURCE = "lr = {}  # a script of the user's\n" + "x = 1\n" * 3000


def _write_source(folder: Path, version: int) -> None:
    """What `taut doctor --fix` does with a script."""
    from types import SimpleNamespace

    from tautograd._cli.doctor.fixing import Fixing
    from tautograd._doctor.fixes.offer import Fix

    path = folder / "train.py"
    if not path.exists():
        path.write_text(_SOURCE.format(0))
    before = path.read_text()
    wanted = SimpleNamespace(target=[str(path)], is_module=False)
    fixing = Fixing(wanted, str(folder))  # type: ignore[arg-type]
    fixing._began = path.stat().st_mtime + 1  # a fix of this very second is one of before
    finding: Any = None
    with contextlib.redirect_stderr(io.StringIO()) as heard:
        fixing._write(Fix(str(path), before, _SOURCE.format(version), finding))
    if not heard.getvalue().startswith("written: "):
        raise OSError(heard.getvalue())


def _check_source(folder: Path) -> None:
    text = (folder / "train.py").read_text()
    assert text == _SOURCE.format(text.split()[2]), "half a script"


def _write_badge(folder: Path, version: int) -> None:
    from tautograd._cli.verify.proof import write_badge

    write_badge(str(folder / "badge.json"), [], force=False)


def _check_json(name: str, folder: Path) -> None:
    for path in folder.glob(name):
        json.loads(path.read_bytes())


WRITERS: dict[str, Writer] = {
    "checkpoint": Writer(_write_checkpoint, _check_checkpoint, ("c.pt",)),
    "safetensors": Writer(_write_safetensors, _check_safetensors, ("s.safetensors",)),
    "evidence": Writer(_write_evidence, _check_evidence, ("e.json",)),
    "new evidence": Writer(_write_new_evidence, _check_evidence, ("e.json",)),
    "report": Writer(_write_report, functools.partial(_check_page, "r.html"), ("r.html",)),
    "sarif": Writer(_write_sarif, functools.partial(_check_json, "r.sarif"), ("r.sarif",)),
    "view": Writer(_write_view, functools.partial(_check_page, "v.html"), ("v.html",)),
    "notebook": Writer(
        _write_notebook, functools.partial(_check_json, "*.ipynb"), ("03-chain-rule.ipynb",)
    ),
    "progress": Writer(
        _write_progress, functools.partial(_check_json, "*.json"), ("progress.json",)
    ),
    "shares": Writer(_write_shares, _check_shares, (".metadata", "__0_*.distcp")),
    "summary": Writer(_write_summary, functools.partial(_check_page, "m.html"), ("m.html",)),
    "source": Writer(_write_source, _check_source, ("train.py",)),
    "badge": Writer(_write_badge, functools.partial(_check_json, "badge.json"), ("badge.json",)),
    **{
        suffix: Writer(
            functools.partial(_write_picture, suffix),
            functools.partial(_check_picture, suffix),
            (f"p.{suffix}",),
        )
        for suffix in ("svg", "dot", "png")
    },
}


def _foreign(kind: str, folder: Path) -> list[str]:
    """What is in the folder and not of the writer's."""
    names, patterns = os.listdir(folder), WRITERS[kind].files
    return sorted(n for n in names if not any(fnmatch.fnmatch(n, p) for p in patterns))


def warm(kind: str, folder: Path) -> None:
    """Write it once, so that a child begins to write at once."""
    WRITERS[kind].write(folder, 0)
    WRITERS[kind].check(folder)
    found = sorted(os.listdir(folder))
    assert len(found) == len(WRITERS[kind].files), f"{kind}: the folder holds {found}"
    assert not _foreign(kind, folder), f"{kind}: the folder holds {found}"


def attack(kind: str, folder: Path, delay: float, number: int) -> str | None:
    """Have a child write again and again, signal it after `delay` seconds; what is wrong then."""
    writer = WRITERS[kind]
    ready, begun = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fork of a process with threads: the child only writes
        child = os.fork()
    if child == 0:
        _write_on(writer, folder, begun)
    os.close(begun)
    os.read(ready, 1)
    os.close(ready)
    time.sleep(delay)
    os.kill(child, number)
    patience = Patience(child, DEADLINE)
    status = _wait(child, patience)
    if status is None:
        told = str(patience)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return f"{kind}: an interrupt was not heard within a second\n{told}"
    if number == signal.SIGINT and status != 0:
        return f"{kind}: an interrupt ended in status {status}"
    if number != signal.SIGINT and status != -number:
        return f"{kind}: the writer ended in status {status} before it was killed"
    try:
        writer.check(folder)
        writer.write(folder, 1)
        writer.check(folder)
    except Exception as error:
        return f"{kind}: torn or not to be written again, {type(error).__name__}\n{error}"
    left = _foreign(kind, folder)
    return f"{kind}: something was left behind\n{left}" if left else None


def _write_on(writer: Writer, folder: Path, begun: int) -> None:
    status = 1
    unheard.as_python()
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.write(begun, b"!")
        for version in range(1, 1_000_000):
            writer.write(folder, version)
    except KeyboardInterrupt:
        status = 0
    finally:
        os._exit(status)


def _wait(child: int, patience: Patience) -> int | None:
    while not patience.is_over():
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.0005)
    return None


def random_delay(rng: random.Random) -> float:
    """Mostly within the first writes, where a kill is in the middle of something."""
    return rng.choice((0.003, 0.01, 0.03)) * rng.random()


# ---- a full disk -----------------------------------------------------------------------------------


def fill(kind: str, folder: Path, most: int) -> str | None:
    """Have a child write where no file may have more than so many bytes; what is wrong then."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        _write_little(WRITERS[kind], folder, most)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, ERROR):
        return f"{kind}: a full disk ended in status {code}"
    return unharmed(kind, folder)


ERROR = 7  # how a child ends that was told in words that it cannot write


def _write_little(writer: Writer, folder: Path, most: int) -> None:
    status = 1
    unheard.as_python()
    try:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error, not the end
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        writer.write(folder, 6)
        status = 0
    except (OSError, AssertionError):  # the lab goes on without keeping progress, and says so
        status = ERROR
    finally:
        os._exit(status)


def unharmed(kind: str, folder: Path) -> str | None:
    """What is wrong with a folder in which a write has failed: all is there as before, and no more."""
    try:
        WRITERS[kind].check(folder)
    except Exception as error:
        return f"{kind}: torn, {type(error).__name__}\n{error}"
    left = _foreign(kind, folder)
    return f"{kind}: something was left behind\n{left}" if left else None


def main() -> None:
    """`python -m fuzz.writers KIND KILLS SEED [UID]`: so many kills, and disks full at so many places."""
    kind, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as first:
        warm(kind, Path(first))
    folder = Path(tempfile.mkdtemp(prefix="writers-"))
    try:
        if len(sys.argv) > 4:
            os.chown(folder, int(sys.argv[4]), int(sys.argv[4]))
            os.setgroups([])
            os.setgid(int(sys.argv[4]))
            os.setuid(int(sys.argv[4]))
        warm(kind, folder)
        size = max(path.stat().st_size for path in folder.iterdir())
        wrong = [attack(kind, folder, random_delay(rng), signal.SIGKILL) for _ in range(count)]
        limits = {0, 1, size // 2, size - 1, *(rng.randrange(size) for _ in range(count // 4))}
        wrong += [fill(kind, folder, limit) for limit in sorted(limits)]
        print(json.dumps([message for message in wrong if message is not None]))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
