"""Runs whole files of PyTorch's test suite on tautograd, under the name `torch`, and counts.

    python -m tools.pytorch_suite GIT_DIR                          the files of the table below
    python -m tools.pytorch_suite GIT_DIR test/test_masked.py      these
    python -m tools.pytorch_suite GIT_DIR --page docs/programs.md  and write the table of that page

GIT_DIR is a git directory of PyTorch's repository that has the tag v2.11.0. Nothing of it is kept. Only tests that pass
on the installed PyTorch count; those that it skips (a GPU, a library), and those of its references in Python
(`torch._refs`), do not. Of a file with very many tests, a random sample (by a fixed seed) is run. Needs the package
expecttest, as PyTorch's tests do.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from .page import rewritten

FILES = (
    "test/distributions/test_distributions.py",
    "test/test_spectral_ops.py",
    "test/test_foreach.py",
    "test/test_dataloader.py",
    "test/test_serialization.py",
    "test/test_fx.py",
    "test/test_overrides.py",
    "test/test_maskedtensor.py",
    "test/test_masked.py",
    "test/test_sparse.py",
    "test/functorch/test_vmap.py",
    "test/functorch/test_eager_transforms.py",
)

OF_PYTORCH = "__refs_"  # tests of PyTorch's second implementation of itself, in Python


def main() -> None:
    options = _options()
    counts = []
    for path in options.files or FILES:
        count = _counted(path, options)
        counts.append(count)
        sys.stdout.write(json.dumps(count, indent=1) + "\n")
        sys.stdout.flush()
    if options.page:
        page = Path(options.page)
        page.write_text(rewritten(page.read_text(), counts))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("git_dir", help="a git directory of PyTorch")
    parser.add_argument(
        "files", nargs="*", help="test files, by their path in PyTorch's repository"
    )
    parser.add_argument("--most", type=int, default=400, help="tests of a file; more are sampled")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each test")
    parser.add_argument("--reference", help="a folder that keeps what passes on PyTorch")
    parser.add_argument("--only", default="", help="a regular expression for names of tests")
    parser.add_argument("--failures", help="a file that gets each failure as a line of JSON")
    parser.add_argument("--page", help="a page of documentation whose table is written anew")
    return parser.parse_args()


def _counted(path: str, options: argparse.Namespace) -> dict[str, Any]:
    """Counts of one file, and its failures by kind."""
    whole, reference = _reference(path, options)
    fair = [row["test"] for row in reference if row["outcome"] == "passed"]
    fair = [name for name in fair if re.search(options.only, name) and OF_PYTORCH not in name]
    _, rows = _run("tautograd", path, options, fair)
    failures = [row for row in rows if row["outcome"] != "passed"]
    skipped = [row for row in failures if row["outcome"] == "skipped"]
    if options.failures:
        with Path(options.failures).open("a") as out:
            out.writelines(json.dumps({"file": path, **row}) + "\n" for row in failures)
    kinds = Counter(_kind(row) for row in failures)
    return {
        "file": path,
        "tests": whole,
        "run on PyTorch": len(reference),
        "pass on PyTorch": len(fair),
        "pass on tautograd": len(fair) - len(failures),
        "skip themselves on tautograd": len(skipped),
        "failures by kind": dict(kinds.most_common(15)),
    }


def _reference(path: str, options: argparse.Namespace) -> tuple[int, list[dict[str, Any]]]:
    """How many tests there are, and the outcomes on PyTorch of those drawn."""
    name = f"{path.replace('/', '.')}.{options.most}.json"
    kept = Path(options.reference) / name if options.reference else None
    if kept is not None and kept.exists():
        known = json.loads(kept.read_text())
        return known["tests"], known["rows"]
    whole, rows = _run("torch", path, options, None)
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps({"tests": whole, "rows": rows}))
    return whole, rows


def _run(
    engine: str, path: str, options: argparse.Namespace, wanted: list[str] | None
) -> tuple[int, list[dict[str, Any]]]:
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-m", f"{__package__}.child", options.git_dir, engine, path,
         str(options.most), str(options.seconds)],
        input="" if wanted is None else json.dumps(wanted),
        stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **one_thread},
    )  # fmt: skip
    first, *rows = [json.loads(line) for line in done.stdout.splitlines()]
    return first["tests"], rows


def _kind(row: dict[str, Any]) -> str:
    """A failure without what is specific to one test: numbers, and quoted text beyond the first."""
    said = str(row["said"]).partition("\n")[0]
    missing = re.search(r"has no '(torch[\w.]*)'|there is no (torch[\w.]*)", said)
    if missing:
        return f"missing: {missing[1] or missing[2]}"
    if row["outcome"] == "skipped":
        return f"skips itself: {said[:80]}"
    return re.sub(r"\d+", "N", said)[:110]


if __name__ == "__main__":
    main()
