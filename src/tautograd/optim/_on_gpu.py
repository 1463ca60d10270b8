"""Parameters on a GPU: an optimizer's step as one kernel over all of them.

An optimizer's formula is a `Program`, a list of array functions. Here that list becomes the body
of a kernel in CUDA C, each function an expression of one element, so that every element is read and
written once. A table in GPU memory holds the addresses of the parameters and their states; those of the
gradients, which may change at each step, are passed with the launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays.cuda import cuda_array
from .._arrays.cuda.cuda_array import CudaArray, wrap
from .._tensor.tensor import Tensor
from ._batches import Batch
from ._program import Formula, Program, program_of

_C_NAMES = {"f": "float", "d": "double"}
_THREADS, _EACH = 256, 4  # threads per block, elements per thread
_MOST = 448  # gradient addresses that fit into one launch
# The functions of a program in C, applied to elements a, b and c.
_EXPRESSIONS = {
    "add": "a + b", "subtract": "a - b", "multiply": "a * b", "divide": "a / b", "negative": "-a",
    "sqrt": "sqrt(a)", "square": "a * a", "reciprocal": "(T)1 / a", "absolute": "fabs(a)",
    "sign": "(T)((a > (T)0) - (a < (T)0))", "exp": "exp(a)", "log": "log(a)", "power": "pow(a, b)",
    "_maximum": "(a != a || a > b) ? a : b", "_minimum": "(a != a || a < b) ? a : b",
    "maximum": "(a != a || a > b) ? a : b", "minimum": "(a != a || a < b) ? a : b",
    "copysign": "copysign(a, b)", "greater": "a > b", "less": "a < b", "equal": "a == b",
    "greater_equal": "a >= b", "less_equal": "a <= b", "not_equal": "a != b",
    "logical_and": "a && b", "logical_or": "a || b", "logical_not": "!a", "isfinite": "isfinite(a)",
    "_where": "a ? b : c", "_copy": "a",
}  # fmt: skip


def fits(p: Any, states: Sequence[Any]) -> bool:
    """Whether a parameter and its states can be updated by the kernel."""
    for array in (p, *states):
        if type(array) is not CudaArray or array.dtype.char not in _C_NAMES or not array.size:
            return False
        if array.dtype != p.dtype or not array.flags.c_contiguous:
            return False
    return True


def source_of(program: Program, code: str, room: int) -> str:
    """The source of a program's kernel, with room for the addresses of so many gradients."""
    inputs, names = program.inputs, len(program.names)
    lines = [f"T v{inputs + i} = (T)c[{i}];" for i in range(names)]
    for i, extra in enumerate(program.extra, inputs + names):
        if isinstance(extra, np.ndarray):
            lines.append(f"const T v{i} = (T){float(extra)!r};")
        else:
            lines.append(f"{'bool' if extra == np.bool_ else 'T'} v{i};")
    steps = []
    for function, places in program.instructions:
        *given, out = places
        expression = _EXPRESSIONS[function.__name__]
        let = "".join(f"auto {n} = v{i}; " for n, i in zip("abc", given, strict=False))
        steps.append(f"{{ {let}v{out} = {expression}; }}")
    states = range(2, inputs)
    loads = "".join(f"T v{i} = s{i}[i]; " for i in states)
    stores = "".join(f"s{i}[i] = v{i}; " for i in states)
    arrays = "".join(f"T* s{i} = (T*)row[{i - 1}];\n" for i in states)
    return f"""
typedef {_C_NAMES[code]} T;
typedef long long Int;
struct Addresses {{ Int at[{room}]; }};
struct Constants {{ double at[{max(names, 1)}]; }};
extern "C" __global__ void update(
    Addresses gradients, Constants constants, const double* memory, const Int* table,
    const Int* owners) {{
  Int owner = owners[2 * blockIdx.x];
  const Int* row = table + owner * {inputs};
  T* p = (T*)row[0];
  const T* gradient = (const T*)gradients.at[owner];
{arrays}
  Int size = row[{inputs - 1}];
  double c[{max(names, 1)}];
  for (int k = 0; k < {names}; ++k) c[k] = memory ? memory[k] : constants.at[k];
  {" ".join(lines)}
  Int i = owners[2 * blockIdx.x + 1] + threadIdx.x;
  for (int k = 0; k < {_EACH} && i < size; ++k, i += {_THREADS}) {{
    T v0 = p[i], v1 = gradient[i];
    {loads}
    {" ".join(steps)}
    p[i] = v0;
    {stores}
  }}
}}
"""


