"""Measuring how long a statement takes: `Timer`, what it measured, and tables of measurements."""

from ..._ops.declare.python_surface import speak
from .compare import Compare
from .measurement import (
    Measurement,
    TaskSpec,
    select_unit,
    trim_sigfig,
    unit_to_english,
)
from .timer import Timer, timer

__all__ = [
    "Compare",
    "Measurement",
    "TaskSpec",
    "Timer",
    "select_unit",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]


speak(globals(), __all__)
