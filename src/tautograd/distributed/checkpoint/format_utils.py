"""Converting a checkpoint of many ranks to one file, and back."""

from __future__ import annotations

import os
from pathlib import Path

from ...serialization import load as load_file
from ...serialization import save as save_file
from .loading import everything
from .saving import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(
    dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]
) -> None:
    """Write a whole checkpoint to one file, which `torch.load` reads."""
    save_file(everything(Path(dcp_checkpoint_dir)), torch_save_path)


def torch_save_to_dcp(
    torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]
) -> None:
    """Write the contents of one file as a checkpoint that any number of ranks can load."""
    state = load_file(torch_save_path)
    save(state, checkpoint_id=dcp_checkpoint_dir, no_dist=True)
