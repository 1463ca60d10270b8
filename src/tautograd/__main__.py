"""`python -m tautograd`: the `taut` command, where its script is not on the PATH."""

import sys

from tautograd._cli.main import main

if __name__ == "__main__":
    sys.exit(main())
