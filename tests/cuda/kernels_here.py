"""The kernels of `_ops/on_gpu`, run on this machine: compiled by its C++ compiler, thread by thread.

    python -m tests.cuda.kernels_here float32 relu softmax …     # prints JSON

The stand-in of NumPy (`fake`) with kernels: what is launched is the text that a GPU gets, with the same blocks,
barriers and order of additions (`emulated`); cuBLAS is NumPy's product. Records are changed when kernels are
put in place, so this has a process of its own.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from tautograd._arrays.cuda import cuda_backend
from tautograd._arrays.cuda.gemm import Gemm
from tests.cuda.emulated import HEAD
from tests.cuda.fake import FakeBackend

_MORE = r"""
static unsigned __ballot_sync(unsigned, bool v) {
  slots[threadIdx.x][0] = v;
  pass_on();
  unsigned r = 0;
  for (unsigned k = 0; k < 32; ++k) r |= (unsigned)slots[(threadIdx.x & ~31u) + k][0] << k;
  pass_on();
  return r;
}
static int __popc(unsigned v) { return __builtin_popcount(v); }
#define __logf logf
#define __expf expf
#define __tanf tanf
#define __sincosf sincosf
static void sincospi(double x, double* sine, double* cosine) { *sine = sin(M_PI * x); *cosine = cos(M_PI * x); }
"""
# By what a kernel's text can be told to be for which dtype.
_MARKS = {
    "e": "NARROW narrow_h",
    "E": "NARROW narrow_b",
    "f": "typedef float T",
    "d": "typedef double T",
}
_DEFINED = ("D", "WIDE", "EACH", "LOG", "LOG1P", "EXP", "TAN", "EPSILON")  # in a kernel's text
_ROOM = 48 << 10  # bytes of shared memory that a launch may ask for


class KernelBackend(FakeBackend):
    """`CupyBackend` with NumPy for CuPy, and the C++ compiler for CUDA's."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="tautograd-kernels-")
        self.built: dict[str, Any] = {}
        self.launches = 0
        self.gemm = gemm_of(self)

    def fill(self, ufuncs: dict[Any, Any], functions: dict[Any, Any]) -> None:
        super().fill(ufuncs, functions)  # without CuPy's own kernels
        self.has_kernels = True

    def compile(self, source: str, name: str) -> Any:
        if source not in self.built:
            from tautograd._ops.on_gpu.launch import KERNELS

            code = next((code for code, mark in _MARKS.items() if mark in source), "none")
            texts = {k.text(code): k.name for k in KERNELS if code in k.codes}
            wanted = {t: n for t, n in texts.items() if t not in self.built} | {source: name}
            self._build(wanted)
        return self.built[source]

    def _build(self, wanted: dict[str, str]) -> None:
        """Kernels as one library, each in a namespace: a function takes places of arguments."""
        parts = [HEAD, _MORE]
        for i, (source, name) in enumerate(wanted.items()):
            text = source.replace("extern __shared__ char room[];", f"static char room[{_ROOM}];")
            text = text.replace('extern "C" __global__', "__global__")
            given = text[text.index(f"void {name}(") + len(name) + 6 :]
            kinds = [p.strip().rpartition(" ")[0] for p in given[: given.index(")")].split(",")]
            call = ", ".join(f"*({kind}*)a[{k}]" for k, kind in enumerate(kinds))
            parts.append(
                f"namespace kernel{i} {{\n{text}\nvoid call(char** a) {{ {name}({call}); }} }}"
            )
            parts += [f"#undef {name}" for name in _DEFINED]
            parts.append(f'extern "C" void call{i}(char** a) {{ kernel{i}::call(a); }}')
        stem = Path(self.folder.name) / f"kernels{len(self.built)}"
        stem.with_suffix(".cpp").write_text("\n".join(parts))
        options = ["-O1", "-shared", "-fPIC", "-w", "-std=c++17"]
        files = ["-o", f"{stem}.so", f"{stem}.cpp"]
        subprocess.run(["g++", *options, *files], check=True)
        library = ctypes.CDLL(f"{stem}.so")
        for i, source in enumerate(wanted):
            self.built[source] = library, getattr(library, f"call{i}")

    def launch(
        self, function: Any, blocks: int, threads: int, shared: int, pack: Any, values: Any
    ) -> None:
        assert shared <= _ROOM
        room = bytearray(8 * len(values))
        pack(room, 0, *values)
        start = np.frombuffer(room, np.uint8).ctypes.data
        places = (ctypes.c_void_p * len(values))(*[start + 8 * i for i in range(len(values))])
        library, call = function
        library.launch(call, places, blocks, threads)
        self.launches += 1


