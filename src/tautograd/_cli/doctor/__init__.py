"""`taut doctor`: a script run with the doctor beside it, as a page, on several ranks, or mended."""
