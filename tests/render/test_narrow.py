"""What a phone shows of a figure, in Chromium."""

from __future__ import annotations

from tclab import render
from tclab.model import Text
from tclab.render.options import Options
from tclab.render.standalone import page
from tests.chromium import launched, tabs_without_errors


def test_the_error_that_a_snippet_ends_with_is_not_cut_off() -> None:
    error = Text("Ends with", "raised", "TargetError: " + "Inductor then times kernels " * 4)
    content = page("A page", render.figure(error, None, Options("f-raised")))
    with launched() as browser, tabs_without_errors(browser) as open_tab:
        tab = open_tab(390)
        tab.set_content(content)
        shown, whole = tab.locator("code").evaluate("e => [e.clientWidth, e.scrollWidth]")
    assert whole <= shown