def _by_columns(address: int, height: int, width: int, leading: int, dtype: Any) -> Any:
    """A matrix in memory by columns, as cuBLAS sees it."""
    size = dtype.itemsize
    room = (ctypes.c_uint8 * (size * ((width - 1) * leading + height))).from_address(address)
    flat = np.ctypeslib.as_array(room).view(dtype)
    return np.lib.stride_tricks.as_strided(flat, (height, width), (size, size * leading))


def _product(dtype: Any) -> Any:
    """cuBLAS's gemm in NumPy."""

    def gemm(h: Any, ta: int, tb: int, m: int, n: int, k: int, alpha: Any, a: int, lda: int, b: int,
             ldb: int, beta: int, c: int, ldc: int) -> None:  # fmt: skip
        left = _by_columns(a, k, m, lda, dtype).T if ta else _by_columns(a, m, k, lda, dtype)
        right = _by_columns(b, n, k, ldb, dtype).T if tb else _by_columns(b, k, n, ldb, dtype)
        out = _by_columns(c, m, n, ldc, dtype)
        wide = np.float64 if dtype.itemsize == 8 else np.float32
        found = left.astype(wide) @ right.astype(wide) + (out.astype(wide) if beta else 0)
        out[...] = found.astype(dtype)

    return gemm


def _batched(dtype: Any) -> Any:
    one = _product(dtype)

    def gemm(h: Any, ta: int, tb: int, m: int, n: int, k: int, alpha: Any, a: int, lda: int, sa: int,
             b: int, ldb: int, sb: int, beta: int, c: int, ldc: int, sc: int, count: int) -> None:  # fmt: skip
        size = dtype.itemsize
        for i in range(count):
            ends = (at + size * i * step for at, step in ((a, sa), (b, sb), (c, sc)))
            x, y, z = ends
            one(h, ta, tb, m, n, k, alpha, x, lda, y, ldb, beta, z, ldc)

    return gemm


def _scattered(dtype: Any) -> Any:
    one = _product(dtype)

    def gemm(h: Any, ta: int, tb: int, m: int, n: int, k: int, alpha: Any, a: int, lda: int, b: int, ldb: int,
             beta: int, c: int, ldc: int, count: int) -> None:  # fmt: skip
        tables = [(ctypes.c_int64 * count).from_address(at) for at in (a, b, c)]
        for x, y, z in zip(*tables, strict=True):
            one(h, ta, tb, m, n, k, alpha, x, lda, y, ldb, beta, z, ldc)

    return gemm


def gemm_of(backend: Any) -> Gemm:
    """`Gemm` with a cuBLAS of NumPy."""
    found = Gemm.__new__(Gemm)
    found.backend = backend
    found.handle_of = lambda: 0
    found.own = None
    found.lt = None
    kinds = [np.dtype(name) for name in ("f", "d", "e", bfloat16)]
    found.calls = {kind.char: (_product(kind), _batched(kind)) for kind in kinds}
    found.scattered = {kind.char: _scattered(kind) for kind in kinds[:2]}
    found.one, found.zero = dict.fromkeys(found.calls, 1), dict.fromkeys(found.calls, 0)
    return found


