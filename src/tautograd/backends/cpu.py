"""The CPU's vector instructions, in the words of PyTorch's builds."""

from __future__ import annotations

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """`DEFAULT`, `AVX2` or `AVX512`: the widest that NumPy finds."""
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    features: dict[str, bool] = _multiarray_umath.__cpu_features__
    if features.get("AVX512F") and features.get("AVX512BW") and features.get("AVX512VL"):
        return "AVX512"
    return "AVX2" if features.get("AVX2") and features.get("FMA3") else "DEFAULT"
