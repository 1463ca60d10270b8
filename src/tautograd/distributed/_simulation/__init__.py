"""A training step on more ranks than there are: recorded here, replayed against a model of the network."""

from __future__ import annotations
