"""What a build adds to the sources: type stubs, written from what the package offers (`tools/make_stubs.py`)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class StubsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs for wheels and for editable installs, which find the stubs among the sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        # (An isolated build finds what it depends on by PYTHONPATH, too.)
        path = os.pathsep.join([str(root / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, root / "tools" / "make_stubs.py"]
        subprocess.run(command, check=True, env=environment)
