"""What compile says: errors with their line, and what became of a function."""
