"""Public programs, run on PyTorch and on tautograd, and what each printed compared.

`python -m tools.public_programs CHECKOUTS` runs all that `programs.json` names. A checkout is a folder
`owner+name` with the repository's files at the commit named there; nothing of theirs is kept here.
"""
