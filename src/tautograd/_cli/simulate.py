"""`taut simulate`: a script on a few ranks here, and what its step would take on thousands."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tautograd._files import destinations
from tautograd._files.json_text import parsed
from tautograd._files.regular import read_regular
from tautograd._files.terminal import say, warn

if TYPE_CHECKING:
    from tautograd.distributed._simulation.failures import Lost
    from tautograd.distributed._simulation.network import Network
    from tautograd.distributed._simulation.replay import Predicted
    from tautograd.distributed._simulation.steps import Step

SUMMARY = "predict how a script scales: its step on 8 to 10,000 ranks, from a recording of a few"
EXAMPLE = """\
examples:
  taut simulate -n 2 train.py                        record two ranks; a network of 8 GPUs to a machine
  taut simulate -n 2 --network ethernet-25 train.py  slower links (here: this machine, measured)
  taut simulate -n 2,4 train.py                      two recordings, which show how sizes grow
  taut simulate -n 2 --network bandwidth=12.5,latency=5,node=8,inner_bandwidth=200 train.py
  taut simulate -n 2 --jitter 0.05 --failures 2e-5 --checkpoint-seconds 60 train.py
  taut simulate --recording steps.json --ranks 64,512,10000 --jitter 0.1

Each rank computes what it computed when recorded, on as many samples (--strong: the same samples among more ranks).
Exit status: 0, 2 if no prediction was possible, or that of the script."""

_FINE, _COULD_NOT = 0, 2
_FORMAT = "tautograd recording"
_DEFAULT_NETWORK = "infiniband-ndr-8"


def _numbers(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) >= 1 for part in parts):
        raise argparse.ArgumentTypeError(f"'{text}': whole numbers above 0, with commas")
    return [int(part) for part in parts]


def _share(text: str) -> float:
    number = float(text)
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 0 on")
    return number


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `taut simulate`."""
    parser.usage = "taut simulate [-n N[,M]] [options] (script.py | -m module) [arguments ...]"
    add = parser.add_argument
    add(
        "-n",
        dest="record",
        type=_numbers,
        default=[2],
        metavar="N[,M]",
        help="ranks to record; two numbers show how sizes grow (default: 2)",
    )
    add(
        "--ranks",
        type=_numbers,
        default=[8, 32, 128, 512, 2048, 10_000],
        metavar="N,...",
        help="ranks to predict (default: 8,32,128,512,2048,10000)",
    )
    add(
        "--network",
        default=_DEFAULT_NETWORK,
        metavar="NAME|KEY=VALUE,...",
        help="a name (here: measured on this machine), or GB/s and microseconds: bandwidth, latency, node, "
        f"inner_bandwidth, inner_latency, cores (default: {_DEFAULT_NETWORK})",
    )
    add(
        "--jitter",
        type=_share,
        default=0.0,
        metavar="X",
        help="standard deviation of a rank's step time, as a fraction of it",
    )
    add(
        "--spread",
        type=_share,
        default=0.0,
        metavar="X",
        help="standard deviation between ranks' speeds (GPUs of one kind: about 0.015)",
    )
    add("--slow", type=_share, default=0.0, metavar="X", help="the fraction of ranks that are slow")
    add(
        "--slowdown",
        type=_share,
        default=1.5,
        metavar="X",
        help="how many times as long slow ranks take (default: 1.5)",
    )
    add("--failures", type=_share, default=0.0, metavar="X", help="failures per rank and hour")
    add(
        "--checkpoint-seconds",
        type=_share,
        default=30.0,
        metavar="S",
        help="time to write a checkpoint (default: 30)",
    )
    add(
        "--checkpoint-every",
        type=_share,
        metavar="S",
        help="seconds of work between checkpoints (default: the interval that loses least)",
    )
    add(
        "--restart-seconds",
        type=_share,
        default=300.0,
        metavar="S",
        help="time from a failure to the next step (default: 300)",
    )
    add("--strong", action="store_true", help="split the recorded work among all ranks")
    add(
        "--clock",
        choices=("cpu", "wall"),
        help="clock that measures computing (default: cpu if ranks share cores, else wall)",
    )
    add("--recording", metavar="FILE", help="use a recording made by --save instead of a script")
    add("--save", metavar="FILE", help="save the recording")
    add("--seed", type=int, default=0, metavar="N", help="seed of the random delays (default: 0)")
    add("--json", action="store_true", help="print JSON")
    add("--as-torch", action="store_true", help="'import torch' means tautograd")
    add("-m", dest="is_module", action="store_true", help="the target is a module")
    add("target", nargs=argparse.REMAINDER, metavar="script.py arguments ...",
        help="the script and its own arguments, passed through unchanged")  # fmt: skip


