"""What stands above a kernel's code: four facts, why it is one kernel, and the rest folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import parts
from tclab.render.escape import esc, tag
from tclab.render.options import place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tclab.model import Kernel
    from tclab.render.options import Options

#: The facts that are not folded: how they are called here, and in the kernel.
FIRST = {
    "bytes moved": "bytes moved",
    "registers": "registers per thread",
    "spills": "spilled bytes",
    "configuration": "config",
}

#: The scheduler's reasons for what is one kernel and what is not.
_REASONS = ("fused", "not fused")

#: What it says of nodes that have nothing in common.
_NOTHING_SHARED = "no shared data"


def pairs(kernel: Kernel, options: Options) -> Iterator[tuple[str, str]]:
    """All that is known of a kernel: (name, HTML)."""
    yield "kernel", parts.code(kernel.kernel_name) if kernel.kernel_name else ""
    yield "category", esc(kernel.category.replace("_", " "))
    yield "device", esc(kernel.device)
    yield "computes", ", ".join(parts.code(o) for o in kernel.origins)
    lines = list(dict.fromkeys(place(s, options) for s in kernel.source_lines))
    yield "from", ", ".join(lines)
    for name, value in kernel.facts.items():
        yield name, esc(value)


def html(kernel: Kernel, options: Options) -> str:
    """Four facts, and behind a fold the scheduler's reasons and all other facts."""
    short = parts.facts((name, esc(_short(kernel, key))) for name, key in FIRST.items())
    rest = [(n, v) for n, v in pairs(kernel, options) if n not in _REASONS]
    folded = parts.facts([*_reasons(kernel), *rest])
    if not folded:
        return short
    summary = tag("summary", "Why it is one kernel, and all that is known of it")
    return short + tag("details", summary + folded, class_="tclab-more")


def _short(kernel: Kernel, key: str) -> str:
    """A fact as it stands in sight: of the configuration only itself, not how it was chosen."""
    value = kernel.facts.get(key, "")
    if key == "registers per thread" and "occupancy" in kernel.facts:
        return f"{value} a thread; occupancy {kernel.facts['occupancy']}"
    return value.partition(" (")[0] if key == "config" else value


def _reasons(kernel: Kernel) -> Iterator[tuple[str, str]]:
    """Why nodes were fused or not; where no data would be shared, only for how many pairs."""
    yield "fused", esc(kernel.facts.get("fused", ""))
    refused = [text for text in kernel.facts.get("not fused", "").split("; ") if text]
    apart = [text.partition(":")[0] for text in refused if text.endswith(_NOTHING_SHARED)]
    telling = [text for text in refused if not text.endswith(_NOTHING_SHARED)]
    yield "not fused", esc("; ".join(telling)) + _apart(apart)


def _apart(names: list[str]) -> str:
    if not names:
        return ""
    summary = f"{parts.count(len(names), 'pair')} with {_NOTHING_SHARED}"
    return tag("details", tag("summary", esc(summary)) + esc("; ".join(names)))
