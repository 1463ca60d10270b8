"""A GPU's random numbers: PyTorch's launch rule in NumPy beside the kernels, run here by the C++ compiler.

On a GPU, `tools/gpu/random_streams.py` compares with PyTorch itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd._random import on_gpu, philox
from tests.cuda.emulated import needs_compiler
from tests.cuda.fake import FakeBackend, installed
from tests.cuda.kernels_here import KernelBackend

pytestmark = needs_compiler
BLOCKS = 8  # that the GPU here holds at once


class _Backend(KernelBackend):
    """A GPU for the kernels of random numbers alone: records are computed as ever."""

    def fill(self, ufuncs: dict[Any, Any], functions: dict[Any, Any]) -> None:
        FakeBackend.fill(self, ufuncs, functions)

    def compile(self, source: str, name: str) -> Any:
        if source not in self.built:
            self._build({source: name})
        return self.built[source]


@pytest.fixture(scope="module")
def backend() -> Iterator[Any]:
    philox._compiled.clear()
    on_gpu._compiled.clear()
    found = _Backend()
    yield found
    philox._compiled.clear()
    on_gpu._compiled.clear()
    found.folder.cleanup()


@pytest.fixture(autouse=True)
def gpu(backend: Any) -> Iterator[None]:
    with installed(backend):
        backend.has_kernels = True
        yield
        backend.has_kernels = False


def hashed(call: Any, thread: Any, seed: int) -> Any:
    """Philox 4x32 with ten rounds (Salmon et al., 2011), in whole numbers of any size."""
    c = [call & 0xFFFFFFFF, call >> 32, thread & 0xFFFFFFFF, thread >> 32]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ key[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def words(n: int, seed: int, offset: int, each: int = 4) -> list[list[int]]:
    """The four words of the call that each element's value is from, and which value that is."""
    threads = min(-(-n // 256), BLOCKS) * 256
    found = []
    for i in range(n):
        turn, thread = divmod(i, threads)
        call, place = divmod(turn, each)
        found.append([*hashed(offset // 4 + call, thread, seed), place])
    return found


def test_the_hash_is_philox() -> None:
    assert hashed(0, 0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = (1 << 64) - 1
    assert hashed(ones, ones, ones) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


@pytest.mark.parametrize("n", [1, 300, 2048, 2049, 9000])
@pytest.mark.parametrize("seed", [3, 2**64 - 5])
def test_uniform_numbers(n: int, seed: int) -> None:
    torch.manual_seed(seed)
    offset = 0
    for _ in range(2):
        found = torch.rand(n, device="cuda").cpu().numpy()
        drawn = np.array([row[row[4]] for row in words(n, seed, offset)], np.uint32)
        expected = drawn.astype(np.float32) * np.float32(2**-32) + np.float32(2**-33)
        expected[expected == 1] = 0
        np.testing.assert_allclose(found, expected, rtol=0, atol=2**-24)  # a fused product or not
        offset += 4 * -(-n // (min(-(-n // 256), BLOCKS) * 256 * 4))
        assert torch.cuda.get_rng_state().numpy().view(np.uint64).tolist() == [seed, offset]


@pytest.mark.parametrize("n", [5, 2049, 5000])
def test_doubles_take_two_words(n: int) -> None:
    torch.manual_seed(9)
    found = torch.rand(n, device="cuda", dtype=torch.float64).cpu().numpy()
    pairs = [(row[2 * row[4]], row[2 * row[4] + 1]) for row in words(n, 9, 0, each=2)]
    expected = np.array([(x ^ y << 21) * 2.0**-53 + 2.0**-54 for x, y in pairs])
    np.testing.assert_allclose(found, expected, rtol=0, atol=2**-53)


def test_whole_numbers_are_remainders() -> None:
    torch.manual_seed(5)
    narrow = torch.randint(-5, 17, (3000,), device="cuda").cpu().tolist()
    assert narrow == [row[row[4]] % 22 - 5 for row in words(3000, 5, 0)]
    wide = torch.randint(0, 2**40, (3000,), device="cuda").cpu().tolist()
    rows = words(3000, 5, 4, each=2)
    assert wide == [(row[2 * row[4]] << 32 | row[2 * row[4] + 1]) % 2**40 for row in rows]


@pytest.mark.parametrize(("dtype", "run"), [("float32", 4), ("float16", 8), ("float64", 2)])
def test_dropout_flips_coins_in_runs(dtype: str, run: int) -> None:
    torch.manual_seed(1)
    n = 3 * BLOCKS * 256 * run
    x = torch.ones(n, device="cuda", dtype=getattr(torch, dtype))
    kept = (torch.nn.functional.dropout(x, 0.3) != 0).cpu().numpy()
    threads = BLOCKS * 256
    expected = np.empty(n, np.bool_)
    for i in range(0, n, 97):
        turn, place = divmod(i, threads * run)
        thread, k = divmod(place, run)
        call = turn * -(-run // 4) + k // 4
        expected[i] = hashed(call, thread, 1)[k % 4] * 2.0**-32 + 2.0**-33 < 0.7
    assert (kept[::97] == expected[::97]).all()


def test_a_view_that_is_not_aligned_is_dropped_one_by_one() -> None:
    x = torch.ones(1025, device="cuda")
    torch.manual_seed(1)
    kept = (torch.nn.functional.dropout(x[1:], 0.5) != 0).cpu().tolist()
    assert kept == [row[row[4]] * 2.0**-32 + 2.0**-33 < 0.5 for row in words(1024, 1, 0)]


@pytest.mark.parametrize("n", [0, 1, 2, 100, 2000])
def test_permutations(n: int) -> None:
    for seed in range(5):
        torch.manual_seed(seed)
        found = torch.randperm(n, device="cuda").cpu().tolist()
        assert sorted(found) == list(range(n))
        if n > 1:
            bits = int(np.ceil(np.log2(n - (6 * n * n + 1) / (12 * np.log(0.9)))))
            rows = words(n, seed, 0, each=2)
            drawn = [(row[2 * row[4]] << 32 | row[2 * row[4] + 1]) % (2**32 - 1) for row in rows]
            keys = [key & 2**bits - 1 for key in drawn]
            if len(set(keys)) == n:
                assert found == sorted(range(n), key=keys.__getitem__)


def test_equal_keys_are_shuffled_among_themselves() -> None:
    """Of a permutation of two, whose keys of five bits are often equal, both orders come."""
    seen = set()
    for seed in range(200):
        torch.manual_seed(seed)
        row = hashed(0, 0, seed), hashed(0, 1, seed)
        keys = [(r[0] << 32 | r[1]) % (2**32 - 1) & 31 for r in row]
        order = torch.randperm(2, device="cuda").cpu().tolist()
        if keys[0] == keys[1]:
            assert order == ([1, 0] if hashed(1, 0, seed)[0] % 2 == 0 else [0, 1])
            seen.add(tuple(order))
    assert len(seen) == 2


def test_probabilities_of_their_own() -> None:
    torch.manual_seed(2)
    p = torch.linspace(0, 1, 5000, device="cuda")
    found = torch.bernoulli(p).cpu().numpy()
    drawn = [hashed(0, i // 4, 2)[i % 4] for i in range(5000)]
    uniform = np.array(drawn, np.uint32).astype(np.float32) * np.float32(2**-32)
    assert (found == (uniform <= p.cpu().numpy())).mean() > 0.999
    assert int(torch.cuda.get_rng_state().numpy().view(np.uint64)[1]) == 12


def test_memory_is_filled_in_its_order() -> None:
    torch.manual_seed(4)
    turned = torch.empty(6, 50, device="cuda").t().normal_()
    torch.manual_seed(4)
    flat = torch.empty(300, device="cuda").normal_()
    assert (turned.t().reshape(-1) == flat).all()


def test_an_offset_is_of_whole_calls() -> None:
    generator = torch.Generator("cuda")
    generator.set_offset(8)
    assert generator.get_offset() == 8
    with pytest.raises(RuntimeError, match="offset must be a multiple of 4"):
        generator.set_offset(6)


@pytest.mark.parametrize("name", ["log_normal_", "exponential_", "cauchy_", "geometric_"])
def test_moments(name: str) -> None:
    """The medians of distributions that need not have a mean."""
    torch.manual_seed(0)
    given = {"geometric_": (0.2,)}.get(name, ())
    values = getattr(torch.empty(40_000, device="cuda", dtype=torch.float64), name)(*given)
    median = float(np.median(values.cpu().numpy()))
    expected = {"log_normal_": np.e, "exponential_": np.log(2), "cauchy_": 0.0, "geometric_": 4.0}
    assert abs(median - expected[name]) < 0.06 * max(1.0, expected[name])