def execute(namespace: argparse.Namespace) -> int:
    """Record, replay, and report."""
    from tautograd.distributed._simulation.failures import Failures, lost
    from tautograd.distributed._simulation.network import network_of
    from tautograd.distributed._simulation.replay import Stragglers, predict

    parser: argparse.ArgumentParser = namespace.parser
    _check(namespace)
    stragglers = Stragglers(namespace.jitter, namespace.slow, namespace.slowdown, namespace.spread)
    failures = Failures(
        namespace.failures, namespace.checkpoint_seconds, namespace.restart_seconds,
        namespace.checkpoint_every,
    )  # fmt: skip
    try:
        network = None if namespace.network == "here" else network_of(namespace.network)
        step = _step(namespace)
        if isinstance(step, int):
            return step
        if network is None:
            from tautograd.distributed._simulation.measure import here

            network = here()
        predicted = [
            predict(step, network, n, stragglers, strong=namespace.strong, seed=namespace.seed)
            for n in namespace.ranks
        ]
        waste = [lost(failures, n) for n in namespace.ranks]
    except (ValueError, RuntimeError) as reason:
        parser.error(str(reason))
    except OSError as reason:
        parser.error(f"'{reason.filename}': {reason.strerror}")
    if namespace.json:
        say(json.dumps(_content(step, network, predicted, waste), indent=2))
    else:
        say(_text(step, network, predicted, waste if namespace.failures else None))
    return _FINE


def _check(namespace: argparse.Namespace) -> None:
    parser: argparse.ArgumentParser = namespace.parser
    if namespace.recording is not None and namespace.target:
        parser.error("--recording: there is a script as well; which of them?")
    if namespace.recording is None and not namespace.target:
        parser.error("which module?" if namespace.is_module else "which script?")
    if len(namespace.record) > 2 or (len(set(namespace.record)) != len(namespace.record)):
        parser.error("-n: one number, or two that differ")
    if namespace.save is not None:
        try:
            destinations.check(namespace.save, destinations.RECORDING)
        except destinations.Refused as reason:
            parser.error(f"--save: {reason}")
    if 1 in namespace.record:
        parser.error("-n: one rank sends nothing; record at least 2")


def _step(namespace: argparse.Namespace) -> Step | int:
    """The recorded step, or the status of a script that failed."""
    from tautograd.distributed._simulation.shared_cores import cores
    from tautograd.distributed._simulation.steps import step_of

    if namespace.recording is not None:
        recordings, clock = _read(namespace.recording)
    else:
        recordings = []
        for ranks in sorted(namespace.record):
            recording = _recorded(namespace, ranks)
            if isinstance(recording, int):
                return recording
            recordings.append(recording)
        clock = "cpu" if namespace.record[0] > cores() // 2 else "wall"
    clock = namespace.clock or clock
    if namespace.save is not None:
        from tautograd._files.atomic import replacing
        from tautograd.distributed._simulation.kept import FORMAT

        content = {"format": FORMAT, "clock": clock, "recordings": recordings}
        with replacing(namespace.save) as file:
            file.write(json.dumps(content).encode())
    return step_of(recordings, clock)


def _read(path: str) -> tuple[Any, str]:
    """Read a saved recording."""
    from tautograd.distributed._simulation.kept import checked

    try:
        content = parsed(read_regular(path))
    except ValueError:
        content = None
    try:
        return checked(content)
    except ValueError as reason:
        raise ValueError(f"--recording: '{path}': {reason}") from None


