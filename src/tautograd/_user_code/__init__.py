"""Whose code is running: the owner of a source file, lines of code, and walks to the user's frames."""
