"""The colours of Python lines: apart for every reader, and code on them can be read."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from coloraide import Color

from tclab import render

#: Kinds of colour vision: normal, and the three that lack a kind of cone (Brettel, Viénot, Machado
#: as coloraide has them).
VISION = (None, "protan", "deutan", "tritan")

#: Distance in Oklab below which two colours side by side are easily taken for one another. A just
#: noticeable difference is about 0.02.
APART = 0.095


def colours(scheme: str) -> dict[str, str]:
    """Return the custom properties that the style sheets set for a scheme, as they stand alone."""
    sheet = render.css()
    dark = "".join(re.findall(r'\[data-md-color-scheme="slate"\] \{(.*?)\n  \}', sheet, re.DOTALL))
    light = "".join(re.findall(r":root,\n\[data-md-color-scheme\] \{(.*?)\n\}", sheet, re.DOTALL))
    known = dict(re.findall(r"(--tclab-[\w-]+):\s*([^;]+);", light))
    if scheme == "dark":
        known |= dict(re.findall(r"(--tclab-[\w-]+):\s*([^;]+);", dark))
    return {k: re.sub(r"var\(.*, (#\w+)\)", r"\1", v) for k, v in known.items()}


def seen(colour: str, vision: str | None) -> Color:
    return Color(colour).filter(vision) if vision else Color(colour)


def sources(scheme: str) -> list[str]:
    found = colours(scheme)
    return [found[f"--tclab-source-{i}"] for i in range(8)]


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_two_are_alike_for_anyone(scheme: str, vision: str | None) -> None:
    both = [(a, b, seen(a, vision).distance(seen(b, vision), space="oklab"))
            for a, b in combinations(sources(scheme), 2)]  # fmt: skip
    assert [pair for pair in both if pair[2] < APART] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_stands_out_from_the_page(scheme: str) -> None:
    page = colours(scheme)["--tclab-code-bg"]
    assert min(Color(each).contrast(page) for each in sources(scheme)) >= 3  # WCAG 1.4.11


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_code_can_be_read_on_each(scheme: str) -> None:
    known = colours(scheme)
    tokens = {k: v for k, v in known.items() if k.startswith("--tclab-ink-")}
    tokens["plain"] = known["--tclab-code-fg"]
    assert len(tokens) == 11
    share = re.search(r"t-l \{[^}]*var\(--c\) (\d+)%", render.css())
    grounds = [Color(known["--tclab-code-bg"]), Color(known["--tclab-mark"])]
    grounds += [Color(each).mix(known["--tclab-code-bg"], 1 - int(share[1]) / 100, space="srgb")
                for each in sources(scheme)]  # fmt: skip
    weak = {(token, ground.to_string(hex=True)): round(Color(colour).contrast(ground), 2)
            for token, colour in tokens.items() for ground in grounds
            if Color(colour).contrast(ground) < 4.5}  # fmt: skip
    assert weak == {}
