"""ARCHITECTURE.md shows sources, and names files: are they still there, and as it shows them?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
# A block of Python whose first line is a comment that names its file, below `_ops`.
SHOWN = re.findall(r"^```python\n# (\S+\.py)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
# What stands between backquotes and is a path: it has a slash or an ending.
NAMED = sorted(set(re.findall(r"`((?:[\w.]+/)+[\w.]*|\w+\.(?:py|txt|json))`", TEXT)))


def _code(text: str) -> str:
    """Its lines without comments, indentation and empty lines."""
    lines = (re.sub(r"(^|\s)# .*", "", line).strip() for line in text.splitlines())
    return "\n".join(filter(None, lines))


def test_recipes_show_sources():
    assert len(SHOWN) >= 5


@pytest.mark.parametrize(("path", "block"), SHOWN, ids=[path for path, _ in SHOWN])
def test_a_recipe_shows_what_stands_in_the_source(path, block):
    """`...` alone on a line stands for lines that are left out."""
    source = _code((ROOT / "src/tautograd/_ops" / path).read_text(encoding="utf-8"))
    at = 0
    for part in re.split(r"^ *\.\.\.\n", block, flags=re.MULTILINE):
        shown = _code(part)
        found = source.find(shown, at)
        assert found >= 0, f"{path} does not have, in this order:\n{shown}"
        at = found + len(shown)


@pytest.mark.parametrize("name", NAMED)
def test_a_named_file_is_there(name):
    """Below any folder: paths are told from the package they belong to, modules also without their ending."""
    folders = ("src", "tests", "tools", "docs", "fuzz", "bench")
    wanted = (name.rstrip("/"), f"{name}.py")
    found = any((ROOT / path).exists() for path in wanted) or any(
        next((ROOT / folder).glob(f"**/{path}"), None) for folder in folders for path in wanted
    )
    assert found, f"ARCHITECTURE.md names {name}, which is nowhere"
