"""What is verified: a function or module as a function of one row of numbers, run without a trace."""
