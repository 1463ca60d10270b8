"""The types of arguments and results, where the functions themselves say only `Any`.

PyTorch's argument names mean the same wherever they occur, so most of it is one table by name.
`SIGNATURES` spells out the functions that PyTorch's argument parser gives several forms;
`METHODS` does so where a method's form differs from the function's.
"""

from __future__ import annotations

TENSOR = "Tensor"
NUMBER = "Number"
EITHER = "TensorOrNumber"


def _all(kind: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), kind)


PARAMETERS: dict[str, str] = {
    **_all(
        TENSOR,
        """self input input1 input2 tensor tensor1 tensor2 x y x1 x2 a b A B LU LU_data LU_pivots pivots
        abs angle real imag condition mask index src tau mat mat1 mat2 vec vec1 vec2 batch1 batch2
        grid logits theta target indices bias weight weights fweights aweights boundaries sorted_sequence sorter count prob the_template
        append prepend new_state""",
    ),
    **_all(NUMBER, "alpha beta base fill_value lambd maxnorm negative_slope threshold s dx tol"),
    **_all(
        EITHER,
        """other exponent value values min max start end atol rtol rcond mean std q
        element elements test_element test_elements""",
    ),
    **_all(
        "int",
        """dim dim0 dim1 axis0 axis1 dimension N m n k length low high step steps chunks groups num
        num_samples seed split_size storage_offset upscale_factor downscale_factor""",
    ),
    **_all(
        "Dims",
        "kernel_size dilation padding output_padding stride destination dims repeats shifts split_size_or_sections",
    ),
    **_all("Ints", "pad size sizes shape split_sizes physical_layout"),
    **_all("Tensors", "tensors matrices"),
    **_all("bool", "inplace unbiased"),
    **_all("str", "indexing reduce"),
    **_all("float | str", "ord p"),
    **_all("dtype", "dtype out_dtype"),
    "output_size": "int | Sequence[int | None] | None",
    "scale_factor": "float | Sequence[float]",
    "bins": "int | Tensor | Sequence[int] | Tensors",
    "callable": "Callable[..., Any]",
    "correction": "float | None",
    "device": "DeviceLike",
    "generator": "Generator",
    "hook": "Callable[[Tensor], Tensor | None]",
    "layout": "layout",
    "memory_format": "memory_format",
    "range": "Sequence[float]",
    "spacing": "Number | Sequence[Number] | Tensors",
}


def _in(argument: str, kind: str, functions: str) -> dict[tuple[str, str], str]:
    return {(function, argument): kind for function in functions.split()}


# Arguments that mean something else in one function.
IN_FUNCTION: dict[tuple[str, str], str] = {
    **_in(
        "dim",
        "Dims",
        """sum nansum mean nanmean logsumexp norm amax amin any all count_nonzero squeeze squeeze_
        gradient vector_norm matrix_norm""",
    ),
    **_in("dims", "Ints", "rot90 tensorsolve"),
    **_in("dims", "int | Sequence[Ints] | Tensor", "tensordot"),
    **_in("end", "int", "slice_scatter"),
    **_in("gradient", "Tensor | None", "backward"),
    **_in("index", "int", "select select_scatter"),
    **_in("indices", "Sequence[Tensor | None]", "index_put index_put_"),
    **_in("input", EITHER, "pow float_power remainder xlogy xlog1py zeta bucketize searchsorted"),
    **_in("inputs", "Tensor | Tensors | None", "backward"),
    **_in("bias", "Tensor | None", "convolution batch_norm instance_norm group_norm layer_norm"),
    **_in("weight", "Tensor | None", "batch_norm instance_norm group_norm layer_norm"),
    **_in("max", NUMBER, "histc"),
    **_in("min", NUMBER, "histc"),
    **_in("p", EITHER, "bernoulli_"),
    **_in("padding", "Dims | str", "conv1d conv2d conv3d"),
    **_in("requires_grad", "bool | None", "asarray"),
    **_in("size", "int", "unfold"),
    **_in("size", "Dims", "interpolate upsample upsample_nearest upsample_bilinear"),
    **_in("stride", "Ints", "as_strided as_strided_ as_strided_scatter set_"),
    **_in("stride", "Ints", "empty_strided new_empty_strided"),
    **_in("source", "Dims", "movedim moveaxis"),
    **_in(
        "source",
        TENSOR,
        "index_add index_add_ index_reduce index_reduce_ index_copy index_copy_ masked_scatter masked_scatter_ put put_",
    ),
    **_in("split_size", "Dims", "split"),
    **_in("start", "Tensor | int", "narrow narrow_copy"),
    **_in("start", "int", "slice_scatter"),
    **_in("weight", EITHER, "lerp lerp_"),
}

