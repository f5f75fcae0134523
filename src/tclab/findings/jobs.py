"""Define rules on a job: what differs between its processes, and what the GPU waited for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from tclab.findings import cuda_graphs, dynamo
from tclab.findings.dynamo import join_few
from tclab.findings.evidence import Evidence
from tclab.model import (
    NOT_KNOWN,
    Cost,
    DeviceProfile,
    Finding,
    Job,
    JobCompile,
    JobProcess,
    SourceLine,
    format_seconds,
    process_label,
    rank_findings,
    short_kernel_name,
)

#: A process that compiles for at least this many seconds is a finding.
_LONG = 5.0
#: A GPU that is unused for this share of a profile is a finding. Collectives are a finding, too, if
#: in one rank's profile they take this share of the profile longer than in another's.
_IDLE_SHARE = 0.2
_MOST_CHARACTERS = 300
#: The beginning of the kernels' names in NVIDIA's library of collectives.
_COLLECTIVE = "nccl"
_KEEP_CACHE = (
    "Keep the folder of TORCHINDUCTOR_CACHE_DIR from one start to the next: each graph was a miss "
    "in PyTorch's caches; not where a cache bypasses the graph. (Not tried.)"
)
_LAUNCH_LESS = (
    'mode="reduce-overhead" starts the kernels of a graph at once, where the host takes the time; '
    "not where the GPU waits for data, another process or a compile. (Not tried.)"
)


def find_in_job(job: Job, differences: Sequence[str] = ()) -> tuple[Finding, ...]:
    """Return the findings of a job, dearest first. `differences` are sentences on the first step in
    which its processes differ.
    """
    found = chain(
        _find_in_processes(job.processes),
        _find_rank_differences(job, differences),
        _find_nothing_compiled(job),
        _find_cache_misses(job.processes),
        _find_compile_time(job.processes),
        _find_idle_gpu(job),
        _find_waits_for_ranks(job),
    )
    return rank_findings(tuple(found))


def _find_in_processes(processes: Sequence[JobProcess]) -> Iterator[Finding]:
    """Yield the findings of each process. Equal findings of several processes are merged."""
    by_identity: dict[object, list[tuple[JobProcess, Finding]]] = {}
    for process in processes:
        for finding in _find_in_process(process):
            identity = finding.name, finding.what, finding.places
            by_identity.setdefault(identity, []).append((process, finding))
    for pairs in by_identity.values():
        dearest = max((finding for _, finding in pairs), key=lambda each: each.cost.seconds)
        where = _name_processes([process for process, _ in pairs], processes)
        yield replace(dearest, what=dearest.what + where)


def _find_in_process(process: JobProcess) -> Iterator[Finding]:
    evidence = Evidence(
        breaks=process.breaks,
        recompiles=process.recompiles.recompiles,
        seconds_of=_sum_seconds(process.compiles),
        cuda_graph_skips=process.cuda_graph_skips,
        compile_time=process.compile_time,
        callers=process.callers,
    )
    for rule in (*dynamo.RULES, *cuda_graphs.RULES):
        yield from rule(evidence)


def _sum_seconds(compiles: Sequence[JobCompile]) -> dict[str, float]:
    """Map a compile's id to its seconds, including those of its backward."""
    seconds: dict[str, float] = defaultdict(float)
    for each in compiles:
        seconds[each.compile_id] += each.seconds
    return seconds


def _name_processes(some: Sequence[JobProcess], every: Sequence[JobProcess]) -> str:
    """Return the names of these processes; '' if they are all processes of the job."""
    if len(some) == len(every):
        return ""
    ranks = [each.rank for each in some]
    if None in ranks:
        return f" (in {join_few([each.name for each in some])})"
    return f" (on rank {', '.join(map(str, ranks))} of {len(every)})"


def _find_rank_differences(job: Job, differences: Sequence[str]) -> Iterator[Finding]:
    for text in differences:
        cut = text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} …"
        yield Finding("ranks-differ", cut, section="processes")


def _find_nothing_compiled(job: Job) -> Iterator[Finding]:
    if job.processes and not any(each.compiles or each.graphs for each in job.processes):
        yield Finding("nothing-compiled", "no trace of this job has a compile")


