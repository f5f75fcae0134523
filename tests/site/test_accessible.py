"""Pages for readers who see little, point badly or hear: by axe-core, and by counting contrast."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tclab import render
from tests.site.conftest import ONE_OF_EACH_KIND, in_turn

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    path.relative_to(DOCS).with_suffix(".html").as_posix()
    for path in (*DOCS.rglob("*.md"), *DOCS.glob("labs/lab*.py"))
)
LEAST = 4.5  # WCAG 2.2, AA, for text of a usual size

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
OPTIONS = {"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]}
SCREENS = {
    "phone, light": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
    "desktop, dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
}

# --------------------------------------------------------------------------- contrast


def luminance(colour: tuple[float, float, float]) -> float:
    """Relative luminance of sRGB (each from 0 to 1), by WCAG 2.2."""
    red, green, blue = (v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def colour(text: str) -> tuple[float, float, float]:
    digits = text.removeprefix("#")
    digits = "".join(d * 2 for d in digits) if len(digits) == 3 else digits
    red, green, blue = (int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))
    return red, green, blue


def palettes() -> dict[str, dict[str, str]]:
    """Return the variables of the style sheet, of each of the two themes; Material's by their
    fallback.
    """
    light, dark = render.css().split('[data-md-color-scheme="slate"] {', 1)
    variable = re.compile(r"--tclab-([\w-]+): (?:var\([\w-]+, )?(#[0-9a-f]{3,6})\)?;")
    return {"light": dict(variable.findall(light)), "dark": dict(variable.findall(dark))}


def test_how_contrast_is_counted() -> None:
    assert contrast(colour("#000"), colour("#fff")) == pytest.approx(21)
    assert contrast(colour("#777777"), colour("#fff")) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_colour_of_text_is_read_on_each_ground(theme: str) -> None:
    palette = palettes()[theme]
    texts = [name for name in palette if name.startswith("hl-")]
    texts += ["fg", "dim", "code-fg", "link", "warn", "bad"]
    assert len(texts) >= 15
    pale = {
        (text, ground): round(found, 2)
        for text in texts
        for ground in ("bg", "code-bg", "mark")
        if (found := contrast(colour(palette[text]), colour(palette[ground]))) < LEAST
    }
    assert not pale


#: (kind, its colour, the colours behind it) of every kind of text that the page has: of those that
#: look alike, the last one.
KINDS = """() => {
    const grounds = new Map([[null, ["rgb(255, 255, 255)"]]]);
    const ground = (element) => {
        if (!grounds.has(element)) {
            const own = getComputedStyle(element).backgroundColor;
            const behind = ground(element.parentElement);
            grounds.set(element, own === "rgba(0, 0, 0, 0)" ? behind : [own, ...behind]);
        }
        return grounds.get(element);
    };
    const isText = (node) => node.nodeType === Node.TEXT_NODE && node.data.trim();
    const read = new Map();
    for (const element of document.querySelectorAll("body *:not(svg *, script, style)")) {
        if (!Array.from(element.childNodes).some(isText)) continue;
        if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
        const looks = [getComputedStyle(element).color, ground(element)];
        const kind = `${element.localName}.${element.className} ${JSON.stringify(looks)}`;
        read.set(JSON.stringify(looks), [kind, ...looks]);
    }
    return Array.from(read.values());
}"""


def computed(text: str) -> tuple[tuple[float, float, float], float]:
    """Colour and opacity of what a browser computed."""
    numbers = [float(n) for n in re.findall(r"[\d.]+", text)]
    scale = 1 if text.startswith("color(") else 255
    red, green, blue = (n / scale for n in numbers[:3])
    return (red, green, blue), numbers[3] if len(numbers) > 3 else 1.0


def seen(text: str, *behind: str) -> tuple[float, float, float]:
    """Return a colour, perhaps a transparent one, as it is seen on those behind it."""
    front, opacity = computed(text)
    if opacity == 1 or not behind:
        return front
    back = seen(*behind)
    red, green, blue = (f * opacity + b * (1 - opacity) for f, b in zip(front, back, strict=True))
    return red, green, blue


def pale_texts(opened: Any) -> dict[str, float]:
    """Return the kinds of text on a page that are too pale, and their contrast."""
    kinds = opened.evaluate(KINDS)
    assert len(kinds) > 5
    contrasts = {k: contrast(seen(text, *behind), seen(*behind)) for k, text, behind in kinds}
    return {kind: round(value, 2) for kind, value in contrasts.items() if value < LEAST}


# --------------------------------------------------------------------------- all the rest


#: The rows of a table are alike: the first stand for thousands, for which axe takes minutes. The
#: tokens of code, which `pale_texts` has looked at by then, become the text of their line.
#: And where code off the screen is not laid out, axe takes the page's foot for its ground.
LAID_OUT = """() => {
    for (const token of document.querySelectorAll(".highlight span[class]:not([id])"))
        if (!token.firstElementChild) token.replaceWith(token.textContent);
    for (const code of document.querySelectorAll(".highlight")) code.normalize();
    for (const body of document.querySelectorAll("tbody"))
        Array.from(body.rows).slice(50).forEach((row) => row.remove());
    for (const element of document.querySelectorAll("article *"))
        if (getComputedStyle(element).contentVisibility === "auto")
            element.style.contentVisibility = "visible";
}"""


#: What is alike on all pages, and is looked at on one of each kind. A chain is the viewer's own.
ALIKE = (".md-nav--primary", ".md-tabs", ".md-header", ".md-footer")
#: Axe looks for what lies behind each word, which takes longer than all of its other rules.
COUNTED_BY_US = {"rules": {"color-contrast": {"enabled": False}}}


@pytest.mark.browser
@pytest.mark.parametrize(
    ("screen", "page"),
    [(s, p) for way, s in enumerate(SCREENS) for p in in_turn(PAGES, len(SCREENS), way)],
)
def test_a_page_can_be_read_by_all(tab, address: str, page: str, screen: str) -> None:
    """Names, roles, labels, contrast, the size of targets, links told by more than colour."""
    from axe_playwright_python.sync_playwright import Axe

    opened = tab(**SCREENS[screen])
    opened.goto(f"{address}/{page}", wait_until="load")
    opened.wait_for_function("document.documentElement.classList.contains('js')")
    assert not pale_texts(opened)
    opened.evaluate(LAID_OUT)
    whole = page in ONE_OF_EACH_KIND
    context = {"exclude": [[part] for part in (".tclab-chain", *(() if whole else ALIKE))]}
    options = OPTIONS if whole else OPTIONS | COUNTED_BY_US
    violations: list[dict[str, Any]] = Axe().run(opened, context, options).response["violations"]
    assert not {v["id"]: [n["html"][:150] for n in v["nodes"][:3]] for v in violations}


@pytest.mark.browser
def test_the_first_tab_leads_into_the_text(tab, address: str) -> None:
    opened = tab()
    opened.goto(f"{address}/pipeline/dynamo.html", wait_until="load")
    opened.keyboard.press("Tab")
    skip = opened.locator(":focus")
    assert "Skip to content" in skip.inner_text()
    opened.keyboard.press("Enter")
    opened.wait_for_url("**#dynamo")


@pytest.mark.browser
def test_links_in_text_are_underlined(tab, address: str) -> None:
    opened = tab()
    opened.goto(f"{address}/pipeline/dynamo.html", wait_until="load")
    plain = opened.evaluate("""() =>
        Array.from(document.querySelectorAll("article p a, article li a"))
        .filter((a) => a.textContent.trim())
        .filter((a) => !a.matches(".headerlink, .tclab-downloads a, .tclab-proof") // a tick
            && !getComputedStyle(a).textDecorationLine.includes("underline"))
        .map((a) => a.outerHTML.slice(0, 100))""")
    assert plain == []
