"""Make the tables of a job. They show what the job compiled, what its caches answered, and what the
GPU ran.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from tclab.model import (
    CacheLookup,
    Chain,
    DeviceKernel,
    DeviceProfile,
    Job,
    JobCompile,
    JobProcess,
    Kernel,
    KernelFacts,
    SourceLine,
    Table,
    process_label,
    short_kernel_name,
)

T = TypeVar("T")

#: The most lines of a kernel that a row names, and the most processes with a column of their own.
_MOST_LINES, _MOST_COLUMNS = 3, 4
#: A row names at most this number of a recompile's failed guards; the guard of the newest cache
#: entry comes first.
_MOST_REASONS = 3


def compiles(processes: Sequence[JobProcess], *, own: bool) -> Table:
    """Return a table of the compiles, the longest first: those of the job's own functions with
    `own`, else those of libraries' functions. Equal compiles of several processes are one row, with
    the number of processes.
    """
    rows: dict[tuple[str, ...], list[JobCompile]] = defaultdict(list)
    for process in processes:
        for each in process.compiles:
            if each.own is own:
                place = str(each.location) if each.location else ""
                rows[each.function, place, each.compile_id, each.direction, each.failure].append(
                    each
                )
    ordered = sorted(rows.items(), key=lambda item: -max(each.seconds for each in item[1]))
    table = Table(
        "compiles" if own else "compiles in libraries",
        "compiles" if own else "library-compiles",
        ("function", "line", "compile", "direction", "seconds", "of it backend", "operations",
         "guards", "processes", "ended by"),
        tuple(
            (function, place, ident, direction, max(each.seconds for each in group),
             max(each.backend for each in group) or None, group[0].operations or None,
             group[0].guards or None, len(group), failure or None)
            for (function, place, ident, direction, failure), group in ordered
        ),
        formats=("", "", "", "", ".2f", ".2f"),
    )  # fmt: skip
    return _without_columns(table, "processes" if len(processes) == 1 else "")


def recompiles(processes: Sequence[JobProcess]) -> Table:
    """Return a table of the recompiles. The recompiles of one function for the same reason are one
    row, which says how many they are.
    """
    rows: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for process in processes:
        for each in process.recompiles:
            reasons = [*dict.fromkeys(each.reasons)]
            more = f"; and {len(reasons) - _MOST_REASONS} more" * (len(reasons) > _MOST_REASONS)
            place = str(each.location) if each.location else ""
            reason = "; ".join(reasons[:_MOST_REASONS]) + more
            rows[each.function, place, reason].append(each.compile_id)
    return Table(
        "recompiles",
        "recompiles",
        ("function", "line", "times", "compile", "guards that failed"),
        tuple(
            (function, place, len(ids), _first_and_last(ids), reason)
            for (function, place, reason), ids in rows.items()
        ),
    )


def _first_and_last(ids: Sequence[str]) -> str:
    return ids[0] if len({*ids}) == 1 else f"{ids[0]} to {ids[-1]}"


def phases(processes: Sequence[JobProcess]) -> Table:
    """Return a table of the seconds of each phase of compiling, the longest phase first. It has the
    seconds of each process; for many processes, it has only the shortest and the longest time.
    """
    seconds = [{p.name: p.seconds for p in each.compile_time.phases} for each in processes]
    names = dict.fromkeys(name for side in seconds for name in side)
    found = {name: [side.get(name, 0.0) for side in seconds] for name in names}
    labels = tuple(process_label(each) for each in processes)
    if len(processes) == 1:
        labels = ("time",)
    if len(processes) > _MOST_COLUMNS:
        labels = ("in the fastest", "in the slowest")
        found = {name: [min(every), max(every)] for name, every in found.items()}
    ordered = sorted(found.items(), key=lambda item: -max(item[1]))
    rows: tuple[tuple[str | float, ...], ...] = tuple((name, *every) for name, every in ordered)
    return Table("phases of compiling", "phases", ("phase", *labels), rows,
                 ("", *("s" for _ in labels)), ("", *(".3f" for _ in labels)))  # fmt: skip


def graphs(processes: Sequence[JobProcess]) -> Table:
    """Return a table of the graphs that Inductor compiled or loaded from a cache."""
    rows = [
        (process_label(process), graph.compile_id, graph.part or None, graph.direction or None,
         len(graph.kernels), graph.library_calls, _lines_text(graph.lines))
        for process in processes
        for graph in process.graphs
    ]  # fmt: skip
    columns = ("process", "compile", "part", "direction", "kernels", "library calls", "lines")
    table = Table("graphs", "graphs", columns, tuple(rows))
    return _without_columns(table, "process" if len(processes) == 1 else "")


def caches(processes: Sequence[JobProcess]) -> Table:
    """Return a table of the look-ups of caches, each with the reason of a bypass or with the parts
    of the key that differ.
    """
    rows = [
        (
            process_label(process),
            each.compile_id,
            each.cache,
            each.state,
            _reason_text(each) or None,
        )
        for process in processes
        for each in process.lookups
    ]
    columns = ("process", "compile", "cache", "result", "why")
    table = Table("look-ups in caches", "caches", columns, tuple(rows))
    return _without_columns(table, "process" if len(processes) == 1 else "")


def _reason_text(lookup: CacheLookup) -> str:
    if lookup.changed:
        return f"beside {lookup.beside}: {'; '.join(map(str, lookup.changed))}"
    return lookup.reason


def kernels(profile: DeviceProfile) -> Table:
    """Return a table of the kernels of a profile, the longest time first. Kernels that differ only
    in what their short names leave out are one row.
    """
    whole = profile.seconds or 1.0
    alike: dict[tuple[str | None, ...], list[DeviceKernel]] = defaultdict(list)
    for each in profile.kernels:
        place = each.origin, each.compile_id, each.direction, each.configuration
        shown = (short_kernel_name(each.name), _lines_text(each.lines), *(p or None for p in place))
        alike[shown].append(each)
    rows: list[tuple[str | float | None, ...]] = []
    for (name, lines, *others), group in alike.items():
        seconds, times = sum(each.seconds for each in group), sum(each.times for each in group)
        rows.append((name, lines, seconds * 1e6, 100 * seconds / whole, times, *others))
    rows.sort(key=lambda row: -float(row[2] or 0))
    launches = sum(kernel.times for kernel in profile.kernels)
    table = Table(
        f"kernels of {profile.name}",
        "kernels",
        ("kernel", "lines", "time", "share", "times", "from", "compile", "direction", "launch"),
        (*rows, ("all", None, profile.seconds * 1e6, 100.0, launches, *[None] * 4)),
        ("", "", "µs", "%"),
        ("", "", ".1f", ".1f"),
    )
    return _without_columns(table)


def machine_code(chains: Sequence[Chain]) -> Table:
    """Return a table of the kernels that were compiled as they were launched: their resources and
    the number of their instructions.
    """
    kernels = [pane for chain in chains for pane in chain.panes if isinstance(pane, Kernel)]
    return Table(
        "kernels compiled as they were launched",
        "machine-code",
        ("kernel", "launch", "registers", "spilled", "shared memory", "instructions"),
        tuple((each.kernel_name, *_machine_facts(each.facts)) for each in kernels),
        ("", "", "of a thread", "bytes", "bytes"),
    )


def _machine_facts(facts: KernelFacts) -> tuple[str | int | None, ...]:
    launch = str(facts.configuration.config) if facts.configuration else None
    used = facts.resources
    sizes = (used.registers, used.spilled, used.shared) if used else (None,) * 3
    return (launch, *sizes, facts.instructions)


def records(job: Job) -> Table:
    """Return a table of what was read from each process."""
    rows = [
        (each.name, each.rank, each.torch or None, len(each.compiles), len(each.graphs),
         each.records, sum(each.unread.values()))
        for each in job.processes
    ]  # fmt: skip
    columns = ("trace", "rank", "PyTorch", "compiles", "Inductor graphs", "records", "not read")
    return Table("processes", "processes", columns, tuple(rows))


def _without_columns(table: Table, name: str = "") -> Table:
    """Return the table without the column `name`, and without the columns that have no value."""
    cells = list(zip(*table.rows)) or [()] * len(table.columns)
    kept = [
        at
        for at, column in enumerate(table.columns)
        if column != name and any(cell is not None for cell in cells[at])
    ]
    return pick_columns(table, kept)


def pick_columns(table: Table, positions: Sequence[int]) -> Table:
    """Return the table with some of its columns, named by their positions."""

    def pick(values: Sequence[T]) -> tuple[T, ...]:
        return tuple(values[at] for at in positions if at < len(values))

    return replace(table, columns=pick(table.columns), rows=tuple(map(pick, table.rows)),
                   units=pick(table.units), formats=pick(table.formats))  # fmt: skip


def _lines_text(lines: Sequence[SourceLine]) -> str | None:
    named = list(_line_ranges(lines))
    more = f" and {len(named) - _MOST_LINES} more" if len(named) > _MOST_LINES else ""
    return ", ".join(named[:_MOST_LINES]) + more if named else None


def _line_ranges(lines: Sequence[SourceLine]) -> Iterator[str]:
    """Yield lines as ``train.py:17``, and lines that follow each other as ``train.py:17–20``."""
    by_file: dict[str, list[int]] = defaultdict(list)
    for line in lines:
        by_file[line.file].append(line.line)
    for file, numbers in by_file.items():
        ordered = sorted(set(numbers))
        start = last = ordered[0]
        for number in [*ordered[1:], -1]:
            if number != last + 1:
                yield f"{file}:{start}" + (f"–{last}" if last > start else "")
                start = number
            last = number
