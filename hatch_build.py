"""What a build adds to the sources: type stubs, written from what the package offers (`tools/make_stubs.py`)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The sources beside it, and no installed package; a search path from outside is cut by isolated builds.
RUN = "import runpy, sys; sys.path[:0] = sys.argv[1:]; runpy.run_module('make_stubs', run_name='__main__')"


class StubsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs for wheels and for editable installs, which find the stubs among the sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folders = [Path(self.root, name) for name in ("tools", "src")]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        subprocess.run([sys.executable, "-c", RUN, *folders], check=True, env=environment)
