"""Define rules on a job: what differs between its processes, and what the GPU waited for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from tclab.findings import breaks, cuda_graphs, job_caches, recompiles
from tclab.findings.evidence import Evidence
from tclab.findings.words import name_processes
from tclab.model import (
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
_LONG_COMPILE_SECONDS = 5.0
#: A GPU that is unused for this share of a profile is a finding. So are collectives, if they take
#: longer on one rank than on another, by at least this share of the profile.
_IDLE_SHARE = 0.2
#: A function with at least this share of the compile time is named alone.
_LARGE_SHARE = 0.1
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
    """Return the findings of a job, the highest cost first. `differences` are sentences, each on
    the first step in which two processes of the job differ.
    """
    found = chain(
        _find_in_processes(job.processes),
        _find_rank_differences(job, differences),
        _find_job_without_compiles(job),
        chain.from_iterable(rule(job.processes) for rule in job_caches.RULES),
        _find_compile_time(job.processes),
        _find_idle_gpu(job),
        _find_waits_for_ranks(job),
    )
    return rank_findings(tuple(found))


def _find_in_processes(processes: Sequence[JobProcess]) -> Iterator[Finding]:
    """Yield the findings of each process. Equal findings of several processes are merged into
    one.
    """
    by_identity: dict[object, list[tuple[JobProcess, Finding]]] = {}
    for process in processes:
        for finding in _find_in_process(process):
            identity = finding.name, finding.what, finding.places
            by_identity.setdefault(identity, []).append((process, finding))
    for pairs in by_identity.values():
        dearest = max((finding for _, finding in pairs), key=lambda each: each.cost.seconds)
        where = name_processes([process for process, _ in pairs], processes)
        yield replace(dearest, what=dearest.what + where)


def _merge_lines(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Merge findings that say the same about several lines, such as the lines of equal layers. The
    findings are about graph breaks, or about graphs that PyTorch does not record as CUDA graphs.
    The costs of merged findings are added.
    """
    alike: dict[object, list[Finding]] = defaultdict(list)
    for each in findings:
        alike[each.name, each.what, each.actions, each.cost.unit, each.cost.known].append(each)
    for group in alike.values():
        places = dict.fromkeys(place for each in group for place in each.places)
        cost = replace(group[0].cost, amount=sum(each.cost.amount for each in group))
        yield replace(group[0], places=tuple(places), cost=cost)


def _find_in_process(process: JobProcess) -> Iterator[Finding]:
    evidence = Evidence(
        breaks=process.breaks,
        recompiles=process.recompiles.recompiles,
        seconds_of=_sum_seconds(process.compiles),
        cuda_graph_skips=process.cuda_graph_skips,
        compile_time=process.compile_time,
        callers=process.callers,
        became=process.became,
    )
    lines = chain.from_iterable(rule(evidence) for rule in (*breaks.RULES, *cuda_graphs.RULES))
    yield from _merge_lines(lines)
    yield from chain.from_iterable(rule(evidence) for rule in recompiles.RULES)


def _sum_seconds(compiles: Sequence[JobCompile]) -> dict[str, float]:
    """Map the id of each compile to the seconds of this compile and of its backward."""
    seconds: dict[str, float] = defaultdict(float)
    for each in compiles:
        seconds[each.compile_id] += each.seconds
    return seconds


def _find_rank_differences(job: Job, differences: Sequence[str]) -> Iterator[Finding]:
    for text in differences:
        yield Finding("ranks-differ", _cut(text, _MOST_CHARACTERS), section="processes")


def _find_job_without_compiles(job: Job) -> Iterator[Finding]:
    if job.processes and not any(each.compiles or each.graphs for each in job.processes):
        yield Finding("nothing-compiled", "no trace of this job has a compile")


