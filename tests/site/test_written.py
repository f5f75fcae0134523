"""The names of a PyTorch are written from the runs of the snippets that the reference shows."""

from __future__ import annotations

import pytest

from tclab.site.pages.reference import write_names
from tclab.site.versions import name_lists
from tclab.system import machine
from tests.lab import Lab

PAGE = """# Reference

```python exec="1" html="1"
from tclab.site.pages import entries
entries("reference/names", "names")
```

```python
entries("not/run", "left out")
```
"""
SHOWN = """
    import tclab
    tclab.show(tclab.Table("Names", "names", ("name",), [("aten.sin",), ("aten.cos",)]))
"""


@pytest.fixture
def shown(lab: Lab, monkeypatch) -> Lab:
    """A project with a page that shows a table of names, whose snippet has not run."""
    monkeypatch.setenv("TCLAB_ROOT", str(lab.root))
    page = lab.root / "docs" / "reference" / "index.md"
    page.parent.mkdir(parents=True)
    page.write_text(PAGE, encoding="utf-8")
    return lab


def test_each_shown_table_is_written_beside_the_other_versions(shown: Lab, capsys) -> None:
    snippet = shown.write("reference/names", SHOWN)
    assert write_names.main() == 1
    assert "reference/names: no fresh run" in capsys.readouterr().err

    assert shown.run(snippet)["reference/names"].ok
    folder = shown.root / "docs" / name_lists.FOLDER
    name_lists.write_lists(folder, {"1.0": {"names": frozenset({"aten.sin", "aten.gone"})}})
    assert write_names.main() == 0
    here = machine.here().version.short
    assert capsys.readouterr().out == f"{here}: 2 names of 1 tables\n"
    assert (folder / f"{here}.txt").read_text() == "names + aten.cos\nnames - aten.gone\n"
    assert name_lists.read_lists(folder)[here]["names"] == {"aten.sin", "aten.cos"}


def test_defaults_and_comments_of_the_settings_are_written_with_them(shown: Lab, capsys) -> None:
    page = shown.root / "docs" / "reference" / "index.md"
    page.write_text(PAGE.replace("reference/names", "reference/every_setting"), encoding="utf-8")
    code = f"""{SHOWN}
    tclab.show(tclab.Table("Defaults", "defaults", ("is",), [("dynamo.a = 8",)]))
    tclab.show(tclab.Table("Comments", "comments", ("is",), [("dynamo.a = How often.",)]))
    """
    assert shown.run(shown.write("reference/every_setting", code))["reference/every_setting"].ok
    assert write_names.main() == 0
    here = machine.here().version.short
    written = name_lists.read_lists(shown.root / "docs" / name_lists.FOLDER)[here]
    assert written[name_lists.DEFAULTS] == {"dynamo.a = 8"}
    assert written[name_lists.COMMENTS] == {"dynamo.a = How often."}


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("pass", "reference/names shows no 'names'"),
        ("import tclab; tclab.show('a text', name='names')", "'names' is no table of names"),
    ],
)
def test_a_table_that_is_not_there_drops_no_name(shown: Lab, capsys, code, message) -> None:
    assert shown.run(shown.write("reference/names", code))["reference/names"].ok
    assert write_names.main() == 1
    assert message in capsys.readouterr().err
    assert not (shown.root / "docs" / name_lists.FOLDER).exists()
