"""How the documentation is built: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from op_table import write_op_pages  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402

from tautograd._version import __version__  # noqa: E402

project = "tautograd"
author = "The tautograd developers"
copyright = author
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_generated"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "description"
autodoc_member_order = "bysource"
autosummary_generate = False

html_theme = "furo"
html_title = f"tautograd {release}"
html_static_path = ["_static"]
html_css_files = ["wide-tables.css"]
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "monokai"


def setup(app: Sphinx) -> None:
    """Write what is made from the code before Sphinx reads the pages."""
    app.connect("builder-inited", lambda _: write_op_pages(HERE / "_generated"))
