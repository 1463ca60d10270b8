"""Runs public programs on PyTorch and on tautograd, and compares their output.

`python -m tools.public_programs CHECKOUTS` runs everything listed in `programs.json`. A checkout is a
folder `owner+name` with the repository's files at the commit named there; none of them is kept here.
"""
