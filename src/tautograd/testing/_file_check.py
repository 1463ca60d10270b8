"""`FileCheck`: a text held to a list of pieces that it has, in order, or does not have."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["FileCheck"]


class FileCheck:
    """Collects conditions by its methods; `run` holds a text to them."""

    def __init__(self) -> None:
        self._conditions: list[tuple[str, str, int, bool]] = []

    def __repr__(self) -> str:
        return "FileCheck()"

    def _with(self, kind: str, text: str, count: int = 1, exactly: bool = False) -> FileCheck:
        self._conditions.append((kind, text, count, exactly))
        return self

    def check(self, text: str) -> FileCheck:
        """The text comes after what was found before."""
        return self._with("CHECK", text)

    def check_not(self, text: str) -> FileCheck:
        """The text is not between what was found before and what is found next."""
        return self._with("CHECK-NOT", text)

    def check_same(self, text: str) -> FileCheck:
        """The text comes after what was found before, on the same line."""
        return self._with("CHECK-SAME", text)

    def check_next(self, text: str) -> FileCheck:
        """The text is on the next line."""
        return self._with("CHECK-NEXT", text)

    def check_count(self, text: str, count: int, exactly: bool = False) -> FileCheck:
        """The text comes so many times, and, if asked, no more often."""
        return self._with("CHECK-COUNT", text, count, exactly)

    def check_dag(self, text: str) -> FileCheck:
        """The text comes somewhere after what was found before, in any order with its neighbours."""
        return self._with("CHECK-DAG", text)

    def check_regex(self, text: str) -> FileCheck:
        """Something that the expression matches comes after what was found before."""
        return self._with("CHECK-REGEX", text)

    def check_source_highlighted(self, text: str) -> FileCheck:
        """The text comes, and the next line marks it with tildes."""
        return self._with("CHECK-SOURCE-HIGHLIGHTED", text)

    def run(self, input: Any) -> None:
        """Hold a text, or a graph's text, to the conditions."""
        given = str(input)
        place = together = 0
        refused: list[str] = []
        for kind, text, count, exactly in self._conditions:
            if kind == "CHECK-NOT":
                refused.append(text)
                continue
            start = place
            for _ in range(count):
                found = self._found(kind, text, given, together if kind == "CHECK-DAG" else place)
                if found is None:
                    raise RuntimeError(
                        f'Expected to find "{text}" but did not find it\n{self._said(kind, text, given)}'
                    )
                place = max(place, found[1]) if kind == "CHECK-DAG" else found[1]
                first = found[0]
            if kind != "CHECK-DAG":
                together = place
            self._absent(refused, given, start, first)
            refused = []
            if exactly and given.find(text, place) != -1:
                said = self._said(f"CHECK-COUNT-EXACTLY-{count}", text, given)
                raise RuntimeError(f'Expected to not find "{text}" but found it\n{said}')
        self._absent(refused, given, place, len(given))

    def _found(self, kind: str, text: str, given: str, place: int) -> tuple[int, int] | None:
        """Where a piece begins and ends."""
        if kind == "CHECK-REGEX":
            match = re.compile(text).search(given, place)
            return match.span() if match else None
        end = len(given)
        if kind == "CHECK-NEXT":
            place = given.find("\n", place) + 1
            end = given.find("\n", place) % (len(given) + 1)
        first = given.find(text, place, end)
        if first == -1:
            return None
        if kind == "CHECK-SAME":
            self._absent(["\n"], given, place, first)
        if kind == "CHECK-SOURCE-HIGHLIGHTED":
            line = given.rfind("\n", 0, first) + 1
            after = given.find("\n", first) + 1
            marks = given[after + first - line :][: len(text)]
            if after == 0 or marks != "~" * len(text):
                return None
        return first, first + len(text)

    def _absent(self, refused: list[str], given: str, start: int, end: int) -> None:
        for text in refused:
            if text in given[start:end]:
                raise RuntimeError(
                    f'Expected to not find "{text}" but found it\n{self._said("CHECK-NOT", text, given)}'
                )

    @staticmethod
    def _said(kind: str, text: str, given: str) -> str:
        return f"Searched string:\n{given}\nFrom {kind}: {text}\n"
