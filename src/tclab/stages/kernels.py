"""Split Inductor's output code into kernels: Triton, C++ and calls into libraries."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tclab.model import Graph, Kernel, SourceLine, slug
from tclab.scrub import scrub

_HEURISTIC = re.compile(r"@triton_heuristics\.(\w+)\(")
_NUMBER = re.compile(r"'?(num_warps|num_stages|kernel_num_gb|num_load|num_store|num_reduction)'?"
                     r"\s*[:=]\s*([\d.]+)")  # fmt: skip
_HINTS = re.compile(r"size_hints=(\{[^}]*\}|\[[^\]]*\])")
_ATEN = re.compile(r"Original ATen: \[(.*?)\]")
_SOURCES = re.compile(r"Topologically Sorted Source Nodes: \[(.*?)\]")
_FRAGMENT = re.compile(r"^#\s+%(\w+) : .*?= call_\w+\[")
_EXTERN = ("extern_kernels.", "torch.ops.")
_PLUMBING = ("torch.ops.inductor.",)


@dataclass(frozen=True)
class _Comment:
    """What Inductor wrote above a kernel or a call."""

    aten: tuple[str, ...] = ()
    fragment: tuple[str, ...] = ()  # names of post-grad nodes
    nodes: tuple[str, ...] = ()  # names of Dynamo's nodes


def kernels(code: str, graph: Graph | None, where: str = "") -> list[Kernel]:
    """The kernels of one output file. `graph` is the post-grad graph it was made from."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return []
    lines = code.splitlines()
    calls = list(_calls(tree))
    found = [_generated(d, lines, calls, graph, where) for d in _definitions(tree)]
    found += [_extern(call, lines, graph, where) for call in calls if _is_extern(call)]
    return found


def renamed(kernel: Kernel, seen: dict[str, int]) -> Kernel:
    """The kernel with a name no other kernel of this capture has."""
    count = seen[kernel.name] = seen.get(kernel.name, -1) + 1
    return replace(kernel, name=f"{kernel.name}-{count}") if count else kernel


def wrapper_links(code: str, graph: Graph | None) -> dict[int, tuple[str, ...]]:
    """Lines of the output code that call a kernel → keys of the nodes it computes."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return {}
    lines = code.splitlines()
    known = {d.name: _comment(lines, d.line) for d in _definitions(tree)}
    links: dict[int, tuple[str, ...]] = {}
    for call in _calls(tree):
        comment = _comment(lines, call.lineno)
        if not comment.fragment:
            comment = known.get(_kernel_name(call), comment)
        if keys := _node_keys(comment, graph):
            links[call.lineno] = keys
    return links


# ------------------------------------------------------------------------------ finding


@dataclass(frozen=True)
class _Definition:
    """``name = async_compile.triton('name', '''…''')`` and its C++ sister."""

    name: str
    kind: str  # the method of async_compile
    code: str
    line: int
    device: str


def _definitions(tree: ast.Module) -> Iterator[_Definition]:
    for statement in tree.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        call, target = statement.value, statement.targets[0]
        if not isinstance(target, ast.Name) or not _dotted(call.func).startswith("async_compile."):
            continue
        texts = [a.value for a in call.args if isinstance(a, ast.Constant)]
        sources = [t for t in texts if isinstance(t, str) and "\n" in t]
        if sources:
            kind = _dotted(call.func).partition(".")[2]
            yield _Definition(target.id, kind, sources[-1], statement.lineno, _device(call, kind))


def _device(call: ast.Call, kind: str) -> str:
    for keyword in call.keywords:
        if keyword.arg == "device_str" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    return "cpu" if kind.startswith("cpp") else ""


def _calls(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls made as statements of functions, top to bottom."""
    found = []
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for statement in ast.walk(function):
                value = getattr(statement, "value", None)
                if isinstance(statement, (ast.Expr, ast.Assign)) and isinstance(value, ast.Call):
                    found.append(value)
    yield from sorted({(c.lineno, c.col_offset): c for c in found}.values(), key=_place)


def _place(call: ast.Call) -> tuple[int, int]:
    return call.lineno, call.col_offset


