"""A training step on more ranks than exist: recorded here, replayed against a model of the network."""

from __future__ import annotations
