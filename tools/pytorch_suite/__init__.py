"""Whole files of PyTorch's test suite, run on PyTorch and on tautograd under the name `torch`."""
