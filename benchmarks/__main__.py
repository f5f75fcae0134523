"""Run ``python -m benchmarks [FIGURE…]``: measure the missing figures and write RESULTS.md.

Figures: cold, isolation, nothing-stale (with memory), explain, phone and desktop (Lighthouse over
site/), clone.
Without names: all but clone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from benchmarks import (  # noqa: E402
    clone,
    cold,
    explain,
    isolation,
    lighthouse,
    nothing_stale,
    results,
)
from benchmarks.measure import CommandFailed  # noqa: E402

FIGURES: dict[str, Callable[[results.Parts], Iterable[results.Figure]]] = {
    "cold": cold.figures,
    "isolation": isolation.figures,
    "nothing-stale": nothing_stale.figures,
    "explain": explain.figures,
    "phone": lighthouse.phone,
    "desktop": lighthouse.desktop,
    "clone": clone.figures,
}


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure what is missing of the project's figures and write RESULTS.md.",
        epilog="Measured parts are kept in benchmarks/work/parts.json: stop and go on at will.",
    )
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(FIGURES))
    parser.add_argument(
        "--again", action="append", default=[], metavar="PART",
        help="measure anew every part whose name begins so, e.g. cold/site",
    )  # fmt: skip
    chosen = parser.parse_args()
    if unknown := set(chosen.figures) - set(FIGURES):
        parser.error(f"unknown figure {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}")
    return chosen


def main() -> int:
    """Measure; return 1 if a command failed, whose figures are then missing."""
    chosen = arguments()
    parts = results.Parts.load()
    for prefix in chosen.again:
        parts.forget(prefix)
    names = chosen.figures or [name for name in FIGURES if name != "clone"]
    status = 0
    for name in names:
        print(f"{name}:", flush=True)
        try:
            for f in FIGURES[name](parts):
                results.write([f])  # written at once, so that an interruption loses no measurement
                print(f"  {f.verdict:8} {f.what}: {f.value:.3g}{f.unit}  ({f.note})", flush=True)
        except CommandFailed as error:
            print(f"error: {name}: {error}", file=sys.stderr)
            status = 1
    print("The table is in benchmarks/RESULTS.md.")
    return status


if __name__ == "__main__":
    sys.exit(main())
