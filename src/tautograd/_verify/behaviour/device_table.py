"""The result of `compare_devices`: a row per tensor and device, and where a device departs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..._report.plain import Plain
from ..._report.tables import html_table, text_table

_HARMLESS = "within rounding", "other random numbers"


@dataclass(frozen=True)
class DeviceRow(Plain):
    """One tensor on one device in one precision, compared with the CPU in float64."""

    device: str
    dtype: str
    tensor: str
    ulp: float  # the largest error, in units of the last place of this dtype
    relative: float  # the norm of the error over the norm of the tensor
    allowed: float  # the relative error that the precision explains
    verdict: str  # 'within rounding', 'differs', 'other random numbers', 'failed'
    note: str = ""


@dataclass(frozen=True)
class Parting(Plain):
    """The first place where a run departs from the reference."""

    device: str
    dtype: str
    where: str
    relative: float
    allowed: float
    random: bool = False  # it draws random numbers, which differ on this device

    def __str__(self) -> str:
        why = "it draws random numbers" if self.random else f"{self.allowed:.1g} is explained"
        return (
            f"{self.device} {self.dtype} first parts at {self.where}: "
            f"relative error {self.relative:.2g}, {why}."
        )


@dataclass(frozen=True)
class DeviceTable(Plain):
    """The rows of `compare_devices`."""

    title: str
    devices: list[str]
    rows: list[DeviceRow]
    partings: list[Parting] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every device ran it and agreed within rounding."""
        return all(row.verdict in _HARMLESS for row in self.rows)

    def __iter__(self) -> Iterator[DeviceRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def summary(self) -> str:
        """One line: on how many devices, and whether they agree."""
        verdicts = [row.verdict for row in self.rows]
        differ, failed = verdicts.count("differs"), verdicts.count("failed")
        compared = len(verdicts) - failed
        result = f"{differ} of {compared} tensors differ" if differ else "all within rounding"
        if "other random numbers" in verdicts:
            result += ", random numbers apart"
        if failed:
            runs = f"{failed} run{'s' * (failed > 1)} failed"
            result = f"{result}; {runs}" if compared else "nothing could be compared"
        return f"Compared with cpu float64: {', '.join(self.devices)}; {result}."

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        headers = ["device", "dtype", "tensor", "ulp", "relative", "explained", "verdict", ""]
        rows = [
            [
                *(row.device, row.dtype, row.tensor, f"{row.ulp:.3g}", f"{row.relative:.2g}"),
                *(f"{row.allowed:.2g}", row.verdict, row.note),
            ]
            for row in self.rows
        ]
        return headers, rows

    def _after(self) -> list[str]:
        return [*map(str, self.partings), self.summary, *self.notes]

    def __str__(self) -> str:
        return "\n".join([self.title, text_table(*self._cells(), {3, 4, 5}), *self._after()])

    def _repr_html_(self) -> str:
        bad = {i for i, row in enumerate(self.rows) if row.verdict not in _HARMLESS}
        return html_table(*self._cells(), bad, {3, 4, 5}, caption=self.title, after=self._after())

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "ok": self.ok, "summary": self.summary}
