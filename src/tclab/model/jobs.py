"""Define a job: a run of one or more processes, as read from its traces and profiles."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from tclab.model.artifacts import Chain, Listing, SourceLine, Table
from tclab.model.codec import kind, read_json, write_json
from tclab.model.compiles import Breaks, Guards, Recompiles
from tclab.model.findings import Finding
from tclab.model.reports import CompileTime
from tclab.model.snapshots import Snapshot

JOB_FORMAT = "tclab job 1"


@kind("job-compile")
@dataclass(frozen=True)
class JobCompile:
    """One compile in a job, of a frame or of its backward.

    `own` is true for a function outside of installed packages. `seconds` is the time of the whole
    compile, and `backend` is the part of this time in AOTAutograd and below. `operations` counts
    the calls in Dynamo's graph. `failure` is the error that ended the compile, or ''.
    """

    kind: ClassVar[str]
    compile_id: str
    function: str = ""
    location: SourceLine | None = None
    direction: str = "forward"
    own: bool = True
    seconds: float = 0.0
    backend: float = 0.0
    guards: int = 0
    operations: int = 0
    failure: str = ""


@kind("cache-lookup")
@dataclass(frozen=True)
class CacheLookup:
    """A look-up in a compile cache: ``hit``, ``miss`` or ``bypass``, with its `reason`. `changed`
    are the parts of the key that differ from the key of the process `beside` for the same graph.
    """

    kind: ClassVar[str]
    compile_id: str
    cache: str
    state: str
    key: str = ""
    reason: str = ""
    beside: str = ""
    changed: tuple[KeyPart, ...] = ()


@kind("key-part")
@dataclass(frozen=True)
class KeyPart:
    """A part of a cache key that differs between two processes, such as
    ``inductor_config[max_autotune]``, with its value in the other process and in this one. The
    value is '' in a process without this part.
    """

    kind: ClassVar[str]
    name: str
    before: str
    after: str

    def __str__(self) -> str:
        """Write the part with both values: ``inductor_config[max_autotune]: False → True``."""
        return f"{self.name}: {self.before or 'nothing'} → {self.after or 'nothing'}"


@kind("job-graph")
@dataclass(frozen=True)
class JobGraph:
    """One graph that Inductor compiled or found in its cache. `key` is the graph's key in
    Inductor's cache, by which a profile names the graph. `kernels` maps the name of each generated
    kernel to the lines that it computes; `files` maps the name of a kernel's file to the kernel's
    name. `part` is the name that a framework gives the part of the model that it compiles, such as
    ``submod_3, sizes 1 to 8192``.
    """

    kind: ClassVar[str]
    compile_id: str
    direction: str = ""
    key: str = ""
    kernels: Mapping[str, tuple[SourceLine, ...]] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    library_calls: int = 0
    lines: tuple[SourceLine, ...] = ()
    part: str = ""


#: The settings that turn PyTorch's caches of compiled graphs off.
CACHES_DISABLED = "torch.compiler.config.force_disable_caches = True"
GRAPH_CACHE_OFF = "torch._inductor.config.fx_graph_cache = False"


@kind("job-process")
@dataclass(frozen=True)
class JobProcess:
    """One process of a job, read from its trace `name`. `rank` is None outside of
    torch.distributed. `records` counts the records that were read, and `unread` maps a reason to
    the number of records that could not be read. `collectives` are the collectives in the order of
    each graph's schedule, `executed` the graphs in the order in which they ran, and `tensors` the
    tensors that each graph makes, as far as the trace has these; each begins with a compile id.
    `frameworks` are the libraries that added records of their own. `callers` maps a
    compiled function of a library, ``file:function``, to the line of the job's own code that called
    it. `became` maps the id of a recompile to the numbers that it is the first of its frame to take
    for symbols, such as ``self.scale``. `caches_off` is the setting that turns PyTorch's caches of
    compiled graphs off, or ''. `snapshot` holds the identities of all its compiles; it is
    empty unless it was asked for.
    """

    kind: ClassVar[str]
    name: str
    rank: int | None = None
    torch: str = ""
    compiles: tuple[JobCompile, ...] = ()
    breaks: Breaks = field(default_factory=Breaks)
    recompiles: Recompiles = field(default_factory=Recompiles)
    graphs: tuple[JobGraph, ...] = ()
    lookups: tuple[CacheLookup, ...] = ()
    compile_time: CompileTime = field(default_factory=CompileTime)
    cuda_graph_skips: tuple[str, ...] = ()
    collectives: tuple[str, ...] = ()
    executed: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    callers: Mapping[str, SourceLine] = field(default_factory=dict)
    became: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    caches_off: str = ""
    records: int = 0
    unread: Mapping[str, int] = field(default_factory=dict)
    snapshot: Snapshot = field(default_factory=Snapshot)

    @property
    def seconds(self) -> float:
        """The seconds of all compiles. If no compile has seconds of its own, these are the seconds
        of the phases.
        """
        return sum(each.seconds for each in self.compiles) or self.compile_time.seconds


def process_label(process: JobProcess) -> str:
    """Return ``rank 1``, or the name of the trace outside of torch.distributed."""
    return process.name if process.rank is None else f"rank {process.rank}"


@kind("device-kernel")
@dataclass(frozen=True)
class DeviceKernel:
    """A kernel of a profile: its name, the number of its launches, and their seconds in all.

    `origin` is ``compiled`` for a kernel that Inductor wrote, ``in a compiled graph`` for another
    kernel that a compiled graph launches, ``copy`` for a copy or a fill, else ''. `compile_id` and
    `direction` name the graph, and `lines` are the source lines that the kernel computes; these
    fields need the job's trace beside the profile. `configuration` is the configuration that was
    launched, such as ``XBLOCK=1024``.
    """

    kind: ClassVar[str]
    name: str
    times: int
    seconds: float
    origin: str = ""
    compile_id: str = ""
    direction: str = ""
    lines: tuple[SourceLine, ...] = ()
    configuration: str = ""


_ANONYMOUS = "(anonymous namespace)::"
_TEMPLATE = re.compile(r"<[^<>]*>")
# void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_nn_align1>(cutlass_80_…::Params)
_CUTLASS = re.compile(r"void cutlass::Kernel\d?<(?P<kernel>\w+)>\(")
_OPERATOR = re.compile(r"operator\s*(?:\(\)|[<>=!+*/-]+)")


def short_kernel_name(name: str) -> str:
    """Return the name of a C++ kernel without namespaces, template arguments and parameters:
    ``multi_tensor_apply_kernel``. A kernel of CUTLASS has the name of its template argument. Other
    names stay.
    """
    if match := _CUTLASS.match(name):
        return match["kernel"]
    # std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type …
    text = _OPERATOR.sub("operator", name.replace(_ANONYMOUS, "").replace(")>(", ")("))
    while (shorter := _TEMPLATE.sub("", text)) != text:
        text = shorter
    text = text.partition("(")[0].strip()
    text = text.rpartition("::")[2].rpartition(" ")[2]
    return text if "::" in name and text else name


@kind("profile")
@dataclass(frozen=True)
class DeviceProfile:
    """A profile: its kernels, the longest time first. `span` is the seconds from the beginning of
    the first kernel to the end of the last one, and `busy` is the part of these seconds in which a
    kernel ran. `gap` is the longest time in seconds without a kernel, which lies between the two
    kernels `gap_between`. `rank` is the rank of the profiled process; None outside of
    torch.distributed. `unread` counts the events that are not in the profiler's form, and `replays`
    the launches of CUDA graphs.
    """

    kind: ClassVar[str]
    name: str
    kernels: tuple[DeviceKernel, ...] = ()
    span: float = 0.0
    busy: float = 0.0
    gap: float = 0.0
    gap_between: tuple[str, ...] = ()
    rank: int | None = None
    unread: int = 0
    replays: int = 0

    @property
    def seconds(self) -> float:
        """The sum of the seconds of all kernels."""
        return sum(kernel.seconds for kernel in self.kernels)


@kind("job-stages")
@dataclass(frozen=True)
class JobStages:
    """The stages of one compile, or of several compiles whose graphs and kernels are equal.

    `title` names the function and its place. `compiles` are the ids of the compiles, each after the
    name of its process if the job has several. `chain` has the graphs and the kernels, linked to
    the user's lines; `guards` are those of each cache entry, and `output_code` has the files that
    Inductor wrote.
    """

    kind: ClassVar[str]
    title: str = ""
    compiles: tuple[str, ...] = ()
    chain: Chain = field(default_factory=lambda: Chain("", "chain"))
    guards: tuple[Guards, ...] = ()
    output_code: tuple[Listing, ...] = ()


@kind("job-replay-kernel")
@dataclass(frozen=True)
class JobReplayKernel:
    """A kernel of a job after its graph was compiled again: whether it came out the same, the
    verdict in words, and the difference as a diff. The verdict names the versions of PyTorch if
    they are not the same. The code around the kernels has the name ''.
    """

    kind: ClassVar[str]
    name: str
    is_same: bool
    verdict: str
    difference: str = ""


@kind("job-replay")
@dataclass(frozen=True)
class JobReplay:
    """A graph of a job that was compiled again from its trace. `traced` is the version of PyTorch
    in the trace, `torch` the one that compiled again, and `target` the GPU, or '' for the CPU.
    `cause` says why there are no kernels, or is ''. `seconds` are those of the compile; it was an
    earlier one, whose code was `kept`, or one of this time. `chain` has the stages of the compile
    if they were asked for, and `lacking` says what they lack.
    """

    kind: ClassVar[str]
    process: str
    compile_id: str
    direction: str
    traced: str = ""
    torch: str = ""
    target: str = ""
    kernels: tuple[JobReplayKernel, ...] = ()
    cause: str = ""
    seconds: float = 0.0
    kept: bool = False
    chain: Chain = field(default_factory=lambda: Chain("", "chain"))
    lacking: str = ""


@kind("job")
@dataclass(frozen=True)
class Job:
    """A job that was read from the place `title`. `findings` are sorted by cost, the highest first;
    `remarks` say what could not be read and what was assumed. `stages` are the stages of its
    compiles, and `machine_code` those of kernels from their source down to instructions; `replays`
    are its graphs compiled again, and `upgrade` says what another PyTorch makes of them. The four
    are empty unless they were asked for.
    """

    kind: ClassVar[str]
    title: str = ""
    processes: tuple[JobProcess, ...] = ()
    profiles: tuple[DeviceProfile, ...] = ()
    findings: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()
    stages: tuple[JobStages, ...] = ()
    machine_code: tuple[Chain, ...] = ()
    replays: tuple[JobReplay, ...] = ()
    upgrade: tuple[Table, ...] = ()

    def to_json(self) -> str:
        """Return the job as one JSON object, which `from_json` reads."""
        return write_json(self, JOB_FORMAT)

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Read the text that `to_json` made. Raises ValueError or TypeError for other JSON."""
        return read_json(cls, text, JOB_FORMAT)
