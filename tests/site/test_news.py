"""What another PyTorch changes, as the text of an issue; and whether there is another one."""

from __future__ import annotations

import subprocess
import sys

from tclab.errors import TclabError
from tclab.site.pages.reference import newer_torch, news
from tclab.site.versions import name_lists

WRONG = '"""Say hello."""\n\ntold = 1\n# claim: two\nassert told == 2\n'
PAGE = """# Home

After this page you can count.

[There are two.](claim:start/hello#two)

```python exec="1" html="1"
from tclab.site.pages import snippet
snippet("start/hello")
```
"""


def test_a_sentence_that_became_false_is_named(project) -> None:
    project.write("snippets/start/hello.py", WRONG)
    project.write("docs/index.md", PAGE)
    moved = project.write("moved.txt", "torch._inductor.one (told apart) is gone\n")
    flips = project.write("flips.txt", "[inductor] start/hello#two flips\n")
    done = subprocess.run(
        [sys.executable, "-m", "tclab.site.pages.reference.news", "--moved", str(moved),
         "--flips", str(flips)],
        cwd=project.root, env=project.environment(), text=True, capture_output=True,
        timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    head, false, flipped, names, private = done.stdout.split("\n## ")
    assert head.startswith("# PyTorch ")
    assert "There are two." in false and "docs/index.md:5" in false
    assert flipped.endswith("full caches: 1\n\n- [inductor] start/hello#two flips\n")
    assert names.startswith("Names added and dropped: none")
    assert private == (
        "Private names that moved: 1\n\n- torch._inductor.one (told apart) is gone\n"
    )


def test_a_part_without_news_says_so() -> None:
    text = news.issue_text(
        "PyTorch 3.0", [TclabError("docs/a.md:1", "is false", "mend it")], [], "", ""
    )
    assert "no longer hold: 1\n\n- docs/a.md:1: is false\n  next: mend it\n" in text
    assert text.endswith("Private names that moved: none\n\n")


def test_names_are_compared_with_the_version_before(tmp_path, monkeypatch) -> None:
    known = {"2.13": {"operators": frozenset("ab")}, "2.14": {"operators": frozenset("abc")}}
    name_lists.write_lists(tmp_path / "docs" / name_lists.FOLDER, known)
    here = {"operators": frozenset("bcd")}
    monkeypatch.setattr(news.write_names, "collect_names", lambda root: (here, "2.15"))
    assert list(news.name_changes(tmp_path, "")) == [
        "- operators: 1 new in 2.15, against 2.14: `d`",
        "- operators: 1 gone in 2.15, against 2.14: `a`",
    ]
    assert next(iter(news.name_changes(tmp_path, "2.13"))).endswith("against 2.13: `c`, `d`")


#: What `pip index versions torch --pre` prints.
PIP = "torch ({0})\nAvailable versions: {0}, 2.15.0+cpu, 2.9.1+cpu\n  INSTALLED: 2.13.0\n"


def test_the_newest_of_releases_candidates_and_nightlies() -> None:
    release, nightly = PIP.format("2.15.1+cpu"), PIP.format("2.17.0.dev20261120+cpu")
    candidate = PIP.format("2.16.0+cpu")
    assert newer_torch.find_newer({"a": release, "b": ""}, "2.15") == ("", "")
    assert newer_torch.find_newer({"a": release, "c": nightly}, "2.15") == (
        "2.17.0.dev20261120",
        "c",
    )
    found = {"a": release, "b": candidate, "c": nightly}
    assert newer_torch.find_newer(found, "2.15") == ("2.16.0", "b")
    assert newer_torch.find_newer(found, "2.9")[1] == "a"
