"""Samples and tokens that see each other: TG904, TG906."""
