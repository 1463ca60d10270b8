"""`taut run --check`: which names of PyTorch's a program uses that tautograd lacks, without running it."""
