"""Writes `docs/coverage.md`: every public name of PyTorch, whether tautograd has it, and if not, why.

python tools/make_coverage.py           write it
python tools/make_coverage.py --check   say whether it is up to date
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from tautograd._names.reasons import reason
from tautograd._names.resolve import is_here
from tautograd._names.table import public_names

PAGE = Path(__file__).resolve().parent.parent / "docs" / "coverage.md"
HEAD = """# Coverage

Every public name of PyTorch 2.13, module by module: whether it is here, and if not, why. This page is
written by `tools/make_coverage.py` from the names of an installed PyTorch
(`tools/make_names.py`) and from tautograd as it is; a test holds it to that. To ask about one program,
`taut run --check script.py` reads it and lists what it would miss.

A name is listed here because it can be found, not because it does everything that PyTorch's does: where
behaviour departs, [Differences](differences.md) says so.
"""
_NOBODY_SAID = "not built yet"


def main(check: bool) -> int:
    text = page()
    if check:
        if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
            return 0
        print("docs/coverage.md is out of date: run tools/make_coverage.py")
        return 1
    PAGE.write_text(text, encoding="utf-8")
    print(next(line for line in text.splitlines() if line.startswith("**")))
    return 0


def page() -> str:
    """The text of the page."""
    names = public_names()
    here = {
        module: [name for name in names[module] if is_here(f"{module}.{name}")]
        for module in names
        if is_here(module)
    }
    absent = [module for module in names if module not in here]
    total = sum(map(len, names.values()))
    count = sum(map(len, here.values()))
    known = sum(len(names[module]) for module in here)
    lines = [
        HEAD,
        (
            f"**{count:,} of {total:,} names are here: {count / known:.0%} of those of the {len(here)} modules that "
            f"are here; {len(absent)} modules are not.**\n"
        ),
        "## Modules that are here\n",
        *_table(names, here),
        "\n## Modules that are not here\n",
        *_absent(names, absent),
        "\n## Names\n",
        *_sections(names, here),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _table(names: dict[str, tuple[str, ...]], here: dict[str, list[str]]) -> Iterator[str]:
    yield "| module | names | here |\n| --- | --- | --- |"
    for module, found in here.items():
        if names[module]:
            yield f"| `{module}` | {len(names[module])} | {len(found)} |"


def _absent(names: dict[str, tuple[str, ...]], absent: list[str]) -> Iterator[str]:
    """The absent modules by reason; a module includes those below it."""
    yield "| module, with all below it | names | why not |\n| --- | --- | --- |"
    tops = [m for m in absent if m.rpartition(".")[0] not in absent]
    for top in tops:
        below = [m for m in absent if m == top or m.startswith(f"{top}.")]
        count = sum(len(names[m]) for m in below)
        yield f"| `{top}` | {count} | {_why(top)} |"


def _sections(names: dict[str, tuple[str, ...]], here: dict[str, list[str]]) -> Iterator[str]:
    for module, found in here.items():
        if not names[module]:
            continue
        yield f"### `{module}`\n"
        missing = [name for name in names[module] if name not in set(found)]
        by_reason: dict[str, list[str]] = {}
        for name in missing:
            by_reason.setdefault(_why(f"{module}.{name}"), []).append(name)
        if found:
            yield f"Here: {_listed(found)}.\n"
        for why, group in sorted(by_reason.items()):
            yield f"Not here, {why}: {_listed(group)}.\n"


def _why(path: str) -> str:
    why, instead = reason(path)
    return (why or _NOBODY_SAID) + (f" (use {instead})" if instead else "")


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main("--check" in sys.argv[1:]))
