"""Writes a page for each rule of the doctor, from the rule's own class."""

from __future__ import annotations

from pathlib import Path

from tautograd._doctor.report.rule_pages import rule_markdown, summary
from tautograd._doctor.rules import RULES


def write_rule_pages(folder: Path) -> None:
    """Write `TG101.md` and so on, and a table of them all, into a folder; old pages go."""
    folder.mkdir(exist_ok=True)
    pages = {f"{rule.code}.md": f"{rule_markdown(rule)}\n{run_link(rule.code)}\n" for rule in RULES}
    pages["index.md"] = index_page()
    for old in set(folder.glob("*.md")) - {folder / name for name in pages}:
        old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def run_link(
    code: str, text: str = "The page of a run that breaks it, with the mended one beside"
) -> str:
    """A link into the gallery, whose pages are no documents of Sphinx's."""
    return f'<a href="../_static/gallery/{code}.html">{text}</a>'


def index_page() -> str:
    """All rules, a row each."""
    lines = ["# The doctor's rules", "", "| code | name | severity | what it sees | a run |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for rule in RULES:
        said = summary(rule).replace("|", "\\|")
        link = run_link(rule.code, "page")
        row = f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.severity} | {said} | {link} |"
        lines.append(row)
    contents = ["", "```{toctree}", ":hidden:", "", *(rule.code for rule in RULES), "```", ""]
    return "\n".join([*lines, *contents])
