"""Passes: each takes a program and gives one that means the same, closer to what a machine does well."""

from __future__ import annotations

from ..ir import Program
from .constants import spread_constants
from .dead import without_dead_code
from .forwarding import forward_copies


def improved(program: Program) -> Program:
    """All passes, in their order."""
    program = without_dead_code(program)
    program = spread_constants(program)
    program = forward_copies(program)
    return without_dead_code(program)
