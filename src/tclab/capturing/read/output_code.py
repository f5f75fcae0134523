"""Inductor's output code, parsed once: its kernels, Triton, C++ and calls into libraries.

Which FX nodes a kernel computes is Inductor's own record, kept under a handle that it writes
above each call; the comments above Triton kernels are the fallback.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypedDict

from tclab.model import Graph, Kernel, Node, SourceLine, links, slug
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

#: Inductor's record: ``kernel:handle`` → names of the post-grad nodes that the call computes.
Record = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Definition:
    """``name = async_compile.triton('function', '''…''')``; its C++ sister is of `kind` cpp_pybind,
    and has no function. A kernel of the user's own has a function of another name.
    """

    name: str
    function: str
    kind: str
    code: str
    line: int
    device: str

    @property
    def is_cpp(self) -> bool:
        """Whether it is C++, for the CPU."""
        return self.kind.startswith("cpp")


@dataclass(frozen=True)
class OutputCode:
    """One output file. `calls` are those of its functions, top to bottom; `record` names the nodes
    of `graph`, the post-grad graph the file was made from, that a call computes.

    Output that is not Python (the C++ wrapper) has no definitions and no calls.
    """

    text: str = ""
    definitions: tuple[Definition, ...] = ()
    calls: tuple[ast.Call, ...] = ()
    record: Record = field(default_factory=dict)
    graph: Graph | None = None

    @classmethod
    def read(
        cls, text: str, record: Record | None = None, graph: Graph | None = None
    ) -> OutputCode:
        """The file of this text."""
        try:
            tree = ast.parse(text)
        except SyntaxError:
            return cls(text)
        return cls(text, tuple(_definitions(tree)), _calls(tree), record or {}, graph)

    def kernels(self, where: str = "") -> list[Kernel]:
        """The kernels in the order of the first call to each; `where` is added to titles."""
        placed = [_generated(self, definition, where) for definition in self.definitions]
        placed += [_extern(self, call, where) for call in self.externs()]
        return [kernel for _, kernel in sorted(placed, key=lambda pair: pair[0])]

    def triton_sources(self) -> dict[str, str]:
        """The Triton kernels as Inductor wrote them, by the name of their function."""
        return {d.function: d.code for d in self.definitions if d.kind == "triton"}

    def cpp_sources(self) -> dict[str, str]:
        """The C++ kernels as Inductor wrote them, by name."""
        return {d.name: d.code for d in self.definitions if d.is_cpp}

    def line_keys(self) -> dict[int, links.Keys]:
        """Lines, those of handles not counted, that define or call a kernel → its nodes' keys."""
        keys: dict[int, links.Keys] = {}
        for line, nodes in self._places():
            handles = sum(bool(_HANDLE.search(text)) for text in self.lines[:line])
            if of_nodes := links.joined(node.keys for node in nodes):
                keys[line - handles] = of_nodes
        return keys

    @cached_property
    def lines(self) -> list[str]:
        """The text, line by line."""
        return self.text.splitlines()

    def _places(self) -> Iterator[tuple[int, list[Node]]]:
        """Each line that defines or calls a kernel, with the nodes the kernel computes."""
        for definition in self.definitions:
            calls = self.calls_of(definition.name)
            yield definition.line, self.nodes(definition, calls)
            yield from ((call.lineno, self.nodes(definition, [call])) for call in calls)
        for call in self.externs():
            yield call.lineno, self.nodes(None, [call])

    def nodes(self, definition: Definition | None, calls: list[ast.Call]) -> list[Node]:
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
        """The calls of one kernel."""
        return [c for c in self.calls if _called(c) == name]


def without_handles(text: str) -> str:
    """Output code as it is when nobody asks for the record of nodes."""
    return _HANDLE_LINE.sub("", text)


# ------------------------------------------------------------------------------ finding


def _definitions(tree: ast.Module) -> Iterator[Definition]:
    for statement in tree.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        call, target = statement.value, statement.targets[0]
        owner, _, kind = _dotted(call.func).partition(".")
        constants = [a.value for a in call.args if isinstance(a, ast.Constant)]
        texts = [value for value in constants if isinstance(value, str)]
        sources = [text for text in texts if "\n" in text]
        if owner == "async_compile" and sources and isinstance(target, ast.Name):
            function = "" if texts[0] in sources else texts[0]
            device = _device(call, kind)
            yield Definition(target.id, function, kind, sources[-1], statement.lineno, device)


def _device(call: ast.Call, kind: str) -> str:
    for keyword in call.keywords:
        if keyword.arg == "device_str" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    return "cpu" if kind.startswith("cpp") else ""


def _calls(tree: ast.Module) -> tuple[ast.Call, ...]:
    """Calls that are statements of a function, or assigned there, top to bottom."""
    calls: dict[tuple[int, int], ast.Call] = {}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for statement in ast.walk(function):
                value = getattr(statement, "value", None)
                if isinstance(statement, (ast.Expr, ast.Assign)) and isinstance(value, ast.Call):
                    calls[value.lineno, value.col_offset] = value
    return tuple(calls[place] for place in sorted(calls))


def _called(call: ast.Call) -> str:
    """The kernel's name, of ``name(…)`` and ``name.run(…)``."""
    return _dotted(call.func).removesuffix(".run")


def _dotted(value: ast.expr) -> str:
    return ast.unparse(value) if isinstance(value, (ast.Name, ast.Attribute)) else ""


# ------------------------------------------------------------------------------ describing


class _Origin(TypedDict):
    origins: tuple[str, ...]
    source_lines: tuple[SourceLine, ...]


def _generated(file: OutputCode, definition: Definition, where: str) -> tuple[int, Kernel]:
    """The line of its first call, and the kernel."""
    calls, is_cpp = file.calls_of(definition.name), definition.is_cpp
    heuristic = _HEURISTIC.search(definition.code)
    facts = {} if is_cpp else _facts(definition.code) | _operators(file.comment(definition.line))
    kernel = Kernel(
        title=f"{'C++' if is_cpp else 'Triton'} kernel {definition.name}{where}",
        name=f"kernel-{slug(definition.name)}",
        code=scrub(definition.code.strip("\n")) + "\n",
        language="cpp" if is_cpp else "python",
        stage="cpp" if is_cpp else "kernel",
        kernel_name=definition.name,
        category=heuristic[1] if heuristic else "",
        device=definition.device,
        facts=facts | _call_facts(calls),
        **_origin(file.nodes(definition, calls)),
    )
    return calls[0].lineno if calls else definition.line, kernel


def _extern(file: OutputCode, call: ast.Call, where: str) -> tuple[int, Kernel]:
    name = _dotted(call.func)
    nodes = file.nodes(None, [call])
    keys = links.joined(node.keys for node in nodes)
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


def _origin(nodes: list[Node]) -> _Origin:
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


def _operators(comment: list[str]) -> dict[str, str]:
    """What Inductor writes above a Triton kernel of the operators it stands for."""
    written = _ATEN.search("\n".join(comment))
    return {"original_aten": written[1]} if written and written[1] else {}


def _call_facts(calls: list[ast.Call]) -> dict[str, str]:
    if not calls:
        return {}
    return {"calls": str(len(calls)), "call": scrub(ast.unparse(calls[0]))}
