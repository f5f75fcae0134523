"""``--format asm``: the machine code of a report as one text. Directives name the line of Python
that each instruction came from, in the form of the GNU assembler, which Compiler Explorer reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from tclab.model import Chain, Listing, Report
from tclab.render.closure import Index
from tclab.render.escape import clean, one_line
from tclab.render.report import words

#: Of the stages of GPU kernels, the one nearest to the machine that the report has.
_GPU_STAGES = ("sass", "amdgcn", "ptx")
# Where a compiler says which line of the kernel an instruction is of: lines of Python replace them.
_OF_THE_KERNEL = re.compile(r'\s*(//## File "|\.loc\s|\.file\s)')

#: A file and a line of Python.
_Place = tuple[str, int]


def text(report: Report) -> str:
    """Return the instructions of all kernels, each run of them below a ``.loc`` for each line that
    it came from (a program that keeps one line keeps the last), or for line 0 where none is known.
    Comments at the top say what the code is for, what made it, and what the report lacks.
    """
    numbers: dict[str, int] = {}
    body = [line for chain in report.chains for line in _lines(chain, numbers)]
    made_by = (f"# {one_line(text)}" for text in words.provenance_texts(report))
    missing = (f"# missing: {gap}" for gap, _ in words.gaps(report))
    head = [f"# {report.title}", *made_by, *missing]
    if not body:
        head.append("# no kernel was taken down to instructions")
    files = [f'\t.file {number} "{file}"' for file, number in numbers.items()]
    return "\n".join([*head, *files, *body]) + "\n"


def _lines(chain: Chain, numbers: dict[str, int]) -> Iterator[str]:
    """Yield the instructions of a graph. `numbers` collects the files with their numbers."""
    shown = [pane.stage for pane in chain.panes]
    stages = {"asm", *[stage for stage in _GPU_STAGES if stage in shown][:1]}
    index = Index.from_chain(chain)
    places = _python_places(chain, index)
    sources = index.nearest_sources(places)
    for pane, start in zip(chain.panes, index.starts, strict=True):
        if pane.stage in stages:
            yield f"# {pane.title}"
            yield from _marked(pane, start, places, sources, numbers)


def _python_places(chain: Chain, index: Index) -> dict[int, _Place]:
    """Map the number of each line of Python to its file and its number there."""
    return {
        start + offset: (pane.filename, pane.first_line + offset)
        for pane, start, count in zip(chain.panes, index.starts, index.counts, strict=True)
        if pane.stage == "python"
        for offset in range(count)
    }


def _marked(
    pane: Listing, start: int, places: dict[int, _Place],
    sources: dict[int, tuple[int, ...]], numbers: dict[str, int],
) -> Iterator[str]:  # fmt: skip
    code = enumerate(clean(pane.code).rstrip("\n").split("\n"), start)
    kept = ((number, line) for number, line in code if not _OF_THE_KERNEL.match(line))
    for came_from, run in groupby(kept, lambda each: sources.get(each[0], ())):
        for file, line_number in [places[source] for source in came_from]:
            number = numbers.setdefault(file, len(numbers) + 1)
            yield f"\t.loc {number} {line_number} 0"
        if numbers and not came_from:
            yield "\t.loc 1 0 0"
        yield from (line for _, line in run)