def in_place(backend: Any) -> list[str]:
    """What goes wrong where a sum is written over a summand: gradients that add up, rows of itself."""
    import tautograd as torch

    wrong = []
    for device in ("cpu", "cuda"):
        x = torch.arange(12.0, device=device).reshape(3, 4)
        before = backend.launches
        np.add(x._data, x._data, out=x._data)
        np.add(x._data, x._data[1], out=x._data)  # which it writes over
        np.multiply(x._data, 0.5, out=x._data)
        weight = torch.ones(4, device=device, requires_grad=True)
        for _ in range(3):
            (x * weight).sum().backward()
        found = [x.tolist(), weight.grad.tolist()]
        launches = backend.launches - before
        if device == "cpu":
            expected = found
        elif found != expected or launches < 10:
            wrong.append(f"in place: {found} for {expected} in {launches} launches")
    return wrong


def many_classes(dtype: str) -> list[str]:
    """What goes wrong in a cross entropy that writes no likelihoods: to second order, with ignored targets."""
    import tautograd as torch

    rng = np.random.default_rng(0)
    scores, targets = rng.standard_normal((9, 1100)), rng.integers(0, 1100, 9)
    targets[3] = -100
    wrong = []
    for reduction in ("mean", "sum"):
        found = []
        for device in ("cpu", "cuda"):
            x = torch.tensor(scores, dtype=getattr(torch, dtype)).to(device).requires_grad_()
            y = torch.tensor(targets).to(device)
            loss = torch.nn.functional.cross_entropy(x, y, reduction=reduction)
            (first,) = torch.autograd.grad(loss, [x], retain_graph=True)
            (again,) = torch.autograd.grad(loss, [x], create_graph=True)
            (second,) = torch.autograd.grad((again * again).sum(), [x])
            found.append([v.detach().cpu().numpy() for v in (loss, first, second)])
            hidden = torch.tensor([[0.0, -np.inf] * 600], device=device)
            found[-1].append(
                torch.nn.functional.cross_entropy(hidden, torch.tensor([0], device=device))
                .cpu()
                .numpy()
            )
        bound = 1e-5 if dtype == "float32" else 1e-12
        apart = [float(np.abs(a - b).max()) for a, b in zip(*found, strict=True)]
        if not max(apart) <= bound * 9:
            wrong.append(f"cross entropy, {reduction}: apart by {apart}")
    return wrong


def recurrent_steps(backend: Any, dtype: str) -> list[str]:
    """What goes wrong in an LSTM of several blocks and tiles, with its products in the kernel and without."""
    import tautograd as torch
    from tautograd._ops.on_gpu import lstm

    wrong = []
    for width, few in ((140, lstm._FEW), (33, lstm._FEW), (33, 0)):
        lstm._FEW, found, before = few, [], backend.launches
        for device in ("cpu", "cuda"):
            torch.manual_seed(0)
            net = torch.nn.LSTM(5, width, bidirectional=True).to(getattr(torch, dtype)).to(device)
            x = torch.randn(3, 19, 5, dtype=getattr(torch, dtype)).to(device).requires_grad_()
            out, (h, c) = net(x)
            (out.square().sum() + (h * c).sum()).backward()
            tensors = (out, h, c, x.grad, *[p.grad for p in net.parameters()])
            found.append([v.detach().cpu().numpy() for v in tensors])
        launches = backend.launches - before
        apart = max(
            float(np.abs(a - b).max() / np.abs(a).max()) for a, b in zip(*found, strict=True)
        )
        if not apart <= (1e-5 if dtype == "float32" else 1e-13) or launches < 12:
            wrong.append(f"LSTM of {width}, {few}: apart by {apart}, {launches} launches")
    return wrong