def _find_compile_time(processes: Sequence[JobProcess]) -> Iterator[Finding]:
    """Yield a finding for the process that compiles longest, if it takes at least
    `_LONG_COMPILE_SECONDS`. The finding names the function and the phases that took the most time.
    """
    process = max(processes, key=lambda each: each.seconds, default=None)
    if process is None or process.seconds < _LONG_COMPILE_SECONDS:
        return
    who = f"{process_label(process)}, the longest," if len(processes) > 1 else "the job"
    what = f"{who} compiled for {format_seconds(process.seconds)}"
    place, words = _costliest_function(process)
    if longest := sorted(process.compile_time.phases, key=lambda each: -each.seconds)[:3]:
        phases = ", ".join(f"{each.name} {format_seconds(each.seconds)}" for each in longest)
        words += f"; the longest phases are {phases}"
    yield Finding(
        "compile-time",
        what + words,
        (place,) if place else (),
        Cost(process.seconds, "s once", "measured"),
        (_KEEP_CACHE,) if _always_misses(process) else (),
        "compiles",
    )


def _costliest_function(process: JobProcess) -> tuple[SourceLine | None, str]:
    """Return the line of the function that took the most seconds of compiling, and its share in
    words. For a function of a library, the line is that of the job's own code that called it.
    Returns (None, '') if the trace has no seconds of a function.
    """
    by_place: dict[SourceLine, list[JobCompile]] = defaultdict(list)
    for each in process.compiles:
        if each.location:
            by_place[each.location].append(each)
    sums = {place: sum(each.seconds for each in group) for place, group in by_place.items()}
    place = max(sums, key=lambda each: sums[each], default=None)
    if place is None or not sums[place]:
        return None, ""
    group = by_place[place]
    caller = process.callers.get(f"{place.file}:{group[0].function}")
    where = f" ({place}), which this line calls," if caller else ""
    most = f"{format_seconds(sums[place])} of it {group[0].function}{where}"
    own = caller or place
    if sums[place] < _LARGE_SHARE * process.seconds:
        return own, f" in {len(sums)} functions, at most {most.removesuffix(',')}"
    compiles = "1 compile" if len(group) == 1 else f"{len(group)} compiles"
    return own, f", {most} in {compiles}"


def _always_misses(process: JobProcess) -> bool:
    """Return whether the process looked into caches and never found anything there."""
    states = {lookup.state for lookup in process.lookups}
    return "miss" in states and "hit" not in states


def _find_idle_gpu(job: Job) -> Iterator[Finding]:
    """Yield a finding if a GPU is idle for much of its profile. The finding is about the GPU that
    is idle longest.
    """
    idle = [each for each in job.profiles if each.span - each.busy >= _IDLE_SHARE * each.span > 0]
    if not idle:
        return
    profile = max(idle, key=lambda each: each.span - each.busy)
    waits = profile.span - profile.busy
    between = " and ".join(_cut(short_kernel_name(each), 60) for each in profile.gap_between)
    others = f" (and long in {len(idle) - 1} of the other profiles)"
    yield Finding(
        "gpu-idle",
        f"in {profile.name} the GPU runs nothing for {format_seconds(waits)} of "
        f"{format_seconds(profile.span)}{others * (len(idle) > 1)}; the longest gap, "
        f"{format_seconds(profile.gap)}, is between {between}",
        cost=Cost(waits, "s of the profile", "measured"),
        actions=() if profile.replays or _asks_for_graphs(job) else (_LAUNCH_LESS,),
        section="kernels",
    )


def _asks_for_graphs(job: Job) -> bool:
    return any(process.cuda_graph_skips for process in job.processes)


def _cut(text: str, most_characters: int) -> str:
    return text if len(text) <= most_characters else f"{text[:most_characters]}…"


def _find_waits_for_ranks(job: Job) -> Iterator[Finding]:
    """Yield a finding if the collectives take much longer in one profile than in another. In the
    profile of a rank, a collective lasts from the arrival of this rank until after the arrival of
    the last rank.
    """
    by_rank = {each.rank: each for each in job.profiles if each.rank is not None}
    # each rank of one job must have one profile
    if len(by_rank) < 2 or len(by_rank) < len(job.profiles):
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
