"""The functions that stand in front of an engine's own, each for an observer; files by what they watch."""
