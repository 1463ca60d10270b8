"""What arrives: gradients, inputs and states of every kind, sent through a computation one at a time."""
