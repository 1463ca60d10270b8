"""The commit that the code is at, queried so that git runs no other program.

A repository's own settings can name programs: file filters, a monitor, hooks, a command to fetch missing
objects, and the same again for each submodule. Nobody who asks for a commit has agreed to run them. The
user's and the system's settings are trusted, and apply.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from typing import Any

_SETTINGS = {"core.fsmonitor": "false", "core.hooksPath": os.devnull}
_FILTERS = {"clean": "", "smudge": "", "process": "", "required": "false"}
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ALLOW_PROTOCOL": "none",  # no fetching of any kind
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "LC_ALL": "C",
}
_SECONDS = 20


def git_of(root: str | None, files: list[str]) -> dict[str, Any] | None:
    """The commit of a project, and which tracked or used files differ from it; None without git."""
    if root is None:
        return None

    def git(*arguments: str, settings: dict[str, str] = _SETTINGS) -> str:
        return subprocess.run(
            ["git", "-C", root, *arguments],
            env=_environment(settings),
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",  # a path is bytes
            timeout=_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
        ).stdout

    try:
        settings = {**_SETTINGS, **_without_filters(git("config", "--list", *_SCOPED))}
        return _state(lambda *arguments: git(*arguments, settings=settings), files)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


_SCOPED = ("--show-scope", "--name-only", "-z")


def _environment(settings: dict[str, str]) -> dict[str, str]:
    """This process's environment, with settings that take precedence over all others of git's."""
    given = os.environ.get("GIT_CONFIG_COUNT", "")
    count = int(given) if given.isdecimal() else 0
    added = {"GIT_CONFIG_COUNT": str(count + len(settings))}
    for number, (key, value) in enumerate(settings.items(), count):
        added |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {**os.environ, **_ENVIRONMENT, **added}


def _without_filters(listed: str) -> dict[str, str]:
    """Settings that disable the filters defined by the repository itself."""
    fields = listed.split("\0")
    found: dict[str, str] = {}
    for scope, key in zip(fields[::2], fields[1::2], strict=False):
        if key.startswith("filter.") and scope in ("local", "worktree"):
            name = key.rpartition(".")[0]
            found |= {f"{name}.{what}": value for what, value in _FILTERS.items()}
    return found


def _state(git: Callable[..., str], files: list[str]) -> dict[str, Any]:
    commit = git("rev-parse", "HEAD").strip()
    # Whether a submodule's files have changed would be decided by a git run with the submodule's settings.
    options = ("--porcelain", "--untracked-files=no", "--ignore-submodules=dirty", "-z")
    status = git("status", *options).split("\0")
    changed = {entry[3:] for entry in status if len(entry) > 3}
    own = [file for file in files if not file.startswith("<installed>")]
    if own:
        tracked = set(git("ls-files", "-z", "--", *own).split("\0"))
        changed |= set(own) - tracked
    return {"commit": commit, "clean": not changed, "changed": sorted(changed)[:50]}
