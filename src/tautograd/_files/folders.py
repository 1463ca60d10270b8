"""The user's own folders, as the XDG Base Directory Specification has them."""

from __future__ import annotations

import os
from pathlib import Path


def user_folder(variable: str, *default: str) -> Path | None:
    """The folder that a variable of the environment names, or the default one in the user's home.

    Relative names are to be ignored, the specification says: they would mean another folder wherever a program
    is started, also one that somebody else has filled. None where nobody knows the user's home.
    """
    named = os.environ.get(variable, "")
    if os.path.isabs(named):
        return Path(named)
    home = os.path.expanduser("~")
    return Path(home, *default) if os.path.isabs(home) else None
