"""A program's text: a file, the concatenated cells of a notebook, or a block of a documentation page.

`README.md#3` is the third Python block there. Sizes (epochs, steps) are reduced by rules that are
data: a pattern, and its replacement.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

_BLOCK = re.compile(r"^[ \t]*```[ \t]*(?:python|py|Python)[^\n]*\n(.*?)^[ \t]*```", re.M | re.S)
_MAGIC = re.compile(r"^\s*[%!?].*$", re.M)


def blocks(page: str) -> list[str]:
    """The Python blocks in a Markdown page."""
    return [match.group(1) for match in _BLOCK.finditer(page)]


def cells(notebook: str) -> str:
    """The code of a notebook, without magics."""
    read = json.loads(notebook)
    found = read.get("cells") or [c for w in read.get("worksheets", []) for c in w["cells"]]
    code = (
        "".join(c.get("source", c.get("input", ""))) for c in found if c.get("cell_type") == "code"
    )
    return "\n\n".join(_MAGIC.sub("", text) for text in code if not text.startswith("%%"))


def program(folder: Path, name: str) -> str:
    """The text of the program of that name in a checkout."""
    path, _, number = name.partition("#")
    text = (folder / path).read_text(encoding="utf-8", errors="replace")
    if number:
        return blocks(text)[int(number) - 1]
    return cells(text) if path.endswith(".ipynb") else text


def smaller(text: str, rules: Iterable[Sequence[str]]) -> str:
    """The text with its sizes reduced."""
    for pattern, replacement in rules:
        text = re.sub(pattern, replacement, text)
    return text


def candidates(folder: Path) -> Iterator[str]:
    """Names of possible programs in a checkout: each mentions torch, parses, and does something."""
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if not path.is_file() or re.search(r"(^|/)(\.|setup\.py|tests?/|test_|conftest)", name):
            continue
        if path.suffix == ".md":
            count = len(blocks(path.read_text(encoding="utf-8", errors="replace")))
            names = [f"{name}#{i + 1}" for i in range(count)]
        elif path.suffix in (".py", ".ipynb"):
            names = [name]
        else:
            continue
        for each in names:
            try:
                text = program(folder, each)
                tree = ast.parse(text)
            except (SyntaxError, ValueError, KeyError):
                continue
            imports = re.search(r"^\s*(import|from) ", text, re.M)
            runs = _does if path.suffix == ".py" else _computes
            if imports and "torch" in text and any(runs(node) for node in tree.body):
                yield each


def _does(node: ast.stmt) -> bool:
    """Whether a top-level statement does more than define."""
    if isinstance(node, ast.If):
        return "__name__" in ast.unparse(node.test)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    return isinstance(node, (ast.For, ast.While))


def _computes(node: ast.stmt) -> bool:
    """Whether a statement on a page or in a notebook computes something."""
    return _does(node) or (
        isinstance(node, (ast.Assign, ast.With))
        and any(isinstance(n, ast.Call) for n in ast.walk(node))
    )
