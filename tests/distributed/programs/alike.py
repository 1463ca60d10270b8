"""Reductions after which every rank has to hold the same bits, whatever comes together on them."""

CASES = ("random", "NaN", "zeros")
DTYPES = ("float16", "bfloat16", "float32", "float64")


def main(torch, dist):
    rank = dist.get_rank()
    found = {}

    def given(case, count):
        torch.manual_seed(rank)
        x = torch.randn(count, dtype=torch.float64)
        if case == "NaN":  # on one rank only: another for each of the first numbers
            x[torch.arange(count) % (dist.get_world_size() + 1) == rank] = float("nan")
        if case == "zeros":
            x = torch.where(x > 0, torch.zeros_like(x), -torch.zeros_like(x))
        return x

    for dtype in DTYPES:
        for kind in ("SUM", "PRODUCT", "MAX", "MIN", "AVG"):
            for case in CASES:
                for count in (1, 7, 1000, 70_000):
                    x = given(case, count).to(getattr(torch, dtype))
                    dist.all_reduce(x, getattr(dist.ReduceOp, kind))
                    y = given(case, count).to(getattr(torch, dtype))
                    dist.reduce(y, 0, getattr(dist.ReduceOp, kind))
                    nans = torch.isnan(x)
                    bits = torch.where(nans, torch.ones_like(x), x).view(
                        {2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()]
                    )
                    found[dtype, kind, case, count] = (
                        bits.numpy().tobytes(), nans.numpy().tobytes(),
                        bool((torch.isnan(y) == nans).all()) if rank == 0 else True,
                    )  # fmt: skip
    return found
