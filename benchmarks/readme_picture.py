"""Take the picture of README.md from the built site: ``python -m benchmarks.readme_picture``.

The home page's chain in the system's Chromium, one line of Python clicked after the other, as an
animation. Its comment is the digest of the snippet that made the chain, which a test compares: once
the snippet changes, the picture must be taken again.
"""

from __future__ import annotations

import functools
import hashlib
import http.server
import io
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
SNIPPET = "snippets/explorer/gate_in_three_lines.py"
PICTURE = ROOT / "docs" / "assets" / "chain.gif"

WINDOW = {"width": 1250, "height": 900}
COLOURS = 48
MILLISECONDS = 2200


def digest(root: Path) -> str:
    """Return the digest of the snippet whose chain is shown."""
    return hashlib.sha256((root / SNIPPET).read_bytes()).hexdigest()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a site on the loopback address, and yield the address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Discard the message: the server logs nothing."""

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def frames(page: Any) -> Iterator[Image.Image]:
    """Yield pictures of the chain with each of its Python lines clicked, from the second on: the
    first is `def`.
    """
    chain = page.locator(".tclab-is-chain")
    lines = page.locator(".tclab-pane[data-stage=python] t-l")
    for number in range(1, lines.count()):
        lines.nth(number).click()
        page.mouse.move(0, 0)
        page.wait_for_timeout(300)
        yield Image.open(io.BytesIO(chain.screenshot(animations="disabled"))).convert("RGB")


def save(pictures: list[Image.Image], path: Path, comment: str) -> None:
    """Save a repeating animation of few colours, the same for all pictures."""
    height = min(picture.height for picture in pictures)
    cut = [picture.crop((0, 0, picture.width, height)) for picture in pictures]
    sheet = Image.new("RGB", (cut[0].width, height * len(cut)))
    for number, picture in enumerate(cut):
        sheet.paste(picture, (0, number * height))
    palette = sheet.quantize(COLOURS, dither=Image.Dither.NONE)
    first, *rest = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in cut]
    first.save(path, save_all=True, append_images=rest, duration=MILLISECONDS, loop=0,
               optimize=True, comment=comment.encode())  # fmt: skip


def main() -> int:
    """Take the picture from site/, or from the given folder; return 2, with a message, if that
    fails.
    """
    from playwright.sync_api import sync_playwright

    site = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not (site / "index.html").exists() or chromium is None:
        print(f"{site}: no site, or no Chromium.\n  next: make site; apt-get install chromium",
              file=sys.stderr)  # fmt: skip
        return 2
    with served(site) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=WINDOW)
        page.goto(f"{address}/index.html", wait_until="networkidle")
        page.locator(".tclab-chain[data-live]").wait_for()
        save(list(frames(page)), PICTURE, digest(ROOT))
        browser.close()
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
