"""`python -m bench`: measure, print the table, write it as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from bench import environment, report
from bench.rows import HEADLINES, ROWS, Figures

HERE = Path(__file__).resolve().parent
LATEST = HERE / "results" / "latest.json"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        epilog="example:\n  python -m bench --only import,scalar",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", help="rows whose name contains one of these words")
    parser.add_argument(
        "--pages",
        action="store_true",
        help="put the table into docs/benchmarks.md, and its main rows into README.md",
    )
    parser.add_argument(
        "--cpu", choices=environment.CPUS, default="this", help="measure as on this CPU"
    )
    options = parser.parse_args()
    environment.set_up(options.cpu)
    words = [word for word in options.only.split(",") if word]

    results = []
    for row in ROWS:
        if words and not any(word in row.name for word in words):
            continue
        print(f"measuring: {row.name} …", file=sys.stderr, flush=True)
        figures = Figures(*row.measure())
        headline = row.name in HEADLINES
        results.append(report.describe_row(row.name, figures, row.target, row.unit, headline))

    record = {**report.describe_machine(options.cpu), "rows": results}
    print(report.as_text(results))
    if not words and options.cpu == "this":  # a part of the table would pass for the whole
        LATEST.parent.mkdir(exist_ok=True)
        LATEST.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"\nwritten to {LATEST.relative_to(HERE.parent)}")
        if options.pages:
            report.write_into(HERE.parent / "docs" / "benchmarks.md", report.as_markdown(record))
            report.write_into(HERE.parent / "README.md", report.as_headlines(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
