"""`taut doctor --live` and `taut view --live`: a page for this machine alone, of what runs now."""

from __future__ import annotations

import argparse
import http.client
import json
import re
import socket
import struct
import time
from urllib.parse import urlsplit

import numpy as np
import pytest

import tautograd
from tautograd._cli.doctor.live import serving
from tautograd._cli.local_page import LocalPage, Refused
from tautograd._cli.view_live import Live, leaves_of
from tautograd._view.view import view


def ask(url, path, method="GET", body=None, **headers):
    """Status and text of a request, whose headers may be as wrong as one likes."""
    found = urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", found.port, timeout=10)
    connection.request(method, path, body, {"Host": found.netloc, **headers})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


@pytest.fixture
def page():
    changes = []

    def change(wanted):
        if "value" not in wanted:
            raise Refused("no value")
        changes.append(wanted)

    made = LocalPage(lambda: "<p>page</p>", lambda: {"version": len(changes)}, change)
    made.start()
    yield made
    made.stop()


def test_a_page_is_for_this_machine_and_this_address_alone(page):
    start = urlsplit(page.url).path
    assert urlsplit(page.url).hostname == "127.0.0.1"
    assert ask(page.url, f"{start}page") == (200, "<p>page</p>")
    assert ask(page.url, "/page")[0] == 404
    assert ask(page.url, "/")[0] == 404
    assert ask(page.url, f"{start}page", Host="example.org")[0] == 403
    assert ask(page.url, f"{start}page", Origin="http://example.org")[0] == 403
    assert ask(page.url, f"{start}../page")[0] == 404


def test_changes_are_taken_or_refused_in_words(page):
    path = f"{urlsplit(page.url).path}change"
    assert ask(page.url, path, "POST", json.dumps({"value": 1}))[0] == 200
    assert json.loads(ask(page.url, f"{urlsplit(page.url).path}state")[1]) == {"version": 1}
    for body in ("{}", "[]", "{", ""):
        status, text = ask(page.url, path, "POST", body)
        assert status == 400
        assert json.loads(text)["error"]


def test_whoever_reaches_the_port_writes_nothing_to_the_terminal(page, capfd):
    found = urlsplit(page.url)
    path = f"{found.path}change"
    for body in ("[" * 100_000, "{\0}\0", "9" * 5000):  # too deep, UTF-16, a number without end
        assert ask(page.url, path, "POST", body)[0] == 400
    head = f"Host: {found.netloc}\r\n"
    for request in (
        f"GET //[ HTTP/1.1\r\n{head}\r\n",
        f"POST {path} HTTP/1.1\r\n{head}Content-Length: {'9' * 5000}\r\n\r\n",
        f"GET {path} HTTP/1.1\r\n{head}",
    ):
        with socket.create_connection(("127.0.0.1", found.port), timeout=10) as connection:
            connection.sendall(request.encode())
            reset = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
    assert ask(page.url, f"{found.path}page")[0] == 200  # after which the threads of those are done
    time.sleep(0.2)
    assert capfd.readouterr().err == ""


def test_the_page_around_may_show_its_own_pages_and_nothing_else(page):
    found = urlsplit(page.url)
    connection = http.client.HTTPConnection("127.0.0.1", found.port, timeout=10)
    connection.request("GET", found.path)
    policy = connection.getresponse().headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "frame-src 'self'" in policy
    assert "http" not in policy


def test_the_doctor_shows_the_run_so_far(capsys):
    torch = tautograd
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.doctor() as doctor, serving(doctor, "."):
        url = re.search(r"http://\S+", capsys.readouterr().err)[0]
        start = urlsplit(url).path
        for step in range(1, 4):
            model(torch.ones(3, 2)).sum().backward()  # nothing is cleared
            optimizer.step()
            state = json.loads(ask(url, f"{start}state")[1])
            assert state["said"].startswith(f"step {step},")
            assert not state["ended"]
        status, text = ask(url, f"{start}page")
        assert status == 200
        assert "TG101" in text


PROGRAM = """
import tautograd as torch
torch.manual_seed(0)
layer = torch.nn.Linear(2, 1)
x = torch.tensor([[1.0, 2.0]])
loss = layer(x).pow(2).sum()
loss.backward()
"""


def live(tmp_path, text=PROGRAM):
    script = tmp_path / "program.py"
    script.write_text(text, encoding="utf-8")
    wanted = argparse.Namespace(
        step=1, no_source=False, as_torch=False, is_module=False, target=[str(script)]
    )
    return Live(wanted, tmp_path)


@pytest.mark.slow
def test_a_changed_leaf_runs_the_script_again(tmp_path):
    served = live(tmp_path)
    assert served.run() is None
    first = served.state()
    assert [leaf["name"] for leaf in first["leaves"]] == ["weight", "bias"]
    served.change({"leaf": 0, "entry": 1, "value": 3.5})
    after = served.state()
    weight, bias = (np.array(leaf["values"]) for leaf in after["leaves"])
    assert weight.tolist() == [first["leaves"][0]["values"][0], 3.5]
    loss = float(weight[0] + 2 * 3.5 + bias[0]) ** 2
    told = float(re.search(r"= ([\d.]+) – taut view", served.page())[1])
    assert told == pytest.approx(loss, rel=1e-3)
    assert after["version"] == first["version"] + 1
    for wrong in ({"leaf": 7, "entry": 0, "value": 1}, {"leaf": 0, "entry": 9, "value": 1}, {}):
        with pytest.raises(Refused):
            served.change(wrong)
    served.change({"reset": True})
    assert served.state()["leaves"] == first["leaves"]


def test_leaves_are_those_that_entered_the_graph():
    w = tautograd.tensor([1.0, 2.0], requires_grad=True)

    def program():
        b = tautograd.nn.Parameter(tautograd.zeros(2))
        tautograd.nn.init.uniform_(b)  # writing into it is no use of it
        return (w * 2 + b).sum()

    found = leaves_of(view(program).graph)
    assert [(leaf["number"], leaf["name"], leaf["size"]) for leaf in found] == [
        (0, "w", 2),
        (1, "b", 2),
    ]