def _is_extern(call: ast.Call) -> bool:
    name = _dotted(call.func)
    return name.startswith(_EXTERN) and not name.startswith(_PLUMBING)


def _kernel_name(call: ast.Call) -> str:
    return _dotted(call.func).removesuffix(".run")


def _dotted(value: ast.expr) -> str:
    return ast.unparse(value) if isinstance(value, (ast.Name, ast.Attribute)) else ""


# ------------------------------------------------------------------------------ describing


def _generated(found: _Definition, lines: list[str], calls: list[ast.Call],
               graph: Graph | None, where: str) -> Kernel:  # fmt: skip
    triton = not found.kind.startswith("cpp")
    comment = _comment(lines, found.line)
    mine = [call for call in calls if _kernel_name(call) == found.name]
    if not comment.aten and mine:
        comment = _comment(lines, mine[0].lineno)
    heuristic = _HEURISTIC.search(found.code)
    return Kernel(
        title=f"{'Triton' if triton else 'C++'} kernel {found.name}{where}",
        name=f"kernel-{slug(found.name)}",
        code=scrub(found.code.strip("\n")) + "\n",
        language="python" if triton else "cpp",
        stage="kernel" if triton else "cpp",
        kernel_name=found.name,
        category=heuristic[1] if heuristic else "",
        device=found.device,
        origins=comment.aten,
        source_lines=_source_lines(comment, graph),
        facts=_facts(found.code, mine) if triton else _call_facts(mine),
    )


def _extern(call: ast.Call, lines: list[str], graph: Graph | None, where: str) -> Kernel:
    comment = _comment(lines, call.lineno)
    name = _dotted(call.func)
    last = call.end_lineno or call.lineno
    text = "\n".join(line.strip() for line in lines[call.lineno - 1 : last])
    return Kernel(
        title=f"Library call {name}{where}",
        name=f"kernel-{slug(name)}",
        code=scrub(text) + "\n",
        language="python",
        stage="wrapper",
        kernel_name=name,
        category="extern",
        device=graph_device(graph),
        origins=comment.aten,
        source_lines=_source_lines(comment, graph),
    )


def graph_device(graph: Graph | None) -> str:
    """The one device type of a graph's values, or ''."""
    devices = {n.device.partition(":")[0] for n in graph.nodes if n.device} if graph else set()
    return devices.pop() if len(devices) == 1 else ""


def _facts(code: str, calls: list[ast.Call]) -> dict[str, str]:
    facts = dict(_NUMBER.findall(code))
    if hints := _HINTS.search(code):
        facts["size_hints"] = hints[1]
    return facts | _call_facts(calls)


def _call_facts(calls: list[ast.Call]) -> dict[str, str]:
    if not calls:
        return {}
    facts = {"calls": str(len(calls)), "call": scrub(ast.unparse(calls[0]))}
    for keyword in calls[0].keywords:
        if keyword.arg == "grid":
            facts["grid"] = ast.unparse(keyword.value)
    return facts


def _comment(lines: list[str], at: int) -> _Comment:
    """The block of comments right above line `at` (from 1)."""
    block: list[str] = []
    for line in reversed(lines[: at - 1]):
        if not line.strip().startswith("#"):
            break
        block.insert(0, line.strip())
    text = "\n".join(block)
    fragment = [m[1] for line in block if (m := _FRAGMENT.match(line))]
    return _Comment(_listed(_ATEN, text), tuple(fragment), _listed(_SOURCES, text))


def _listed(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    match = pattern.search(text)
    return tuple(part.strip() for part in match[1].split(",") if part.strip()) if match else ()


def _node_keys(comment: _Comment, graph: Graph | None) -> tuple[str, ...]:
    keys = [key for node in (graph.nodes if graph else ()) if node.name in comment.fragment
            for key in node.keys]  # fmt: skip
    return tuple(dict.fromkeys(keys))


def _source_lines(comment: _Comment, graph: Graph | None) -> tuple[SourceLine, ...]:
    found = [node.source for node in (graph.nodes if graph else ())
             if node.name in comment.fragment and node.source]  # fmt: skip
    return tuple(dict.fromkeys(found))
