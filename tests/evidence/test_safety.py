"""Nothing that a file says is executed: what may be imported is the user's own, or named by them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tautograd._evidence.canonical import digest_of

MARKER = (
    "import pathlib; pathlib.Path({path!r}).write_text('executed')\ndef fn(x, y): return x * y\n"
)


def forge(path: Any, **changes: Any) -> None:
    """Change what a file says it is about, digest included: whoever writes a file can do that."""
    content = json.loads(path.read_text())
    for key, value in changes.items():
        content["computation"][key] = value
    content["digest"] = digest_of(content)
    path.write_text(json.dumps(content))


@pytest.fixture
def forged(made_project, tmp_path_factory):
    project = made_project("tautograd")
    marker = project.folder / "marker"
    outside = tmp_path_factory.mktemp("outside") / "evil.py"
    outside.write_text(MARKER.format(path=str(marker)))
    return project, marker, outside


def test_a_file_outside_the_project_is_not_imported(forged):
    project, marker, outside = forged
    up = "../" * 20
    for file in (
        f"{up}{str(outside).lstrip('/')}",
        str(outside),
        f"../{outside.parent.name}/evil.py",
    ):
        forge(project.folder / "fn.json", file=file, target="evil:fn")
        got = project.taut("replay", "fn.json", status=2)
        assert "is not in the project of the current folder" in got.stderr
        assert "taut replay fn.json evil:fn" in got.stderr
    assert not marker.exists()


def test_a_link_out_of_the_project_is_not_followed(forged):
    project, marker, outside = forged
    (project.folder / "inner.py").symlink_to(outside)
    forge(project.folder / "fn.json", file="inner.py", target="inner:fn")
    assert "is not in the project" in project.taut("replay", "fn.json", status=2).stderr
    assert not marker.exists()


def test_installed_code_is_not_imported_by_itself(forged):
    project, _, _ = forged
    forge(project.folder / "fn.json", file="<installed>/os.py", name="system", target="os:system")
    assert "is not in the project" in project.taut("replay", "fn.json", status=2).stderr


def test_what_the_user_names_is_imported(forged):
    project, marker, outside = forged
    forge(project.folder / "fn.json", file="elsewhere.py", target="evil:fn")
    got = project.taut("replay", "fn.json", f"{outside}:fn", "--inputs", "3x4,4", status=1)
    assert marker.exists()
    assert "other code" in got.stdout


def test_a_function_without_a_name_must_be_named(forged):
    project, _, _ = forged
    forge(project.folder / "fn.json", target=None, name=None)
    assert (
        "name it: taut replay fn.json pkg.mod:fn"
        in project.taut("replay", "fn.json", status=2).stderr
    )


def test_inputs_and_checkpoints_from_elsewhere_must_be_named(forged):
    project, marker, outside = forged
    path = project.folder / "fn.json"
    content = json.loads(path.read_text())
    definitions = [
        (
            {
                "kind": "function",
                "target": "evil:make",
                "file": str(outside),
                "files": [],
                "seed": 0,
            },
            "--inputs-from evil:make",
        ),
        ({"kind": "file", "path": "../../x.npz", "sha256": "0" * 64}, "--inputs-file FILE"),
        ({"kind": "given"}, "--inputs-from pkg.mod:make_inputs"),
    ]
    for definition, phrase in definitions:
        content["data"]["definition"] = definition
        content["digest"] = digest_of(content)
        path.write_text(json.dumps(content))
        assert phrase in project.taut("replay", "fn.json", status=2).stderr
    assert not marker.exists()


def test_values_that_are_none_are_refused(forged):
    project, _, _ = forged
    path = project.folder / "fn.json"
    content = json.loads(path.read_text())
    tensor = {"kind": "tensor", "dtype": "float64", "shape": [2], "requires_grad": True}
    wrong = [
        ({**tensor, "data": "AAAA"}, "do not fill its shape"),
        ({**tensor, "data": "!!!!"}, "not base64"),
        ({**tensor, "dtype": "load", "data": ""}, "no dtype"),
    ]
    for row, phrase in wrong:
        args = {"kind": "tuple", "items": [row]}
        empty = {"kind": "dict", "keys": [], "items": []}
        values = {"kind": "tuple", "items": [args, empty]}
        content["data"]["definition"] = {"kind": "values", "values": values}
        content["digest"] = digest_of(content)
        path.write_text(json.dumps(content))
        got = project.taut("replay", "fn.json", status=2)
        assert phrase in got.stderr
        assert "Traceback" not in got.stderr
