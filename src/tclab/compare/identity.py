"""Make the identities of breaks, recompiles, graphs and kernels: descriptions without line numbers,
folders or process state.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tclab.compare import cpp_body, planned_memory, triton_body
from tclab.model import (
    FINDING_KINDS,
    Break,
    BreakIdentity,
    Finding,
    FindingIdentity,
    Graph,
    GraphCounts,
    Kernel,
    KernelIdentity,
    Recompile,
    RecompileIdentity,
    Snapshot,
    SourceLine,
)

if TYPE_CHECKING:
    from tclab.capturing.read.stages import Stages
    from tclab.capturing.read.units import CompiledKernel, Unit
    from tclab.model import Provenance

# 0/0: tensor 'x' size mismatch at index 0
_CACHE_ENTRY = re.compile(r"^\d+/\d+: ")
_STRING = r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\""
# by == 3                     # return x * by  # m.py:41 in scaled (HINT: torch.compile considers …
# y.size()[0] == x.size()[0]  # duck sizing added this equality because these variables had …
# how == 'a  # b'                                # return x.sin() if how == "a  # b" else x
_GUARD_CHECK = re.compile(rf"(?:{_STRING}|.)*?(?=\s+# |$)")
# of == frozenset({'b', 'a'}); braces in a string are not a set
_SET = re.compile(rf"{_STRING}|\{{(?:{_STRING}|[^{{}}'\"])*\}}")
# type=<code object sine at 0x7f3a5c2b1d40, file "model.py", line 36>, as PyTorch 2.11 writes it
_OBJECT_REPR = re.compile(r"<(code object|function|module) (\S+) .*?>(?=$|[,)\]])")
# ___check_obj_id(L['f'], 94509030898416)
_ADDRESS = re.compile(r"\b(?:\d{9,}|0x[0-9a-f]{6,})\b")
# L['self'].__dict__['step'], L['self']._modules['fc']
_ACCESS = re.compile(r"\.__dict__\['(\w+)'\]|\._(?:modules|parameters|buffers)\['(\w+)'\]")
_VARIABLE = re.compile(r"\b[LG]\['(\w+)'\]")

# torch.ops.aten.add.Tensor
_OVERLOAD = re.compile(r"^torch\.ops\.|\.(?:default|Tensor|Scalar)$")

#: The name for a value that Python computed before a break and that the code after the break uses.
STACK_VALUE = "a value from before the break"
# 36 launches take 0.21 ms of the host; the digits of a name such as float32 or pytorch#1 do not
# match
_NUMBER = re.compile(r"(?<![\w#.])\d[\d.,]*(?: (?:µs|ms|s|MiB))?\b")
_STAGES = ("graphs", "forward", "backward", "post_grad")


def take_snapshot(capture: Stages, here: Provenance, title: str = "", target: str = "") -> Snapshot:
    """Return the identities of everything in `capture`; `here` names its PyTorch and Triton. Only
    kernels that `Capture.compile_kernels` compiled have registers, spills and shared memory.
    """
    return replace(identify_stages(capture), title=title, target=target,
                   torch=here.torch, triton=here.triton)  # fmt: skip


def identify_stages(capture: Stages) -> Snapshot:
    """Return the identities of everything in `capture`, without what made it."""
    guards = [guard for each in capture.guards for guard in each]
    peaks = [planned_memory.peak_bytes(unit.output.text) for unit in capture.units]
    return Snapshot(
        breaks=tuple(map(identify_break, capture.breaks)),
        recompiles=tuple(map(identify_recompile, capture.recompiles.recompiles)),
        graphs=tuple(
            _count_operators(graph) for stage in _STAGES for graph in getattr(capture, stage)
        ),
        kernels=tuple(_identify_kernels(capture)),
        library_calls=dict(sorted(_count_library_calls(capture).items())),
        guards=len(guards),
        python_guards=sum(each.tree.count("LAMBDA_GUARD") for each in capture.guards),
        skipped_graphs=capture.cuda_graph_skips,
        planned_bytes=None if None in peaks else max(filter(None, peaks), default=0),
    )


# ----------------------------------------------------------------------- breaks, recompiles


def readable_source(source: str) -> str:
    """Return a guard's source as the user would write it: ``self.fc`` for
    ``L['self']._modules['fc']``.
    """
    source = re.sub(r"L\['___stack\d+'\]|(?<!['\w])___stack\d+\b", STACK_VALUE, source)
    source = _VARIABLE.sub(r"\1", source)
    return _ACCESS.sub(lambda m: "." + (m[1] or m[2]), source).strip()


def failed_guard(reason: str) -> str:
    """Return the guard in a recompile's reason, in the form in which a user would write it.

    Dynamo adds to the guard the number of the cache entry, the user's line and its location, a hint
    and a stack, which are removed. Dynamo prints a set in the order of its hashes, which differs
    between processes, so the elements are sorted.
    """
    line = _CACHE_ENTRY.sub("", (reason.splitlines() or [""])[0])
    check = _GUARD_CHECK.match(line)
    text = _OBJECT_REPR.sub(r"<\1 \2>", check[0] if check else line)
    return readable_source(_SET.sub(_sort_set, text))


def failed_guards(item: Recompile) -> tuple[str, ...]:
    """Return the guards that failed, beginning with the guard of the newest cache entry."""
    return tuple(map(failed_guard, item.reasons))


def identify_break(item: Break) -> BreakIdentity:
    """Identify a break by its kind and by the text of the user's line."""
    where = item.location
    what = item.gb_id or item.gb_type or item.reason.split("\n")[0]
    place = (where.function, where.code.strip()) if where else ("", "")
    return BreakIdentity(what, _file_name(where), *place, skipped=item.skipped)


