"""The picture that a link to a page shows elsewhere: the page's title on the site's colours.

Drawn at build with Pillow and the font that Matplotlib brings: no request, the same bytes each
time. Only a site that has an address of its own has them: whoever shows one fetches it by that.
"""

from __future__ import annotations

import textwrap
from functools import lru_cache
from pathlib import Path
from typing import Any

from tclab.render.escape import esc

SIZE = 1200, 630  # pixels, as those who show them ask for
_LEFT, _TOP = 80, 90
_PAPER, _INK, _DIM, _ACCENT = "#2b3a55", "#ffffff", "#c3cbd9", "#ff9e64"
_TITLE, _WORDS = 72, 34  # pixels of a letter
_MOST_LINES = 3


def path_of(url: str) -> str:
    """Where the card of the page at `url` is, from the site's root."""
    return f"assets/cards/{url.removesuffix('.html').replace('/', '-')}.png"


def write(folder: Path, url: str, site: str, title: str, about: str) -> None:
    """Draw the card of a page into the site's `folder`."""
    target = folder / path_of(url)
    target.parent.mkdir(parents=True, exist_ok=True)
    _drawn(site, title, about).save(target, optimize=False)


def head(url: str, address: str, site: str, title: str, about: str) -> str:
    """What the page's head says to those who show links; `address` is the site's own."""
    properties = {
        "og:type": "article",
        "og:site_name": site,
        "og:title": title,
        "og:description": about,
        "og:url": address + url,
        "og:image": address + path_of(url),
        "og:image:width": str(SIZE[0]),
        "og:image:height": str(SIZE[1]),
    }
    tags = [f'<meta property="{name}" content="{esc(text)}">' for name, text in properties.items()]
    return "".join([*tags, '<meta name="twitter:card" content="summary_large_image">'])


def _drawn(site: str, title: str, about: str) -> Any:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", SIZE, _PAPER)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, 24, SIZE[1]), fill=_ACCENT)
    draw.text((_LEFT, _TOP), site, font=_font(_WORDS), fill=_DIM)
    lines = textwrap.wrap(title, 24, max_lines=_MOST_LINES, placeholder=" …")
    draw.multiline_text((_LEFT, 170), "\n".join(lines), font=_font(_TITLE), fill=_INK, spacing=14)
    words = textwrap.wrap(about, 58, max_lines=2, placeholder=" …")
    draw.multiline_text((_LEFT, 480), "\n".join(words), font=_font(_WORDS), fill=_DIM, spacing=10)
    return image.quantize(16)  # few colours: a tenth of the bytes


@lru_cache(maxsize=2)
def _font(size: int) -> Any:
    import matplotlib as mpl
    from PIL import ImageFont

    return ImageFont.truetype(Path(mpl.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf"), size)
