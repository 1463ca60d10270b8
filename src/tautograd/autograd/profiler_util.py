"""Events of a profile, their averages by name, and the table that shows them."""

from __future__ import annotations

from typing import Any

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg"]


class FunctionEvent:
    """One call of an operation, or a stretch with a name; times are in microseconds."""

    count = 1

    def __init__(self, name: str, thread: int, input_shapes: list[Any]) -> None:
        self.name = self.key = name
        self.thread, self.input_shapes = thread, input_shapes
        self.start = self.end = 0.0
        self.cpu_children: list[FunctionEvent] = []

    @property
    def cpu_time_total(self) -> float:
        return (self.end - self.start) * 1e6

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """The time outside of other events in it."""
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent name={self.name} thread={self.thread} "
            f"cpu_time={self.cpu_time_total:.3f}us>"
        )


class FunctionEventAvg:
    """All calls of one name."""

    def __init__(self, key: str) -> None:
        self.key = self.name = key
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.device_time_total = self.self_device_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.input_shapes: Any = []

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / self.count if self.count else 0.0

    def add(self, event: Any) -> FunctionEventAvg:
        self.count += event.count
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={_time(self.self_cpu_time_total)} "
            f"cpu_time={_time(self.cpu_time)} >"
        )


class EventList(list[Any]):
    """Events, or averages of them."""

    @property
    def self_cpu_time_total(self) -> float:
        return float(sum(e.self_cpu_time_total for e in self))

    def key_averages(self, group_by_input_shapes: bool = False, **options: Any) -> EventList:
        """One entry for each name (and the inputs' shapes, if asked for)."""
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            key = (event.key, str(event.input_shapes) if group_by_input_shapes else "")
            average = found.setdefault(key, FunctionEventAvg(event.key))
            average.input_shapes = event.input_shapes if group_by_input_shapes else []
            average.add(event)
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
        max_name_column_width: int = 55, max_shapes_column_width: int = 80, header: str | None = None,
        top_level_events_only: bool = False, time_unit: str | None = None,
    ) -> str:  # fmt: skip
        """The events as text, one a row."""
        rows = list(self)
        if sort_by is not None:
            name = sort_by.replace("cuda", "device")
            rows.sort(key=lambda e: getattr(e, name, 0), reverse=True)
        whole = self.self_cpu_time_total
        heads = [
            "Name",
            "Self CPU %",
            "Self CPU",
            "CPU total %",
            "CPU total",
            "CPU time avg",
            "# of Calls",
        ]
        lines = [
            [
                e.key if len(e.key) <= max_name_column_width else e.key[: max_name_column_width - 3] + "...",
                _share(e.self_cpu_time_total, whole), _time(e.self_cpu_time_total),
                _share(e.cpu_time_total, whole), _time(e.cpu_time_total),
                _time(e.cpu_time_total / e.count), str(e.count),
            ]
            for e in rows[: None if row_limit < 0 else row_limit]
        ]  # fmt: skip
        widths = [max(len(row[i]) for row in [heads, *lines]) for i in range(len(heads))]
        rule = "  ".join("-" * w for w in widths)
        text = [] if header is None else [header]
        text += [rule, _row(heads, widths), rule, *(_row(line, widths) for line in lines), rule]
        return "\n".join(text) + f"\nSelf CPU time total: {_time(whole)}\n"

    def __str__(self) -> str:
        return self.table()


def _row(cells: list[str], widths: list[int]) -> str:
    return "  ".join(cell.rjust(w) for cell, w in zip(cells, widths, strict=True))


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f}%" if whole else "NaN"


def _time(us: float) -> str:
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"
