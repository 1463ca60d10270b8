"""The subject under test: a function or module as a function of one flat row, run without side effects."""