def _find_cache_misses(processes: Sequence[JobProcess]) -> Iterator[Finding]:
    """Yield a finding for each part of a cache key because of which a process compiled a graph that
    another process had in the cache.
    """
    by_cause: dict[str, list[tuple[JobProcess, str]]] = {}
    for process in processes:
        for lookup in process.lookups:
            if lookup.changed:
                parts = join_few([str(part) for part in lookup.changed])
                cause = f"missed what {lookup.beside} has, since the key differs in {parts}"
                by_cause.setdefault(cause, []).append((process, lookup.compile_id))
    for cause, missed in by_cause.items():
        ids = {compile_id for _, compile_id in missed}
        first = missed[0][0]
        seconds = sum(each.seconds for each in first.compiles if each.compile_id in ids)
        cost = Cost(seconds, "s once", "measured") if seconds else NOT_KNOWN
        yield Finding("cache-miss", f"{first.name} {cause}", cost=cost, section="caches")


def _find_compile_time(processes: Sequence[JobProcess]) -> Iterator[Finding]:
    """Yield a finding for a process that compiles for long; it names the function and the phase."""
    for process in processes:
        if process.seconds < _LONG:
            continue
        by_function: dict[SourceLine | None, list[JobCompile]] = defaultdict(list)
        for each in process.compiles:
            by_function[each.location].append(each)
        sums = {place: sum(c.seconds for c in group) for place, group in by_function.items()}
        place = max(sums, key=lambda each: sums[each], default=None)
        group = by_function[place]
        function = group[0].function if group else ""
        label = process_label(process) if len(processes) > 1 else "the job"
        largest = sorted(process.compile_time.phases, key=lambda each: -each.seconds)[:3]
        phases = ", ".join(f"{each.name} {format_seconds(each.seconds)}" for each in largest)
        yield Finding(
            "compile-time",
            f"{label} compiled for {format_seconds(process.seconds)}, "
            f"{format_seconds(sums.get(place, 0.0))} of it {function or 'one function'} in "
            f"{len(group)} compiles; the longest phases are {phases}",
            (place,) if place else (),
            Cost(process.seconds, "s once", "measured"),
            () if _has_hits(process) else (_KEEP_CACHE,),
            "compiles",
        )


def _has_hits(process: JobProcess) -> bool:
    return any(lookup.state == "hit" for lookup in process.lookups)


def _find_idle_gpu(job: Job) -> Iterator[Finding]:
    """Yield a finding for each profile in which the GPU often waits for the host."""
    for profile in job.profiles:
        idle = profile.span - profile.busy
        if profile.span and idle >= _IDLE_SHARE * profile.span:
            between = " and ".join(map(short_kernel_name, profile.gap_between))
            yield Finding(
                "gpu-idle",
                f"in {profile.name} the GPU runs no kernel for {format_seconds(idle)} of "
                f"{format_seconds(profile.span)}; the longest gap, {format_seconds(profile.gap)}, "
                f"is between {between}",
                cost=Cost(idle, "s of the profile", "measured"),
                actions=(_LAUNCH_LESS,),
                section="kernels",
            )


def _find_waits_for_ranks(job: Job) -> Iterator[Finding]:
    """Yield a finding if the collectives take much longer in one profile than in another. A rank's
    collective lasts from its own arrival until the arrival of the last rank.
    """
    by_rank = {each.rank: each for each in job.profiles if each.rank is not None}
    if len(by_rank) < 2 or len(by_rank) < len(job.profiles):  # not one of each rank of one job
        return
    slow = max(by_rank.values(), key=_seconds_in_collectives)
    fast = min(by_rank.values(), key=_seconds_in_collectives)
    longest, shortest = _seconds_in_collectives(slow), _seconds_in_collectives(fast)
    waits = longest - shortest
    if shortest and waits >= _IDLE_SHARE * slow.span:
        yield Finding(
            "ranks-wait",
            f"collectives take {format_seconds(longest)} in {slow.name} and "
            f"{format_seconds(shortest)} in {fast.name}: rank {slow.rank} waits in them "
            f"for rank {fast.rank}",
            cost=Cost(waits, "s of the profile", "measured"),
            section="kernels",
        )


def _seconds_in_collectives(profile: DeviceProfile) -> float:
    return sum(each.seconds for each in profile.kernels if each.name.startswith(_COLLECTIVE))
