"""The version, in one place: the package, its metadata and `taut --version` all read it here."""

__version__ = "0.1.0"
