"""What a page gets for bad input: one clear error, exit code 1, nothing lost."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tclab.errors import PageError
from tclab.site.pages.prose import text
from tclab.site.store import checksums

from .conftest import HELLO

CALL = 'snippet("start/hello")'


def error_at(output: str, place: str) -> str:
    """Return the error of `place`, up to the next one; it must have a next step."""
    assert f"{place}: " in output, output
    text = output.split(f"{place}: ", 1)[1]
    assert "\n  next: " in text, output
    return text


def test_a_missing_snippet_is_named_with_those_near_it(project) -> None:
    project.page(CALL, 'snippet("start/helo")')
    text = error_at(project.fails(), "docs/index.md:6")
    assert "there is no snippet 'start/helo'" in text
    assert "did you mean start/hello?" in text


def test_a_snippet_that_no_page_uses(project) -> None:
    project.write("snippets/start/alone.py", '"""Alone."""\nimport tclab\ntclab.show("x")\n')
    text = error_at(project.fails(), "snippets/start/alone.py:1")
    assert "no page uses this snippet" in text


ALONE = "run it alone: python snippets/start/hello.py"
CLAIM = "what it claims no longer holds: mend the claim or the code"
BY_ITSELF = "let the file end by itself"
ROWS = "records/h200/rows.jsonl"
NEEDS = "add needs=cuda to its '# tclab:' line"


@pytest.mark.parametrize(
    ("code", "said", "step"),
    [
        ("raise ValueError('broken on purpose')", "broken on purpose", ALONE),
        ("assert 1 == 2, 'not so'", "not so", CLAIM),
        ("import sys; sys.exit(0)", "exit", BY_ITSELF),
        ("import os; os._exit(0)", "exit", BY_ITSELF),
        ("raise RuntimeError('Found no NVIDIA driver')", "NVIDIA", NEEDS),
        ("raise RuntimeError('No CUDA GPUs are available')", "No CUDA GPUs", NEEDS),
    ],
)
def test_a_failing_snippet_names_page_line_and_next_step(project, code, said, step) -> None:
    project.write("snippets/start/hello.py", f'"""Hello."""\nimport tclab\n\n{code}\n')
    project.page(CALL)
    text = error_at(project.fails(), "docs/index.md:5")
    assert "snippets/start/hello.py" in text
    assert said in text
    assert f"\n  next: {step}" in text


def test_a_failure_leaves_the_last_site_as_it_was(project) -> None:
    assert project.build().returncode == 0
    before = project.html()
    project.write("snippets/start/hello.py", '"""Hello."""\nimport tclab\nraise ValueError\n')
    project.fails()
    assert project.html() == before


@pytest.mark.parametrize("flags", [(), ("--no-strict",), ("--strict",)])
def test_a_block_that_fails_ends_the_build(project, flags) -> None:
    project.page(CALL, 'entries("start/hello", "greeting")')
    text = error_at(project.fails(*flags), "docs/index.md:6")
    assert "shows no table 'greeting'" in text


def test_a_block_that_shows_nothing(project) -> None:
    project.page(CALL, 'show("start/hello", [])')
    assert project.build().returncode == 0
    page = (project.root / "docs/index.md").read_text(encoding="utf-8")
    alone = 'from tclab.site.pages import show\nshow("start/hello", [])'
    project.write("docs/index.md", f'{page}\n```python exec="1" html="1"\n{alone}\n```\n')
    assert "puts nothing on the page" in error_at(project.fails(), "docs/index.md:9")


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ('python exec="1"', 'without html="1"'),
        ('bash exec="1" html="1"', "must be python, not bash"),
        ("python exec=1 html=1", "cannot read the fence's info string"),
    ],
)
def test_a_fence_that_would_not_run_or_would_be_garbled(project, info: str, said: str) -> None:
    project.page(CALL)
    page = (project.root / "docs/index.md").read_text(encoding="utf-8")
    project.write("docs/index.md", f"{page}\n```{info}\nprint(1)\n```\n")
    assert said in error_at(project.fails(), "docs/index.md:8")


def test_a_name_that_is_not_literal(project) -> None:
    project.page(CALL, 'snippet("start/" + "hello")')
    assert "is no literal" in error_at(project.fails(), "docs/index.md:6")


@pytest.mark.parametrize(("kind", "said"), [("bytes", "utf-8"), ("loop", "symbolic links")])
def test_a_page_that_cannot_be_read(project, kind: str, said: str) -> None:
    page = project.root / "docs/index.md"
    page.unlink()
    if kind == "bytes":
        page.write_bytes(b"# Home\n\n\xff\n")
    else:
        page.symlink_to("index.md")
    with pytest.raises(PageError, match=rf"docs/index\.md: cannot be read: .*{said}"):
        list(text.read_pages(project.root / "docs", project.root))


def test_an_artifact_that_is_not_there(project) -> None:
    project.page(CALL, 'show("start/hello", "greetings")')
    text = error_at(project.fails(), "docs/index.md:6")
    assert "shows no 'greetings'" in text and "it shows: greeting" in text


def test_a_source_reference_that_no_longer_exists(project) -> None:
    page = (project.root / "docs/index.md").read_text(encoding="utf-8")
    project.write("docs/index.md", f"---\ntitle: x\n---\n{page}\nSee `src:torch.compil`.\n")
    text = error_at(project.fails(), "docs/index.md:13")
    assert "src:torch.compil does not exist" in text and "compile" in text


def test_every_problem_is_listed_at_once(project) -> None:
    project.page(CALL, 'show("start/hello", "nope")')
    page = (project.root / "docs/index.md").read_text(encoding="utf-8")
    project.write("docs/index.md", f"{page}\n`src:torch.nope`\n")
    output = project.fails()
    assert "2 problems; the site is not built." in output


def test_a_snippet_that_needs_a_gpu_without_recording(project) -> None:
    source = '"""Needs a GPU."""\n# tclab: needs=cuda\nimport tclab\ntclab.show("x")\n'
    project.write("snippets/start/gpu.py", source)
    project.page(CALL, 'snippet("start/gpu")')
    text = error_at(project.fails(CUDA_VISIBLE_DEVICES=""), "docs/index.md:6")
    assert "needs cuda" in text and "tclab record" in text


@pytest.mark.parametrize("edited", ['{"environment": {"torch": "2.11.0"}}\n{"us": 2}\n', ""])
def test_a_recorded_file_that_was_edited(project, edited: str) -> None:
    head = '{"environment": {"torch": "2.11.0"}}\n'
    path = project.write("records/h200/rows.jsonl", head + '{"us": 1}\n')
    source = '"""Rows."""\n# tclab: reads=records/h200/rows.jsonl\nimport tclab\ntclab.show("x")\n'
    project.write("snippets/start/rows.py", source)
    project.page(CALL, 'snippet("start/rows")')
    assert "has no digest in records/SHA256SUMS" in error_at(project.fails(), ROWS)
    checksums.write(path)
    assert project.build().returncode == 0
    path.write_text(edited)
    text = error_at(project.fails(), ROWS)
    assert "was truncated or edited after it was written" in text
    assert "git checkout records/h200/rows.jsonl" in text


def test_a_site_that_cannot_be_written_whole_is_none(project) -> None:
    """A real refusal of the system to write: RLIMIT_FSIZE of the build's process."""
    assert project.build().returncode == 0
    project.write("docs/long.md", "# Long\n\n" + "word " * 100_000)
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000));"
        "from mkdocs.__main__ import cli; cli(['build', '-q'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=project.root,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    text = error_at(done.stderr, "site/")
    assert "could not be written whole, so that nothing of it is left: File too large" in text
    assert list((project.root / "site").iterdir()) == []


