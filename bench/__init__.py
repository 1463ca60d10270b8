"""tautograd measured beside PyTorch: `make bench`.

A figure is a ratio of medians from interleaved runs (A, B, A, B, …), with each side warmed up, because
machines are noisy and an absolute time says more about the machine than about the code.
"""
