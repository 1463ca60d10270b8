"""One surface under attack per module; each defines its target as `TARGET`."""