IN_FUNCTION |= {  # orthogonal polynomials: of degree n at x
    (f"{shifted}{family}_polynomial_{kind}", argument): EITHER
    for shifted in ("", "shifted_")
    for family, kinds in (
        ("chebyshev", "tuvw"),
        ("hermite", ("h", "he")),
        ("laguerre", "l"),
        ("legendre", "p"),
    )
    for kind in kinds
    for argument in ("n", "input")
}

# Results that are neither a tensor nor a named tuple, where the function does not say.
RESULTS: dict[str, str] = {
    "gradient": "tuple[Tensor, ...]",
    "std_mean": "tuple[Tensor, Tensor]",
    "var_mean": "tuple[Tensor, Tensor]",
    "lu": "tuple[Tensor, ...]",
    "to_dlpack": "Any",
    "item": "float | int | bool",
    "tolist": "Any",
    "numpy": "np.ndarray[Any, Any]",
    "__array__": "np.ndarray[Any, Any]",
    "__array_wrap__": "Tensor",
    "__dlpack__": "Any",
    "as_subclass": "Any",
    "grad_fn": "Any",
    "is_inference": "bool",
    "name": "str | None",
    "grad": "Tensor | None",
}

_MADE = "dtype: dtype | None = None, layout: layout | None = None, device: DeviceLike | None = None, pin_memory: bool = False, requires_grad: bool = False"
_NEW = "dtype: dtype | None = None, device: DeviceLike | None = None, requires_grad: bool = False, layout: layout | None = None, pin_memory: bool = False"
_OUT = "out: Tensor | None = None"
_DRAWN = "generator: Generator | None = None"
_PAIR = "out: Tensors | None = None"


def _sized(options: str) -> list[str]:
    """A size, given as one sequence or as separate numbers."""
    return [f"(size: Ints, *, {options}) -> Tensor", f"(*size: int, {options}) -> Tensor"]


def _extreme(name: str) -> list[str]:
    return [
        f"(input: Tensor, *, {_OUT}) -> Tensor",
        f"(input: Tensor, dim: int, keepdim: bool = False, *, {_PAIR}) -> return_types.{name}",
        f"(input: Tensor, other: Tensor, *, {_OUT}) -> Tensor",
    ]


def _middle(name: str) -> list[str]:
    return [
        "(input: Tensor) -> Tensor",
        f"(input: Tensor, dim: int, keepdim: bool = False, *, {_PAIR}) -> return_types.{name}",
    ]


def _spread(result: str, out: str) -> list[str]:
    return [
        f"(input: Tensor, dim: Dims | None = None, *, correction: float | None = None, keepdim: bool = False{out}) -> {result}",
        f"(input: Tensor, dim: Dims | None, unbiased: bool, keepdim: bool = False{out}) -> {result}",
        f"(input: Tensor, unbiased: bool) -> {result}",
    ]


def _pieces(where: str, rest: str = "") -> list[str]:
    return [
        f"(input: Tensor, {name}: {kind}{rest}) -> tuple[Tensor, ...]"
        for name, kind in (("indices_or_sections", where), ("indices", "Ints"), ("sections", "int"))
    ]


_AT_LEAST = [
    "(tensor: Tensor, /) -> Tensor",
    "(tensors: Tensors, /) -> tuple[Tensor, ...]",
    "(*tensors: Tensor) -> tuple[Tensor, ...]",
]
_DISTINCT = [
    "return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: int | None = None) -> Tensor",
    "return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any",
]

