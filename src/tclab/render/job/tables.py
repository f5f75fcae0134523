"""Make the tables of a job: what it compiled, what its caches answered, what the GPU ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tclab.model import (
    CacheLookup,
    DeviceProfile,
    Job,
    JobCompile,
    JobProcess,
    SourceLine,
    Table,
    process_label,
    short_kernel_name,
)

#: The most lines of a kernel that a row names.
_MOST_LINES = 3


def compiles(processes: Sequence[JobProcess], *, own: bool) -> Table:
    """Return the compiles of the job's own functions, or those of libraries' functions, the longest
    first. Equal compiles of several processes are one row with their number.
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
    return Table(
        "Compiles" if own else "Compiles in libraries",
        "compiles" if own else "library-compiles",
        ("function", "line", "compile", "direction", "seconds", "backend", "operations", "guards",
         "processes", "ended by"),
        tuple(
            (function, place, ident, direction, max(each.seconds for each in group),
             max(each.backend for each in group) or None, group[0].operations or None,
             group[0].guards or None, len(group), failure or None)
            for (function, place, ident, direction, failure), group in ordered
        ),
        formats=("", "", "", "", ".2f", ".2f"),
    )  # fmt: skip


def phases(processes: Sequence[JobProcess]) -> Table:
    """Return the seconds of each phase of compiling, with a column for each process."""
    names = dict.fromkeys(p.name for each in processes for p in each.compile_time.phases)
    seconds = [{p.name: p.seconds for p in each.compile_time.phases} for each in processes]
    rows = [(name, *(side.get(name) for side in seconds)) for name in names]
    labels = [process_label(each) for each in processes]
    columns = ("phase", *labels)
    return Table("Compile time by phase", "phases", columns, tuple(rows),
                 ("", *("s" for _ in labels)), ("", *(".3f" for _ in labels)))  # fmt: skip


def graphs(processes: Sequence[JobProcess]) -> Table:
    """Return the graphs that Inductor compiled or loaded."""
    rows = [
        (process_label(process), graph.compile_id, graph.direction or None,
         len(graph.kernels), graph.library_calls, _lines(graph.lines))
        for process in processes
        for graph in process.graphs
    ]  # fmt: skip
    columns = ("process", "compile", "direction", "kernels", "library calls", "lines")
    return Table("Graphs", "graphs", columns, tuple(rows))


def caches(processes: Sequence[JobProcess]) -> Table:
    """Return each look-up of a cache, with the reason of a bypass or the part of a key that
    differs.
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
    return Table("Caches", "caches", ("process", "compile", "cache", "result", "why"), tuple(rows))


def _reason_text(lookup: CacheLookup) -> str:
    if lookup.changed:
        return f"beside {lookup.beside}: {'; '.join(map(str, lookup.changed))}"
    return lookup.reason


def kernels(profile: DeviceProfile) -> Table:
    """Return the kernels of a profile, the longest time first."""
    whole = profile.seconds or 1.0
    rows = [
        (short_kernel_name(each.name), each.times, each.seconds * 1e6, 100 * each.seconds / whole,
         each.origin or None, each.compile_id or None, each.direction or None,
         _lines(each.lines), each.configuration or None)
        for each in profile.kernels
    ]  # fmt: skip
    launches = sum(kernel.times for kernel in profile.kernels)
    return Table(
        f"Kernels of {profile.name}",
        "kernels",
        ("kernel", "times", "time", "share", "from", "compile", "direction", "lines", "launch"),
        (*rows, ("all", launches, profile.seconds * 1e6, 100.0, *[None] * 5)),
        ("", "", "µs", "%"),
        ("", "", ".1f", ".1f"),
    )


def records(job: Job) -> Table:
    """Return a table of what was read from each process."""
    rows = [
        (each.name, each.rank, each.torch or None, len(each.compiles), len(each.graphs),
         each.records, sum(each.unread.values()))
        for each in job.processes
    ]  # fmt: skip
    columns = ("trace", "rank", "PyTorch", "compiles", "graphs", "records", "not read")
    return Table("Processes", "processes", columns, tuple(rows))


def _lines(lines: Sequence[SourceLine]) -> str | None:
    named = list(_ranges(lines))
    more = f" and {len(named) - _MOST_LINES} more" if len(named) > _MOST_LINES else ""
    return ", ".join(named[:_MOST_LINES]) + more if named else None


def _ranges(lines: Sequence[SourceLine]) -> Iterator[str]:
    """Yield ``train.py:17``, or ``train.py:17–20`` for lines that follow each other."""
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
