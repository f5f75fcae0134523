"""Reading the HTML back: is it balanced, which ids and links does it have, what does it say."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"wbr", "br", "input", "hr", "img", "meta", "link"}


class Page(HTMLParser):
    """What a fragment of HTML holds. Unbalanced or unknown markup is an error."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        assert len(known) == len(attrs), f"an attribute twice: {tag} {attrs}"
        self.tags.append((tag, known))
        if known.get("id") is not None:
            self.ids.append(str(known["id"]))
        if known.get("href") is not None:
            self.links.append(str(known["href"]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> crosses another element"

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    @property
    def text(self) -> str:
        return "".join(self.words)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]
