"""`torch.onnx.export`: a model is run and watched, and its operations are written as ONNX operators.

    runs (`watching`, `memory`)   operations as they are applied, each on values that never change:
                                  views and in-place writes are resolved here
    `merging`, `sizes`            several runs, with other sizes and values, merged into one program in which
                                  a number that differed is a `Size`; what a run computed unseen shows here
    `lowerings`, `graph`          each operation's record becomes nodes of a graph
    `program`                     the ONNX model, which saves and runs itself

Operations are identified by their record, not by their call (`_ops/declare/record.py`): so whatever the
library composes of records can be exported, and a record needs one lowering.
"""
