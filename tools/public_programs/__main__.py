"""Runs every program of `programs.json` on both engines and says how each came out.

    python -m tools.public_programs CHECKOUTS                       # all
    python -m tools.public_programs CHECKOUTS --only vit --half develop
    python -m tools.public_programs CHECKOUTS --page docs/programs.md [--keep]

A program that prints something else is run again on PyTorch alone, with other contents of new memory, on
other instructions of the processor and with other numbers of threads (`spread`): what PyTorch does not agree
with itself about, it does not determine. What is left is run on both engines in double precision: what is
the same there differs by rounding alone. Results are kept in the file of `--json`,
and a program found there is not run again.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from pathlib import Path
from typing import Any

from bench import environment

from . import page
from .outcomes import outcome
from .workers import Worker

PROGRAMS = Path(__file__).parent / "programs.json"


def listed(only: str, half: str) -> list[dict[str, Any]]:
    """The jobs, each with its repository and its half: drawn at random, once, from the names alone."""
    known = json.loads(PROGRAMS.read_text())
    jobs = [
        {**job, "repository": name, "commit": entry["commit"]}
        for name, entry in sorted(known.items())
        for job in entry["programs"]
    ]
    for job in jobs:
        lot = random.Random(f"{job['repository']}/{job['run']}").random()
        job["half"] = "develop" if lot < 0.5 else "counted"
    return [
        j for j in jobs
        if half in ("", j["half"]) and re.search(only, f"{j['repository']}/{j['run']}")
    ]  # fmt: skip


def main() -> None:
    """Run what is requested, save the results, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument(
        "--only", default="", metavar="REGEX", help="searched in owner+name/program"
    )
    parser.add_argument("--half", default="", choices=["", "develop", "counted"])
    parser.add_argument("--json", type=Path, default=Path("programs-results.json"))
    parser.add_argument(
        "--again", action="store_true", help="run what the file has results of, too"
    )
    parser.add_argument("--failed", action="store_true", help="run again what was not the same")
    parser.add_argument("--seconds", type=int, default=20, help="CPU time of a program on PyTorch")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long")
    parser.add_argument("--page", type=Path, help="write the page of all results here")
    parser.add_argument(
        "--keep", action="store_true", help="keep the page's rows of programs that were not run"
    )
    given = parser.parse_args()
    environment.set_up(
        "this"
    )  # what the shell says of a library's kernels holds for one of the two engines alone
    results: dict[str, Any] = json.loads(given.json.read_text()) if given.json.exists() else {}
    jobs = listed(given.only, given.half)
    workers = {engine: Worker(engine) for engine in ("torch", "tautograd")}
    end = time.monotonic() + 60 * given.minutes
    for job in jobs:
        key = f"{job['repository']}/{job['run']}"
        before = results.get(key, {}).get("outcome")
        fine = before in (*page.SAME, "PyTorch stops", "PyTorch differs from run to run")
        if before and not given.again and (fine or not given.failed):
            continue
        if time.monotonic() > end:
            break
        found = outcome(workers, given.checkouts / job["repository"], job, given.seconds)
        results[key] = {**{k: job[k] for k in ("repository", "run", "commit", "half")}, **found}
        line = f"{found['outcome']:9} {found.get('torch_cpu', 0):6.1f} {found.get('cpu', 0):6.1f} {key}"
        print(f"{line} {found.get('reason', '')[-150:]}", flush=True)
        given.json.write_text(json.dumps(results, indent=1))
    starts = {engine: worker.start_cpu for engine, worker in workers.items()}
    for worker in workers.values():
        worker.close()
    before = page.kept(given.page.read_text(encoding="utf-8"), results) if given.keep else []
    text = page.written(list(results.values()), starts, before)
    if given.page:
        given.page.write_text(page.INTRODUCTION + text)
    print(text.partition("## Each program")[0])


if __name__ == "__main__":
    main()
