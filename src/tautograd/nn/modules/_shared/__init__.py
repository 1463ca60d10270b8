"""What layers of several kinds have in common."""
