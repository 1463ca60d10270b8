"""The options for a function's inputs, shared by `verify` and `replay`."""

from __future__ import annotations

import argparse


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add `--inputs`, `--inputs-from`, `--inputs-file` and `--checkpoint`."""
    one_of = parser.add_mutually_exclusive_group()
    one_of.add_argument(
        "--inputs",
        metavar="SHAPES",
        help="draw random inputs: '3x4:float64,5' is two tensors; ':int64<10' draws integers below 10; "
        "'scalar' is zero-dimensional; '=2.5' is a plain number; 'x=3x4,n==2' are keyword arguments",
    )
    one_of.add_argument(
        "--inputs-from",
        metavar="PKG.MOD:FN",
        help="a function without arguments that returns the inputs",
    )
    one_of.add_argument(
        "--inputs-file", metavar="FILE", help="a .npy or .npz file that holds the inputs"
    )
    parser.add_argument("--checkpoint", metavar="FILE", help="load the module's parameters from it")


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add `--engine`."""
    parser.add_argument(
        "--engine",
        choices=("tautograd", "torch"),
        help="with tautograd, 'import torch' in the code means tautograd (default: what it imports)",
    )
