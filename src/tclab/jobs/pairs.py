"""Compare two runs process by process, by the snapshots of their traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from tclab.compare.changes import Comparison, compare_snapshots
from tclab.model import Job, JobProcess, Snapshot, process_label


@dataclass(frozen=True)
class ProcessPair:
    """Two processes that do the same work, one of each run. None stands for a run that has no such
    process.
    """

    before: JobProcess | None
    after: JobProcess | None

    @property
    def comparison(self) -> Comparison:
        """What differs between the two. A missing process counts as one that compiled nothing."""
        sides = (each.snapshot if each else Snapshot() for each in (self.before, self.after))
        return compare_snapshots(*sides)

    @property
    def is_empty(self) -> bool:
        """Whether one of the processes is missing, or compiled nothing."""
        return not all(each and not each.snapshot.is_empty for each in (self.before, self.after))

    @property
    def title(self) -> str:
        """``rank 1``, or the names of two traces."""
        return " and ".join(dict.fromkeys(process_label(p) for p in (self.before, self.after) if p))


def pair_processes(before: Job, after: Job) -> Iterator[ProcessPair]:
    """Yield the processes of two runs side by side: by rank if each run has several ranks, else in
    their order.
    """
    sides = before.processes, after.processes
    if all(len(side) > 1 and _have_ranks(side) for side in sides):
        one, other = ({each.rank: each for each in side} for side in sides)
        for rank in sorted({**one, **other}, key=lambda each: each or 0):
            yield ProcessPair(one.get(rank), other.get(rank))
    else:
        yield from (ProcessPair(*pair) for pair in zip_longest(*sides))


def _have_ranks(processes: Sequence[JobProcess]) -> bool:
    ranks = Counter(each.rank for each in processes)
    return None not in ranks and max(ranks.values()) == 1


def name_processes(job: Job) -> Iterator[tuple[str, JobProcess]]:
    """Yield each process with a name that the next run of the job gives it, too: ``rank 1``, or, if
    the processes have no ranks, ``job`` for the first one and ``job 2`` for the second.
    """
    ranked = _have_ranks(job.processes)
    for number, process in enumerate(job.processes, 1):
        name = process_label(process) if ranked else f"job {number}" if number > 1 else "job"
        yield name, process
