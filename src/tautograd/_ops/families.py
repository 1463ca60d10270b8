"""Every family of operations, imported so that its records and functions are declared."""

# ruff: noqa: F401

from .elementwise import (
    activations,
    arithmetic,
    bessel,
    bitwise,
    casting,
    clamping,
    combining,
    comparison,
    complex,
    division,
    exponential,
    floating,
    gamma_functions,
    polynomials,
    powers,
    rectifiers,
    rounding,
    selection,
    special_functions,
    trigonometric,
)
from .indexing import (
    gathering,
    getitem,
    index_put,
    index_reduce,
    index_select,
    masking,
    scatter_reduce,
    segment_reduce,
    take_put,
    unravelling,
)
from .linalg import determinants, matrix_functions, matrix_norms
from .linalg.decompositions import (
    cholesky,
    eigenvalues,
    householder,
    lowrank,
    lu,
    qr,
    singular_values,
)
from .linalg.products import addmm, blas, contractions, einsum, factors_first, matmul, multi_dot
from .linalg.solvers import inverses, least_squares, lu_solve, tensorsolve, triangular_solve
from .nn import linear, normalize, pixel_shuffle
from .nn.losses import distances
from .reductions import (
    any_all,
    cumulative,
    differences,
    extremes,
    histograms,
    numerical_gradient,
    prods,
    quantiles,
    renorm,
    searching,
    softmaxes,
    sorting,
    statistics,
    sums_and_means,
    unique_bincount,
    vector_norms,
)
from .shape import (
    broadcasting,
    copy_fill,
    diagonals,
    inplace_views,
    joining,
    layout,
    meshgrid,
    permutations,
    rearranging,
    repeating,
    resizing,
    slice_scatter,
    slices,
    splitting,
    squeeze,
    strided_views,
    view_copies,
    views,
)
