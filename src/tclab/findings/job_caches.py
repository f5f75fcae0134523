"""Define rules on the caches of a job's processes: what was compiled although it need not be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tclab.findings.cache_keys import GPU_INDEX, describe_changes
from tclab.findings.words import join_few, name_processes
from tclab.model import (
    CACHES_DISABLED,
    GRAPH_CACHE_OFF,
    NOT_KNOWN,
    Cost,
    Finding,
    JobProcess,
)

#: A setting that turns the caches off → the environment variable that does so.
_CACHE_VARIABLES = {
    CACHES_DISABLED: "TORCHINDUCTOR_FORCE_DISABLE_CACHES=1",
    GRAPH_CACHE_OFF: "TORCHINDUCTOR_FX_GRAPH_CACHE=0",
}
_TURN_ON = (
    "Remove the setting, or {} from the environment, which makes it; keep it where each start has "
    "to compile, as in a benchmark of compile time. (Not tried.)"
)
_ONE_VALUE = "Start with one value of it wherever no other is wanted. (Not tried.)"
_ONE_GPU = (
    "Give each process one GPU by CUDA_VISIBLE_DEVICES: its index is 0 in each of them. (Not "
    "tried.)"
)


def _find_caches_off(processes: Sequence[JobProcess]) -> Iterator[Finding]:
    """Yield a finding for each setting that turns the caches off. The cost is that of the process
    that spent the most on what a cache saves.
    """
    for setting, variable in _CACHE_VARIABLES.items():
        found = [each for each in processes if each.caches_off == setting]
        if not found:
            continue
        most = max(sum(each.backend for each in process.compiles) for process in found)
        yield Finding(
            "caches-off",
            f"no compiled graph is kept for the next start{name_processes(found, processes)}: "
            f"{setting}",
            cost=Cost(most, "s once", "measured") if most else NOT_KNOWN,
            actions=(_TURN_ON.format(variable),),
            section="caches",
        )


def _find_cache_misses(processes: Sequence[JobProcess]) -> Iterator[Finding]:
    """Yield a finding for each cause of cache misses. The cause is the parts of the key that differ
    from the key of a process that had the graph. The cost is that of the process that spent
    the most on these compiles, because processes compile at the same time.
    """
    by_cause: dict[str, dict[str, float]] = defaultdict(dict)
    for process in processes:
        for cause, ids in _group_misses(process).items():
            seconds = (e.backend or e.seconds for e in process.compiles if e.compile_id in ids)
            by_cause[cause][process.name] = sum(seconds)
    for cause, seconds_of in by_cause.items():
        most = max(seconds_of.values())
        cost = Cost(most, "s once", "measured") if most else NOT_KNOWN
        what = f"{join_few([*seconds_of])} {cause}"
        action = _ONE_GPU if cause.endswith(GPU_INDEX) else _ONE_VALUE
        yield Finding("cache-miss", what, cost=cost, actions=(action,), section="caches")


def _group_misses(process: JobProcess) -> dict[str, set[str]]:
    """Map each cause to the ids of the compiles that missed for it."""
    causes: dict[str, set[str]] = defaultdict(set)
    for lookup in process.lookups:
        if lookup.changed:
            changes = describe_changes(lookup.changed)
            beside = "another rank" if changes == GPU_INDEX else lookup.beside
            cause = f"missed what {beside} has, since the key differs in {changes}"
            causes[cause].add(lookup.compile_id)
    return causes


RULES = (_find_caches_off, _find_cache_misses)
