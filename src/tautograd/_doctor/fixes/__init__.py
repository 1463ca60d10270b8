"""Findings mended in the user's own source: what is written, how it is tried, and how it is shown."""
