"""Draw the stages of the compiles of a job, each compile in a fold that is laid out when the reader
opens it: until then its panes are compressed data in the page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tclab.model import Chain, JobReplay, JobStages, Listing
from tclab.render import parts
from tclab.render.delivery.compressed import data_element
from tclab.render.escape import NEWLINE, NOTHING, Html, esc, join, markup, one_line, tag
from tclab.render.kinds import chain, guards
from tclab.render.options import Options

#: The page shows this number of folds at once; the others are inside one further fold.
_MOST_SHOWN = 12
#: A fold names at most this number of compiles.
_MOST_NAMED = 4
#: The level of compression. The highest takes twice the time and saves a tenth.
_LEVEL = 6
_OTHER_TRITON = (
    "Compiled here, as the profile says that the kernels were launched. Another version of Triton "
    "than the job's can make other instructions."
)
_NOTE = markup("Compressed in this file, for the page's script. The trace has it as plain text.")


@dataclass(frozen=True)
class Fold:
    """The closed fold of a compile, or of several equal ones, with its id."""

    ident: str
    stages: JobStages
    html: Html


def draw_folds(stages: Sequence[JobStages], options: Options) -> list[Fold]:
    """Return a fold for each compile with graphs."""
    shown = [each for each in stages if each.chain.panes]
    options = replace(options, plain=True)
    return [_draw_fold(each, options.for_part(number)) for number, each in enumerate(shown)]


def section(folds: Sequence[Fold]) -> Html:
    """Return the folds one below the other, those after the first ones in a fold; '' if there are
    none.
    """
    drawn = [fold.html for fold in folds]
    rest = drawn[_MOST_SHOWN:]
    more = f"{parts.count(len(rest), 'more compile')}, stage by stage"
    folded = tag("div", parts.fold(more, join(rest)), class_="tclab") if rest else NOTHING
    return join([*drawn[:_MOST_SHOWN], folded])


def addresses(files: Sequence[tuple[str, Sequence[Fold]]]) -> Mapping[str, str]:
    """Map the id of each compile to the address of its fold. `files` are the folds of each file.
    The id of different compiles of several processes is left out.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for file, folds in files:
        for fold in folds:
            for compile_id in fold.stages.compiles:
                found[compile_id.rpartition(": ")[2]].add(f"{file}#{fold.ident}")
    return {compile_id: own.pop() for compile_id, own in found.items() if len(own) == 1}


def machine_code(chains: Sequence[Chain], options: Options) -> Html:
    """Return a fold for each kernel that was compiled down to instructions."""
    drawn = _pack_chains({each.title: each for each in chains}, options)
    return join([parts.note(_OTHER_TRITON), *drawn]) if drawn else NOTHING


def replays(of: Sequence[JobReplay], options: Options) -> Html:
    """Return a fold with the stages of each graph that was compiled again, equal ones once."""
    titles: dict[tuple[str, ...], list[str]] = defaultdict(list)
    chains: dict[tuple[str, ...], Chain] = {}
    several = len({each.process for each in of}) > 1
    for each in of:
        if each.chain.panes:
            code = tuple(pane.code for pane in each.chain.panes)
            name = f"{each.compile_id} {each.direction}"
            titles[code].append(f"{each.process}, {name}" if several else name)
            chains.setdefault(code, each.chain)
    named = {_name_graphs(titles[code]): each for code, each in chains.items()}
    return join(_pack_chains(named, replace(options, plain=True)))


def _name_graphs(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    rest = f" and {parts.count(more, 'more equal graph')}" if more > 0 else ""
    return f"{', '.join(names[:_MOST_NAMED])}{rest}, compiled again: stage by stage"


def _pack_chains(chains: Mapping[str, Chain], options: Options) -> list[Html]:
    """Draw a fold for each chain under its title."""
    numbered = ((options.for_part(n), *each) for n, each in enumerate(chains.items()))
    return [_pack(title, chain.html(each, own), own) for own, title, each in numbered]


def _draw_fold(stages: JobStages, options: Options) -> Fold:
    """Draw the fold of a compile."""
    html = _pack(describe(stages), content_html(stages, options), options)
    return Fold(options.id(), stages, html)


def _pack(title: str, content: Html, options: Options) -> Html:
    """Draw a closed fold with its content as compressed data. The id is inside the fold, so that a
    link to it opens the fold.
    """
    name = options.id("packed")
    place = tag("div", tag("p", _NOTE), data_packed=name)
    inner = tag("div", place, data_element(name, [content], _LEVEL), id=options.id())
    return tag("details", tag("summary", esc(one_line(title))), inner, class_="explain-chain")


def describe(stages: JobStages) -> str:
    """Return the function and the compiles of a fold, and what is in it."""
    named = ", ".join(stages.compiles[:_MOST_NAMED])
    if (more := len(stages.compiles) - _MOST_NAMED) > 0:
        named += f" and {parts.count(more, 'more equal compile')}"
    panes = stages.chain.panes
    kernels = sum(pane.stage in ("kernel", "cpp") for pane in panes)
    calls = sum(pane.stage == "wrapper" for pane in panes)
    counts = [
        parts.count(n, noun) for n, noun in ((kernels, "kernel"), (calls, "library call")) if n
    ]
    return ": ".join([f"{stages.title} ({named})", ", ".join(counts)]).removesuffix(": ")


def content_html(stages: JobStages, options: Options) -> Html:
    """Return what is in the fold of a compile: the panes, then guards and output code in folds."""
    panes = chain.html(stages.chain, options.for_part("chain"))
    return tag("div", panes, *_draw_guards(stages, options), *_draw_code(stages), class_="tclab")


def _draw_guards(stages: JobStages, options: Options) -> Iterator[Html]:
    for number, entry in enumerate(stages.guards):
        inner = guards.html(entry, options.for_part(f"guards{number}"))
        yield parts.fold(f"{entry.title}, {parts.count(len(entry), 'guard')}", inner)


def _draw_code(stages: JobStages) -> Iterator[Html]:
    for listing in stages.output_code:
        size = parts.count(parts.line_count(listing.code), "line")
        yield parts.fold(f"{listing.title}, {size}", _draw_plain(listing))


def _draw_plain(listing: Listing) -> Html:
    """Draw a listing without colours."""
    code = tag("code", esc(listing.code), tabindex="0", aria_label=one_line(listing.title))
    return tag("div", tag("pre", NEWLINE, code), class_="highlight tclab-code")
