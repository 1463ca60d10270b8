"""What is noted of a run: nodes, values, names, and what flows back."""