def long_attention(backend: Any, dtype: str) -> list[str]:
    """What goes wrong in attention of heads side by side, over more positions than one block takes."""
    import tautograd as torch

    attend = torch.nn.functional.scaled_dot_product_attention
    wrong = []
    for queries, keys, causal in (
        (256, 256, True),
        (256, 256, False),
        (131, 131, True),
        (5, 140, True),
    ):
        rng, found = np.random.default_rng(0), []
        given = [rng.standard_normal((2, n, 3, 4)) for n in (queries, keys, keys)]
        pull = rng.standard_normal((2, queries, 3, 4))
        for device in ("cpu", "cuda"):
            x = [torch.tensor(a, dtype=getattr(torch, dtype)).to(device) for a in (*given, pull)]
            leaves = [a.requires_grad_() for a in x[:3]]
            out = attend(*[a.transpose(1, 2) for a in leaves], is_causal=causal).transpose(1, 2)
            if device == "cuda" and not out.is_contiguous():
                wrong.append(f"heads of {queries} and {keys} positions were copied apart")
            out.backward(x[3])
            found.append([v.detach().cpu().numpy() for v in (out, *[a.grad for a in leaves])])
        apart = max(
            float(np.abs(a - b).max() / np.abs(a).max()) for a, b in zip(*found, strict=True)
        )
        if not apart <= (1e-5 if dtype == "float32" else 1e-13):
            wrong.append(f"attention of {queries} to {keys}, {causal}: apart by {apart}")
    return wrong


def many_rows(dtype: str) -> list[str]:
    """What goes wrong in an embedding's gradient: rows that share a block, more of one row than it has room for."""
    import tautograd as torch

    rng, wrong = np.random.default_rng(0), []
    for rows in (3000, 9000):
        places = np.where(rng.random(4000) < 0.7, 5, rng.integers(0, rows, 4000))
        found = []
        for device in ("cpu", "cuda"):
            table = torch.nn.Embedding(
                rows, 3, padding_idx=7, dtype=getattr(torch, dtype), device=device
            )
            torch.manual_seed(0)
            pull = torch.randn(4000, 3, dtype=getattr(torch, dtype)).to(device)
            table(torch.tensor(places).to(device)).backward(pull)
            found.append(table.weight.grad.cpu().numpy())
        apart = float(np.abs(found[0] - found[1]).max() / np.abs(found[0]).max())
        if not apart <= (1e-5 if dtype == "float32" else 1e-13):
            wrong.append(f"rows of {rows}: apart by {apart}")
    return wrong


def cast_layers(dtype: str) -> list[str]:
    """What a linear layer does under autocast other than the function, to the bit."""
    import tautograd as torch

    wrong = []
    for rows in ((5,), (2, 5)):
        torch.manual_seed(0)
        layer = torch.nn.Linear(8, 16).to("cuda")
        x, found = torch.randn(*rows, 8).to("cuda"), []
        for run in (layer, lambda v, at=layer: torch.nn.functional.linear(v, at.weight, at.bias)):
            layer.zero_grad()
            given = x.detach().requires_grad_()
            with torch.autocast("cuda", dtype=getattr(torch, dtype)):
                out = run(given)
            out.sum().backward()
            tensors = (out.detach(), given.grad, layer.weight.grad, layer.bias.grad)
            found.append([v.float().cpu().numpy() for v in tensors])
        if not all((a == b).all() for a, b in zip(*found, strict=True)):
            wrong.append(f"a linear layer of {rows} rows under autocast")
    return wrong


def main(dtype: str, records: list[str]) -> None:
    from tools.gpu.ops_matrix import Matrix

    backend = KernelBackend()
    cuda_backend.use(backend)
    matrix = Matrix()
    for name in records or matrix.cases.RECORDS:
        matrix.run(name, dtype)
    problems = [*matrix.problems, *in_place(backend)]
    if dtype in ("float32", "float64"):
        problems += many_classes(dtype) + recurrent_steps(backend, dtype)
        problems += long_attention(backend, dtype)
        problems += many_rows(dtype)
    else:
        problems += cast_layers(dtype)
    found = {"problems": problems, "counts": matrix.counts, "launches": backend.launches}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
