"""Draw the card that other sites show as a preview of a page: its title on our colours.

Pillow draws it during the build with Matplotlib's font, without a request, and with the same bytes
each time. Only a site with an address has cards, because other sites fetch a card by its address.
"""

from __future__ import annotations

import textwrap
from functools import lru_cache
from pathlib import Path
from typing import Any

from tclab.render.escape import esc

SIZE = 1200, 630  # pixels, the size that sites with previews expect
_LEFT, _TOP = 80, 90
_BACKGROUND, _TITLE_COLOUR, _TEXT_COLOUR, _ACCENT = "#2b3a55", "#ffffff", "#c3cbd9", "#ff9e64"
_TITLE_SIZE, _TEXT_SIZE = 72, 34  # font sizes in pixels
_MAX_LINES = 3


def card_path(url: str) -> str:
    """Return the path, from the site's root, of the card for the page at `url`."""
    return f"assets/cards/{url.removesuffix('.html').replace('/', '-')}.png"


def write_card(folder: Path, url: str, site: str, title: str, description: str) -> None:
    """Draw the card of a page into the site's `folder`."""
    target = folder / card_path(url)
    target.parent.mkdir(parents=True, exist_ok=True)
    _draw_card(site, title, description).save(target, optimize=False)


def head_tags(url: str, address: str, site: str, title: str, description: str) -> str:
    """Return the meta tags that other sites read for a preview; `address` is our site's."""
    properties = {
        "og:type": "article",
        "og:site_name": site,
        "og:title": title,
        "og:description": description,
        "og:url": address + url,
        "og:image": address + card_path(url),
        "og:image:width": str(SIZE[0]),
        "og:image:height": str(SIZE[1]),
    }
    tags = [f'<meta property="{name}" content="{esc(text)}">' for name, text in properties.items()]
    return "".join([*tags, '<meta name="twitter:card" content="summary_large_image">'])


def _draw_card(site: str, title: str, description: str) -> Any:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", SIZE, _BACKGROUND)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, 24, SIZE[1]), fill=_ACCENT)
    draw.text((_LEFT, _TOP), site, font=_load_font(_TEXT_SIZE), fill=_TEXT_COLOUR)
    lines = textwrap.wrap(title, 24, max_lines=_MAX_LINES, placeholder=" …")
    draw.multiline_text(
        (_LEFT, 170), "\n".join(lines), font=_load_font(_TITLE_SIZE), fill=_TITLE_COLOUR, spacing=14
    )
    words = textwrap.wrap(description, 58, max_lines=2, placeholder=" …")
    draw.multiline_text(
        (_LEFT, 480), "\n".join(words), font=_load_font(_TEXT_SIZE), fill=_TEXT_COLOUR, spacing=10
    )
    return image.quantize(16)  # with few colours the file is ten times smaller


@lru_cache(maxsize=2)
def _load_font(size: int) -> Any:
    import matplotlib as mpl
    from PIL import ImageFont

    return ImageFont.truetype(Path(mpl.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf"), size)
