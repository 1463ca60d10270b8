"""Functions that are replaced while the doctor looks closely, wherever a program has imported them to."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tautograd._stand_ins.everywhere import Functions


@pytest.fixture
def modules(monkeypatch):
    """`load("name", key=value)` makes a module that is loaded from then on."""

    def load(name, **held):
        made = ModuleType(name)
        vars(made).update(held)
        monkeypatch.setitem(sys.modules, name, made)
        return made

    return load


def make(original):
    return lambda: ("seen", original())


def test_on_and_off_wherever_it_was_imported_to(modules):
    library = modules("a_library", loss=lambda: 1)
    user = modules("a_user", own_name=library.loss)
    original = library.loss
    switch = Functions()
    switch.add(library, "loss", make)
    assert library.loss is original
    switch.on()
    assert library.loss() == user.own_name() == ("seen", 1)
    later = modules("loaded_while_on", loss=library.loss)
    switch.off()
    assert library.loss is user.own_name is later.loss is original
    modules("loaded_while_off", loss=library.loss)
    switch.on()
    assert sys.modules["loaded_while_off"].loss() == later.loss() == ("seen", 1)
    switch.off()
    assert sys.modules["loaded_while_off"].loss is library.loss is original


def test_what_the_user_puts_there_stays(modules):
    library = modules("a_library", loss=lambda: 1)
    switch = Functions()
    switch.add(library, "loss", make)
    switch.add(library, "no_such_loss", make)
    switch.on()
    library.loss = mine = lambda: 2
    switch.off()
    assert library.loss is mine
    switch.on()
    assert library.loss is mine