class GpuBatch(Batch):
    """Parameters of one dtype, updated by one launch."""

    on_gpu = True

    def __init__(
        self, owners: list[Tensor], scalars: list[list[Tensor]], states: list[list[Tensor]]
    ) -> None:
        super().__init__(owners, scalars, states)
        self.dtype = owners[0]._data.dtype
        self._kernels: dict[Any, Any] = {}
        self._parts = [
            _Part(owners[at : at + _MOST], [row[at : at + _MOST] for row in states])
            for at in range(0, len(owners), _MOST)
        ]

    def run(self, formula: Formula, flags: tuple[Any, ...], constants: dict[str, Any]) -> None:
        backend = cuda_array.backend
        numbers = np.array([*constants.values()] or [0.0], np.float64)
        values = as_value(numbers)
        memory: Any = 0
        if backend.capturing():
            memory = backend.capture.constants(constants.values(), _values_of(self.recompute))
            backend.capture.watch(self.owners)
        for part in self._parts:
            kernel = self._kernel(formula, flags, tuple(constants), part.room)
            part.run(kernel, values, memory)

    def _kernel(
        self, formula: Formula, flags: tuple[Any, ...], names: tuple[str, ...], room: int
    ) -> Any:
        key = formula, flags, names, room
        found = self._kernels.get(key)
        if found is None:
            dtype = self.dtype
            program = program_of(formula, flags, names, len(self.states), dtype, dtype)
            text = source_of(program, dtype.char, room)
            found = self._kernels[key] = cuda_array.backend.compile(text, "update")
        return found


def as_value(numbers: Any) -> Any:
    """A row of numbers in the form that a kernel takes by value: for CuPy, an array of one element."""
    return numbers.view(f"V{numbers.nbytes}")


def _values_of(recompute: Any) -> Any:
    """The constants of another step, as numbers in order."""
    return lambda: list(recompute().values())


class _Part:
    """As many parameters as fit into one launch."""

    def __init__(self, owners: list[Tensor], states: list[list[Tensor]]) -> None:
        self.owners = owners
        count = len(owners)
        self.room = next(r for r in (8, 32, 128, _MOST) if r >= count)
        self.addresses = np.zeros(self.room, np.int64)
        self.as_value = as_value(self.addresses)
        table, blocks = [], []
        step = _THREADS * _EACH
        for i, owner in enumerate(owners):
            arrays = [owner._data, *(row[i]._data for row in states)]
            table.append([*(a.address for a in arrays), arrays[0].size])
            blocks += [(i, start) for start in range(0, arrays[0].size, step)]
        backend = cuda_array.backend
        self.table = backend.to_device(np.array(table, np.int64))
        self.blocks = backend.to_device(np.array(blocks, np.int64))
        self.count = len(blocks)

    def run(self, kernel: Any, values: Any, memory: Any) -> None:
        gradients = [_dense(p._grad._data, p._data.dtype) for p in self.owners]
        self.addresses[: len(gradients)] = [g.ptr for g in gradients]
        arguments = self.as_value, values, memory, self.table, self.blocks
        kernel((self.count,), (_THREADS,), arguments)


def _dense(gradient: Any, dtype: Any) -> Any:
    """A gradient, made row-major."""
    if gradient.dtype != dtype or not gradient.dense:
        return wrap(cuda_array.backend.cupy.ascontiguousarray(gradient.raw, dtype))
    return gradient
