"""Split Inductor's output code into kernels: Triton, C++ and calls into libraries.

Which FX nodes a kernel computes is Inductor's own record, kept under a handle that it writes
above each call; the comments above Triton kernels are the fallback.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tclab.model import Graph, Kernel, Node, slug
from tclab.scrub import scrub

# @triton_heuristics.persistent_reduction(
_HEURISTIC = re.compile(r"@triton_heuristics\.(\w+)\(")
# 'atomic_add_found': False, 'num_load': 1, 'num_store': 1, 'num_reduction': 1,
_FACT = re.compile(
    r"'?(num_warps|num_stages|kernel_num_gb|num_load|num_store|num_reduction|grid_type)'?\s*[:=]\s*"
    r"'?([\w.]+)'?"
)
#     reduction_hint=ReductionHint.INNER,
_HINT = re.compile(r"reduction_hint=ReductionHint\.(\w+)")
#     size_hints={'x': 64, 'r0_': 64},
_HINTS = re.compile(r"size_hints=(\{[^}]*\}|\[[^\]]*\])")
# # Topologically Sorted Source Nodes: [relu, sum_1], Original ATen: [aten.relu, aten.sum]
_ATEN = re.compile(r"Original ATen: \[(.*?)\]")
# #   %relu : Tensor "f32[64, 64][64, 1]cuda:0"[num_users=1] = call_function[target=
_FRAGMENT = re.compile(r"^#\s+%(\w+) : .*?= call_\w+\[")
#         # [Provenance debug handles] triton_per_fused_relu_sum_0:2
_HANDLE = re.compile(r"# \[Provenance debug handles\] (\S+)")
#         # [Provenance debug handles] triton_per_fused_relu_sum_0:2
_HANDLE_LINE = re.compile(rf"^\s*{_HANDLE.pattern}\n", re.MULTILINE)
_EXTERN = ("extern_kernels.", "torch.ops.")
_PLUMBING = ("torch.ops.inductor.",)


def kernels(code: str, record: Mapping[str, tuple[str, ...]], graph: Graph | None,
            where: str = "") -> list[Kernel]:  # fmt: skip
    """The kernels of one output file, in the order of the first call to each.

    `record` maps handles to names of nodes of `graph`, the post-grad graph the file was made
    from; `where` is added to titles.
    """
    file = _File.read(code, record, graph)
    if file is None:
        return []
    found = [_generated(file, definition, where) for definition in file.definitions]
    found += [_extern(file, call, where) for call in file.externs()]
    return [kernel for _, kernel in sorted(found, key=lambda pair: pair[0])]


def cpp_sources(code: str) -> dict[str, str]:
    """The C++ kernels of one output file as Inductor wrote them, by name."""
    file = _File.read(code, {}, None)
    return {d.name: d.code for d in file.definitions if not d.triton} if file else {}


def renamed(kernel: Kernel, seen: dict[str, int]) -> Kernel:
    """The kernel with a name no other kernel of this capture has."""
    count = seen[kernel.name] = seen.get(kernel.name, -1) + 1
    return replace(kernel, name=f"{kernel.name}-{count}") if count else kernel


def without_handles(code: str) -> str:
    """Output code as it is when nobody asks for the record of nodes."""
    return _HANDLE_LINE.sub("", code)


def wrapper_links(code: str, record: Mapping[str, tuple[str, ...]],
                  graph: Graph | None) -> dict[int, tuple[str, ...]]:  # fmt: skip
    """Lines of the output code, handles removed, that define or call a kernel → keys of its
    nodes.
    """
    file = _File.read(code, record, graph)
    links: dict[int, tuple[str, ...]] = {}
    for place, nodes in file.places() if file else ():
        assert file is not None
        removed = sum(bool(_HANDLE.search(line)) for line in file.lines[:place])
        if keys := tuple(dict.fromkeys(key for node in nodes for key in node.keys)):
            links[place - removed] = keys
    return links


# ------------------------------------------------------------------------------ finding


@dataclass(frozen=True)
class _Definition:
    """``name = async_compile.triton('name', '''…''')`` and its C++ sister."""

    name: str
    triton: bool
    code: str
    line: int
    device: str


@dataclass(frozen=True)
class _File:
    """One output file, with what is known of its kernels."""

    lines: list[str]
    definitions: list[_Definition]
    calls: list[ast.Call]
    record: Mapping[str, tuple[str, ...]]
    graph: Graph | None

    @classmethod
    def read(cls, code: str, record: Mapping[str, tuple[str, ...]],
             graph: Graph | None) -> _File | None:  # fmt: skip
        """None for output that is not Python (the C++ wrapper)."""
        try:
            tree = ast.parse(code)
        except SyntaxError:
            return None
        return cls(code.splitlines(), list(_definitions(tree)), _calls(tree), record, graph)

    def places(self) -> Iterator[tuple[int, list[Node]]]:
        """Each line that defines or calls a kernel, with the nodes the kernel computes."""
        for definition in self.definitions:
            calls = self.calls_of(definition.name)
            yield definition.line, self.nodes(definition, calls)
            yield from ((call.lineno, self.nodes(definition, [call])) for call in calls)
        for call in self.externs():
            yield call.lineno, self.nodes(None, [call])

    def nodes(self, definition: _Definition | None, calls: list[ast.Call]) -> list[Node]:
        """What these calls compute, by Inductor's record, else by the comment above the
        definition; in the order of the graph.
        """
        names = {name for call in calls for name in self.record.get(self._handle(call), ())}
        if not names and definition:
            block = self.comment(definition.line)
            names = {m[1] for text in block if (m := _FRAGMENT.match(text))}
        return [n for n in (self.graph.nodes if self.graph else ()) if n.name in names]

    def _handle(self, call: ast.Call) -> str:
        """The nearest handle above a call, if it is of the kernel that is called."""
        for text in reversed(self.lines[: call.lineno - 1]):
            if match := _HANDLE.search(text):
                same = match[1].rpartition(":")[0] == _called(call)
                return match[1] if same else ""
        return ""

    def externs(self) -> list[ast.Call]:
        """Calls into libraries and back into PyTorch's operators."""
        names = ((_called(call), call) for call in self.calls)
        return [c for n, c in names if n.startswith(_EXTERN) and not n.startswith(_PLUMBING)]

    def comment(self, line: int) -> list[str]:
        """The lines of comment right above `line` (from 1)."""
        block: list[str] = []
        for text in reversed(self.lines[: line - 1]):
            if not text.strip().startswith("#"):
                break
            block.insert(0, text.strip())
        return block

    def calls_of(self, name: str) -> list[ast.Call]:
        return [c for c in self.calls if _called(c) == name]


