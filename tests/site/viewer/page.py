"""What the viewer's tests ask of a page, do there, and wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.chromium import comes, until

Open = Callable[..., Any]

SIZES = tuple({"width": w, "height": h} for w, h in ((1500, 900), (1024, 600), (390, 844)))
BY_WIDTH = pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size["width"]))


def lit(page: Any) -> list[str]:
    """Ids of panes with the numbers of their linked lines."""
    return page.evaluate("""() => Array.from(document.querySelectorAll(".linked"), (line) => {
        const pane = line.closest(".tclab-pane");
        const at = Array.from(pane.querySelectorAll("t-l")).indexOf(line);
        return pane.id.slice(2) + " " + (at + Number(pane.dataset.first || 1));
    })""")


def line(page: Any, pane: str, number: int) -> Any:
    """Return a line by its number as it is shown; Python begins at its own."""
    box = page.locator(f"#c-{pane}")
    first = int(box.get_attribute("data-first") or 1)
    return box.locator("t-l").nth(number - first)


def address(page: Any) -> str:
    """As the page has it: the browser's own process hears of a change later."""
    return page.evaluate("location.href")


def shown(page: Any) -> list[str]:
    """Return the stages that are shown."""
    columns = page.locator(".tclab-column:not([hidden])")
    return columns.evaluate_all("all => all.map((column) => column.dataset.column)")


def focused(page: Any) -> str:
    """Return the pane and the line, from 1, that has the focus."""
    return page.evaluate("""() => {
        const pane = document.activeElement.closest(".tclab-pane");
        const lines = Array.from(pane.querySelectorAll("t-l"));
        return pane.id.slice(2) + " " + (lines.indexOf(document.activeElement) + 1);
    }""")


# --------------------------------------------------------------------------- what comes


def remembers(page: Any, holds: Callable[[], bool]) -> bool:
    """Return whether something comes to hold on the page loaded anew: what a tab stores, the
    browser's own process hears of later, and a page that is loaded before that does not have it.
    """

    def loaded_anew() -> bool:
        page.reload()
        return holds()

    return comes(loaded_anew)


IN_VIEW = """(line) => {
    const at = line.getBoundingClientRect();
    const box = line.closest(".tclab-scroller").getBoundingClientRect();
    return at.height > 0 && at.top >= Math.max(0, box.top)
        && at.bottom <= Math.min(box.bottom, innerHeight);
}"""


def in_view(page: Any, pane: str, number: int) -> bool:
    """Return whether a line comes to be within its pane and the window: scrolling takes its
    time.
    """
    return comes(lambda: line(page, pane, number).evaluate(IN_VIEW))


#: Whether the whole viewer is in the window.
IN_WINDOW = """(() => {
    const box = document.querySelector(".tclab-chain").getBoundingClientRect();
    return box.top >= -1 && box.bottom <= innerHeight + 1;
})()"""


def come_to_rest(page: Any) -> None:
    """Until nothing scrolls and nothing is drawn any more."""
    page.evaluate("""async () => {
        const where = () => [scrollY, ...Array.from(document.querySelectorAll(".tclab-scroller"),
            (box) => box.scrollTop)].join();
        for (let same = 0, last = ""; same < 6;) {
            await new Promise(requestAnimationFrame);
            same = where() === last ? same + 1 : 0;
            last = where();
        }
    }""")


def come_into_window(page: Any) -> None:
    """Until the viewer has come into the window, as it does for a click, and nothing scrolls: a
    click elsewhere would ask for scrolling of its own, and end the viewer's.
    """
    until(page, IN_WINDOW)
    come_to_rest(page)


def pin(page: Any, pane: str, number: int, **click: Any) -> None:
    """Click a line that is not pinned, and wait for all that this moves."""
    line(page, pane, number).click(**click)
    come_into_window(page)


def counts(page: Any, text: str) -> None:
    """Until the kernel's pane says which of its linked lines it is at."""
    until(page, f"document.querySelector('[data-column=kernel] .tclab-at').innerText === '{text}'")


def found(page: Any, stage: str, text: str) -> None:
    """Until a pane says which of the lines that were looked for it is at."""
    output = f"document.querySelector('[data-column={stage}] .tclab-find output')"
    until(page, f"{output}.textContent === '{text}'")
