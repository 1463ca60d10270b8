"""Random numbers identical to PyTorch's on the CPU, as NumPy arrays.

`Generator` produces the words; every sampler takes a generator and returns an array. For the same
seed and the same calls, arrays and generator states equal PyTorch's.
"""

from .continuous import cauchy, exponential, log_normal, normal, uniform
from .discrete import bernoulli, bernoulli_from, dropout_mask, geometric, multinomial
from .engine import Generator, default_generator
from .integers import randint, random
from .permutation import permutations, randperm
from .rejection import binomial, dirichlet, poisson, standard_gamma
from .shapes import lay_out, memory_order

__all__ = [
    "Generator",
    "bernoulli",
    "bernoulli_from",
    "binomial",
    "cauchy",
    "default_generator",
    "dirichlet",
    "dropout_mask",
    "exponential",
    "geometric",
    "lay_out",
    "log_normal",
    "memory_order",
    "multinomial",
    "normal",
    "permutations",
    "poisson",
    "randint",
    "random",
    "randperm",
    "standard_gamma",
    "uniform",
]