def _definitions(tree: ast.Module) -> Iterator[_Definition]:
    for statement in tree.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        call, target = statement.value, statement.targets[0]
        owner, _, kind = _dotted(call.func).partition(".")
        texts = [a.value for a in call.args if isinstance(a, ast.Constant)]
        sources = [t for t in texts if isinstance(t, str) and "\n" in t]
        if owner == "async_compile" and sources and isinstance(target, ast.Name):
            triton = not kind.startswith("cpp")
            yield _Definition(
                target.id, triton, sources[-1], statement.lineno, _device(call, triton)
            )


def _device(call: ast.Call, triton: bool) -> str:
    for keyword in call.keywords:
        if keyword.arg == "device_str" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    return "" if triton else "cpu"


def _calls(tree: ast.Module) -> list[ast.Call]:
    """Calls that are statements of a function, or assigned there, top to bottom."""
    found: dict[tuple[int, int], ast.Call] = {}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for statement in ast.walk(function):
                value = getattr(statement, "value", None)
                if isinstance(statement, (ast.Expr, ast.Assign)) and isinstance(value, ast.Call):
                    found[value.lineno, value.col_offset] = value
    return [found[place] for place in sorted(found)]


def _called(call: ast.Call) -> str:
    """The kernel's name, of ``name(…)`` and ``name.run(…)``."""
    return _dotted(call.func).removesuffix(".run")


def _dotted(value: ast.expr) -> str:
    return ast.unparse(value) if isinstance(value, (ast.Name, ast.Attribute)) else ""


# ------------------------------------------------------------------------------ describing


def _generated(file: _File, found: _Definition, where: str) -> tuple[int, Kernel]:
    """The line of its first call, and the kernel."""
    calls = file.calls_of(found.name)
    heuristic = _HEURISTIC.search(found.code)
    facts = _facts(found.code) if found.triton else {}
    comment = "\n".join(file.comment(found.line)) if found.triton else ""
    if (written := _ATEN.search(comment)) and written[1]:
        facts["original_aten"] = written[1]
    kernel = Kernel(
        title=f"{'Triton' if found.triton else 'C++'} kernel {found.name}{where}",
        name=f"kernel-{slug(found.name)}",
        code=scrub(found.code.strip("\n")) + "\n",
        language="python" if found.triton else "cpp",
        stage="kernel" if found.triton else "cpp",
        kernel_name=found.name,
        category=heuristic[1] if heuristic else "",
        device=found.device,
        facts=facts | _call_facts(calls),
        **_origin(file.nodes(found, calls)),
    )
    return calls[0].lineno if calls else found.line, kernel


def _extern(file: _File, call: ast.Call, where: str) -> tuple[int, Kernel]:
    name = _dotted(call.func)
    nodes = file.nodes(None, [call])
    keys = tuple(dict.fromkeys(key for node in nodes for key in node.keys))
    last = call.end_lineno or call.lineno
    text = "\n".join(line.strip() for line in file.lines[call.lineno - 1 : last])
    kernel = Kernel(
        title=f"Library call {name}{where}",
        name=f"kernel-{slug(name)}",
        code=scrub(text) + "\n",
        language="python",
        stage="wrapper",
        kernel_name=name,
        category="extern",
        device=_graph_device(file.graph),
        links=dict.fromkeys(range(1, text.count("\n") + 2), keys) if keys else {},
        **_origin(nodes),
    )
    return call.lineno, kernel


def _origin(nodes: list[Node]) -> dict[str, Any]:
    """Where a kernel comes from: ATen operators and the user's lines."""
    lines = {n.source for n in nodes if n.source}
    return {
        "origins": tuple(dict.fromkeys(map(_operator, nodes))),
        "source_lines": tuple(sorted(lines, key=lambda s: (s.file, s.line))),
    }


def _operator(node: Node) -> str:
    """``aten.add`` for ``torch.ops.aten.add.Tensor``."""
    parts = node.target.removeprefix("torch.ops.").split(".")
    return ".".join(parts[:2])


def _graph_device(graph: Graph | None) -> str:
    """The one device type of a graph's values, or ''."""
    devices = {n.device.partition(":")[0] for n in graph.nodes if n.device} if graph else set()
    return devices.pop() if len(devices) == 1 else ""


def _facts(code: str) -> dict[str, str]:
    facts = dict(_FACT.findall(code))
    if hint := _HINT.search(code):
        facts["reduction_hint"] = hint[1]
    if hints := _HINTS.search(code):
        facts["size_hints"] = hints[1]
    return facts


def _call_facts(calls: list[ast.Call]) -> dict[str, str]:
    if not calls:
        return {}
    return {"calls": str(len(calls)), "call": scrub(ast.unparse(calls[0]))}
