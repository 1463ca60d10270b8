"""Every code block in README.md and docs/ is run, and what it prints is compared.

A page is one session: its blocks share a namespace, top to bottom. Blocks with `>>>` are doctests;
other Python blocks are run and must print nothing. Pages are written with
`import tautograd as torch`, and each runs a second time on PyTorch, because the same code must give
the same text there; a block that shows what only tautograd does stands under the comment
`<!-- tautograd only -->`. Shell blocks may only use targets and commands that exist.
"""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tautograd._cli.main import build_parser

PROJECT = Path(__file__).resolve().parents[2]
PAGES = sorted([PROJECT / "README.md", *(PROJECT / "docs").glob("*.md")])
OWN_ONLY = "<!-- tautograd only -->"
FLAGS = doctest.ELLIPSIS | doctest.DONT_ACCEPT_TRUE_FOR_1
_FENCE = re.compile(
    r"^(?P<indent> *)```+(?P<language>[\w{}-]*)[^\n]*\n(?P<text>.*?)^ *```+ *$", re.M | re.S
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    line: int
    own_only: bool


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        before = text[: match.start()]
        yield Block(
            language=match["language"],
            text=re.sub(f"^{match['indent']}", "", match["text"], flags=re.M),
            line=before.count("\n") + 1,  # of the block's first line, counted from 0
            own_only=before.rstrip().endswith(OWN_ONLY),
        )


def examples_of(page: Path, engine: str) -> list[doctest.Example]:
    """The statements of a page in order, each with the output the page shows for it."""
    parser = doctest.DocTestParser()
    found: list[doctest.Example] = []
    for block in blocks_of(page):
        if block.language not in ("python", "pycon") or (block.own_only and engine == "torch"):
            continue
        if ">>>" in block.text:
            examples = parser.get_examples(block.text, name=page.name)
        else:
            examples = [doctest.Example(f"exec({block.text!r}, globals())", "")]
        for example in examples:
            example.lineno += block.line
            if engine == "torch":
                example.source = example.source.replace("import tautograd as torch", "import torch")
        found += examples
    return found


def run_page(page: Path, engine: str) -> tuple[str, int]:
    """The report of a page's failures (empty when there are none), and how many statements ran."""
    examples = examples_of(page, engine)
    test = doctest.DocTest(examples, {"__name__": "__main__"}, page.name, str(page), 0, None)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    runner.run(test, out=report.append)
    return "".join(report), len(examples)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_the_page_shows(page):
    report, _ = run_page(page, "tautograd")
    assert not report, report


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pytorch_prints_the_same(page):
    report, _ = run_page(page, "torch")
    assert not report, report


def test_there_are_examples_to_run():
    assert len(PAGES) > 4
    assert sum(len(examples_of(page, "tautograd")) for page in PAGES) > 50


def test_a_wrong_output_would_be_caught(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```pycon\n>>> x = 2\n```\n\ntext\n\n```pycon\n>>> x * x\n5\n```\n")
    report, count = run_page(page, "tautograd")
    assert count == 2
    assert "Expected:\n    5\nGot:\n    4" in report
    assert "line 8," in report


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_what_it_is(page):
    known = {
        "pycon",
        "python",
        "sh",
        "text",
        "toml",
        "yaml",
        "{include}",
        "{toctree}",
        "{eval-rst}",
    }
    unknown = [block for block in blocks_of(page) if block.language not in known]
    assert not unknown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shell_blocks_use_what_exists(page):
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, flags=re.M))
    for block in blocks_of(page):
        if block.language != "sh":
            continue
        for line in block.text.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["make"]:
                assert {word for word in words[1:] if "=" not in word} <= targets, line
            elif words[:1] == ["taut"] and words[1:] not in (["--help"], ["--version"]):
                _, unknown = build_parser().parse_known_args(words[1:])
                assert not unknown, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
        if not target.startswith("_generated/"):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
