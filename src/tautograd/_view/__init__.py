"""Pictures of backpropagation: the recorded graph, what flowed through it, and how a gradient came about."""
