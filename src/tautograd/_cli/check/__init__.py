"""`taut run --check`: lists PyTorch names that a program uses and tautograd lacks, without running it."""