SIGNATURES: dict[str, list[str]] = {
    **{name: _sized(f"{_OUT}, {_MADE}") for name in ("ones", "zeros")},
    "empty": _sized(f"{_OUT}, {_MADE}, memory_format: memory_format | None = None"),
    **{name: _sized(f"{_DRAWN}, {_OUT}, {_MADE}") for name in ("rand", "randn")},
    "arange": [
        f"(end: Number, *, {_OUT}, {_MADE}) -> Tensor",
        f"(start: Number, end: Number, step: Number = 1, *, {_OUT}, {_MADE}) -> Tensor",
    ],
    "range": [
        f"(start: Number, end: Number, step: Number = 1, *, {_OUT}, {_MADE}) -> Tensor",
    ],
    "randint": [
        f"(high: int, size: Ints, *, {_DRAWN}, {_OUT}, {_MADE}) -> Tensor",
        f"(low: int, high: int, size: Ints, *, {_DRAWN}, {_OUT}, {_MADE}) -> Tensor",
    ],
    "randint_like": [
        f"(input: Tensor, high: int, *, {_DRAWN}, {_MADE}, memory_format: memory_format | None = None) -> Tensor",
        f"(input: Tensor, low: int, high: int, *, {_DRAWN}, {_MADE}, memory_format: memory_format | None = None) -> Tensor",
    ],
    "normal": [
        f"(mean: Tensor, std: TensorOrNumber = 1.0, *, {_DRAWN}, {_OUT}) -> Tensor",
        f"(mean: float, std: Tensor, *, {_DRAWN}, {_OUT}) -> Tensor",
        f"(mean: float, std: float, size: Ints, *, {_DRAWN}, {_OUT}, {_MADE}) -> Tensor",
    ],
    "tensor": [
        "(data: Any, *, dtype: dtype | None = None, device: DeviceLike | None = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor"
    ],
    "einsum": [
        "(equation: str, *operands: Tensor | Tensors) -> Tensor",
        "(*operands: Tensor | Sequence[int | EllipsisType]) -> Tensor",
    ],
    "isin": [
        f"(elements: TensorOrNumber, test_elements: TensorOrNumber, *, assume_unique: bool = False, invert: bool = False, {_OUT}) -> Tensor"
    ],
    "broadcast_tensors": ["(*tensors: Tensor | Tensors) -> tuple[Tensor, ...]"],
    "broadcast_shapes": ["(*shapes: Dims) -> Size"],
    "meshgrid": ["(*tensors: Tensor | Tensors, indexing: str | None = None) -> tuple[Tensor, ...]"],
    "block_diag": ["(*tensors: Tensor) -> Tensor"],
    "cartesian_prod": ["(*tensors: Tensor) -> Tensor"],
    "chain_matmul": ["(*matrices: Tensor, out: Tensor | None = None) -> Tensor"],
    **dict.fromkeys(("atleast_1d", "atleast_2d", "atleast_3d"), _AT_LEAST),
    **dict.fromkeys(("hsplit", "vsplit", "dsplit"), _pieces("Dims")),
    "tensor_split": _pieces("Dims | Tensor", ", dim: int = 0"),
    "max": _extreme("max"),
    "min": _extreme("min"),
    "median": _middle("median"),
    "nanmedian": _middle("nanmedian"),
    "std": _spread("Tensor", f", {_OUT}"),
    "var": _spread("Tensor", f", {_OUT}"),
    "std_mean": _spread("tuple[Tensor, Tensor]", ""),
    "var_mean": _spread("tuple[Tensor, Tensor]", ""),
    "prod": [
        "(input: Tensor, *, dtype: dtype | None = None) -> Tensor",
        f"(input: Tensor, dim: int, keepdim: bool = False, *, dtype: dtype | None = None, {_OUT}) -> Tensor",
    ],
    "nonzero": [
        f"(input: Tensor, *, as_tuple: Literal[False] = False, {_OUT}) -> Tensor",
        "(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]",
    ],
    "where": [
        "(condition: Tensor) -> tuple[Tensor, ...]",
        f"(condition: Tensor, input: TensorOrNumber, other: TensorOrNumber, *, {_OUT}) -> Tensor",
    ],
    "unique": [f"(input: Tensor, sorted: bool = True, {rest}" for rest in _DISTINCT],
    "unique_consecutive": [f"(input: Tensor, {rest}" for rest in _DISTINCT],
    "repeat_interleave": [
        "(input: Tensor, repeats: Tensor | int, dim: int | None = None, *, output_size: int | None = None) -> Tensor",
        "(repeats: Tensor, *, output_size: int | None = None) -> Tensor",
    ],
    **{
        name: [
            f"(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1, {_OUT}) -> Tensor"
        ]
        for name in ("addcdiv", "addcmul")
    },
    "scatter": [
        f"(input: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str | None = None, {_OUT}) -> Tensor",
        f"(input: Tensor, dim: int, index: Tensor, value: Number, *, reduce: str | None = None, {_OUT}) -> Tensor",
    ],
    "reshape": ["(input: Tensor, shape: Ints) -> Tensor"],
    "permute": ["(input: Tensor, dims: Ints) -> Tensor"],
    "tile": ["(input: Tensor, dims: Ints) -> Tensor"],
    "result_type": ["(tensor1: TensorOrNumber, tensor2: TensorOrNumber) -> dtype"],
}

