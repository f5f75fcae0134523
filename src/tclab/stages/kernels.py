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

_HEURISTIC = re.compile(r"@triton_heuristics\.(\w+)\(")
_NUMBER = re.compile(r"'?(num_warps|num_stages|kernel_num_gb|num_load|num_store|num_reduction"
                     r"|autotune_hints)'?\s*[:=]\s*([\d.]+)")  # fmt: skip
_HINTS = re.compile(r"size_hints=(\{[^}]*\}|\[[^\]]*\])")
_ATEN = re.compile(r"Original ATen: \[(.*?)\]")
_FRAGMENT = re.compile(r"^#\s+%(\w+) : .*?= call_\w+\[")
_HANDLE = re.compile(r"# \[Provenance debug handles\] (\S+)")
_EXTERN = ("extern_kernels.", "torch.ops.")
_PLUMBING = ("torch.ops.inductor.",)


def kernels(code: str, record: Mapping[str, tuple[str, ...]], graph: Graph | None,
            where: str = "") -> list[Kernel]:  # fmt: skip
    """The kernels of one output file. `record` maps handles to names of nodes of `graph`, the
    post-grad graph the file was made from; `where` is added to titles."""
    file = _File.read(code, record, graph)
    if file is None:
        return []
    found = [_generated(file, definition, where) for definition in file.definitions]
    return found + [_extern(file, call, where) for call in file.calls if _is_extern(call)]


def renamed(kernel: Kernel, seen: dict[str, int]) -> Kernel:
    """The kernel with a name no other kernel of this capture has."""
    count = seen[kernel.name] = seen.get(kernel.name, -1) + 1
    return replace(kernel, name=f"{kernel.name}-{count}") if count else kernel


def without_handles(code: str) -> str:
    """Output code as it is when nobody asks for the record of nodes."""
    return re.sub(rf"^\s*{_HANDLE.pattern}\n", "", code, flags=re.MULTILINE)


def wrapper_links(code: str, record: Mapping[str, tuple[str, ...]],
                  graph: Graph | None) -> dict[int, tuple[str, ...]]:  # fmt: skip
    """Lines of the output code, handles removed, that call a kernel → keys of its nodes."""
    file = _File.read(code, record, graph)
    links: dict[int, tuple[str, ...]] = {}
    for call in file.calls if file else ():
        assert file is not None
        removed = sum(bool(_HANDLE.search(line)) for line in file.lines[: call.lineno])
        keys = [key for node in file.nodes(call.lineno) for key in node.keys]
        if keys:
            links[call.lineno - removed] = tuple(dict.fromkeys(keys))
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

    def nodes(self, line: int) -> list[Node]:
        """The nodes named in the comment right above `line`, in the order of the graph."""
        block = self.comment(line)
        names = {n for text in block if (m := _HANDLE.search(text)) for n in self._of(m[1])}
        names = names or {m[1] for text in block if (m := _FRAGMENT.match(text))}
        return [n for n in (self.graph.nodes if self.graph else ()) if n.name in names]

    def _of(self, handle: str) -> tuple[str, ...]:
        return self.record.get(handle, ())

    def comment(self, line: int) -> list[str]:
        """The lines of comment right above `line` (from 1)."""
        block: list[str] = []
        for text in reversed(self.lines[: line - 1]):
            if not text.strip().startswith("#"):
                break
            block.insert(0, text.strip())
        return block

    def calls_of(self, name: str) -> list[ast.Call]:
        return [c for c in self.calls if _dotted(c.func).removesuffix(".run") == name]


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


def _is_extern(call: ast.Call) -> bool:
    name = _dotted(call.func)
    return name.startswith(_EXTERN) and not name.startswith(_PLUMBING)


def _dotted(value: ast.expr) -> str:
    return ast.unparse(value) if isinstance(value, (ast.Name, ast.Attribute)) else ""


# ------------------------------------------------------------------------------ describing


def _generated(file: _File, found: _Definition, where: str) -> Kernel:
    calls = file.calls_of(found.name)
    places = [found.line, *(call.lineno for call in calls)]
    heuristic = _HEURISTIC.search(found.code)
    facts = (_facts(found.code) if found.triton else {}) | _call_facts(calls)
    return Kernel(
        title=f"{'Triton' if found.triton else 'C++'} kernel {found.name}{where}",
        name=f"kernel-{slug(found.name)}",
        code=scrub(found.code.strip("\n")) + "\n",
        language="python" if found.triton else "cpp",
        stage="kernel" if found.triton else "cpp",
        kernel_name=found.name,
        category=heuristic[1] if heuristic else "",
        device=found.device,
        **_origin(file, places, facts),
    )


def _extern(file: _File, call: ast.Call, where: str) -> Kernel:
    name = _dotted(call.func)
    last = call.end_lineno or call.lineno
    text = "\n".join(line.strip() for line in file.lines[call.lineno - 1 : last])
    return Kernel(
        title=f"Library call {name}{where}",
        name=f"kernel-{slug(name)}",
        code=scrub(text) + "\n",
        language="python",
        stage="wrapper",
        kernel_name=name,
        category="extern",
        device=_graph_device(file.graph),
        **_origin(file, [call.lineno], None),
    )


def _origin(file: _File, places: list[int], facts: dict[str, str] | None) -> dict[str, Any]:
    """Where a kernel comes from: ATen operators and the user's lines.

    Above a library call Inductor also writes the operators of the C++ kernel before it, so its
    comment is not passed on as a fact there.
    """
    nodes = list({n.name: n for line in places for n in file.nodes(line)}.values())
    comments = "\n".join(text for line in places for text in file.comment(line))
    written = _ATEN.search(comments)
    original = [o.strip() for o in written[1].split(",") if o.strip()] if written else []
    if facts is not None and original:
        facts = facts | {"original_aten": ", ".join(original)}
    lines = {n.source for n in nodes if n.source}
    return {
        "origins": tuple(dict.fromkeys(map(_operator, nodes))) or tuple(original),
        "source_lines": tuple(sorted(lines, key=lambda s: (s.file, s.line))),
        "facts": facts or {},
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
    facts = dict(_NUMBER.findall(code))
    if hints := _HINTS.search(code):
        facts["size_hints"] = hints[1]
    return facts


def _call_facts(calls: list[ast.Call]) -> dict[str, str]:
    if not calls:
        return {}
    facts = {"calls": str(len(calls)), "call": scrub(ast.unparse(calls[0]))}
    grids = [ast.unparse(k.value) for k in calls[0].keywords if k.arg == "grid"]
    return facts | ({"grid": grids[0]} if grids else {})
