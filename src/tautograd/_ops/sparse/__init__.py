"""Operations on sparse tensors: what PyTorch has for them beyond the operations that dense ones share.

Loaded when a program first makes a sparse tensor; a sparse tensor is a tensor around a `SparseArray`.
"""
