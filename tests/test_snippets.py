"""Reading snippets: what the file says, and what is wrong with it."""

from __future__ import annotations

import os

import pytest

from tclab.errors import SnippetError
from tclab.site import snippets
from tclab.site.store import keys
from tclab.system.project import NoProject, project_root


def put(lab, text: str, name: str = "t/x"):
    path = lab.root / "snippets" / f"{name}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_a_snippet_is_what_its_file_says(lab):
    path = put(
        lab,
        '"""A title.\n\nA *caption*.\n"""\n'
        "# tclab: needs=cuda,triton timeout=300 memory=8192 raises=a.b.C alone=true\nx = 1\n",
    )
    found = snippets.read(path, lab.root)
    assert (found.name, found.topic) == ("t/x", "t")
    assert (found.title, found.caption) == ("A title.", "A *caption*.")
    assert found.needs == {"cuda", "triton"}
    assert (found.timeout, found.memory, found.raises, found.alone) == (300, 8192, "a.b.C", True)
    assert found.source == path.read_text()


def test_the_header_is_optional(lab):
    found = snippets.read(put(lab, '"""T."""'), lab.root)
    assert (found.needs, found.timeout, found.raises, found.alone) == (set(), 300, "", False)


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("x = 1", ":1", "no docstring"),
        ('"""  """', ":1", "no docstring"),
        ('"""T."""\nx = (', ":2", "not valid Python"),
        ('"""T."""\n# tclab: needs=tpu', ":2", "tpu is none of cuda, cxx, packages, triton"),
        ('"""T."""\n# tclab: colour=red', ":2", "unknown setting 'colour=red'"),
        ('"""T."""\n# tclab: timeout', ":2", "unknown setting 'timeout'"),
        ('"""T."""\n# tclab: timeout=soon', ":2", "could not convert"),
        ('"""T."""\n# tclab: memory=-1', ":2", "positive"),
        ('"""T."""\n# tclab: timeout=nan', ":2", "positive"),
        ('"""T."""\n# tclab: raises=1x', ":2", "dotted name"),
        ('"""T."""\n# tclab: alone=yes', ":2", "true or false"),
        ('"""T."""\n# tclab: timeout=1\n# tclab: memory=1', ":3", "second"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(lab, text, place, says):
    with pytest.raises(SnippetError) as caught:
        snippets.read(put(lab, text), lab.root)
    assert caught.value.place == f"snippets/t/x.py{place}"
    assert says in caught.value.cause
    assert caught.value.next_step


def test_finding_leaves_includes_out(lab):
    put(lab, '"""T."""', "b/one")
    put(lab, '"""T."""', "a/two")
    put(lab, "x = 1", "a/_shared")
    assert [s.name for s in snippets.find(lab.root)] == ["a/two", "b/one"]


def test_a_name_that_is_not_there_is_an_error_with_a_near_one(lab):
    put(lab, '"""T."""', "a/print_breaks")
    assert snippets.get("a/print_breaks", lab.root).name == "a/print_breaks"
    with pytest.raises(SnippetError, match="did you mean a/print_breaks"):
        snippets.get("a/print_brakes", lab.root)
    for name in ("../a/print_breaks", "a/_x", "", "/etc/passwd"):
        with pytest.raises(SnippetError):
            snippets.get(name, lab.root)


def test_includes_are_followed(lab):
    put(lab, "import _b\n", "t/_a")
    put(lab, "from os import path\nimport json", "t/_b")
    (lab.root / "snippets/t/_pkg").mkdir()
    put(lab, "", "t/_pkg/__init__")
    put(lab, "import _a", "t/_pkg/deep")
    found = snippets.read(put(lab, '"""T."""\ndef f():\n    from _pkg import deep'), lab.root)
    names = [p.relative_to(lab.root / "snippets/t").as_posix() for p in found.includes]
    assert names == ["_a.py", "_b.py", "_pkg/__init__.py", "_pkg/deep.py"]


def test_the_key_follows_the_snippet_and_its_includes(lab):
    include = put(lab, "x = 1", "t/_a")
    path = put(lab, '"""T."""\nimport _a')
    key = keys.source_key(snippets.read(path, lab.root))
    include.write_bytes(b"x = 2")
    assert keys.source_key(snippets.read(path, lab.root)) != key
    include.write_bytes(b"x = 1")
    assert keys.source_key(snippets.read(path, lab.root)) == key
    path.write_bytes(b'"""T."""\r\nimport _a')
    assert keys.source_key(snippets.read(path, lab.root)) == key


def test_the_project_is_found_upwards(lab, monkeypatch, tmp_path):
    monkeypatch.delenv("TCLAB_ROOT", raising=False)
    put(lab, '"""T."""')
    assert project_root(lab.root / "snippets" / "t") == lab.root
    with pytest.raises(NoProject):
        project_root(tmp_path)
    monkeypatch.setenv("TCLAB_ROOT", str(lab.root))
    assert project_root() == lab.root
    for wrong in (tmp_path, tmp_path / "gone", lab.root / "mkdocs.yml"):
        monkeypatch.setenv("TCLAB_ROOT", str(wrong))
        with pytest.raises(NoProject, match=f"TCLAB_ROOT={wrong}: is no folder with"):
            project_root()


@pytest.mark.parametrize("character", ["\f", "\x1c", "\x85", "\u2028"])
def test_the_header_is_told_by_the_line_that_python_counts(lab, character):
    path = put(lab, f'"""T.\n{character}"""\n# tclab: colour=red')
    with pytest.raises(SnippetError) as caught:
        snippets.read(path, lab.root)
    assert caught.value.place == "snippets/t/x.py:3"


def test_a_byte_order_mark_is_no_part_of_a_file(lab):
    put(lab, "\ufeffx = 1\n", "t/_a")
    found = snippets.read(put(lab, '\ufeff"""T."""\nimport _a\n'), lab.root)
    assert found.source == '"""T."""\nimport _a\n'
    assert [path.name for path in found.includes] == ["_a.py"]


def make(lab, name: str, what: str):
    """Something that is no snippet, and a snippet beside it."""
    put(lab, '"""T."""', "t/good")
    path = lab.root / "snippets" / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    {
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "link": lambda: path.symlink_to("nowhere.py"),
        "loop": lambda: path.symlink_to(path.name),
        "syntax": lambda: path.write_text('"""T."""\nx = ('),
        "bytes": lambda: path.write_bytes(b'"""T."""\n# \xff'),
        "helper": lambda: (
            path.write_text('"""T."""\nimport _h'),
            path.with_name("_h.py").write_bytes(b"# \xff"),
        ),
        "snippet": lambda: path.write_text('"""T."""'),
    }[what]()


FAULTS = [
    ("t/x", "pipe", "snippets/t/x.py: is no file: a pipe, a socket or a device", "remove it"),
    ("t/x", "folder", "snippets/t/x.py: is no file: a folder", "remove it"),
    (
        "t/x",
        "link",
        "snippets/t/x.py: is no file: a link to nowhere.py, where",
        "put a file",
    ),
    ("t/x", "loop", "snippets/t/x.py: is no file: a link to x.py, where none is", "put a file"),
    ("t/x", "syntax", "snippets/t/x.py:2: not valid Python", "mend it"),
    ("t/x", "bytes", "snippets/t/x.py: cannot be read: 'utf-8' codec can't", "save it as UTF-8"),
    ("t/x", "helper", "snippets/t/_h.py: cannot be read: 'utf-8' codec can't", "save it as UTF-8"),
    ("x", "snippet", "snippets/x.py: a snippet lies in the folder of its topic", "<topic>/x.py"),
    ("t/deep/x", "snippet", "snippets/t/deep/x.py: a snippet lies in the", "snippets/<topic>/x.py"),
]


@pytest.mark.parametrize(("name", "what", "says", "step"), FAULTS)
def test_a_file_that_is_no_snippet_is_told_and_stops_no_other(lab, name, what, says, step):
    make(lab, name, what)
    found, unreadable = snippets.read_all(lab.root)
    assert [snippet.name for snippet in found] == ["t/good"]
    assert list(unreadable) == [name]
    assert str(unreadable[name]).startswith(says)
    assert step in unreadable[name].next_step
    with pytest.raises(SnippetError):
        snippets.find(lab.root)


def test_what_is_shared_may_lie_deeper(lab):
    for name in ("_top", "t/_pkg/a", "t/pkg/__init__", "t/pkg/b", "t/.hidden/c"):
        path = lab.root / "snippets" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    put(lab, '"""T."""\nfrom pkg import b')
    found, unreadable = snippets.read_all(lab.root)
    assert [snippet.name for snippet in found] == ["t/x"]
    assert not unreadable


@pytest.mark.parametrize("reads", ["/etc/passwd", "", "a.json,,b.json"])
def test_what_cannot_be_a_file_of_the_project_is_said_with_its_line(lab, reads: str) -> None:
    with pytest.raises(SnippetError, match=r"snippets/t/one\.py:2: reads=.*: must be paths") as why:
        lab.write("t/one", "print(1)", f"reads={reads}")
    assert why.value.next_step == "mend the header line"
