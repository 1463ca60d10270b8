"""Everything about the GPU in one script, on a machine that has one: a table, and JSON.

    python tools/gpu_check.py                          # all of it
    python tools/gpu_check.py --only ops --json out.json
    python tools/gpu_check.py --only ops --records relu softmax --dtypes float32

Sections: `rest` (optimizers, layers, half precision, graphs, files, the trust kit), `compile` (compiled
functions against eager ones), `bench` (steps compared with PyTorch's, trainings with the CPU's),
`examples` (the example programs compared with the CPU's figures) and `ops` (every operation record,
forward and gradients, in several processes, since kernels are compiled on first use; OPS_SECONDS in the
environment limits the time of each). Exit status 1 if anything failed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src"), str(ROOT / "tools" / "gpu")]
DTYPES = "float32,float64,float16,bfloat16"


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def ops(given: argparse.Namespace) -> dict[str, Any]:
    """The matrix of operations, in parts."""
    problems: list[Any] = []
    counts: Counter[str] = Counter()
    detours: Counter[str] = Counter()
    end = time.monotonic() + given.limit
    with tempfile.TemporaryDirectory() as folder:
        works = []
        for part in range(given.processes):
            out, log = Path(folder) / f"{part}.json", Path(folder) / f"{part}.log"
            command = [sys.executable, str(ROOT / "tools" / "gpu" / "ops_matrix.py"), str(part)]
            command += [str(given.processes), given.dtypes, str(out), *given.records]
            with log.open("w") as file:
                works.append((out, log, subprocess.Popen(command, stderr=file)))
        for out, log, process in works:
            try:
                process.wait(max(1.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
            if not out.exists():
                now, text = Path(f"{out}.now"), log.read_text()[-400:]
                name = now.read_text() if now.exists() else "a process"
                problems.append([name, "", "", f"was not done within the limit. {text}"])
                continue
            part_found = json.loads(out.read_text())
            problems += part_found["problems"]
            counts.update(part_found["counts"])
            detours.update(part_found["detours"])
    say(
        f"ops: {counts['records']} records times dtypes, {counts['cases']} cases, "
        f"{counts['gradients']} gradients compared, {counts['errors alike']} errors alike, "
        f"{counts['known']} known differences, {counts['left out']} left out for want of time; "
        f"{len(problems)} problems"
    )
    for name, dtype, case, text in sorted(problems)[:40]:
        say(f"  {name} {dtype} {case[:60]}: {text[:160]}")
    return {"counts": counts, "problems": problems, "detours": detours}


def rest(given: argparse.Namespace) -> dict[str, Any]:
    """What is not an operation."""
    from rest import run_checks

    found = run_checks()
    for name, held, text in found:
        say(f"{'ok  ' if held else 'FAIL'} {name:20} {text}")
    return {"problems": [f for f in found if not f[1]], "checks": found}


def compiled(given: argparse.Namespace) -> dict[str, Any]:
    """Compiled functions against the same functions run eagerly."""
    from tools.gpu.compiled import run_checks

    found = run_checks()
    for name, held, text in found:
        say(f"{'ok  ' if held else 'FAIL'} {name:22} {text}")
    counts, problems = _compiled_records(given)
    say(f"records compiled: {dict(counts)}; {len(problems)} problems")
    for name, dtype, text in sorted(problems)[:40]:
        say(f"  {name} {dtype}: {text[:200]}")
    problems += [list(f) for f in found if not f[1]]
    return {"problems": problems, "checks": found, "records": counts}


def _compiled_records(given: argparse.Namespace) -> tuple[Counter[str], list[Any]]:
    """Every operation record compiled, in several processes."""
    counts: Counter[str] = Counter()
    problems: list[Any] = []
    end = time.monotonic() + given.limit
    script = str(ROOT / "tools" / "gpu" / "compiled_records.py")
    with tempfile.TemporaryDirectory() as folder:
        works = []
        for part in range(given.processes):
            out = Path(folder) / f"{part}.json"
            command = [
                sys.executable,
                script,
                str(part),
                str(given.processes),
                given.dtypes,
                str(out),
            ]
            works.append((out, subprocess.Popen(command)))
        for out, process in works:
            try:
                process.wait(max(1.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
            if not out.exists():
                problems.append(["a process", "", "was not done within the limit"])
                continue
            found = json.loads(out.read_text())
            counts.update(found["counts"])
            problems += found["problems"]
    return counts, problems


def bench(given: argparse.Namespace) -> dict[str, Any]:
    """Steps compared with PyTorch's, trainings compared with the CPU's."""
    from bench import gpu

    return gpu.run(given.seconds, given.steps, given.rows or [*gpu.ROWS], say)


def examples(given: argparse.Namespace) -> dict[str, Any]:
    """The example programs, unchanged, compared with the CPU's figures."""
    from examples import APART, EXAMPLES, USUALLY, apart

    found: dict[str, Any] = {"problems": [], "apart": {}}
    for name, steps in EXAMPLES.items():
        try:
            most, count = apart(name, steps)
        except RuntimeError as error:
            found["problems"].append(str(error))
            say(f"FAIL {error}")
            continue
        held = most <= APART.get(name, USUALLY)
        if not held:
            found["problems"].append(f"{name}: apart by {most:.1e}")
        found["apart"][name] = most
        say(f"{'ok  ' if held else 'FAIL'} {name:20} {count} figures, apart by {most:.1e} at most")
    return found


SECTIONS = {"rest": rest, "compile": compiled, "bench": bench, "examples": examples, "ops": ops}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description="Checks and measures tautograd on a GPU.",
        epilog="example:\n  python tools/gpu_check.py --only rest bench --json gpu.json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", choices=[*SECTIONS], default=[*SECTIONS])
    parser.add_argument("--records", nargs="+", default=[], help="of the operations; default: all")
    parser.add_argument("--dtypes", default=DTYPES, help=f"default: {DTYPES}")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for the operations")
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 2) - 4))
    parser.add_argument("--rows", nargs="+", default=[], help="of the bench; default: all")
    parser.add_argument("--seconds", type=float, default=1.0, help="per figure of the bench")
    parser.add_argument("--steps", type=int, default=20, help="of the trainings")
    parser.add_argument("--json", help="write everything to this file")
    given = parser.parse_args(arguments)
    import tautograd

    if not tautograd.cuda.is_available():
        from tautograd._arrays.cuda.cuda_backend import Found

        say(f"There is no GPU to check: {Found.reason}")
        return 2
    from bench.gpu import versions

    found: dict[str, Any] = {"versions": versions()}
    say(" ".join(f"{k} {v}" for k, v in found["versions"].items()))
    for name in given.only:
        found[name] = SECTIONS[name](given)
    if given.json:
        temporary = f"{given.json}.tmp"
        Path(temporary).write_text(json.dumps(found, indent=1))
        os.replace(temporary, given.json)
    return 1 if any(found[name].get("problems") for name in given.only) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
