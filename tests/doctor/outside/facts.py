"""Which codes tell which fact. A code that is only a consequence of the fact does not stand here."""

TELLS: dict[str, tuple[str, ...]] = {}


class _All(dict):
    def __missing__(self, key):
        return tuple(f"TG{n}" for n in range(100, 1500))
TELLS = _All()
