"""Compiling: a computation is recorded once while it runs, and from then on replayed as one program."""