@pytest.mark.parametrize("kind", ["file", "read-only"])
def test_a_site_that_cannot_be_written_at_all_is_said_before_anything_runs(project, kind) -> None:
    site = project.root / "site"
    if kind == "file":
        site.touch()
    elif os.geteuid() == 0:
        pytest.skip("root writes into a folder that is read-only")
    else:
        site.mkdir(mode=0o555)
    assert "\n  next: free some space" in error_at(project.fails(), "site/")
    assert not (project.root / ".tclab" / "runs").exists()


def test_html_in_a_caption_is_text(project) -> None:
    caption = "<script>alert(1)</script> *Formatted*, <b onclick='x()'>bold</b>.\n\n<!-- a -->"
    project.write("snippets/start/hello.py", f'"""Hello.\n\n{caption}\n"""\nprint(1)\n')
    project.page(CALL)
    done = project.build("--strict")
    assert done.returncode == 0, done.stdout
    html = project.html()
    assert "<script>alert(1)" not in html and "<b onclick" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; <em>Formatted</em>" in html


def test_what_a_browser_would_obey_in_a_caption_is_refused(project) -> None:
    caption = "A [link](javascript:alert(1))."
    project.write("snippets/start/hello.py", f'"""Hello.\n\n{caption}\n"""\nprint(1)\n')
    project.page(CALL)
    text = error_at(project.fails(), "snippets/start/hello.py:3")
    assert "the caption leads to 'javascript:alert(1)'" in text


def test_two_snippets_with_one_anchor_are_refused(project) -> None:
    project.write("snippets/start/good_a.py", HELLO)
    project.write("snippets/start_good/a.py", HELLO)
    project.page(CALL, 'snippet("start/good_a")', 'snippet("start_good/a")')
    text = error_at(project.fails(), "snippets/start_good/a.py:1")
    assert "on a page its anchor is #start-good-a, and so is that of start/good_a" in text
    assert "next: rename one of the two" in text


def test_every_snippet_that_cannot_be_read_is_told(project) -> None:
    project.write("snippets/start/one.py", "x = (")
    project.write("snippets/two.py", HELLO)
    output = project.fails()
    assert "2 problems; the site is not built." in output
    assert "not valid Python" in error_at(output, "snippets/start/one.py:1")
    assert "lies in the folder of its topic" in error_at(output, "snippets/two.py")


@pytest.mark.parametrize(
    "address", ['https://x/"><script>alert(1)</script>', "ftp://x/", "http://x/?a"]
)
def test_an_address_of_the_site_that_is_none(project, address) -> None:
    text = error_at(project.fails(SITE_URL=address), "mkdocs.yml")
    assert "is no address of a site" in text
    assert "next: set SITE_URL" in text


def test_an_address_of_the_site_stands_in_its_pages(project) -> None:
    done = project.build("--strict", SITE_URL="https://example.org/lab")
    assert done.returncode == 0, done.stdout
    assert '<link rel="canonical" href="https://example.org/lab/' in project.html()
