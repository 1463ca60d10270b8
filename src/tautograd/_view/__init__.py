"""Pictures of backpropagation: the recorded graph, what flowed through it, and where a gradient came from."""
