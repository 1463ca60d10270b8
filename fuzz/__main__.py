"""`python -m fuzz`: attack every surface at random for a time, and report what failed."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import signal
import sys
from collections import Counter
from pathlib import Path

from fuzz.campaign import Campaign, Failure
from fuzz.functions.ways import SHARE as TRANSFORMED
from fuzz.registry import find_targets, target_named
from fuzz.worker import run_case

KEPT = Path(__file__).resolve().parent.parent / "tests" / "fuzz" / "kept"


def main() -> int:
    targets = find_targets()
    parser = argparse.ArgumentParser(
        prog="python -m fuzz",
        description=__doc__,
        epilog="example:\n  python -m fuzz --minutes 5 --only functions\n"
        "  python -m fuzz --case tests/fuzz/kept/functions/abcdef0123.json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="how long (default: 60)")
    parser.add_argument(
        "--cases", type=int, default=0,
        help="so many cases of each target (the same ones for the same seed) and not longer",
    )  # fmt: skip
    parser.add_argument(
        "--log", type=Path, help="a JSON line here for each call that is counted in a table"
    )
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (default: 2)")
    parser.add_argument("--seed", type=int, help="where the cases start (default: a new one)")
    parser.add_argument(
        "--only", default="", help=f"targets, separated by commas ({', '.join(targets)})"
    )
    parser.add_argument(
        "--transformed", type=float, default=0.0, metavar="SHARE",
        help="make this part of the calls under a transform, in a mode, or compiled (default: 0)",
    )  # fmt: skip
    parser.add_argument(
        "--keep", action="store_true", help=f"keep failures as tests, in {KEPT.name}/"
    )
    parser.add_argument("--case", type=Path, help="run one kept case, and nothing else")
    options = parser.parse_args()
    if options.minutes <= 0 or options.jobs < 1 or options.cases < 0:
        parser.error("--minutes must be positive, --jobs at least 1 and --cases not negative")
    if options.case is not None:
        return _one_case(options.case)
    os.environ[TRANSFORMED] = str(options.transformed)
    names = [name for name in options.only.split(",") if name] or list(targets)
    for name in names:
        if name not in targets:
            parser.error(f"--only: there is no target '{name}' (there is: {', '.join(targets)})")

    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as for a background job of a shell
        signal.signal(signal.SIGINT, signal.default_int_handler)
    seed = secrets.randbits(32) if options.seed is None else options.seed
    print(f"seed {seed}; targets: {', '.join(names)}; {options.minutes:g} minutes", flush=True)
    with contextlib.ExitStack() as stack:
        log = options.log and stack.enter_context(options.log.open("w", encoding="utf-8"))
        chosen = [targets[name] for name in names]
        campaign = Campaign(chosen, seed, options.jobs, options.cases, log)
        try:
            campaign.run(options.minutes * 60)
        except KeyboardInterrupt:
            print("interrupted; so far:", flush=True)
    _report(campaign.counts, campaign.failures, keep=options.keep)
    return 1 if campaign.failures else 0


def _one_case(path: Path) -> int:
    kept = json.loads(path.read_text(encoding="utf-8"))
    wrong = run_case(target_named(kept["target"]), kept["case"])
    print(wrong or "nothing wrong")
    return 1 if wrong else 0


def _report(counts: Counter[str], failures: list[Failure], keep: bool) -> None:
    for failure in failures:
        print(f"\n{failure.target}, seed {failure.seed}, seen {failure.times} times")
        print(f"  {failure.message.strip()}".replace("\n", "\n  "))
        print(f"  case: {json.dumps(failure.case)[:2000]}")
        if keep:
            folder = KEPT / failure.target
            folder.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"target": failure.target, "case": failure.case}, indent=1)
            (folder / f"{failure.digest}.json").write_text(text + "\n", encoding="utf-8")
            print(f"  kept as {folder.name}/{failure.digest}.json")
    for name, count in sorted(counts.items()):
        if ": " not in name:
            print(f"{count:>12,} {name}")
    _tables(counts)
    print(f"{len(failures)} kinds of failure")


def _tables(counts: Counter[str], most: int = 30) -> None:
    """Print counts by name (`refused: name`): the most frequent."""
    kinds = sorted({name.split(": ")[0] for name in counts if ": " in name})
    for kind in kinds:
        rows = [(n, name) for name, n in counts.most_common() if name.startswith(f"{kind}: ")]
        shown = ", ".join(f"{name.removeprefix(f'{kind}: ')} {n}" for n, name in rows[:most])
        print(f"{kind}: {len(rows)} of them; {shown}")


if __name__ == "__main__":
    sys.exit(main())
