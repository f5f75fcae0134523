"""A whole build: what it writes, that it repeats itself, that it asks no other host."""

from __future__ import annotations

import filecmp
import hashlib
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tclab.site import snippets
from tclab.site.store import keys, recordings
from tclab.site.store.local_runs import Store
from tclab.system import machine

HOSTILE = '''"""Hostile output."""
import sys
import tclab

text = "</script><script>alert(1)</script> ``` ```````` --8<-- \\x1b[31m ~~~ # h <tl.constexpr>"
tclab.show(text, title="</title><b>", name="hostile")
sys.stdout.buffer.write(text.encode() + b" \\xff\\xfe\\n")
'''


def digests(folder: Path) -> dict[str, str]:
    files = (p for p in sorted(folder.rglob("*")) if p.is_file())
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_page_has_code_output_stamp_and_downloads(project) -> None:
    done = project.build()
    assert done.returncode == 0, done.stdout
    html = project.html()
    assert "Say hello." in html and "The caption of a snippet" in html
    assert "hello from a run" in html and "printed by hello" in html
    assert html.count('class="tclab-stamp') == 1  # of the printed text and the artifact
    assert f"PyTorch {machine.here().torch}" in html
    script = project.root / "site/downloads/start/hello.py"
    assert script.read_bytes() == (project.root / "snippets/start/hello.py").read_bytes()
    notebook = json.loads((project.root / "site/downloads/start/hello.ipynb").read_text())
    assert "hello from a run" in "".join(notebook["cells"][-1]["source"])
    assert 'href="downloads/start/hello.py" download' in html


def test_the_toc_has_the_page_s_headings_and_no_others(project) -> None:
    project.page('snippet("start/hello")')
    project.write("docs/index.md", (project.root / "docs/index.md").read_text() + "\n## Second\n")
    assert project.build().returncode == 0
    headings = re.findall(r'<h[1-6] id="([^"]+)"', project.html())
    assert headings == ["home", "second"]


def test_two_builds_from_the_same_runs_are_byte_identical(project) -> None:
    assert project.build().returncode == 0
    first = digests(project.root / "site")
    assert project.build(PYTHONHASHSEED="7", TZ="Asia/Tokyo").returncode == 0
    assert digests(project.root / "site") == first
    shutil.rmtree(project.root / ".tclab/rendered")  # nor does it matter what was remembered
    (project.root / ".tclab/sources.json").unlink()
    assert project.build().returncode == 0
    assert digests(project.root / "site") == first


def test_a_remembered_piece_that_was_damaged_is_made_again(project) -> None:
    assert project.build().returncode == 0
    first = digests(project.root / "site")
    pieces = sorted((project.root / ".tclab/rendered").glob("*/*.html"))
    damage = [
        lambda b: b[:30],
        lambda b: b[:-30],
        lambda b: b"",
        lambda b: b.replace(b"a", b"\xff"),
    ]
    assert len(pieces) >= 2
    for spoiled in damage:
        for piece in pieces:
            piece.write_bytes(spoiled(piece.read_bytes()))
        assert project.build().returncode == 0
        assert digests(project.root / "site") == first


def test_the_date_of_the_site_is_that_of_its_newest_run(project) -> None:
    assert project.build().returncode == 0
    stored = Store(project.root / ".tclab").load("start/hello")
    assert stored is not None
    stamp = (project.root / "site/sitemap.xml.gz").read_bytes()[4:8]
    day = machine.here().date
    assert stored.provenance.date == day
    assert int.from_bytes(stamp, "little") % 86400 == 0


def test_nothing_stale_runs_nothing(project) -> None:
    assert project.build().returncode == 0
    run = project.root / ".tclab/runs/start/hello/run.json"
    before = run.stat().st_mtime_ns
    assert project.build().returncode == 0
    assert run.stat().st_mtime_ns == before
    source = project.root / "snippets/start/hello.py"
    source.write_text(source.read_text() + "\nprint('changed')\n")
    assert project.build().returncode == 0
    assert run.stat().st_mtime_ns != before
    assert "changed" in project.html()


