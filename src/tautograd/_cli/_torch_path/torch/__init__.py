"""Stands in for PyTorch in processes started under `taut run --as-torch`.

It is on the module search path of those processes only (see `as_torch.py`), and replaces itself
with tautograd as soon as it is imported.
"""

from tautograd._cli.as_torch import take_the_place_of

take_the_place_of(__name__)
