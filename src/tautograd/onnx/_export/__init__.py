"""`torch.onnx.export`: a model is run and watched, and what it did is written down in ONNX's operators.

    runs (`watching`, `memory`)   operations as they are applied, each on values that never change:
                                  views and writes in place are told apart here
    `merging`, `sizes`            several runs, of other sizes and other values, made one program in which
                                  a number that differed is a `Size`; what a run computed unseen shows here
    `lowerings`, `graph`          each operation's record becomes nodes of a graph
    `program`                     the ONNX model, which saves and runs itself

No operation is known by its call: the seam is the record (`_ops/declare/record.py`), so whatever the
library composes of records can be exported, and a record needs one lowering.
"""
