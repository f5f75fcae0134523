"""Count how many lines of kernels and how many instructions are linked.

``PYTHONPATH=src python -m benchmarks.link_coverage [--target h200] [NAME …]`` prints, for each
example of the catalogue (or those whose name contains NAME):

- of the computing lines of its kernels, the share linked to an FX node and to a Python line;
- of the SASS instructions, the share linked to a kernel's line. The padding after a kernel's
  end (NOP, and the branch to itself) is not counted.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

import tclab
from tclab.capturing.chain.inductor import computes_value
from tclab.capturing.machine_code.positions import is_instruction, padding_lines
from tclab.errors import TclabError
from tclab.model import Chain, Listing
from tclab.workshop.catalog import examples
from tclab.workshop.catalog.example import Example


@dataclass
class Count:
    """The number of linked lines, and of all lines."""

    computing: int = 0
    to_fx: int = 0
    to_python: int = 0
    instructions: int = 0
    to_kernel: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(*(a + b for a, b in zip(vars(self).values(), vars(other).values())))

    def row(self, name: str) -> str:
        """One line of the table."""
        shares = (_share(self.to_fx, self.computing), _share(self.to_python, self.computing),
                  _share(self.to_kernel, self.instructions))  # fmt: skip
        fx, python, sass = shares
        return (f"{name:42} {self.computing:6} {fx:>8} {python:>8} "
                f"{self.instructions:8} {sass:>8}")  # fmt: skip


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


HEAD = f"{'function':42} {'lines':>6} {'FX':>8} {'Python':>8} {'SASS':>8} {'kernel':>8}"


def measure(chain: Chain, unlinked: list[str]) -> Count:
    """Count the links of one chain; add lines without a node to `unlinked`."""
    reached = origins(chain)
    count = Count()
    for pane in chain.panes:
        lines = list(enumerate(pane.code.splitlines(), 1))
        if pane.stage in ("kernel", "cpp"):
            for number, line in (x for x in lines if computes_value(x[1], pane.language)):
                keys = reached(pane, number)
                count.computing += 1
                count.to_fx += (fx := any(k.startswith("fx:") for k in keys))
                count.to_python += (py := any(k.startswith("py:") for k in keys))
                if not (fx and py):
                    unlinked.append(
                        f"{pane.name}:{number}: {line.strip()[:90]}"
                        f"{'' if fx else ' [no node]'}{'' if py else ' [no Python]'}"
                    )
        elif pane.stage == "sass":
            for number in _instructions(pane):
                linked = any(k.startswith("kernel:") for k in pane.links.get(number, ()))
                count.instructions += 1
                count.to_kernel += linked
    return count


def _instructions(pane: Listing) -> Iterator[int]:
    lines = pane.code.splitlines()
    padding = padding_lines(lines)
    for number, line in enumerate(lines, 1):
        if is_instruction(line) and number not in padding:
            yield number


def origins(chain: Chain) -> Callable[[Listing, int], set[str]]:
    """Return a function from a pane and a line to the keys of all its direct and indirect
    origins.
    """
    above: dict[str, set[str]] = {}
    for pane in chain.panes:
        for line, marks in pane.marks.items():
            for mark in marks:
                above.setdefault(mark, set()).update(pane.links.get(line, ()))

    def reached(pane: Listing, line: int) -> set[str]:
        keys: set[str] = set()
        waiting = list(pane.links.get(line, ()))
        while waiting:
            key = waiting.pop()
            if key not in keys:
                keys.add(key)
                waiting += above.get(key, ())
        return keys

    return reached


def of_example(example: Example, target: str | None, unlinked: list[str]) -> Count:
    """Capture one function and count its links."""
    torch.manual_seed(0)
    fn, args = example.make()
    request = tclab.capture(fn, target=target, backward=example.backward, **example.options)
    chains = request(*args).chains()
    return sum((measure(chain, unlinked) for chain in chains), Count())


def main() -> None:
    """Print a row for each function, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target", default="h200", help="a GPU's name, or cpu for C++ kernels")
    parser.add_argument("--unlinked", action="store_true", help="print the lines without origin")
    options = parser.parse_args()
    total = Count()
    print(HEAD)
    for name, example in examples().items():
        if options.names and not any(wanted in name for wanted in options.names):
            continue
        unlinked: list[str] = []
        target = None if options.target == "cpu" else options.target
        try:
            count = of_example(example, target, unlinked)
        except (TclabError, RuntimeError) as error:
            print(f"{name:42} {str(error).splitlines()[0][:90]}")
            continue
        total += count
        print(count.row(name), flush=True)
        for line in unlinked if options.unlinked else ():
            print(f"    {line}")
    print(total.row("all"))


if __name__ == "__main__":
    main()
