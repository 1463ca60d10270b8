"""A script: hands evidence files to `taut`, and tells what each one made the process do.

    python watched.py MANIFEST

The manifest is a JSON list of command lines, the first few of which only warm up. For each of the
others a line of JSON comes out: the status, what was printed, the seconds, and every event that the
interpreter announces of code being imported or run, of processes, of files being written.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time
import traceback
from typing import Any

ALARMING = (
    *("import", "exec", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.startfile"),
    *("subprocess.Popen", "pickle.find_class", "marshal.loads", "code.__new__", "os.putenv"),
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
    *("os.chmod", "os.chown", "os.kill", "shutil.rmtree", "webbrowser.open"),
)
FAMILIES = ("socket.", "ctypes.", "urllib.", "http.", "ftplib.", "smtplib.")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def attempt(arguments: list[str]) -> dict[str, Any]:
    """What comes of one command line."""
    from tautograd._cli.main import main

    out, err = io.StringIO(), io.StringIO()
    started = time.process_time()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status: Any = main(arguments)
    except SystemExit as stopped:
        status = stopped.code
    except BaseException:
        status = traceback.format_exc()
    seconds = time.process_time() - started
    return {"status": status, "out": out.getvalue(), "err": err.getvalue(), "seconds": seconds}


def watch(manifest: str) -> None:
    """Run all command lines; the first three are to load what is needed."""
    with open(manifest, encoding="utf-8") as file:
        commands = json.load(file)
    for arguments in commands[:3]:
        attempt(arguments)
    events: list[str] = []

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            _, mode, flags = arguments
            if (isinstance(flags, int) and flags & WRITES) or any(m in str(mode) for m in "wax+"):
                events.append(f"open {arguments[0]!r} {mode} {flags}")
        elif event in ALARMING or event.startswith(FAMILIES):
            events.append(f"{event} {str(arguments)[:200]}")

    sys.addaudithook(hook)
    for arguments in commands[3:]:
        events.clear()
        path, modules = [*sys.path], {*sys.modules}
        found = attempt(arguments)
        found["events"] = [*events]
        found["modules"] = sorted({*sys.modules} - modules)
        found["path"] = [entry for entry in sys.path if entry not in path]
        sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    watch(sys.argv[1])
