"""What a computation does apart from its gradient: on odd inputs, on devices, over a training run."""
