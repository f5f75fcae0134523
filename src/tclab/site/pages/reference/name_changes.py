"""Report names that PyTorch added or dropped: on a reference page, and in a build's log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tclab.model import Version, slug
from tclab.render import parts
from tclab.render.escape import NEWLINE, SPACE, Html, esc, join, tag
from tclab.site.pages.reference.concordance import Concordance
from tclab.site.pages.reference.groups import Group
from tclab.site.versions import name_lists
from tclab.site.versions.name_lists import Change, NamesByVersion

#: The most names of a table that a build's log lists; the others are counted.
MOST_NAMES = 20


def html(names_by_version: NamesByVersion) -> Html:
    """Render a collapsible section for each version except the oldest: names added and dropped."""
    pairs = list(zip(names_by_version, list(names_by_version)[1:]))
    folds = [
        _version_fold(before, version, names_by_version) for before, version in reversed(pairs)
    ]
    return join(folds, NEWLINE) or parts.note("One version is listed: nothing to compare.")


def _version_fold(before: str, version: str, names_by_version: NamesByVersion) -> Html:
    changes = name_lists.compare_names(names_by_version[before], names_by_version[version])
    rows = [
        (esc(change.table), _names_html(change.added), _names_html(change.dropped))
        for change in changes
    ]
    table = parts.table(("names of", f"new in {version}", f"not in it, but in {before}"), rows,
                        label=f"From {before} to {version}", search=False)  # fmt: skip
    added, dropped, moved = _count(changes)
    head = f"From {before} to {version}: {added:,} new names, {dropped:,} gone, "
    head += f"{moved:,} defaults changed"
    return tag("div", parts.fold(head, table), id=f"to-{slug(version)}")


def _count(changes: list[Change]) -> tuple[int, int, int]:
    """Return the numbers of names that are new, of those that are gone, and of changed defaults."""
    named = [each for each in changes if each.table != name_lists.DEFAULTS]
    moved = [each for each in changes if each.table == name_lists.DEFAULTS]
    added, dropped = (sum(len(getattr(c, what)) for c in named) for what in ("added", "dropped"))
    return added, dropped, sum(len(each.added) for each in moved)


def _names_html(names: Iterable[str]) -> Html:
    return join((tag("code", esc(name)) for name in names), SPACE) or parts.DASH


# --------------------------------------------------------------------------- in a build


def report_changes(
    groups: Iterable[Group], names_by_version: NamesByVersion, concordance: Concordance
) -> Iterator[str]:
    """Yield lines on the names of the installed PyTorch that differ from the list of this version.

    A version without a list is compared with the newest one before it. The lines also give the
    chapters that show the names.
    """
    for version, names in _names_by_version(groups).items():
        before = _baseline_version(version, names_by_version)
        for change in name_lists.compare_names(names_by_version.get(before, {}), names):
            if change.table in names_by_version.get(before, {}):
                yield from _change_lines(change, version, before, concordance)


def _names_by_version(groups: Iterable[Group]) -> dict[str, dict[str, frozenset[str]]]:
    by_version: dict[str, dict[str, frozenset[str]]] = {}
    for group in groups:
        if group.torch:
            by_version.setdefault(group.torch, {})[group.table] = group.names
    return by_version


def _baseline_version(version: str, names_by_version: NamesByVersion) -> str:
    """Return the version itself if it has a list of names, else the newest version before it."""
    older = [v for v in names_by_version if Version.parse(v) <= Version.parse(version)]
    return max(older, key=Version.parse, default="")


def _change_lines(
    change: Change, version: str, before: str, concordance: Concordance
) -> Iterator[str]:
    for what, names in (("new", change.added), ("gone", change.dropped)):
        if names:
            yield f"{change.table}: {len(names):,} names {what} in {version}, against {before}"
            shown = sorted(names, key=lambda name: not concordance.best_places(name))[:MOST_NAMES]
            yield from (_name_line(name, concordance) for name in shown)
            if len(names) > len(shown):
                yield f"    … and {len(names) - len(shown):,} more"


def _name_line(name: str, concordance: Concordance) -> str:
    places = ", ".join(url for url, _ in concordance.best_places(name))
    return f"    {name}" + (f"  named in {places}" if places else "")
