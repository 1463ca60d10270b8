"""Random attacks on everything that takes input: `make fuzz`, or `python -m fuzz --help`."""
