"""A GPU for compiled programs made of the C++ compiler and one processor: kernels run, thread by thread.

The threads of a block are coroutines; a barrier lets the others go on, and so does an exchange between the
threads of a warp. So what is generated for a GPU is compiled and computed here, with the same indices, barriers
and order of additions.
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tautograd._arrays.cuda.cuda_array import wrap
from tautograd._compile.program.memory import bytes_at
from tests.cuda.fake import _Memory

needs_compiler = pytest.mark.skipif(
    shutil.which("g++") is None, reason="kernels are compiled by g++, which is not installed"
)

HEAD = r"""
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
using namespace std;
struct Three { unsigned x, y, z; };
static Three threadIdx, blockIdx, blockDim, gridDim;
static ucontext_t scheduler, contexts[1024];
static char* stacks[1024];
static bool done[1024];
static unsigned char slots[1024][16];
static void pass_on() { unsigned me = threadIdx.x; swapcontext(&contexts[me], &scheduler); }
#define __device__
#define __forceinline__ inline
#define __global__
#define __shared__ static
#define __launch_bounds__(n)
#define __syncthreads pass_on
#define __syncwarp pass_on
#define __threadfence()
#define WITHOUT_END INFINITY
#define NOT_A_NUMBER NAN
template <class V> V __shfl_xor_sync(unsigned, V v, int k) {
  memcpy(slots[threadIdx.x], &v, sizeof v);
  pass_on();
  V r; memcpy(&r, slots[threadIdx.x ^ k], sizeof r);
  pass_on();
  return r;
}
static unsigned atomicAdd(unsigned* at, unsigned n) { unsigned before = *at; *at += n; return before; }
static float wide_h(unsigned short x) { _Float16 h; memcpy(&h, &x, 2); return (float)h; }
static unsigned short narrow_h(float x) { _Float16 h = (_Float16)x; unsigned short r; memcpy(&r, &h, 2); return r; }
static unsigned short narrow_d(double x) { _Float16 h = (_Float16)x; unsigned short r; memcpy(&r, &h, 2); return r; }
static unsigned bits_of(float x) { unsigned r; memcpy(&r, &x, 4); return r; }
static float of_bits(unsigned x) { float r; memcpy(&r, &x, 4); return r; }
static void (*body)(char**);
static char** given;
static void thread() { body(given); done[threadIdx.x] = true; }
extern "C" void launch(void (*function)(char**), char** arguments, unsigned grid, unsigned block) {
  body = function; given = arguments; gridDim.x = grid; blockDim.x = block;
  for (unsigned b = 0; b < grid; ++b) {
    for (unsigned t = 0; t < block; ++t) {
      if (!stacks[t]) stacks[t] = (char*)malloc(65536);
      getcontext(&contexts[t]);
      contexts[t].uc_stack.ss_sp = stacks[t]; contexts[t].uc_stack.ss_size = 65536;
      contexts[t].uc_link = &scheduler; done[t] = false;
      makecontext(&contexts[t], thread, 0);
    }
    for (unsigned left = block; left;) for (unsigned t = 0; t < block; ++t) if (!done[t]) {
      threadIdx.x = t; blockIdx.x = b;
      swapcontext(&scheduler, &contexts[t]);
      left -= done[t];
    }
  }
}
"""


class EmulatedDevice:
    """What `tautograd._compile.cuda` asks of a GPU, done here."""

    can_capture = False

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="tautograd-emulated-")
        self.launches = 0
        self.sources: list[str] = []

    def stream(self) -> int:
        return 0

    def allocate(self, nbytes: int) -> Any:
        return np.empty(max(nbytes, 1), np.uint8)

    def address(self, raw: Any) -> int:
        return int(raw.__array_interface__["data"][0])

    def piece(self, raw: Any, offset: int, nbytes: int) -> Any:
        return raw[offset : offset + nbytes].view(_Memory)

    def apart(self, raw: Any, offset: int, nbytes: int) -> Any:
        return raw[offset : offset + nbytes]

    def placed(self, raw: Any, shape: Any, dtype: Any, offset: int, strides: Any) -> Any:
        if 0 in shape:
            return wrap(np.empty(shape, dtype))
        return wrap(np.ndarray(shape, dtype, raw, offset, strides))

    def zero(self, raw: Any) -> None:
        raw[...] = 0

    def send(self, address: int, source: int, nbytes: int) -> None:
        self.copy(address, source, nbytes)

    def copy(self, address: int, source: int, nbytes: int) -> None:
        bytes_at(address, nbytes)[:] = bytes_at(source, nbytes)

    def copied(self, array: Any) -> Any:
        return wrap(np.copy(array.raw, order="K"))

    def product(self, left: Any, right: Any, out: Any, adds: bool) -> bool:
        return False

    def affine(self, left: Any, right: Any, bias: Any, out: Any) -> bool:
        return False

    def functions(self, source: str, names: Iterable[str]) -> dict[str, Any]:
        self.sources.append(source)
        library = _built(source, list(names), Path(self.folder.name))
        return {name: self._function(library, name) for name in names}

    def _function(self, library: Any, name: str) -> Any:
        function = getattr(library, f"call_{name}")

        def launch(grid: tuple[int], block: tuple[int], arguments: tuple[int, ...]) -> None:
            self.launches += 1
            given = (ctypes.c_void_p * max(len(arguments), 1))(*arguments)
            library.launch(function, given, grid[0], block[0])

        return launch


def _built(source: str, names: list[str], folder: Path) -> Any:
    """The kernels as a library: each gets a function that takes its arguments from an array."""
    calls = []
    for name in names:
        head = source[source.index(f" {name}(") :].replace("const ", "")
        count = head[: head.index("{")].count("*")
        kinds = head[len(name) + 2 : head.index(")")].split(", ") if count else []
        given = ", ".join(f"({k.rpartition(' ')[0]})a[{i}]" for i, k in enumerate(kinds))
        calls.append(f'extern "C" void call_{name}(char** a) {{ {name}({given}); }}')
    text = "\n".join([HEAD, source, *calls])
    stem = hashlib.sha256(text.encode()).hexdigest()[:24]
    made = folder / f"{stem}.so"
    if not made.exists():
        code = folder / f"{stem}.cpp"
        code.write_text(text)
        options = ["-O0", "-shared", "-fPIC", "-w", "-ffp-contract=off", "-std=c++17"]
        subprocess.run(["g++", *options, "-o", str(made), str(code)], check=True)
    return ctypes.CDLL(str(made))
