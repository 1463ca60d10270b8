"""Loss functions, and the distances some are made of."""