def test_hostile_output_stays_text(project) -> None:
    project.write("snippets/start/hello.py", HOSTILE)
    assert project.build().returncode == 0
    shown = Visible(project.html())
    hostile = "</script><script>alert(1)</script> ``` ```````` --8<--"
    assert shown.text.count(hostile) == 3  # in the code, printed, in the artifact
    assert "</title><b>" in shown.text
    assert "alert(1)" not in shown.scripts
    assert "\x1b" not in project.html()


class Visible(HTMLParser):
    """The text of a page, and the text of its scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = self.scripts = ""
        self._in_script = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self._in_script = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts += data
        else:
            self.text += data


class Requests(HTMLParser):
    """What a browser fetches of itself for a page."""

    TAGS = (
        "script",
        "img",
        "iframe",
        "source",
        "video",
        "audio",
        "embed",
        "object",
        "use",
        "input",
    )
    NAMES = ("src", "srcset", "poster", "data", "href", "xlink:href")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.urls: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        values = dict(attrs)
        if tag == "link" and values.get("rel") not in ("canonical", "prev", "next"):
            self.urls.append(values.get("href") or "")
        if tag in self.TAGS:
            self.urls += [values[name] for name in self.NAMES if values.get(name)]
        self.urls += re.findall(r"url\(([^)]+)\)", values.get("style") or "")


def external(folder: Path) -> list[str]:
    """Return every other host that a page or style sheet of the site would ask."""
    found = []
    for path in sorted(folder.rglob("*.html")):
        urls = Requests(path.read_text(encoding="utf-8")).urls
        found += [f"{path.name}: {url}" for url in urls if re.match(r"\s*(\w+:)?//", url)]
    for path in sorted(folder.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        found += re.findall(r"(?:url\(|@import)\s*['\"]?((?:\w+:)?//[^)'\"]+)", text)
    return found


def test_no_request_to_another_host(project) -> None:
    assert project.build().returncode == 0
    assert Requests(project.html()).urls
    assert external(project.root / "site") == []


def test_the_check_for_other_hosts_would_find_them(tmp_path: Path) -> None:
    page = '<script src="https://a.example/x.js"></script><img src="//b.example/y.png">'
    (tmp_path / "x.html").write_text(page + '<a href="https://fine.example">x</a>')
    style = "@import 'https://c.example/z.css'; a{background:url(//d.ex/i)}"
    (tmp_path / "x.css").write_text(style)
    assert len(external(tmp_path)) == 4


def test_the_build_s_process_never_imports_torch(project) -> None:
    """Nor Triton; and it stays small. The build itself refuses too (the next test)."""
    hook = project.root / "src/tclab/site/pages/mkdocs_hook.py"
    hook.write_text(
        hook.read_text()
        + "\n"
        + "def on_post_build(config):\n"
        + "    assert 'torch' not in sys.modules\n"
        # Not ru_maxrss: across exec a process keeps the peak of the one it was forked from.
        + "    status = open('/proc/self/status').read()\n"
        + "    peak = int(status.split('VmHWM:')[1].split()[0]) // 1024\n"
        + "    print('PEAK', peak, 'MODULES', 'triton' in sys.modules)\n"
    )
    done = project.build()
    assert done.returncode == 0, done.stdout
    peak = re.search(r"PEAK (\d+) MODULES False", done.stdout)
    assert peak is not None
    assert int(peak[1]) < 300  # MiB


IMPORTS_TORCH = """
def on_nav(nav, config, files):
    import importlib.util as util
    sys.modules["torch"] = util.module_from_spec(util.find_spec("torch"))
