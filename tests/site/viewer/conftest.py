"""Open a report with a chain in a tab."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tclab import render
from tclab.model import Chain
from tclab.render import standalone
from tclab.render.options import Options
from tests.site.viewer.chains import chain
from tests.site.viewer.page import Open

FILLER = "<p>" + "Some words. " * 60 + "</p>"


@pytest.fixture
def opened(tab: Any, tmp_path: Path) -> Iterator[Open]:
    """Open a report with a chain between paragraphs, and assert at the end that its page had no
    error and no request.
    """
    pages: list[Any] = []
    path = tmp_path / "report.html"

    def open_report(
        shown: Chain | None = None, anchor: str = "", edit: Callable[[str], str] = str, **more: Any
    ) -> Any:
        body = FILLER + render.figure(shown or chain(), options=Options("c")) + FILLER * 20
        path.write_text(edit(standalone.page("A report", body)), encoding="utf-8")
        script = more.pop("script", "")
        pages.append(tab(**{"viewport": {"width": 1500, "height": 900}} | more))
        if script:
            pages[-1].add_init_script(script)
        pages[-1].goto(path.as_uri() + anchor)
        return pages[-1]

    yield open_report
    assert [problem for page in pages for problem in page.problems] == []
    asked = [url for page in pages for url in page.asked]
    assert [url for url in asked if not url.startswith(path.as_uri())] == []
