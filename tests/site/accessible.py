"""What a reader who sees little, points badly or hears would miss on a page in a browser."""

from __future__ import annotations

import re
from typing import Any

from axe_playwright_python.sync_playwright import Axe

from tests.site.conftest import ONE_OF_EACH_KIND

LEAST = 4.5  # WCAG 2.2, AA, for text of a usual size

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
OPTIONS = {"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]}

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
    """Return the colour and the opacity of a text that a browser computed."""
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


def violations(opened: Any, page: str) -> dict[str, list[str]]:
    """Return the rules that a page breaks, by axe-core's names, and elements that break them: on
    names, roles, labels, contrast, the size of targets, links told by more than colour.

    Code and long tables are simplified on the page.
    """
    opened.wait_for_function("document.documentElement.classList.contains('js')")
    pale = pale_texts(opened)
    opened.evaluate(LAID_OUT)
    whole = page in ONE_OF_EACH_KIND
    context = {"exclude": [[part] for part in (".tclab-chain", *(() if whole else ALIKE))]}
    options = OPTIONS if whole else OPTIONS | COUNTED_BY_US
    broken: list[dict[str, Any]] = Axe().run(opened, context, options).response["violations"]
    found = {v["id"]: [n["html"][:150] for n in v["nodes"][:3]] for v in broken}
    return found | ({"pale": [f"{kind}: {value}" for kind, value in pale.items()]} if pale else {})