"""


def test_a_build_whose_process_imported_torch_fails(project) -> None:
    hook = project.root / "src/tclab/site/pages/mkdocs_hook.py"
    hook.write_text(hook.read_text() + IMPORTS_TORCH)
    assert "has imported torch" in project.fails()


# --------------------------------------------------------------------------- recordings


H200 = "h200-torch2.11"


@pytest.fixture
def recorded(project):
    """The project with its snippet recorded, and the recording made another machine's."""
    assert project.build().returncode == 0
    run = Store(project.root / ".tclab").load("start/hello")
    assert run is not None
    other = replace(run.provenance, gpu="NVIDIA H200", torch="2.11.0+cu130")
    run = replace(run, provenance=other, environment=H200)
    recordings.write(project.root, H200, run)
    return project


def test_what_runs_show_alike_stands_once_and_the_stamp_names_them_all(recorded) -> None:
    assert recorded.build().returncode == 0
    html = recorded.html()
    assert "H200 · torch 2.11.0" not in html
    assert html.count("run by this build") == 1
    assert "the same on PyTorch 2.11.0, NVIDIA H200, recorded " in html


def test_live_and_recorded_runs_that_differ_stand_in_tabs_each_stamped(recorded) -> None:
    run = Store(recorded.root / ".tclab").load("start/hello")
    assert run is not None
    other = replace(run.provenance, gpu="NVIDIA H200", torch="2.11.0+cu130")
    changed = replace(run, stdout="printed by a GPU\n", provenance=other, environment=H200)
    recordings.write(recorded.root, H200, changed)
    assert recorded.build().returncode == 0
    html = recorded.html()
    assert "H200 · torch 2.11.0" in html and "CPU · torch" in html
    tabs, foot, _ = html.partition('<div class="tclab tclab-stamps"')
    assert foot and tabs.count("recorded as h200-torch2.11") == 1  # in its tab
    assert "run by this build" not in tabs  # an output without a stamp
    assert html.count("recorded as h200-torch2.11") == 2
    assert html.count("run by this build") == 1


def test_a_recording_alone_is_shown_where_the_snippet_cannot_run(recorded) -> None:
    source = recorded.root / "snippets/start/hello.py"
    text = source.read_text().replace("import tclab", "# tclab: needs=cuda\nimport tclab", 1)
    source.write_text(text)
    run = Store(recorded.root / ".tclab").load("start/hello")
    assert run is not None
    key = keys.source_key(snippets.read(source, recorded.root))
    recordings.write(recorded.root, H200, replace(run, source_key=key, environment=H200))
    done = recorded.build(CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 0, done.stdout
    assert "recorded as h200-torch2.11" in recorded.html()
    assert "run by this build" not in recorded.html()


def test_a_stale_recording_fails_the_build(recorded) -> None:
    source = recorded.root / "snippets/start/hello.py"
    source.write_text(source.read_text() + "\n# another line\n")
    output = recorded.fails()
    assert "records/h200-torch2.11/start/hello" in output
    assert "tclab record h200-torch2.11" in output


def test_an_edited_recording_fails_the_build(recorded) -> None:
    folder = recorded.root / "records/h200-torch2.11/start/hello"
    stdout = folder / "stdout.txt"
    stdout.write_text("typed by hand\n")
    assert "records/h200-torch2.11/start/hello" in recorded.fails()


def test_a_truncated_recording_fails_the_build(recorded) -> None:
    path = recorded.root / "records/h200-torch2.11/start/hello/run.json"
    path.write_bytes(path.read_bytes()[:40])
    assert "records/h200-torch2.11/start/hello" in recorded.fails()


def test_a_recording_without_its_snippet_fails_the_build(recorded) -> None:
    folder = recorded.root / "records/h200-torch2.11/start"
    shutil.copytree(folder / "hello", folder / "gone")
    assert "records/h200-torch2.11/start/gone" in recorded.fails()
    assert filecmp.cmp(folder / "hello/run.json", folder / "gone/run.json")
