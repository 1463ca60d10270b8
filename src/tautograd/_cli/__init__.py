"""The `taut` command: one module per command, listed in `commands.py`."""
