"""The Tensor class and how it is made, printed and given its methods."""
