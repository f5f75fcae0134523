"""Open a job: every trace and profile at some paths, as one value."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from tclab.capturing.read.times import PhaseTimes
from tclab.capturing.trace.records import Log, read_log
from tclab.compare.identity import failed_guards
from tclab.findings.jobs import find_in_job
from tclab.jobs import inputs, ranks
from tclab.jobs.caches import explain_misses
from tclab.jobs.names import shorten_names
from tclab.jobs.process import ReadProcess, read_process
from tclab.jobs.profile import read_configurations, read_kernels
from tclab.jobs.stages import merge_stages
from tclab.model import UNREADABLE, DeviceProfile, Job, JobProcess, map_texts, process_label
from tclab.text import redaction, user_lines

# os.environ['TORCHINDUCTOR_CACHE_DIR'] = '/tmp/cache'
# PyTorch writes a quote of a value as ", and a line break as it is.
_VARIABLE = re.compile(r"^os\.environ\['(\w+)'\] = '([^']*)'", re.MULTILINE)

#: Ranks up to this one are named if they have no trace.
_MOST_RANKS = 1024
#: The fields of a listing whose keys are numbers, which hold no text of the job.
_KEYS = frozenset({"links", "marks"})
#: The beginnings of absolute paths, including those below this machine's temporary folder and home.
_WHOLE_PATHS = ("/", "<tmp>/", "~/")


@dataclass
class _InputsRead:
    """The inputs that were read so far. `folders` has the processes of each path. `others` says of
    each other file why it was not read. `variables` are the environment variables in the traces.
    With `snapshots`, a snapshot of each process is taken; with `stages`, the stages of each compile
    are read. `kernels` are texts in the names of kernels to compile down to instructions, and
    `replay` the ids of compiles whose graphs are compiled again: all of them if it is empty, and
    none if it is None.
    """

    processes: list[ReadProcess] = field(default_factory=list)
    folders: list[list[ReadProcess]] = field(default_factory=list)
    profiles: list[inputs.Profile] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    snapshots: bool = False
    stages: bool = False
    kernels: Sequence[str] = ()
    replay: Sequence[str] | None = None


def open_job(
    paths: Sequence[Path],
    *,
    snapshots: bool = False,
    stages: bool = False,
    kernels: Sequence[str] = (),
    replay: Sequence[str] | None = None,
    python: str = sys.executable,
    upgrade: str = "",
) -> Job:
    """Return the job whose traces and profiles are at `paths`: folders, files, compressed files and
    archives. With `snapshots`, each process has a snapshot; with `stages`, the job has the stages
    of its compiles. Triton kernels with one of the texts `kernels` in their name are compiled down
    to instructions, which takes minutes. With `replay`, the graphs of these compiles, or all of
    them, are compiled again by the PyTorch of `python`; with the Python `upgrade`, by its PyTorch,
    too, and the job has tables of what differs. Raises BadRequest for a path with neither a trace
    nor a profile, and for kernels and graphs that cannot be compiled.
    """
    read = _InputsRead(snapshots=snapshots, stages=stages, kernels=kernels, replay=replay)
    same_name = Counter(path.name for path in paths)
    for path in paths:
        before, first = len(read.processes) + len(read.profiles), len(read.processes)
        title = path.name if same_name[path.name] == 1 else str(path)
        for each in inputs.find_inputs(path):
            if path.is_file() and each.name == path.name:
                _read_input(each, title, read)
            else:
                _read_input(each, f"{title}/{each.name}" if len(paths) > 1 else each.name, read)
        if len(read.processes) + len(read.profiles) == before:
            raise inputs.no_trace(path)
        read.folders.append(read.processes[first:])
    return _build_job(read, ", ".join(path.name or str(path) for path in paths), python, upgrade)


def _read_input(file: inputs.Input, name: str, read: _InputsRead) -> None:
    try:
        text = file.text()
        kind = inputs.detect_kind(text)
        if kind == "trace":
            times, all_graphs = PhaseTimes(), read.snapshots or read.stages
            also = frozenset() if read.replay is None else _records_to_replay()
            log = read_log(text, all_graphs=all_graphs, also=also, on_phase=times.add)
            wanted = {"snapshot": read.snapshots, "stages": read.stages}
            wanted["sources"] = bool(read.kernels)
            wanted["replay"] = read.replay is not None
            read.processes.append(read_process(name, log, times.compile_time(), **wanted))
            read.variables.update(_read_variables(log))
        elif kind == "profile":
            read.profiles.append(inputs.read_profile(name, text))
        else:
            read.others.append(f"{name}: neither a trace nor a profile")
    except (*inputs.DAMAGED, *UNREADABLE) as error:
        read.others.append(f"{name}: cannot be read: {error}")


def _records_to_replay() -> frozenset[str]:
    from tclab.jobs.again.graphs import RECORDS

    return RECORDS


def _read_variables(log: Log) -> Iterator[tuple[str, str]]:
    """Yield (name, value) for each environment variable of the job that its trace contains."""
    for event in log.trace.select("fx_graph_runnable"):
        for match in _VARIABLE.finditer(event.payload):
            yield match[1], match[2]


def _build_job(read: _InputsRead, title: str, python: str, upgrade: str) -> Job:
    in_order = shorten_names(sorted(read.processes, key=_rank_key))
    processes = explain_misses(in_order)
    profiles = tuple(read_kernels(profile, processes) for profile in read.profiles)
    job = Job(title, processes, profiles, remarks=tuple(_remarks(read, processes, profiles)))
    job = _add_machine_code(job, read) if read.kernels else job
    if read.replay is not None:
        # these are imported when they are asked for: most jobs are only read
        from tclab.jobs.again import running, upgraded, wanted

        graphs = wanted.choose_graphs(in_order, read.replay, stages=read.stages)
        job = replace(job, replays=tuple(running.replay_graphs(graphs, python=python)))
        if upgrade:
            found = upgraded.compare_graphs(graphs, python, upgrade)
            job = replace(job, upgrade=tuple(upgraded.tabulate(found)))
    job = replace(job, findings=find_in_job(job, tuple(_describe_differences(processes))))
    job = replace(job, processes=tuple(map(_clean_guards, processes)))
    of_processes = zip(processes, (each.stages for each in in_order))
    job = replace(job, stages=tuple(merge_stages(of_processes)))
    return _redact(_shorten_paths(job), read.variables)


def _add_machine_code(job: Job, read: _InputsRead) -> Job:
    """Return the job with the instructions of the kernels that were asked for."""
    from tclab.jobs.machine_code import compile_launched

    launched = {
        file: config for p in read.profiles for file, config in read_configurations(p).items()
    }
    sources = [source for process in read.processes for source in process.sources]
    chains, remarks = compile_launched(read.kernels, sources, launched)
    return replace(job, machine_code=tuple(chains), remarks=(*job.remarks, *remarks))


def _clean_guards(process: JobProcess) -> JobProcess:
    """Return the process without the comments and stacks that follow its failed guards."""
    recompiles = process.recompiles
    cleaned = (replace(each, reasons=failed_guards(each)) for each in recompiles)
    return replace(process, recompiles=replace(recompiles, recompiles=tuple(cleaned)))


def _rank_key(process: ReadProcess) -> int:
    """Return the sort key of a process: its rank, or -1 if it has none. Equal keys keep the order
    of the paths.
    """
    return -1 if process.process.rank is None else process.process.rank


def _describe_differences(processes: Sequence[JobProcess]) -> Iterator[str]:
    """Yield a sentence for each step in which a group of ranks is the first time unlike the first
    group of ranks.
    """
    first, *others = ranks.group_equal(_list_ranks(processes)) or [[]]
    for group in others:
        label, *others_alike = map(process_label, group)
        names = f"{label}, like {', '.join(others_alike)}," if others_alike else label
        for one, two in ranks.find_differences(first[0], group[0]):
            where = f"where rank {first[0].rank} {one or 'is done'}"
            yield f"{names} {two or 'does nothing more'}, {where}"


def _list_ranks(processes: Sequence[JobProcess]) -> list[JobProcess]:
    """Return the processes with a rank; [] if a rank occurs twice, since these are several runs and
    not one job.
    """
    of_ranks = [each for each in processes if each.rank is not None]
    return of_ranks if len({each.rank for each in of_ranks}) == len(of_ranks) else []


def _remarks(
    read: _InputsRead, processes: Sequence[JobProcess], profiles: Sequence[DeviceProfile]
) -> Iterator[str]:
    yield from read.others
    for profile in profiles:
        if profile.replays:
            yield (
                f"{profile.name}: CUDA graphs launched: {profile.replays:,}; their kernels have no "
                "launch of their own, and are joined by name to a graph that alone has it"
            )
        if profile.unread:
            yield f"{profile.name}: {profile.unread:,} events not read: not in the profiler's form"
    for process in processes:
        for reason, number in process.unread.items():
            yield f"{process.name}: {number:,} of {process.records + number:,} not read: {reason}"
    known = [each.rank for each in processes if each.rank is not None]
    if missing := sorted(set(range(min(max(known, default=-1), _MOST_RANKS) + 1)) - set(known)):
        yield f"no trace of rank {', '.join(map(str, missing))}"
    apart = [note for folder in read.folders for note in _note_separate_runs(folder)]
    yield from apart
    yield from ranks.compare_caches(_list_ranks(processes))
    for rank, number in Counter(known).items():
        if number > 1 and not apart:
            yield f"{number} traces of rank {rank}: more than one job, or one that began again"
    for framework in dict.fromkeys(name for each in processes for name in each.frameworks):
        yield f"written by {framework}"


def _note_separate_runs(folder: Sequence[ReadProcess]) -> Iterator[str]:
    """Yield a remark if some processes of a folder had written their last record before all others
    wrote their first, and another one if different programs wrote the traces. The ranks of one job
    can compile one after the other.
    """
    programs = {each.program: each.process.name for each in folder if each.program}
    if len(programs) > 1:
        names = ", ".join(f"{program} ({name})" for program, name in sorted(programs.items()))
        yield f"{len(programs)} programs wrote the traces of one folder: {names}"
    if len(folder) > 1 and len(_list_ranks([each.process for each in folder])) == len(folder):
        return
    timed = sorted((p for p in folder if p.began <= p.ended), key=lambda process: process.began)
    ends = list(accumulate((process.ended for process in timed), max))
    later = [n for n in range(1, len(timed)) if timed[n].began > ends[n - 1]]
    if later:
        names = ", ".join(process.process.name for process in timed[later[0] :])
        yield (
            f"{len(later) + 1} jobs in one folder, or one job whose processes compiled one after "
            f"the other: the traces before {names} had ended when this began. Open a folder for "
            "each run, to compare them"
        )


def _shorten_paths(job: Job) -> Job:
    """Remove from the names of files the folder that all files of the job's own code have in
    common.
    """
    folders = {
        os.path.dirname(line.file)
        for process in job.processes
        for line in _list_locations(process)
        if line.file.startswith(_WHOLE_PATHS) and not user_lines.is_library_file(line.file)
    }
    try:
        prefix = f"{os.path.commonpath(folders).rstrip('/')}/"
    except ValueError:  # there is no folder, or relative and absolute paths are mixed
        return job
    if len(prefix) == 1:
        return job
    shortened: Job = map_texts(job, lambda text: text.replace(prefix, ""), _KEYS)
    return shortened


def _list_locations(process: JobProcess) -> Iterator[Any]:
    yield from (each.location for each in process.compiles if each.location)
    yield from process.callers.values()
    yield from (each.location for each in process.breaks if each.location)


def _redact(job: Job, variables: Mapping[str, str]) -> Job:
    """Hide values that may be tokens: those of environment variables of the job and of this
    machine.
    """
    tokens = redaction.find_tokens({**os.environ, **variables})
    if not tokens:
        return job
    redact = cache(lambda text: redaction.redact_tokens(text, tokens))
    redacted: Job = map_texts(job, redact, _KEYS)
    return redacted
