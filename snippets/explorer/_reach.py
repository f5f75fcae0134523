"""What a click on a line of a chain reaches: for the asserts of the explorer's snippets."""

from __future__ import annotations

import tclab
from tclab.render.closure import Index


def stages(chain: tclab.model.Chain) -> list[str]:
    """The stages there are, from Python down, each once."""
    return list(dict.fromkeys(pane.stage for pane in chain.panes))


def reached(chain: tclab.model.Chain, text: str) -> set[str]:
    """The stages that the Python line with `text` became lines of."""
    index = Index.from_chain(chain)
    return {chain.panes[index.pane(line)].stage for line in _became(chain, index, text)}


def lines(chain: tclab.model.Chain, text: str, stage: str) -> list[str]:
    """What the Python line with `text` became at one stage."""
    index = Index.from_chain(chain)
    texts = []
    for line in sorted(_became(chain, index, text)):
        number = index.pane(line)
        if chain.panes[number].stage == stage:
            texts.append(chain.panes[number].code.splitlines()[line - index.starts[number]])
    return texts


def _became(chain: tclab.model.Chain, index: Index, text: str) -> set[int]:
    found: set[int] = set()
    for number, pane in enumerate(chain.panes):
        for offset, line in enumerate(pane.code.splitlines()):
            if pane.stage == "python" and text in line:
                found |= index.descendants(index.starts[number] + offset)
    return found


def share_with_origin(chain: tclab.model.Chain, stage: str, among: str = "") -> float:
    """Of the stage's lines that contain `among`, the share that leads back to a Python line."""
    index = Index.from_chain(chain)
    python = {i for i, pane in enumerate(chain.panes) if pane.stage == "python"}
    lines = [
        index.starts[i] + offset
        for i, pane in enumerate(chain.panes) if pane.stage == stage
        for offset, line in enumerate(pane.code.splitlines()) if among in line
    ]  # fmt: skip
    led = [any(index.pane(a) in python for a in index.ancestors(line)) for line in lines]
    return sum(led) / len(led)
