"""Sends incoming gradients, inputs and states of every kind through a computation, one at a time."""