def identify_recompile(item: Recompile) -> RecompileIdentity:
    """Identify a recompile by the guards that failed."""
    guards = (_ADDRESS.sub("…", guard) for guard in failed_guards(item))
    return RecompileIdentity(item.function, _file_name(item.location), tuple(guards))


def identify_findings(findings: Iterable[Finding]) -> tuple[FindingIdentity, ...]:
    """Identify the findings that no other part of a snapshot contains; sort them."""
    kept = (each for each in findings if FINDING_KINDS[each.name].part == "findings")
    return tuple(sorted(map(identify_finding, kept), key=lambda each: (each.name, each.subject)))


def identify_finding(finding: Finding) -> FindingIdentity:
    """Identify a finding by its kind and the text of its lines. A finding without lines is
    identified by its own text, without the numbers that change with the input.
    """
    cost = finding.cost
    if FINDING_KINDS[finding.name].whole:
        subject = ""
    elif finding.places:
        subject = "; ".join(dict.fromkeys(map(_line_text, finding.places)))
    else:
        subject = _NUMBER.sub("…", finding.what)
    known = cost.known in ("computed", "counted")
    return FindingIdentity(finding.name, subject, *((cost.amount, cost.unit) if known else ()))


def _line_text(line: SourceLine) -> str:
    return f"{line.code.strip() or line.function} in {_file_name(line)}"


def clean_guards(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot with guards as `identify_recompile` writes them, because files of earlier
    versions of tclab have Dynamo's whole text.
    """
    recompiles = (
        replace(each, guards=tuple(_ADDRESS.sub("…", failed_guard(text)) for text in each.guards))
        for each in snapshot.recompiles
    )
    return replace(snapshot, recompiles=tuple(recompiles))


def _file_name(path: SourceLine | None) -> str:
    """Return a file's name without its folder, which can change."""
    return path.file.rpartition("/")[2] if path else ""


def _sort_set(match: re.Match[str]) -> str:
    """Return a set with its elements sorted by their text; return other text unchanged."""
    try:
        node = ast.parse(match[0], mode="eval").body
    except SyntaxError:
        return match[0]
    if not isinstance(node, ast.Set):
        return match[0]
    return f"{{{', '.join(sorted(map(ast.unparse, node.elts)))}}}"


# -------------------------------------------------------------------------- graphs, kernels


def _count_operators(graph: Graph) -> GraphCounts:
    calls = (node.target for node in graph.nodes if node.op.startswith("call_"))
    return GraphCounts(graph.stage, dict(sorted(Counter(map(_operator_name, calls)).items())))


def _operator_name(target: str) -> str:
    return _OVERLOAD.sub("", _OVERLOAD.sub("", target))


def _count_library_calls(capture: Stages) -> Counter[str]:
    return Counter(k.kernel_name for k in capture.likely_kernels if k.category == "extern")


def _identify_kernels(capture: Stages) -> Iterator[KernelIdentity]:
    for unit in capture.units:
        for kernel in unit.kernels:
            if kernel.category != "extern" and not kernel.facts.is_alternative:
                yield _identify_kernel(kernel, unit)


def _identify_kernel(kernel: Kernel, unit: Unit) -> KernelIdentity:
    facts, compiled = kernel.facts, unit.compiled.get(kernel.kernel_name)
    written = facts.written
    triton = kernel.language == "python"
    # Inductor names the operators in a comment above a Triton kernel, and above no C++ kernel.
    operators = facts.original_aten if triton else kernel.origins
    return KernelIdentity(
        operators=tuple(sorted(operators)),
        category=kernel.category,
        direction=kernel.direction,
        language=kernel.language,
        text=hashlib.sha256(kernel.code.encode()).hexdigest(),
        **(
            _normalized_triton(kernel.code)
            if triton
            else {"body": cpp_body.normalize_cpp(kernel.code)}
        ),
        configuration=str(compiled.configuration.config) if compiled else "",
        loads=_parse_count(written, "num_load"),
        stores=_parse_count(written, "num_store"),
        calls=facts.calls,
        bytes=sum(facts.moved) if facts.moved else None,
        **_read_resources(compiled),
    )


def _normalized_triton(source: str) -> dict[str, Any]:
    """Return a kernel's normalised body and launch settings, or its source if it cannot be
    normalised.
    """
    try:
        body, launch = triton_body.normalize_triton(source)
    except (SyntaxError, ValueError):
        return {"body": source}
    return {"body": body, "launch": launch}


def _parse_count(metadata: Mapping[str, str], name: str) -> int:
    text = metadata.get(name, "")
    return int(text) if text.isdigit() else 0


def _read_resources(compiled: CompiledKernel | None) -> dict[str, Any]:
    if compiled is None or compiled.resources is None:
        return {}
    resources = compiled.resources
    return {
        "registers": resources.registers,
        "spilled": resources.spilled,
        "shared": resources.shared,
    }
