"""Optimizers in a compiled step: the update formula as instructions, its numbers as inputs."""
