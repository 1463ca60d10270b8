"""`[tool.tautograd.doctor]` in pyproject.toml: what to look for, what to leave out, how long.

    [tool.tautograd.doctor]
    select = ["TG1", "TG401"]
    ignore = ["TG104"]
    steps = 200
    per-file-ignores = { "legacy/*.py" = ["TG101"], "notebook.py" = ["TG"] }

It is looked for in the script's folder and those above it; the first file that has the table counts.
"""

from __future__ import annotations

import fnmatch
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tautograd._files.regular import read_regular
from tautograd._nearest import nearest

from .report.findings import Finding
from .report.rule_pages import UnknownRule, codes_of

TABLE = "tool.tautograd.doctor"
_LARGEST = 16 << 20  # bytes
KEYS = "select", "ignore", "steps", "per-file-ignores"


class ConfigError(ValueError):
    """The configuration is wrong; the message names the file and the key."""


@dataclass(frozen=True)
class Config:
    """What a file asks for; by default, nothing."""

    file: str = ""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    steps: int | None = None
    per_file: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def leaves_out(self, finding: Finding) -> bool:
        """Whether the finding is in a file that is not to be told about."""
        site = finding.site or finding.fix_site
        if site is None:
            return False
        path = Path(os.path.realpath(site.file))
        root = Path(os.path.realpath(self.file)).parent
        whole = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
        return any(
            finding.code.startswith(codes)
            for pattern, codes in self.per_file.items()
            if codes and (fnmatch.fnmatch(whole, pattern) or fnmatch.fnmatch(path.name, pattern))
        )


def find_config(folder: str | os.PathLike[str]) -> Config:
    """The configuration of the project that a folder belongs to."""
    start = Path(os.path.realpath(folder))
    for place in (start, *start.parents):
        file = place / "pyproject.toml"
        if file.is_file():
            found = read_config(file)
            if found is not None:
                return found
    return Config()


def read_config(file: Path) -> Config | None:
    """The table of a file, checked; None if it has none."""
    try:
        content: Any = tomllib.loads(read_regular(file, _LARGEST).decode("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as reason:
        raise ConfigError(f"{file}: {reason}") from None
    for part in TABLE.split("."):
        content = content.get(part) if isinstance(content, dict) else None
        if content is None:
            return None
    if not isinstance(content, dict):
        raise ConfigError(f"{file}: {TABLE} must be a table")
    for key in content:
        if key not in KEYS:
            guess = nearest(key, KEYS)
            hint = f"did you mean '{guess}'?" if guess else f"there is: {', '.join(KEYS)}"
            raise ConfigError(f"{file}: [{TABLE}] has no key '{key}'; {hint}")
    steps = content.get("steps")
    if steps is not None and (not isinstance(steps, int) or isinstance(steps, bool) or steps < 1):
        raise ConfigError(f"{file}: {TABLE}.steps must be a whole number above 0, not {steps!r}")
    per_file = content.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise ConfigError(f"{file}: {TABLE}.per-file-ignores must be a table of patterns and codes")
    return Config(
        file=str(file),
        select=_codes(file, "select", content.get("select", [])),
        ignore=_codes(file, "ignore", content.get("ignore", [])),
        steps=steps,
        per_file={
            pattern: _codes(file, f'per-file-ignores."{pattern}"', codes)
            for pattern, codes in per_file.items()
        },
    )


def _codes(file: Path, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(code, str) for code in value):
        raise ConfigError(f'{file}: {TABLE}.{key} must be a list of codes such as ["TG101"]')
    try:
        return codes_of(value)
    except UnknownRule as reason:
        raise ConfigError(f"{file}: {TABLE}.{key}: {reason}") from None
