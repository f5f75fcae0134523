"""Build and check one page: ``python -m tclab.site.pages.one_page pipeline/guards``.

The exit status is 0, or 1 if the page has an error, or 2 if there is no such page.
"""

from __future__ import annotations

import difflib
import logging
import sys
import time
from pathlib import Path
from typing import Any

from mkdocs.commands import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort
from mkdocs.utils.yaml import yaml_load

from tclab.cli import terminal
from tclab.errors import BadRequest, PageError, TclabError
from tclab.site.pages import state
from tclab.site.pages.one_page import page_book, rules
from tclab.site.store.local_runs import Store
from tclab.system.project import project_root

#: The plugin that executes the blocks; only the whole site needs the other plugins.
_PLUGIN = "markdown-exec"


def main(page_words: list[str]) -> int:
    """Build the page that the words name; print its path and its errors."""
    start = time.monotonic()
    try:
        root = project_root()
        page = find_page(root / "docs", page_words)
    except TclabError as error:
        terminal.print_error(error)
        return 2
    _set_up_log()
    config = load_configuration(root, page)
    try:
        build.build(config)
    except Abort:  # MkDocs has logged the reason
        return 1
    problems = page_problems(root, page, Path(config.site_dir))
    for problem in problems:
        terminal.print_error(problem)
    book = state.build().book
    text = book.pages[f"docs/{page}"]
    if missing := page_book.without_runs(book, text):
        print(f"Not run, as the page shows nothing of it: {', '.join(missing)}")
        print(f"  next, to check what rests on it, too: tclab run {' '.join(missing)}")
    counts = f"{len(text.blocks)} blocks, {len(text.sentences)} bound sentences"
    print(f"docs/{page}: {counts}, {len(text.values)} values; {time.monotonic() - start:.1f} s")
    print(f"It lies in {_html_path(Path(config.site_dir), page)}; `make site` has the other pages.")
    return 1 if problems else 0


def find_page(docs: Path, page_words: list[str]) -> str:
    """Return the path below `docs` of the page that `page_words` name. Raises BadRequest unless
    exactly one page matches.
    """
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    place, step = f"PAGE={' '.join(page_words)}", "make page PAGE=pipeline/guards"
    if len(page_words) != 1 or not page_words[0]:
        raise BadRequest(place, "name one page, as its path below docs/", step)
    word = page_words[0].removeprefix("docs/").removesuffix(".md")
    if f"{word}.md" in pages:
        return f"{word}.md"
    if (docs / f"{word.removesuffix('.ipynb').removesuffix('.py')}.py").is_file():
        raise BadRequest(place, "a lab's page is built with the site only", "make site")
    within = [page for page in sorted(pages) if word in page]
    if len(within) == 1:
        return within[0]
    near = within or difflib.get_close_matches(f"{word}.md", sorted(pages), n=3, cutoff=0.5)
    step = f"did you mean {' or '.join(near[:5])}?" if near else "ls docs/ shows what there is"
    raise BadRequest(
        place, "names more than one page" if within else "docs/ has no such page", step
    )


def load_configuration(root: Path, page: str) -> Any:
    """Load the site's MkDocs configuration, without its address and most plugins."""
    path = root / "mkdocs.yml"
    with path.open(encoding="utf-8") as file:
        plugins = [p for p in yaml_load(file)["plugins"] if _PLUGIN in p]
    hook = str(Path(__file__).with_name("hook.py"))
    site = str(Store.of_project(root).path / "page")
    config = load_config(str(path), plugins=plugins, hooks=[hook], site_url="", site_dir=site,
                         strict=True)  # fmt: skip
    config.extra["one_page"] = page
    return config


def page_problems(root: Path, page: str, site: Path) -> list[PageError]:
    """Return the errors in the page's Markdown and in its HTML."""
    text = state.build().book.pages[f"docs/{page}"]
    html = _html_path(site, page).read_text(encoding="utf-8")
    return [
        *rules.text_problems(text),
        *rules.failing_examples(text, root),
        *rules.private_folders(text, html, root),
    ]


def _html_path(site: Path, page: str) -> Path:
    return site / Path(page).with_suffix(".html")


def _set_up_log() -> None:
    """Print MkDocs' warnings and this package's messages, but not the list of excluded pages."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logging.getLogger("mkdocs").addHandler(handler)
    logging.getLogger("mkdocs").setLevel(logging.WARNING)
    logging.getLogger("mkdocs.plugins.tclab").setLevel(logging.INFO)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
