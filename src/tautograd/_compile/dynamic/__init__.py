"""One program for all sizes of a dimension: fitted to a few records, lowered once, and filled in for each size."""
