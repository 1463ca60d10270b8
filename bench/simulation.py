"""`python -m bench.simulation`: what `taut simulate` predicts for 4 and 8 ranks here, and what they take.

Two ranks of each program are recorded, the network of this machine is measured (with separate programs), and steps on
4 and 8 ranks are predicted and then run. All of it is processor time: a step's over all ranks, divided by the cores,
is the wall time on an idle machine. Of the recorded steps the least disturbed quarter counts, and of
several turns (`--turns`) the median. `--keep FOLDER` keeps the recordings; `--again FOLDER`
evaluates them once more.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.simulated_steps import FOUND, PROGRAMS

STEPS = 40
PREDICTED = (4, 8)
BOUND = 0.15


def recorded(name: str, ranks: int) -> list[list[dict[str, Any]]]:
    """The steps that each rank recorded."""
    from tautograd.distributed._launcher import Options, launch
    from tautograd.distributed._simulation.steps import read

    with tempfile.TemporaryDirectory() as folder:
        me = [sys.executable, "-m", "tautograd._cli.recorded_rank", folder, "tautograd"]
        command = [*me, "-m", "bench.simulated_steps", name, str(STEPS)]
        if launch(Options(command, ranks)):
            raise SystemExit(f"{name}: failed on {ranks} ranks")
        return read(Path(folder), ranks)


def undisturbed(own: list[list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    """The quarter of the steps with the least processor time, after leaving out the warm-up."""
    from tautograd.distributed._simulation.steps import WARM_UP

    numbers = sorted(range(3, len(own[0])), key=lambda i: sum(steps[i]["cpu"] for steps in own))
    chosen = sorted(numbers[: len(numbers) // 4])
    return [[*steps[:WARM_UP], *(steps[i] for i in chosen)] for steps in own]


def measured(own: list[list[dict[str, Any]]]) -> float:
    """Seconds of a step on all cores."""
    from tautograd.distributed._simulation.shared_cores import cores
    from tautograd.distributed._simulation.steps import WARM_UP

    steps = list(zip(*undisturbed(own), strict=True))[WARM_UP:]
    spent = statistics.median(sum(one["cpu"] for one in step) for step in steps)
    return spent / min(cores(), len(own))


def turn(names: list[str]) -> dict[str, Any]:
    """Run everything once."""
    from tautograd.distributed._simulation.measure import here_times

    found: dict[str, Any] = {"network": here_times(), "programs": {}}
    for name in names:
        print(f"measuring: {name} …", file=sys.stderr, flush=True)
        found["programs"][name] = {ranks: recorded(name, ranks) for ranks in (2, *PREDICTED)}
    return found


def rows(found: dict[str, Any]) -> dict[tuple[str, int], tuple[float, float]]:
    """For each program and number of ranks, the predicted and the measured seconds."""
    from tautograd.distributed._simulation.replay import predict
    from tautograd.distributed._simulation.shared_cores import cores, network_from
    from tautograd.distributed._simulation.steps import step_of

    network = network_from(found["network"], cores())
    print(f"{network}\n", file=sys.stderr)
    made = {}
    for name, recordings in found["programs"].items():
        by_ranks = {int(ranks): own for ranks, own in recordings.items()}
        step = step_of([undisturbed(by_ranks[2])], "cpu")
        for ranks in PREDICTED:
            made[name, ranks] = predict(step, network, ranks).seconds, measured(by_ranks[ranks])
    return made


def main() -> int:
    """Print the table; 1 if a prediction is off by more than 15 %."""
    parser = argparse.ArgumentParser(prog="python -m bench.simulation", description=__doc__)
    parser.add_argument("--turns", type=int, default=1, help="of everything (default: 1)")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--keep", metavar="FOLDER", help="keep what was recorded")
    parser.add_argument("--again", metavar="FOLDER", help="evaluate what was kept")
    options = parser.parse_args()
    turns = []
    if options.again:
        turns = [
            json.loads(path.read_text()) for path in sorted(Path(options.again).glob("*.json"))
        ]
    else:
        for number in range(options.turns):
            turns.append(turn([name for name in PROGRAMS if options.only in name]))
            if options.keep:
                Path(options.keep).mkdir(parents=True, exist_ok=True)
                (Path(options.keep) / f"{number}.json").write_text(json.dumps(turns[-1]))
    told = [rows(found) for found in turns]
    missed = []
    print(f"{'milliseconds':44} ranks  predicted  measured")
    for name, ranks in told[0]:
        of = [one[name, ranks] for one in told]
        off = statistics.median(predicted / seconds - 1 for predicted, seconds in of)
        predicted, seconds = (statistics.median(column) * 1e3 for column in zip(*of, strict=True))
        label = name if name in FOUND else f"{name} (counted)"
        each = " ".join(f"{p / s - 1:+.0%}" for p, s in of) if len(of) > 1 else ""
        print(f"{label:44} {ranks:5}  {predicted:9.2f}  {seconds:8.2f}  {off:+6.1%}  {each}")
        if abs(off) > BOUND:
            missed.append(name)
    print(f"{len(told[0]) - len(missed)} of {len(told[0])} within {BOUND:.0%}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
