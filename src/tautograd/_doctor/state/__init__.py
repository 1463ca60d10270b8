"""What the doctor knows of a run: parameters and their owners, gradients, steps in numbers."""
