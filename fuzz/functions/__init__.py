"""The parts of the target `functions`: values, calls, engines and verdicts."""
