"""`tclab.show`: what things become, and where they go."""

from __future__ import annotations

import sys
import types

import pytest

import tclab
from tclab import display
from tclab.model import Listing, Table, Text


@pytest.fixture
def shown():
    got = []
    display.set_sink(got.append)
    yield got
    display.set_sink(None)


def test_a_notebook_completes_the_names_for_users_alone():
    names = [name for name in dir(tclab) if not name.startswith("_")]
    assert names == sorted(tclab.__all__)
    assert all(hasattr(tclab, name) for name in names)


def test_names_come_from_name_title_kind(shown):
    tclab.show("a", name="My Name")
    tclab.show("b", title="Some Title!")
    tclab.show("c")
    tclab.show(Text("Own title", "own", "d"))
    tclab.show(Text("Own title", "own", "e"), title="Other")
    assert [(a.name, a.title) for a in shown] == [
        ("my-name", ""),
        ("some-title", "Some Title!"),
        ("text", ""),
        ("own", "Own title"),
        ("own", "Other"),
    ]


def test_things_become_artifacts(shown):
    class Frame:
        columns = ("a", "b")

        def itertuples(self, index):
            return iter([(1, "x"), (2, None)])

    tclab.show([Text(text="one"), Text(text="two")])
    tclab.show([])
    tclab.show({"a": 1, 2: object})
    tclab.show([{"a": 1}, {"b": 2.5}])
    tclab.show(Frame())
    tclab.show(12)
    assert [a.text for a in shown[:3]] == ["one", "two", "(none)"]
    assert shown[3].rows == (("a", 1), ("2", "<class 'object'>"))
    assert (shown[4].columns, shown[4].rows) == (("a", "b"), ((1, None), (None, 2.5)))
    assert shown[5] == Table(name="table", columns=("a", "b"), rows=((1, "x"), (2, None)))
    assert shown[6].text == "12"


def test_a_capture_shows_its_overview(shown):
    class Capture:
        @property
        def overview(self):
            return Table("Overview", "overview", ("a",), ((1,),))

    tclab.show(Capture())
    assert shown[0].name == "overview"


def test_a_graph_module_becomes_code(shown):
    class GraphModule:
        def print_readable(self, *, print_output):
            assert not print_output
            return "def forward(): ..."

    class Mine(GraphModule):
        pass

    tclab.show(Mine())
    assert shown[0] == Listing("Mine", "mine", "def forward(): ...", "python")


def test_a_terminal_gets_text(capsys):
    tclab.show("plain words", title="A title")
    assert "plain words" in capsys.readouterr().out


def test_a_notebook_gets_html(monkeypatch):
    got = []
    shell = types.SimpleNamespace(config={"IPKernelApp": {}})
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    sub = types.ModuleType("IPython.display")
    sub.HTML, sub.display = (lambda html: ("html", html)), got.append
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", sub)
    tclab.show("<b>bold</b>", title="T")
    ((kind, html),) = got
    assert kind == "html"
    assert "&lt;b&gt;bold" in html


def test_the_same_name_twice_gets_a_number(lab):
    run = lab.one("import tclab\nfor i in range(3):\n    tclab.show(str(i), name='x')")
    assert [(a.name, a.text) for a in run.artifacts] == [("x", "0"), ("x-2", "1"), ("x-3", "2")]
