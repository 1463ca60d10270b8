"""Pictures of README and documentation are of the page as it is: `make pictures` draws them."""

from __future__ import annotations

import pytest


@pytest.mark.slow  # whoever changes the page draws them anew; the tests of the page itself come first
@pytest.mark.parametrize("name", ["view.png", "view-dark.png", "backward.gif"])
def test_a_picture_is_of_the_page_as_it_is(name, project, monkeypatch):
    monkeypatch.syspath_prepend(str(project / "tools"))
    from make_pictures import fingerprint

    held = (project / "docs" / "images" / name).read_bytes()
    assert fingerprint() in held, "the page has changed since: make pictures"
