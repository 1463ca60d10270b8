"""Silent training bugs that other people reported, each with the fix that was reported for it.

One module per family; a case is a function of the engine, `torch`, that is the whole loop. Its
docstring says what the fact is called (`facts.py`), what is wrong, and where it was reported. Lines
that end in `# bug` stand only in the loop with the mistake, lines that end in `# fix` only in the
corrected one, and `# here` marks a line of both that is a fair place to name. `variants.py` writes
the two programs out, with the same line numbers; `split.txt` says which half a case belongs to. The
families in `divide.BLIND` were collected without a look at the rules; their programs return whether they
did what they were to do, and `tests/doctor/test_outside_truth.py` asks them, without the doctor.
"""
