"""Helpers for modules and their parameters, one import block per file."""
