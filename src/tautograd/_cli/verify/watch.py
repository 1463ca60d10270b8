"""`taut verify --watch`: does not verify again what has not changed since.

For each target a record is kept in a folder: a fingerprint of everything that its verification depends
on (its code and the project's code it imports, its inputs and parameters, the settings, the versions),
and the result. A run whose fingerprint is on record takes the verdict from there. In a terminal the
command then keeps watching, and reruns whenever one of the files changes; elsewhere, in CI (where the
variable `CI` is set) or with `--once` it exits.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tautograd._cli.delivery import say_on
from tautograd._files.atomic import replacing
from tautograd._files.json_text import parsed
from tautograd._files.printable import printable
from tautograd._files.regular import open_regular

if TYPE_CHECKING:
    from tautograd._cli.verify.results import Result
    from tautograd._evidence.job import Job, Prepared

FOLDER = ".taut_verify"
_FORMAT = "tautograd-verified"
_LARGEST = 4 << 20  # bytes of a record; a larger file is not one
_PAUSE = 0.5  # seconds between two checks of the files


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--watch",
        action="store_true",
        help="verify only what has changed since it was verified; in a terminal, go on doing so",
    )
    parser.add_argument("--once", action="store_true", help="with --watch: end after one round")
    parser.add_argument(
        "--records",
        metavar="FOLDER",
        default=None,
        help=f"with --watch: where to remember what was verified (default: {FOLDER})",
    )


def check(namespace: argparse.Namespace) -> None:
    """Reject contradictory options."""
    if not namespace.watch:
        for option in ("once", "records"):
            if getattr(namespace, option):
                namespace.parser.error(f"--{option}: it goes with --watch")
        return
    namespace.records = namespace.records or FOLDER


def stays(namespace: argparse.Namespace) -> bool:
    """Whether the command keeps watching after its first round."""
    ends = namespace.once or os.environ.get("CI") or not sys.stdout.isatty()
    return bool(namespace.watch) and not ends


# ---- records -------------------------------------------------------------------------------------


def fingerprint(job: Job, prepared: Prepared) -> str:
    """One hash of everything that the result of a verification depends on."""
    from tautograd._evidence.canonical import sha256_of
    from tautograd._evidence.runtime import runtime_of
    from tautograd._report.plain import plain

    observed = prepared.observation
    runtime = runtime_of(prepared.engine)
    versions = ("python", "machine", "engine", "numpy", "blas", "default_dtype")
    return sha256_of(
        plain(
            {
                "code": _code_of(prepared),
                "inputs": observed.inputs,
                "model": observed.model,
                "random": observed.random_state,
                "init": job.init,
                "settings": job.settings,
                "ranks": [job.ranks, job.wrap],
                "seed": job.seed,
                "runtime": {name: runtime[name] for name in versions},
            }
        )
    )


def _code_of(prepared: Prepared) -> list[Any]:
    """Of the target's own file, only what it depends on; of the project's other files, everything."""
    from tautograd._evidence import sources
    from tautograd._evidence.canonical import sha256, sha256_of_file
    from tautograd._evidence.reachable import reachable_text

    files = files_of(prepared)
    if not files:
        return [sources.text_hash(prepared.observation.source)]
    own, *others = files
    found = [[path, sha256_of_file(path)] for path in others]
    with open_regular(own) as file:
        text = file.read()
    root = sources.project_root(own)
    if not any(own in sources.imported_files(path, root) for path in others):
        text = reachable_text(text, (prepared.observation.target or "").rpartition(":")[2])
    return [sha256(text), *found]


def files_of(prepared: Prepared) -> list[str]:
    """The files whose change may change the result, the target's own first."""
    from tautograd._evidence import sources

    file = sources.file_of(prepared.observation.source)
    if file is None:
        return []
    if sources.is_installed(file):
        return [file]
    imported = sources.imported_files(file, sources.project_root(file))
    return [file, *(path for path in imported if path != file)]


def recalled(namespace: argparse.Namespace, target: str, mark: str) -> Result | None:
    """The recorded result of a target with this fingerprint; None if there is none."""
    from tautograd._cli.verify.results import Result

    held = _read(_path(namespace, target))
    if held is None or held.get("fingerprint") != mark:
        return None
    status, since = held.get("status"), held.get("at")
    if status not in ("correct", "wrong", "cut", "unclear") or not isinstance(since, str):
        return None
    where, text = held.get("where"), held.get("text")
    if not isinstance(where, str) or not isinstance(text, str):
        return None
    return Result(target, status, since=since, where=where, text=text)


def remember(
    namespace: argparse.Namespace, result: Result, mark: str, files: Iterable[str]
) -> None:
    """Save a target's result for the next round."""
    from tautograd._cli.verify.proof import where
    from tautograd._evidence.canonical import json_text
    from tautograd._verify.report.render_text import as_text

    report = result.report
    content = {
        "format": _FORMAT,
        "target": result.target,
        "fingerprint": mark,
        "status": result.status,
        "at": dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "where": where(result),
        "text": "" if report.ok else as_text(report),
        "files": list(files),
    }
    path = _path(namespace, result.target)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with replacing(path) as file:
        file.write(json_text(content).encode())


def _path(namespace: argparse.Namespace, target: str) -> str:
    from tautograd._evidence.gather import default_path

    return os.path.join(namespace.root, namespace.records, default_path(target))


def _read(path: str) -> dict[str, Any] | None:
    """A record; None if it is missing or damaged."""
    try:
        with open_regular(path) as file:
            content = file.read(_LARGEST + 1)
        held = parsed(content) if len(content) <= _LARGEST else None
    except (OSError, ValueError):
        return None
    return held if isinstance(held, dict) and held.get("format") == _FORMAT else None


# ---- round after round ---------------------------------------------------------------------------


def go_on(namespace: argparse.Namespace, arguments: list[str]) -> int:
    """Run round after round, each in a separate process, until interrupted."""
    command = [sys.executable, "-m", "tautograd", "verify", *arguments, "--once"]
    status = 0
    try:
        while True:
            status = subprocess.run(command, cwd=namespace.root, check=False).returncode
            seen = _stamps(namespace)
            if not seen:  # nothing could be verified, so there is nothing to watch
                return status
            say_on(f"watching {len(seen)} files; Ctrl-C ends it")
            while _stamps(namespace) == seen:
                time.sleep(_PAUSE)
            say_on(f"changed: {', '.join(_changed(seen, _stamps(namespace)))}")
    except KeyboardInterrupt:
        return status


def _stamps(namespace: argparse.Namespace) -> dict[str, tuple[int, int] | None]:
    """Modification time and size of each file on record."""
    folder = os.path.join(namespace.root, namespace.records)
    found: dict[str, tuple[int, int] | None] = {}
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return found
    for name in names:
        held = _read(os.path.join(folder, name)) or {}
        files = held.get("files")
        for path in files if isinstance(files, list) else []:
            if isinstance(path, str):
                found[path] = _stamp(path)
    return found


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size


def _changed(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    return [printable(os.path.basename(p)) for p in now if before.get(p) != now[p]] or ["a file"]
