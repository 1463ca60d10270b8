"""cuBLAS and cuDNN results, at sizes these libraries are made for, compared with the CPU in double
precision.

    python tools/gpu/fast_paths.py      # a line for each; exit status 1 if one is wrong, or was not used

Half precision and TF32 have few digits: a result may differ from the exact one by what the dtype's
rounding explains, measured as the norm of the difference over the norm of the result.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

# A few roundings of the dtype: of the inputs, of the result, and in between.
BOUNDS = {"float64": 1e-13, "float32": 2e-6, "tf32": 2e-3, "float16": 3e-3, "bfloat16": 2e-2}


def apart(have: Any, exact: Any) -> float:
    have, exact = np.asarray(have, np.float64), np.asarray(exact, np.float64)
    if have.shape != exact.shape or not np.isfinite(have).all():
        return float("inf")
    return float(np.linalg.norm(have - exact) / max(np.linalg.norm(exact), 1e-30))


class Paths:
    """The comparisons and their results."""

    def __init__(self) -> None:
        import tautograd

        self.torch = tautograd
        self.found: list[tuple[str, bool, str]] = []

    def compare(
        self, name: str, dtype: str, make: Callable[[], list[Any]], function: Any, bound: str = ""
    ) -> None:
        """Compare a function of arrays on the GPU in a dtype, with its gradients, with float64 on the CPU."""
        torch = self.torch
        kind = getattr(torch, dtype)
        arrays = make()
        results = []
        try:
            for device, used in (("cpu", torch.float64), ("cuda", kind)):
                given = [
                    torch.from_numpy(a).to(kind).to(used).to(device).requires_grad_()
                    for a in arrays
                ]
                out = function(torch, *given)
                # Around a nonzero number: sums that cancel have few digits on any machine.
                weights = np.cos(np.arange(out.numel())).reshape(tuple(out.shape))
                pull = torch.from_numpy(np.asarray(1.5 + weights)).to(kind).to(used).to(device)
                out.backward(pull)
                everything = [out.detach(), *[x.grad for x in given]]
                results.append([x.to("cpu").to(torch.float64).numpy() for x in everything])
        except Exception as error:
            self.found.append(
                (f"{name} {dtype}", False, f"{type(error).__name__}: {str(error)[:300]}")
            )
            return
        errors = [apart(h, e) for h, e in zip(results[1], results[0], strict=True)]
        held = max(errors) <= BOUNDS[bound or dtype]
        shown = " ".join(f"{e:.1e}" for e in errors)
        self.found.append((f"{name} {dtype}", held, shown))

    def run(self) -> list[tuple[str, bool, str]]:
        self.products()
        self.convolutions()
        self.attention()
        self.rest()
        return self.found

    def products(self) -> None:
        def normal(*shapes: tuple[int, ...]) -> Callable[[], list[Any]]:
            rng = np.random.default_rng(1)
            return lambda: [rng.standard_normal(s) for s in shapes]

        functional = self.torch.nn.functional
        linear = normal((5, 2048, 64), (128, 64), (128,))
        for dtype in ("float32", "bfloat16", "float16"):
            given = normal((200, 96), (96, 136))
            self.compare("mm", dtype, given, lambda t, x, y: x @ y)
            turned = normal((96, 200), (136, 96))
            self.compare("mm turned", dtype, turned, lambda t, x, y: x.t() @ y.t())
            self.compare("mm odd", dtype, normal((33, 17), (17, 5)), lambda t, x, y: x @ y)
            batched = normal((3, 40, 64), (3, 64, 24))
            self.compare("bmm", dtype, batched, lambda t, x, y: x @ y)
            self.compare("linear", dtype, linear, lambda t, x, w, b: functional.linear(x, w, b))
            self.compare("no bias", dtype, linear, lambda t, x, w, b: functional.linear(x, w) + b)
            large = normal((1031, 1024), (1024, 1033))  # whose rows begin at odd offsets
            self.compare("mm large odd", dtype, large, lambda t, x, y: x @ y)
            odd = normal((7, 13), (11, 13), (11,))
            self.compare("linear odd", dtype, odd, lambda t, x, w, b: functional.linear(x, w, b))
        self.torch.set_float32_matmul_precision("high")
        self.compare(
            "linear tf32", "float32", linear, lambda t, x, w, b: functional.linear(x, w, b), "tf32"
        )
        self.torch.set_float32_matmul_precision("highest")

    def convolutions(self) -> None:
        functional = self.torch.nn.functional
        rng = np.random.default_rng(2)
        cases: list[tuple[str, Any, Any, dict[str, Any]]] = [
            ("conv 3x3", (4, 16, 14, 14), (24, 16, 3, 3), {"padding": 1}),
            ("conv stride", (4, 8, 15, 13), (16, 8, 3, 3), {"padding": 1, "stride": 2}),
            ("conv dilated", (2, 8, 16, 16), (8, 8, 3, 3), {"dilation": 2, "padding": (2, 1)}),
            ("conv groups", (2, 16, 9, 9), (32, 4, 3, 3), {"groups": 4}),
            ("conv stem", (4, 3, 16, 16), (64, 3, 3, 3), {"padding": 1}),
            ("conv 1x1", (4, 16, 8, 8), (8, 16, 1, 1), {}),
            ("conv1d", (4, 8, 40), (16, 8, 5), {"padding": 2, "stride": 2}),
            ("conv3d", (2, 4, 6, 7, 8), (8, 4, 3, 3, 3), {"padding": 1}),
        ]
        for name, x, w, options in cases:
            convolve = getattr(functional, f"conv{len(x) - 2}d")

            def run(
                t: Any, x: Any, w: Any, b: Any, convolve: Any = convolve, options: Any = options
            ) -> Any:
                return convolve(x, w, b, **options)

            def make(x: Any = x, w: Any = w) -> list[Any]:
                return [rng.standard_normal(s) for s in (x, w, w[:1])]

            for dtype in ("float32", "bfloat16", "float16"):
                self.compare(name, dtype, make, run, "tf32" if dtype == "float32" else "")
            if name == "conv 3x3":
                self.torch.backends.cudnn.allow_tf32 = False
                self.compare(f"{name} no tf32", "float32", make, run, "float32")
                self.torch.backends.cudnn.allow_tf32 = True

                def last(t: Any, x: Any, w: Any, b: Any) -> Any:
                    return functional.conv2d(x.to(memory_format=t.channels_last), w, b, padding=1)

                self.compare(f"{name} channels last", "bfloat16", make, last)

        def turned(t: Any, x: Any, w: Any, b: Any) -> Any:
            return functional.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1)

        def shapes() -> list[Any]:
            return [rng.standard_normal(s) for s in ((2, 8, 7, 6), (8, 12, 3, 3), (12,))]

        for dtype, bound in (("float32", "tf32"), ("bfloat16", "")):
            self.compare("conv_transpose", dtype, shapes, turned, bound)

    def attention(self) -> None:
        functional = self.torch.nn.functional
        rng = np.random.default_rng(3)
        cases: list[tuple[str, Any, Any, dict[str, Any]]] = [
            ("attention", (2, 4, 256, 64), (2, 4, 256, 64), {}),
            ("attention causal", (2, 4, 320, 64), (2, 4, 320, 64), {"is_causal": True}),
            ("attention across", (2, 4, 64, 32), (2, 4, 200, 32), {"scale": 0.2}),
            ("attention wide", (1, 2, 200, 128), (1, 2, 200, 128), {"is_causal": True}),
            ("attention widest", (1, 2, 200, 256), (1, 2, 200, 256), {"is_causal": True}),
            ("attention groups", (2, 8, 128, 64), (2, 2, 128, 64), {"enable_gqa": True}),
            ("attention long", (1, 1, 2048, 64), (1, 1, 2048, 64), {"is_causal": True}),
        ]
        for name, q, k, options in cases:

            def run(t: Any, q: Any, k: Any, v: Any, options: Any = options) -> Any:
                return functional.scaled_dot_product_attention(q, k, v, **options)

            def make(q: Any = q, k: Any = k) -> list[Any]:
                return [rng.standard_normal(s) for s in (q, k, k)]

            for dtype in ("bfloat16", "float16", "float32"):
                self.compare(name, dtype, make, run)
            mask = rng.standard_normal((q[2], k[2]))
            mask[rng.random(mask.shape) < 0.3] = -np.inf
            mask[1] = -np.inf  # a query that attends to nothing

            def masked(
                t: Any, q: Any, k: Any, v: Any, mask: Any = mask, options: Any = options
            ) -> Any:
                bias = t.from_numpy(mask).to(q.dtype).to(q.device)
                more = {n: v for n, v in options.items() if n != "is_causal"}
                return functional.scaled_dot_product_attention(q, k, v, bias, **more)

            if name != "attention long":
                self.compare(f"{name} masked", "bfloat16", make, masked)

    def rest(self) -> None:
        functional = self.torch.nn.functional
        rng = np.random.default_rng(4)

        def rows() -> list[Any]:  # so many that sums over them are computed in parts
            return [rng.standard_normal(s) for s in ((2100, 520), (520,), (520,))]

        def images() -> list[Any]:
            return [rng.standard_normal(s) for s in ((6, 20, 14, 14), (20,), (20,))]

        cases: list[tuple[str, Any, Any]] = [
            ("gelu", rows, lambda t, x, w, b: functional.gelu(x) + w * b),
            ("silu", rows, lambda t, x, w, b: functional.silu(x) * w + b),
            ("layer_norm", rows, lambda t, x, w, b: functional.layer_norm(x, (520,), w, b)),
            ("softmax", rows, lambda t, x, w, b: functional.softmax(x * w + b, -1)),
            (
                "cross_entropy", lambda: [rng.standard_normal((300, 1037))],
                lambda t, x: functional.cross_entropy(
                    x, t.where(t.arange(300) % 7 == 0, -100, t.arange(300)).to(x.device)
                ),
            ),
            ("row sums", rows, lambda t, x, w, b: x + w + b),
            (
                "batch_norm", images,
                lambda t, x, w, b: functional.batch_norm(x, None, None, w, b, True),
            ),
        ]  # fmt: skip
        for name, make, function in cases:
            for dtype in ("float32", "bfloat16", "float16"):
                self.compare(name, dtype, make, function)
        for kind in ("LSTM", "GRU", "RNN"):

            def recur(t: Any, x: Any, kind: str = kind) -> Any:
                t.manual_seed(0)
                layer = getattr(t.nn, kind)(24, 40, 2, bidirectional=True)
                return layer.to(x.device).to(x.dtype)(x)[0]

            for dtype in ("float32", "float64"):
                self.compare(kind, dtype, lambda: [rng.standard_normal((11, 5, 24))], recur)


def main() -> int:
    paths = Paths()
    if not paths.torch.cuda.is_available():
        sys.stdout.write("There is no GPU.\n")
        return 2
    found = paths.run()
    for name, held, text in found:
        sys.stdout.write(f"{'ok  ' if held else 'FAIL'} {name:34} {text}\n")
    from tautograd._arrays.cuda.cudnn import cudnn, refusals

    library = cudnn()
    if library is None:
        sys.stdout.write(f"cuDNN was not used: {refusals}\n")
        return 1
    built = library._local.graphs
    sys.stdout.write(
        f"cuDNN {library.version}: {sum(g is not None for g in built.values())} graphs built, "
        f"{sum(g is None for g in built.values())} refused, "
        f"{sum(g is not None and g._direct is not None for g in built.values())} called by addresses alone\n"
    )
    for text in sorted(set(refusals))[:20]:
        sys.stdout.write(f"  refused: {text}\n")
    return int(not all(held for _, held, _ in found))


if __name__ == "__main__":
    sys.exit(main())
