"""What a computation does apart from its gradient: on odd inputs, across devices, during training."""
