"""The user's own folders, by the XDG Base Directory Specification."""

from __future__ import annotations

import os
from pathlib import Path


def user_folder(variable: str, *default: str) -> Path | None:
    """The folder that an environment variable names, or the default one in the user's home.

    Relative names are ignored, as the specification requires: they would mean another folder wherever a program
    is started, perhaps one that somebody else has filled. None if the user's home is unknown.
    """
    named = os.environ.get(variable, "")
    if os.path.isabs(named):
        return Path(named)
    home = os.path.expanduser("~")
    return Path(home, *default) if os.path.isabs(home) else None
