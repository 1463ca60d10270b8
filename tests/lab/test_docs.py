"""The page about the lab shows what the lab shows, and names its lessons."""

from __future__ import annotations

import io
import re
from pathlib import Path

from tautograd._lab.lessons import NAMES
from tests.lab.test_lessons import taught

PAGE = (Path(__file__).parents[2] / "docs" / "lab.md").read_text(encoding="utf-8")


def test_the_table_has_every_lesson_in_order():
    rows = re.findall(r"^\| (\d+) \| `([\w-]+)` \|", PAGE, re.MULTILINE)
    assert rows == [(str(number), name) for number, name in enumerate(NAMES, 1)]


def test_the_step_that_is_shown_is_the_one_of_lesson_5(tmp_path):
    (block,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    shown = io.StringIO()
    taught("accumulation", "tautograd", tmp_path, shown)
    lines = [line.strip() for line in shown.getvalue().splitlines()]
    place = 0
    for line in filter(None, map(str.strip, block.splitlines())):
        assert line in lines[place:], line
        place = lines.index(line, place) + 1
