"""The operations: one record each, in a file per family."""
