"""Parse Inductor's output code: its kernel definitions and calls, and the nodes they compute.

Inductor tracks which FX nodes a kernel call computes, under a handle that it writes above the
call. If there is no handle, the comment above the Triton kernel names the nodes.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tclab.model import Graph, Node, links, source_lines

# #   %relu : Tensor "f32[64, 64][64, 1]cuda:0"[num_users=1] = call_function[target=
_FRAGMENT = re.compile(r"^#\s+%(\w+) : .*?= call_\w+\[")
#         # [Provenance debug handles] triton_per_fused_relu_sum_0:2
_HANDLE = re.compile(r"# \[Provenance debug handles\] (\S+)")
#         # [Provenance debug handles] triton_per_fused_relu_sum_0:2
_HANDLE_LINE = re.compile(rf"^\s*{_HANDLE.pattern}\n", re.MULTILINE)
#             # Topologically Sorted Source Nodes: [matmul], Original ATen: [aten.mm]
_SOURCES = re.compile(r"^ *# Topologically Sorted Source Nodes: \[(\w[\w, ]*)\]")
#: The comment with the sources stands at most this number of lines above the kernel's call. The
#: lines between them get the stream and prepare arguments.
_MOST_BETWEEN = 4
# triton_per_fused_relu_sum_0
_NUMBER = re.compile(r"_\d+$")
_LIBRARY_PREFIXES = ("extern_kernels.", "torch.ops.")
_INTERNAL_PREFIXES = ("torch.ops.inductor.",)

#: ``kernel:handle`` → the names of the post-grad nodes that this kernel call computes.
KernelNodes = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Definition:
    """A kernel's definition, such as ``name = async_compile.triton('function', '''…''')``.

    A C++ definition is of `kind` cpp_pybind and has no `function`. A Triton kernel that the user
    wrote has a `function` that differs from `name`.
    """

    name: str
    function: str
    kind: str
    code: str
    line: int
    device: str

    @property
    def is_cpp(self) -> bool:
        """Whether it is a C++ kernel, which runs on the CPU."""
        return self.kind.startswith("cpp")


@dataclass(frozen=True)
class OutputCode:
    """One output file. `calls` are the calls in its functions, top to bottom. `graph` is the
    post-grad graph that Inductor compiled. `kernel_nodes` names the nodes of this graph that each
    call computes.

    A file that is not Python (the C++ wrapper) has no definitions and no calls.
    """

    text: str = ""
    definitions: tuple[Definition, ...] = ()
    calls: tuple[ast.Call, ...] = ()
    kernel_nodes: KernelNodes = field(default_factory=dict)
    graph: Graph | None = None

    @classmethod
    def parse(
        cls, text: str, kernel_nodes: KernelNodes | None = None, graph: Graph | None = None
    ) -> OutputCode:
        """Parse the text of an output file."""
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return cls(text)
        return cls(
            text, tuple(_find_definitions(tree)), _find_calls(tree), kernel_nodes or {}, graph
        )

    def triton_sources(self) -> dict[str, str]:
        """Map the function name of each Triton kernel to the source that Inductor wrote."""
        return {d.function: d.code for d in self.definitions if d.kind == "triton"}

    def cpp_sources(self) -> dict[str, str]:
        """Map the name of each C++ kernel to the source that Inductor wrote."""
        return {d.name: d.code for d in self.definitions if d.is_cpp}

    def keys_by_line(self) -> dict[int, links.Keys]:
        """Map each line that defines or calls a kernel to the keys of its nodes. Line numbers are
        those of the text without handles.
        """
        keys: dict[int, links.Keys] = {}
        for line, nodes in self._kernel_lines():
            handles = bisect_right(self._handle_lines, line)
            if node_keys := links.merge_keys(node.keys for node in nodes):
                keys[line - handles] = node_keys
        return keys

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return source_lines(self.text)

    def _kernel_lines(self) -> Iterator[tuple[int, list[Node]]]:
        """Yield each line that defines or calls a kernel, with the nodes that it computes."""
        for definition in self.definitions:
            calls = self.calls_to(definition.name)
            yield definition.line, self.computed_nodes(definition, calls)
            yield from ((call.lineno, self.computed_nodes(definition, [call])) for call in calls)
        for call in self.library_calls():
            yield call.lineno, self.computed_nodes(None, [call])

    def computed_nodes(self, definition: Definition | None, calls: list[ast.Call]) -> list[Node]:
        """Return the nodes that these calls compute, in the order of the graph. They come from
        `kernel_nodes`, or else from the comment above the definition.
        """
        names = {name for call in calls for name in self.kernel_nodes.get(self._handle(call), ())}
        if not names and definition:
            names = self.commented_nodes(definition)
        positions = sorted(
            self._node_positions[name] for name in names if name in self._node_positions
        )
        return (
            [self.graph.nodes[position] for position in positions] if self.graph is not None else []
        )

    def commented_nodes(self, definition: Definition) -> set[str]:
        """Return the names of the nodes in the comment above the definition of a kernel: those of
        the first call, if several calls share the kernel.
        """
        above = self.comment_above(definition.line)
        return {match[1] for text in above if (match := _FRAGMENT.match(text))}

    @cached_property
    def _node_positions(self) -> dict[str, int]:
        """Map each node's name to its position in the graph."""
        nodes = self.graph.nodes if self.graph is not None else ()
        return {node.name: position for position, node in enumerate(nodes)}

    def _handle(self, call: ast.Call) -> str:
        """Return the debug handle of a call, from the nearest comment above the call; '' if there
        is none, or if it names another kernel.
        """
        handles_above = bisect_left(self._handle_lines, call.lineno)
        handle = self._handles[self._handle_lines[handles_above - 1]] if handles_above else ""
        return handle if handle.rpartition(":")[0] == _called_kernel(call) else ""

    @cached_property
    def _handles(self) -> dict[int, str]:
        """Map line numbers to the handle on that line."""
        found = ((n, _HANDLE.search(text)) for n, text in enumerate(self.lines, 1))
        return {line: match[1] for line, match in found if match}

    @cached_property
    def _handle_lines(self) -> list[int]:
        return list(self._handles)

    def library_calls(self) -> list[ast.Call]:
        """Return the calls of library kernels and of PyTorch's operators."""
        names = ((_called_kernel(call), call) for call in self.calls)
        return [
            c
            for n, c in names
            if n.startswith(_LIBRARY_PREFIXES) and not n.startswith(_INTERNAL_PREFIXES)
        ]

    def comment_above(self, line: int) -> list[str]:
        """Return the comment lines right above `line`, which counts from 1."""
        comment_lines: list[str] = []
        for text in reversed(self.lines[: line - 1]):
            if not text.strip().startswith("#"):
                break
            comment_lines.insert(0, text.strip())
        return comment_lines

    def sources_of_call(self, call: ast.Call) -> list[str]:
        """Return the names of the nodes in the comment that Inductor, for a GPU, writes above a
        call. They are nodes of Dynamo's graph, or, for a gradient, nodes of this graph.
        """
        for text in reversed(self.lines[: call.lineno - 1][-_MOST_BETWEEN:]):
            if found := _SOURCES.search(text):
                return found[1].split(", ")
            if ".run(" in text:  # the lines above it belong to this other call
                break
        return []

    def calls_to(self, name: str) -> list[ast.Call]:
        """Return all calls of the kernel with this name."""
        return self._calls_by_name.get(name, [])

    @cached_property
    def _calls_by_name(self) -> dict[str, list[ast.Call]]:
        calls: dict[str, list[ast.Call]] = {}
        for call in self.calls:
            calls.setdefault(_called_kernel(call), []).append(call)
        return calls


def strip_number(name: str, source: str) -> tuple[str, str]:
    """Remove the number at the end of a kernel's name, which counts the kernels of a file, from the
    name and the source.
    """
    bare_name = _NUMBER.sub("", name)
    return bare_name, source.replace(name, bare_name)


def strip_handles(text: str) -> str:
    """Remove the debug handles, which Inductor writes only if it tracks the nodes of kernels."""
    return _HANDLE_LINE.sub("", text)


# ------------------------------------------------------------------------------ parsing


def _find_definitions(tree: ast.Module) -> Iterator[Definition]:
    for statement in tree.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        call, target = statement.value, statement.targets[0]
        owner, _, kind = dotted_name(call.func).partition(".")
        constants = [a.value for a in call.args if isinstance(a, ast.Constant)]
        texts = [value for value in constants if isinstance(value, str)]
        sources = [text for text in texts if "\n" in text]
        if owner == "async_compile" and sources and isinstance(target, ast.Name):
            function = "" if texts[0] in sources else texts[0]
            device = _find_device(call, kind)
            yield Definition(target.id, function, kind, sources[-1], statement.lineno, device)


def _find_device(call: ast.Call, kind: str) -> str:
    for keyword in call.keywords:
        if keyword.arg == "device_str" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    return "cpu" if kind.startswith("cpp") else ""


def _find_calls(tree: ast.Module) -> tuple[ast.Call, ...]:
    """Return the calls in functions that are statements or assigned values, top to bottom."""
    functions = (node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef)))
    calls = [
        statement.value
        for function in functions
        for statement in _walk_statements(function)
        if isinstance(statement, (ast.Expr, ast.Assign)) and isinstance(statement.value, ast.Call)
    ]
    return tuple(sorted(calls, key=lambda call: (call.lineno, call.col_offset)))


def _walk_statements(statement: ast.AST) -> Iterator[ast.AST]:
    """Yield a statement and the statements in it. `ast.walk` would visit each expression, too,
    which takes ten times as long.
    """
    yield statement
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(statement, name, ()):
            yield from _walk_statements(inner)


def _called_kernel(call: ast.Call) -> str:
    """Return the kernel's name in ``name(…)`` or ``name.run(…)``."""
    return dotted_name(call.func).removesuffix(".run")


def dotted_name(value: ast.expr) -> str:
    """Return a dotted name such as ``a.b.c`` as text; an empty string for other expressions."""
    parts = []
    while isinstance(value, ast.Attribute):
        parts.append(value.attr)
        value = value.value
    return ".".join([value.id, *reversed(parts)]) if isinstance(value, ast.Name) else ""
