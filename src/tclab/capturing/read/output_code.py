"""Inductor's output code, parsed once: what it defines and calls, and the nodes those compute.

Which FX nodes a kernel computes is Inductor's own record, kept under a handle that it writes
above each call; the comments above Triton kernels are the fallback.
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
# triton_per_fused_relu_sum_0
_NUMBER = re.compile(r"_\d+$")
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
            handles = bisect_right(self._handle_lines, line)
            if of_nodes := links.joined(node.keys for node in nodes):
                keys[line - handles] = of_nodes
        return keys

    @cached_property
    def lines(self) -> list[str]:
        """The text, line by line."""
        return source_lines(self.text)

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
        placed = sorted(self._placed[name] for name in names if name in self._placed)
        return [self.graph.nodes[place] for place in placed] if self.graph else []

    @cached_property
    def _placed(self) -> dict[str, int]:
        """Where each node stands in the graph, by its name."""
        nodes = self.graph.nodes if self.graph else ()
        return {node.name: place for place, node in enumerate(nodes)}

    def _handle(self, call: ast.Call) -> str:
        """The nearest handle above a call, if it is of the kernel that is called."""
        above = bisect_left(self._handle_lines, call.lineno)
        handle = self._handles[self._handle_lines[above - 1]] if above else ""
        return handle if handle.rpartition(":")[0] == _called(call) else ""

    @cached_property
    def _handles(self) -> dict[int, str]:
        """The handles by their lines."""
        found = ((n, _HANDLE.search(text)) for n, text in enumerate(self.lines, 1))
        return {line: match[1] for line, match in found if match}

    @cached_property
    def _handle_lines(self) -> list[int]:
        return list(self._handles)

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
        return self._calls_by_name.get(name, [])

    @cached_property
    def _calls_by_name(self) -> dict[str, list[ast.Call]]:
        calls: dict[str, list[ast.Call]] = {}
        for call in self.calls:
            calls.setdefault(_called(call), []).append(call)
        return calls


def unnumbered(name: str, source: str) -> tuple[str, str]:
    """A kernel's name and source without the number it has in the order of writing."""
    bare = _NUMBER.sub("", name)
    return bare, source.replace(name, bare)


def without_handles(text: str) -> str:
    """Output code as it is when nobody asks for the record of nodes."""
    return _HANDLE_LINE.sub("", text)


# ------------------------------------------------------------------------------ finding


def _definitions(tree: ast.Module) -> Iterator[Definition]:
    for statement in tree.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        call, target = statement.value, statement.targets[0]
        owner, _, kind = dotted(call.func).partition(".")
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
    return dotted(call.func).removesuffix(".run")


def dotted(value: ast.expr) -> str:
    """``a.b.c`` as it is written; '' of any other expression."""
    return ast.unparse(value) if isinstance(value, (ast.Name, ast.Attribute)) else ""
