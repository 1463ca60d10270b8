"""`taut view --live`: the page of a graph of any size, for which the script is rerun when a leaf changes."""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from tautograd._cli.delivery import say_on
from tautograd._cli.local_page import LocalPage, Refused

MOST_LEAVES, MOST_VALUES = 200, 256
PATIENCE = 600  # seconds that one run of the script may take
_LEAVES = "leaves.json"


def serve(namespace: argparse.Namespace) -> int:
    """Run the script, serve its page, and rerun it for every change; until Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="taut-live-") as folder:
        live = Live(namespace, Path(folder))
        status = live.run()
        if status is not None:
            return status
        page = LocalPage(live.page, live.state, live.change)
        page.start()
        say_on(f"taut view: live at {page.url} (Ctrl-C ends it)")
        if namespace.show:
            import webbrowser

            webbrowser.open(page.url)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return 0
        finally:
            page.stop()


class Live:
    """The script's latest picture, and its readers' changes."""

    def __init__(self, namespace: argparse.Namespace, folder: Path) -> None:
        self._wanted, self._folder = namespace, folder
        self._changes: dict[tuple[int, int], float] = {}
        self._version, self._said = 0, ""
        self._leaves: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def run(self) -> int | None:
        """Run the script in a separate process; returns its status if there is no page, else None."""
        wanted, page, graph = self._wanted, self._folder / "page.html", self._folder / "graph.json"
        command = [sys.executable, "-m", "tautograd", "view", "--step", str(wanted.step)]
        command += ["-o", str(page), "--leaves", str(graph)]
        graph.unlink(missing_ok=True)
        command += ["--no-source"] * wanted.no_source + ["--as-torch"] * wanted.as_torch
        for (leaf, entry), value in self._changes.items():
            command += ["--set", f"{leaf}.{entry}={value!r}"]
        command += ["-m"] * wanted.is_module + [*wanted.target]
        began = time.perf_counter()
        ended = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False
        )
        if ended.returncode > 1:
            said = ended.stderr.decode(errors="replace").strip()
            say_on(said.splitlines()[-1] if said else "taut view: the script failed")
            return ended.returncode
        self._leaves = json.loads(graph.read_text(encoding="utf-8"))
        self._version += 1
        changed = f", {len(self._changes)} changed" if self._changes else ""
        self._said = f"run in {time.perf_counter() - began:.1f} s{changed}"
        return None

    def page(self) -> str:
        with self._lock:
            return (self._folder / "page.html").read_text(encoding="utf-8")

    def state(self) -> dict[str, Any]:
        return {
            "version": self._version, "said": self._said, "ended": True, "leaves": self._leaves,
        }  # fmt: skip

    def change(self, wanted: dict[str, Any]) -> None:
        """Change one entry of a leaf, or reset all."""
        with self._lock:
            before = dict(self._changes)
            if wanted.get("reset") is True:
                self._changes.clear()
            else:
                leaf, entry, value = (wanted.get(key) for key in ("leaf", "entry", "value"))
                known = {one["number"]: one for one in self._leaves}
                if not isinstance(leaf, int) or leaf not in known:
                    raise Refused("there is no such leaf")
                if not isinstance(entry, int) or not 0 <= entry < known[leaf]["size"]:
                    raise Refused("the leaf has no such entry")
                if not isinstance(value, (int, float)) or not math.isfinite(value):
                    raise Refused("the value is no finite number")
                self._changes[leaf, entry] = float(value)
            if self.run() is not None:
                self._changes = before
                raise Refused("the script failed with that value")


def leaves_of(graph: Any) -> list[dict[str, Any]]:
    """What can be changed in a graph: leaves whose first use was observed."""
    found = []
    for node in graph.nodes:
        if node.first_use >= 0 and node.value is not None and node.value.array is not None:
            flat = node.value.array.reshape(-1)
            listed = [float(v) if math.isfinite(v) else 0.0 for v in flat[:MOST_VALUES].tolist()]
            found.append(
                {"number": node.first_use, "name": node.symbol, "size": flat.size, "values": listed}
            )
    return found[:MOST_LEAVES]
