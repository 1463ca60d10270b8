"""Locates a wrong gradient: every call of a run is traced, isolated and checked."""
