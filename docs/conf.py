"""How the documentation is built: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from api_pages import write_api_pages  # noqa: E402
from gallery import write_gallery  # noqa: E402
from op_table import write_op_table  # noqa: E402
from rule_pages import write_rule_pages  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402

from tautograd._version import __version__  # noqa: E402

project = "tautograd"
author = "The tautograd developers"
copyright = author
release = version = __version__

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_generated"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

add_module_names = True
toc_object_entries = False  # a page has hundreds; its families are what the table of contents shows
python_maximum_signature_line_length = 140

html_theme = "furo"
html_title = f"tautograd {release}"
html_static_path = ["_static"]
html_css_files = ["wide-tables.css"]
html_js_files = ["filter.js"]
html_show_copyright = False
pygments_style = (
    "a11y-high-contrast-light"  # letters of at least 4.5 to 1; they come with the theme
)
pygments_dark_style = "a11y-high-contrast-dark"


def setup(app: Sphinx) -> None:
    """Write what is made from the code before Sphinx reads the pages."""
    app.connect("builder-inited", lambda _: write_api_pages(HERE / "reference"))
    app.connect("builder-inited", lambda _: write_op_table(HERE / "_generated"))
    app.connect("builder-inited", lambda _: write_gallery(HERE / "_static" / "gallery"))
    app.connect("builder-inited", lambda _: write_rule_pages(HERE / "rules"))
