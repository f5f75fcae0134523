"""Collect the values of one capture that the rules for findings read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab import advisories, targets
from tclab.compare.identity import readable_source
from tclab.explain import costs, distinct_values, unrolled_loops
from tclab.explain.measure.join import seconds_per_launch
from tclab.findings import CUDA_GRAPH_MODES, Evidence
from tclab.model import rows_of_chains, rows_of_kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tclab.capturing import Capture
    from tclab.model import Chain, Measurement, Snapshot
    from tclab.targets import Target


def from_capture(
    capture: Capture, snapshot: Snapshot, chains: Sequence[Chain], target: Target | None,
    mode: str = "", measurement: Measurement | None = None,
) -> Evidence:  # fmt: skip
    """Return the values that a capture alone gives: its kernels and the first call, with the least
    costs on the target or on this machine's GPU, and with a `measurement` their measured times. No
    fix was tried, and only one call was made.
    """
    from tclab.capturing.read.breaks import runs_at_breaks
    from tclab.capturing.read.frames import failed_compiles, library_callers, library_files
    from tclab.capturing.read.runs import calls_by_compile
    from tclab.capturing.read.times import read_seconds_by_compile
    from tclab.system import machine

    failed = failed_compiles(capture.trace)
    profile = measurement.profile if measurement else None
    launches = seconds_per_launch(chains, profile.graphs if profile else ())
    rows = rows_of_chains(chains, launches) or rows_of_kernels(capture.kernels)
    device = target or targets.find_by_device(machine.here().gpu)
    if device and device.gfx:
        device = None  # what bounds a call was measured on NVIDIA's GPUs
    cuda_graphs = mode in CUDA_GRAPH_MODES and not capture.cuda_graph_skips
    return Evidence(
        call_of=calls_by_compile(capture.trace),
        mode=mode,
        measurement=measurement,
        breaks=capture.breaks,
        recompiles=tuple(r for r in capture.recompiles if r.compile_id not in failed),
        distinct=distinct_values.find(capture),
        symbols=frozenset(readable_source(each.source) for each in capture.symbols.symbols),
        advisories=advisories.find(snapshot),
        kernels=rows if device is None else costs.add_floors(rows, device),
        cost=costs.call_cost(
            chains, rows, device, cuda_graphs=cuda_graphs, refused=len(capture.gaps)
        ),
        cuda_graph_skips=capture.cuda_graph_skips,
        on_host=tuple(place for _, place in capture.on_host),
        cachings=capture.cachings,
        checkpoints=capture.checkpoints,
        partitions=capture.partitions,
        post_grad=capture.post_grad,
        loops=unrolled_loops.find(capture.graphs),
        compile_time=capture.compile_time,
        seconds_of=read_seconds_by_compile(capture.trace),
        callers=library_callers(capture.trace),
        libraries=library_files(capture.trace),
        runs_at=runs_at_breaks(capture.trace),
    )
