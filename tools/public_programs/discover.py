"""Which programs of a folder of checkouts PyTorch completes here: the list that `programs.json` is made of.

    python -m tools.public_programs.discover CHECKOUTS programs.json --each 6 --seconds 12

Each repository's candidates are tried in an order drawn at random (seeded), until enough have ended
well, printed a number or left a tensor, and taken no longer than the limit.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from pathlib import Path
from typing import Any

from . import sources
from .outcomes import SIZES, outcome
from .workers import Worker


def main() -> None:
    """Try them, and rewrite the list after each repository."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("programs", type=Path, help="read, extended and written")
    parser.add_argument("--each", type=int, default=6, help="programs of a repository at most")
    parser.add_argument(
        "--tries", type=int, default=14, help="candidates tried of a repository at most"
    )
    parser.add_argument("--seconds", type=int, default=12, help="CPU time of a program at most")
    parser.add_argument("--minutes", type=float, default=4, help="wall time of this run at most")
    parser.add_argument(
        "--json", type=Path, help="run them on tautograd at once, and keep the outcomes"
    )
    parser.add_argument("--only", default="", metavar="REGEX", help="searched in owner+name")
    given = parser.parse_args()
    rules = json.loads(SIZES.read_text())
    known: dict[str, Any] = (
        json.loads(given.programs.read_text()) if given.programs.exists() else {}
    )
    end = time.monotonic() + 60 * given.minutes
    results = json.loads(given.json.read_text()) if given.json and given.json.exists() else {}
    workers = {engine: Worker(engine) for engine in ("torch", "tautograd")}
    for checkout in sorted(p for p in given.checkouts.iterdir() if (p / ".commit").exists()):
        if checkout.name in known or not re.search(given.only, checkout.name):
            continue
        if time.monotonic() > end:
            break
        found, tried = [], list(sources.candidates(checkout))
        random.Random(checkout.name).shuffle(tried)
        for name in tried[: given.tries]:
            job = {"run": name}
            ended = workers["torch"].run(checkout, job, rules, given.seconds)
            body, _, names = ended.out.partition("---- names at the end")
            worth = re.search(r"\d", body) or ": " in names
            if ended.status == 0 and worth and ended.cpu < given.seconds:
                found.append(job)
                commit = (checkout / ".commit").read_text().strip()
                about = {"repository": checkout.name, "commit": commit, **job}
                came = outcome(workers, checkout, job, given.seconds, ended)
                results[f"{checkout.name}/{name}"] = {**about, **came}
                print(
                    f"     {came['outcome']} {came.get('cpu', 0):.1f} {came.get('reason', '')[:150]}"
                )
                if given.json:
                    given.json.write_text(json.dumps(results, indent=1))
            reason = "" if ended.status == 0 else ended.err.strip().rpartition("\n")[2][:90]
            print(f"{ended.status:4} {ended.cpu:6.1f} {checkout.name} {name} {reason}", flush=True)
            if len(found) == given.each:
                break
        commit = (checkout / ".commit").read_text().strip()
        known[checkout.name] = {"commit": commit, "programs": found}
        given.programs.write_text(json.dumps(known, indent=1))
    for worker in workers.values():
        worker.close()


if __name__ == "__main__":
    main()
