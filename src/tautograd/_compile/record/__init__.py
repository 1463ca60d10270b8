"""Recording: one run of a function becomes a program, with its inputs, results and effects."""
