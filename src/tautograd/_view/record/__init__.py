"""What is recorded of a run: nodes, values, names, and the gradients that flow back."""
