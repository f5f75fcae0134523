"""What changed from one PyTorch to the next: on the page of the reference, and in a build."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tclab.model import Version, slug
from tclab.page.reference import versions
from tclab.page.reference.concordance import Concordance
from tclab.page.reference.groups import Group
from tclab.page.reference.versions import Change, Known
from tclab.render import parts
from tclab.render.escape import NEWLINE, SPACE, Html, esc, join, tag

#: A build names so many of a table's names; the others are counted.
MOST = 20


def html(known: Known) -> Html:
    """A fold for each version but the oldest: what it added and dropped, table by table."""
    pairs = list(zip(known, list(known)[1:]))
    folds = [_version(before, version, known) for before, version in reversed(pairs)]
    return join(folds, NEWLINE) or parts.note("One version is listed: nothing to compare.")


def _version(before: str, version: str, known: Known) -> Html:
    changes = versions.changes(known[before], known[version])
    rows = [(esc(change.table), _names(change.added), _names(change.dropped)) for change in changes]
    table = parts.table(("names of", f"new in {version}", f"not in it, but in {before}"), rows,
                        label=f"From {before} to {version}", search=False)  # fmt: skip
    added, dropped = (sum(len(getattr(c, what)) for c in changes) for what in ("added", "dropped"))
    head = f"From {before} to {version}: {added:,} new names, {dropped:,} gone"
    return tag("div", parts.fold(head, table), id=f"to-{slug(version)}")


def _names(names: Iterable[str]) -> Html:
    return join((tag("code", esc(name)) for name in names), SPACE) or parts.DASH


# --------------------------------------------------------------------------- in a build


def report(groups: Iterable[Group], known: Known, where: Concordance) -> Iterator[str]:
    """Lines that say which installed names differ from the list of their version, or of the
    newest one before it, and which chapter names those.
    """
    for version, names in _by_version(groups).items():
        before = _compared_with(version, known)
        for change in versions.changes(known.get(before, {}), names):
            if change.table in known.get(before, {}):
                yield from _lines(change, version, before, where)


def _by_version(groups: Iterable[Group]) -> dict[str, dict[str, frozenset[str]]]:
    by_version: dict[str, dict[str, frozenset[str]]] = {}
    for group in groups:
        if group.torch:
            by_version.setdefault(group.torch, {})[group.table] = group.names
    return by_version


def _compared_with(version: str, known: Known) -> str:
    """The version itself if its names are kept, else the newest before it."""
    older = [v for v in known if Version.of(v) <= Version.of(version)]
    return max(older, key=Version.of, default="")


def _lines(change: Change, version: str, before: str, where: Concordance) -> Iterator[str]:
    for what, names in (("new", change.added), ("gone", change.dropped)):
        if names:
            yield f"{change.table}: {len(names):,} names {what} in {version}, against {before}"
            first = sorted(names, key=lambda name: not where.best(name))[:MOST]
            yield from (_line(name, where) for name in first)
            if len(names) > len(first):
                yield f"    … and {len(names) - len(first):,} more"


def _line(name: str, where: Concordance) -> str:
    places = ", ".join(url for url, _ in where.best(name))
    return f"    {name}" + (f"  named in {places}" if places else "")
