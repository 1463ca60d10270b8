"""A checkpoint of many ranks as one file, and the other way round."""

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
    """Write all of a checkpoint into one file, which `torch.load` reads."""
    save_file(everything(Path(dcp_checkpoint_dir)), torch_save_path)


def torch_save_to_dcp(
    torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]
) -> None:
    """Write what one file holds as a checkpoint that any number of ranks loads."""
    state = load_file(torch_save_path)
    save(state, checkpoint_id=dcp_checkpoint_dir, no_dist=True)