def _recorded(namespace: argparse.Namespace, ranks: int) -> list[list[dict[str, Any]]] | int:
    """The recordings of that many ranks of the script, or the status they failed with."""
    from tautograd._cli.doctor.ranks import engine_of
    from tautograd.distributed._launcher import Options, launch
    from tautograd.distributed._simulation.steps import read

    engine = engine_of(namespace)
    if engine == "torch":
        namespace.parser.error(
            "the script imports PyTorch, whose exchanges cannot be seen from Python: give --as-torch"
        )
    module = ["-m"] if namespace.is_module else []
    with tempfile.TemporaryDirectory(prefix="taut-recording-") as folder:
        me = [sys.executable, "-m", "tautograd._cli.recorded_rank", folder, engine]
        status = launch(Options([*me, *module, *namespace.target], ranks))
        if status:
            warn(f"taut simulate: the script failed on {ranks} ranks")
            return status
        return read(Path(folder), ranks)


# --- reporting ------------------------------------------------------------------------------------


def _content(
    step: Step, network: Network, predicted: list[Predicted], waste: list[Lost]
) -> dict[str, Any]:
    rows = [
        {**dataclasses.asdict(one), "failures": _finite(dataclasses.asdict(gone))}
        for one, gone in zip(predicted, waste, strict=True)
    ]
    return {
        "recorded": {
            "ranks": step.ranks, "seconds": step.seconds, "computing": step.computing,
            "clock": step.clock,
            "exchanges": [
                {"kind": e.kind, "ranks": int(e.group.at(step.ranks)),
                 "bytes": e.bytes.at(int(e.group.at(step.ranks)))} for e in step.exchanges
            ],
        },
        "network": _finite(dataclasses.asdict(network)),
        "predicted": rows,
    }  # fmt: skip


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """Replace infinities, which JSON lacks."""
    return {name: None if value == math.inf else value for name, value in values.items()}


def _seconds(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(value) >= scale:
            return f"{value / scale:.3g} {unit}"
    return "0"


def _text(
    step: Step, network: Network, predicted: list[Predicted], waste: list[Lost] | None
) -> str:
    moved = sum(e.bytes.at(int(e.group.at(step.ranks))) for e in step.exchanges)
    recorded = (
        f"recorded on {step.ranks} ranks: {_seconds(step.computing)} of computing ({step.clock} time) and "
        f"{len(step.exchanges)} exchanges of {moved / 1e6:.3g} MB in a step of {_seconds(step.seconds)}"
    )
    lines = [
        recorded,
        f"network: {network.bandwidth:.4g} GB/s and {network.latency:.3g} µs between machines"
        + (f" of {network.node} ranks" if 1 < network.node < 1 << 20 else "")
        + (f"; {network.cores} cores for all ranks" if network.cores else ""),
        "",
        f"{'ranks':>7}  {'step':>8}  {'computing':>9}  {'exchanges':>9}  {'stragglers':>10}  {'efficiency':>10}"
        + ("  a failure each   useful time  in all" if waste else ""),
    ]
    for i, one in enumerate(predicted):
        row = (
            f"{one.ranks:>7}  {_seconds(one.seconds):>8}  {_seconds(one.computing):>9}  "
            f"{_seconds(one.exposed):>9}  {_seconds(one.straggling):>10}  {one.efficiency:>10.1%}"
        )
        if waste:
            gone = waste[i]
            row += (
                f"  {gone.between_failures:>12.3g} h  {gone.useful:>11.1%}  "
                f"{gone.useful * one.efficiency:>6.1%}"
            )
        lines.append(row)
    if waste:
        first = (
            f"checkpoints every {_seconds(waste[0].every)} of work on {predicted[0].ranks} ranks"
        )
        last = f"every {_seconds(waste[-1].every)} on {predicted[-1].ranks}"
        lines += [
            "",
            f"{first}, {last}; a failure there throws away {_seconds(waste[-1].per_failure)} of work",
        ]
    return "\n".join(lines)
