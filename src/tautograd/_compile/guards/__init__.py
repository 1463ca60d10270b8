"""Guards: what a recorded program depends on, and whether it still holds for this call."""
