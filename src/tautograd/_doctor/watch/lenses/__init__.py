"""Questions that are asked of one iteration, call by call."""