_OPERATORS = """add sub mul div truediv floordiv mod pow matmul and or xor lshift rshift"""

METHODS: dict[str, list[str]] = {
    **{
        f"__{form}{name}__": ["(other: Any) -> Tensor"]
        for name in _OPERATORS.split()
        for form in ("", "r", "i")
    },
    **{name: _sized(_NEW) for name in ("new_empty", "new_ones", "new_zeros")},
    "reshape": ["(shape: Ints) -> Tensor", "(*shape: int) -> Tensor"],
    "permute": ["(dims: Ints) -> Tensor", "(*dims: int) -> Tensor"],
    "flip": ["(dims: Dims) -> Tensor", "(*dims: int) -> Tensor"],
    "tile": ["(dims: Ints) -> Tensor", "(*dims: int) -> Tensor"],
    "repeat": ["(repeats: Ints) -> Tensor", "(*repeats: int) -> Tensor"],
    "expand": [
        "(size: Ints, *, implicit: bool = False) -> Tensor",
        "(*size: int, implicit: bool = False) -> Tensor",
    ],
    "broadcast_to": ["(size: Ints) -> Tensor", "(*size: int) -> Tensor"],
    "sum_to_size": ["(size: Ints) -> Tensor", "(*size: int) -> Tensor"],
    "view": ["(size: Ints) -> Tensor", "(*size: int) -> Tensor", "(dtype: dtype) -> Tensor"],
    "resize_": [
        "(size: Ints, *, memory_format: memory_format | None = None) -> Tensor",
        "(*size: int, memory_format: memory_format | None = None) -> Tensor",
    ],
    "to": [
        "(dtype: dtype, non_blocking: bool = False, copy: bool = False, *, memory_format: memory_format | None = None) -> Tensor",
        "(device: DeviceLike | None = None, dtype: dtype | None = None, non_blocking: bool = False, copy: bool = False, *, memory_format: memory_format | None = None) -> Tensor",
        "(other: Tensor, non_blocking: bool = False, copy: bool = False, *, memory_format: memory_format | None = None) -> Tensor",
    ],
    "type": [
        "(dtype: None = None, non_blocking: bool = False) -> str",
        "(dtype: dtype | str | type[Any], non_blocking: bool = False) -> Tensor",
    ],
    "size": ["(dim: None = None) -> Size", "(dim: int) -> int"],
    "stride": ["(dim: None = None) -> tuple[int, ...]", "(dim: int) -> int"],
    "new": ["(*args: Any, device: DeviceLike | None = None) -> Tensor"],
    "cuda": ["(device: DeviceLike | None = None, non_blocking: bool = False) -> Tensor"],
    "random_": [
        "(*, generator: Generator | None = None) -> Tensor",
        "(to: int, *, generator: Generator | None = None) -> Tensor",
        "(from_: int, to: int | None, /, *, generator: Generator | None = None) -> Tensor",
    ],
    "uniform_": [
        "(from_: float = 0, to: float = 1, /, *, generator: Generator | None = None) -> Tensor",
        "(*, to: float = 1, generator: Generator | None = None) -> Tensor",
    ],
    **{f"logical_{name}_": ["(other: Tensor) -> Tensor"] for name in ("and", "or", "xor")},
    "logical_not_": ["() -> Tensor"],
    "repeat_interleave": [
        "(repeats: Tensor | int, dim: int | None = None, *, output_size: int | None = None) -> Tensor",
    ],
    "where": ["(condition: Tensor, other: TensorOrNumber) -> Tensor"],
    "scatter_": [
        "(dim: int, index: Tensor, src: Tensor, *, reduce: str | None = None) -> Tensor",
        "(dim: int, index: Tensor, value: Number, *, reduce: str | None = None) -> Tensor",
    ],
    "bernoulli": [
        "(*, generator: Generator | None = None) -> Tensor",
        "(p: float, *, generator: Generator | None = None) -> Tensor",
    ],
    "__getitem__": ["(key: Any) -> Tensor"],
    "__repr__": ["() -> str"],
    "__eq__": ["(other: object) -> Tensor"],
    "__ne__": ["(other: object) -> Tensor"],
}
