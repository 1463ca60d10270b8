"""Functions that are replaced while the doctor looks closely, wherever a program has imported them to."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import ModuleType

import pytest

from tautograd._stand_ins import everywhere
from tautograd._stand_ins.everywhere import Functions, in_one_search


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


@pytest.fixture
def searches(monkeypatch):
    """A list that grows by one with each search through the loaded modules."""
    found = []
    search = everywhere._search
    monkeypatch.setattr(everywhere, "_search", lambda: found.append(search()))
    return found


@pytest.mark.parametrize("is_postponed", [True, False])
@pytest.mark.parametrize("is_on", [True, False])
def test_ends_without_a_search_when_nobody_took_a_stand_in(modules, searches, is_on, is_postponed):
    library = modules("a_library", loss=lambda: 1, other=lambda: 2)
    user = modules("a_user", own_name=library.loss)
    originals, known = (library.loss, library.other), dict(everywhere._known)
    switch = Functions()
    switch.add(library, "loss", make)
    switch.add(library, "other", make)
    switch.on()
    assert user.own_name() == ("seen", 1)
    library.other = None  # a place that is known, and left
    if not is_on:
        switch.off()
    searches.clear()
    with in_one_search() if is_postponed else nullcontext():
        switch.end()
    assert not searches
    assert (library.loss, user.own_name, library.other) == (originals[0], originals[0], None)
    assert everywhere._known == known


@pytest.mark.parametrize("is_left", [True, False])
def test_a_stand_in_that_was_taken_is_found_at_the_end(modules, searches, is_left):
    library = modules("a_library", loss=lambda: 1)
    user = modules("a_user", own_name=library.loss)
    original = library.loss
    searched = modules("searched_before", loss=None)
    switch = Functions()
    switch.add(library, "loss", make)
    switch.on()
    searched.loss = user.own_name
    if is_left:  # as many references as before
        del user.own_name
    searches.clear()
    switch.end()
    assert searches
    assert library.loss is searched.loss is original


def test_two_who_end_in_any_order_leave_nothing(modules):
    library = modules("a_library", loss=lambda: 1)
    original = library.loss
    first, second = Functions(), Functions()
    for switch in (first, second):
        switch.add(library, "loss", make)
        switch.on()
    taken = modules("taken_of_two", loss=library.loss)
    first.end()
    again = modules("taken_of_one", loss=library.loss)
    assert taken.loss() == again.loss() == ("seen", 1)
    second.end()
    assert library.loss is taken.loss is again.loss is original


def test_several_share_a_search(modules, searches):
    library = modules("a_library", loss=lambda: 1, other=lambda: 2)
    original = library.loss
    switches = [Functions(), Functions()]
    with in_one_search():
        for switch, name in zip(switches, ("loss", "other"), strict=True):
            switch.add(library, name, make)
            switch.on()
        assert library.loss is original
    assert len(searches) == 1
    assert (library.loss(), library.other()) == (("seen", 1), ("seen", 2))
    for switch in switches:
        switch.end()
    assert len(searches) == 1
