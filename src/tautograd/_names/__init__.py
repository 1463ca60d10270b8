"""PyTorch's public names: which there are (`table`), which are here (`resolve`), and why not (`reasons`)."""
