"""Note where everything comes from while it is made: each private seam, with its versions.

A graph that PyTorch prints into the structured trace is noted with its nodes, and each node is
marked, so that the node of a later graph that was copied or traced from it can name it. When
Inductor lowers a node, the loop body it makes is marked with that node, then each node of the
body, and at last each line that is written while a node of the body is turned into code. What
was noted joins the Trace as events called ``links_…``. No code that is generated changes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any
from unittest import mock

from torch import fx

if TYPE_CHECKING:
    from tclab.stages.trace import Trace

_ALL = "2.11 2.13 2.15"
#: (module, attribute path, versions it was seen in, what it is used for)
NAMES = (
    ("torch.fx", "GraphModule.print_readable", _ALL, "the graph behind a printed text"),
    ("torch.fx", "Node.replace_all_uses_with", _ALL, "replaced nodes"),
    ("torch.fx.proxy", "_COPY_META_FIELDS", _ALL, "marks go through tracing"),
    ("torch._dynamo.output_graph", "SubgraphTracer.create_node", _ALL, "the instruction of a node"),
    ("torch._inductor.ir", "IRNode.__post_init__", _ALL, "whose loop body it is"),
    ("torch._inductor.ir", "Loops", _ALL, "whose loop body it is"),
    ("torch._inductor.loop_body", "LightTracer", _ALL, "nodes of a loop body"),
    ("torch._inductor.loop_body", "InterpreterShim", _ALL, "which node is being written"),
    ("torch._inductor.utils", "IndentedBuffer.writeline", _ALL, "lines of a kernel"),
    ("torch._inductor.codegen.common", "CSE.generate", _ALL, "values that are used again"),
    ("torch._inductor.codegen.triton", "TritonScheduling.define_kernel", _ALL, "kernel names"),
    ("torch._inductor.codegen.cpp", "CppScheduling.define_kernel", _ALL, "kernel names"),
    ("torch._inductor.debug", "log_ir_post_fusion", _ALL, "the IR behind the log"),
    ("torch._inductor.pattern_matcher", "LoweringPatternEntry.apply", _ALL, "replaced nodes"),
    ("torch._inductor.pattern_matcher", "GraphPatternEntry.apply", _ALL, "replaced nodes"),
    ("torch._inductor.pattern_matcher", "ReplacementPatternEntry.apply", _ALL, "replaced nodes"),
)

MARK = "tclab_mark"  #: in node.meta: the nodes it was made from, or itself once printed
MARKS = "tclab_marks"  #: in node.meta of a loop body's node: the nodes it was made for
AT = "tclab_at"  #: in node.meta: offset of the instruction of the frame that made the node
Mark = tuple[int, str]
Marks = tuple[Mark, ...]


def check() -> list[str]:
    """What of PyTorch is not as this module knows it; empty if all is well."""
    return [
        f"{module}.{name} is gone (used for: {use}; seen in torch {seen})"
        for module, name, seen, use in NAMES
        if not _exists(module, name)
    ]


def _exists(module: str, name: str) -> bool:
    try:
        value: Any = importlib.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError):
        return False
    return True


# ------------------------------------------------------------------------------ what is noted


@dataclass(frozen=True)
class NodeNote:
    """One FX node when its graph was printed. `marks` are the nodes it was made from."""

    name: str
    op: str
    marks: Marks
    stack: str  # the user's stack when the node was made; of a gradient, its forward's
    seq_nr: int | None  # shared by a gradient's nodes and the nodes it is the gradient of
    offset: int | None  # of the instruction Dynamo was at
    argument: int | None  # a graph input's position among the arguments of the graph before


@dataclass(frozen=True)
class GraphNote:
    """A graph that was printed as `text`."""

    number: int
    text: str
    nodes: tuple[NodeNote, ...]


@dataclass(frozen=True)
class BodyNote:
    """The nodes of all loop bodies when the IR was logged: ``op: {line's name: marks}``."""

    marks: dict[str, dict[str, Marks]]
    origins: dict[str, Marks]  # op → what the scheduler says it computes


@dataclass
class Line:
    """A line that was written for a node of a loop body; `again` asked for its value, too."""

    text: str
    marks: Marks
    body: tuple[str, str] | None  # op, name of the body's node
    again: Marks = ()


@dataclass(frozen=True)
class KernelNote:
    """The lines written for one kernel, in order."""

    name: str
    lines: tuple[Line, ...]


@dataclass
class _Notes:
    """What is collected in one capture."""

    trace: Trace
    count: int = 0
    bodies: dict[int, tuple[str, str]] = field(default_factory=dict)  # id(node) → op, name
    alive: list[Any] = field(default_factory=list)  # keeps the ids above unique
    lines: list[tuple[Any, Line]] = field(default_factory=list)  # kernel, line
    values: dict[tuple[int, str], Line] = field(default_factory=dict)  # id(kernel), variable

    def add(self, name: str, data: Any) -> None:
        from tclab.stages import _torch

        self.trace.add(name, data, "", _torch.compile_id())


def _joined(several: Iterable[Marks]) -> Marks:
    return tuple(dict.fromkeys(mark for marks in several for mark in marks))


_lowered: ContextVar[Marks] = ContextVar("lowered", default=())


@contextmanager
def recording(trace: Trace) -> Iterator[None]:
    """Note origins for the length of the block; every patch is undone, also after an error."""
    import torch._dynamo.output_graph as output_graph
    from torch._inductor import debug, ir, loop_body, pattern_matcher, utils
    from torch._inductor.codegen import common, cpp, triton

    notes = _Notes(trace)
    patches: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
        (fx.GraphModule, "print_readable", _print_readable),
        (fx.Node, "replace_all_uses_with", _replace_uses),
        (output_graph.SubgraphTracer, "create_node", _dynamo_node),
        (ir.IRNode, "__post_init__", _loops),
        (loop_body.LightTracer, "create_node", _body_node),
        (utils.IndentedBuffer, "writeline", _writeline),
        (common.CSE, "generate", _generate),
        (triton.TritonScheduling, "define_kernel", _define_kernel),
        (cpp.CppScheduling, "define_kernel", _define_kernel),
        (debug, "log_ir_post_fusion", _log_ir),
        *((getattr(pattern_matcher, name), "apply", _replace) for name in _ENTRIES),
    )
    with ExitStack() as stack:
        for owner, name, make in patches:
            original = getattr(owner, name)
            own = wraps(original)(make(original, notes))
            stack.enter_context(mock.patch.object(owner, name, own))
        for cls in _stores(ir.Loops):
            for name in ("store_output", "store_reduction"):
                if name in vars(cls):
                    own = wraps(vars(cls)[name])(_store(vars(cls)[name]))
                    stack.enter_context(mock.patch.object(cls, name, own))
        stack.enter_context(_copied(fx.proxy._COPY_META_FIELDS))
        yield


@contextmanager
def _copied(names: list[str]) -> Iterator[None]:
    names.append(MARK)
    try:
        yield
    finally:
        names.remove(MARK)


# ------------------------------------------------------------------------------ graphs


def _print_readable(original: Callable[..., str], notes: _Notes) -> Callable[..., str]:
    def print_readable(self: fx.GraphModule, *args: Any, **kwargs: Any) -> str:
        text = original(self, *args, **kwargs)
        notes.count += 1
        nodes = tuple(_note(n) for n in self.graph.nodes)
        notes.add("links_graph", GraphNote(notes.count, text, nodes))
        for node in self.graph.nodes:
            node.meta[MARK] = ((notes.count, node.name),)
        return text

    return print_readable


def _note(node: fx.Node) -> NodeNote:
    meta = node.meta
    argument = getattr(meta.get("desc"), "idx", None)
    if type(meta.get("desc")).__name__ != "PlainAOTInput":
        argument = None
    return NodeNote(node.name, node.op, meta.get(MARK, ()), node.stack_trace or "",
                    meta.get("seq_nr"), meta.get(AT), argument)  # fmt: skip


def _dynamo_node(original: Callable[..., fx.Node], notes: _Notes) -> Callable[..., fx.Node]:
    def create_node(self: Any, *args: Any, **kwargs: Any) -> fx.Node:
        node = original(self, *args, **kwargs)
        frame = getattr(self.output_graph, "root_tx", None)
        instruction = getattr(frame, "current_instruction", None)
        if (offset := getattr(instruction, "offset", None)) is not None:
            node.meta[AT] = offset
        return node

    return create_node


#: Kinds of what a pattern does with the nodes it matched.
_ENTRIES = ("LoweringPatternEntry", "GraphPatternEntry", "ReplacementPatternEntry")


def _replace(original: Callable[..., None], notes: _Notes) -> Callable[..., None]:
    """What takes the place of matched nodes is made from them."""

    def apply(self: Any, match: Any, graph: fx.Graph, node: fx.Node) -> None:
        before = set(graph.nodes)
        marks = _joined(n.meta.get(MARK, ()) for n in match.nodes)
        original(self, match, graph, node)
        for new in graph.nodes:
            if new not in before and MARK not in new.meta:
                new.meta[MARK] = marks

    return apply


def _replace_uses(original: Callable[..., Any], notes: _Notes) -> Callable[..., Any]:
    """A node that takes the place of another is made from it, if nothing else is known."""

    def replace_all_uses_with(self: fx.Node, replace_with: fx.Node, *args: Any, **kwargs: Any) -> Any:
        if MARK not in replace_with.meta and MARK in self.meta:
            replace_with.meta[MARK] = self.meta[MARK]
        return original(self, replace_with, *args, **kwargs)

    return replace_all_uses_with


# ------------------------------------------------------------------------------ loop bodies


def _stores(cls: type) -> list[type]:
    """A class and all below it."""
    return [cls] + [c for sub in cls.__subclasses__() for c in _stores(sub)]


@contextmanager
def _within(marks: Marks) -> Iterator[None]:
    token = _lowered.set(marks)
    try:
        yield
    finally:
        _lowered.reset(token)


def _loops(original: Callable[..., None], notes: _Notes) -> Callable[..., None]:
    """A loop body made while a node is lowered is that node's, wherever it is traced later."""

    def post_init(self: Any) -> None:
        from torch._inductor.ir import Loops

        original(self)
        if isinstance(self, Loops) and (marks := _current()):
            self._post_init_setattr("inner_fn", _marked(self.inner_fn, marks))
            if inner := getattr(self, "inner_fns", None):
                self._post_init_setattr("inner_fns", tuple(_marked(f, marks) for f in inner))

    return post_init


def _current() -> Marks:
    """The node of the graph that is being lowered."""
    from torch._inductor.virtualized import V

    node = getattr(V.graph, "current_node", None)
    return node.meta.get(MARK, ()) if isinstance(node, fx.Node) else ()


def _marked(inner: Callable[..., Any], marks: Marks) -> Callable[..., Any]:
    @wraps(inner)
    def inner_fn(*args: Any, **kwargs: Any) -> Any:
        with _within(marks):
            return inner(*args, **kwargs)

    inner_fn.tclab_marks = marks  # type: ignore[attr-defined]
    return inner_fn


def _store(original: Callable[..., Any]) -> Callable[..., Any]:
    """Reductions, scans and stores run outside of the inner function."""

    def store(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _within(getattr(self.inner_fn, "tclab_marks", _lowered.get())):
            return original(self, *args, **kwargs)

    return store


def _body_node(original: Callable[..., fx.Node], notes: _Notes) -> Callable[..., fx.Node]:
    """A body that is made anew from another one keeps the marks of that one's nodes."""

    def create_node(self: Any, *args: Any, **kwargs: Any) -> fx.Node:
        node = original(self, *args, **kwargs)
        now = _interpreted()
        node.meta[MARKS] = now.meta.get(MARKS, ()) if now is not None else _lowered.get()
        return node

    return create_node


def _interpreted() -> fx.Node | None:
    """The node of a loop body that is being turned into something else."""
    from torch._inductor.loop_body import InterpreterShim
    from torch._inductor.virtualized import V

    now = V.interpreter
    return now.current_node if isinstance(now, InterpreterShim) else None


def _log_ir(original: Callable[..., None], notes: _Notes) -> Callable[..., None]:
    def log_ir_post_fusion(nodes: Any) -> None:
        original(nodes)
        marks: dict[str, dict[str, Marks]] = {}
        origins: dict[str, Marks] = {}
        for node in (n for group in nodes for n in group.get_nodes()):
            name = node.get_name()
            origins[name] = _origins(node)
            marks[name] = dict(_body_marks(node, name, notes))
        notes.add("links_ir", BodyNote(marks, origins))

    return log_ir_post_fusion


def _origins(node: Any) -> Marks:
    origins = getattr(node.node, "origins", None) or ()
    return _joined(n.meta.get(MARK, ()) for n in origins)


def _body_marks(node: Any, name: str, notes: _Notes) -> Iterator[tuple[str, Marks]]:
    body = getattr(node, "_body", None)
    if body is None:
        return
    for block in (body.root_block, *body.subblocks.values()):
        for inner in block.graph.nodes:
            notes.bodies[id(inner)] = (name, inner.name)
            notes.alive.append(inner)
            yield inner.name, inner.meta.get(MARKS, ())


# ------------------------------------------------------------------------------ kernels


def _writeline(original: Callable[..., None], notes: _Notes) -> Callable[..., None]:
    def writeline(self: Any, line: Any) -> None:
        original(self, line)
        now = _interpreted()
        if now is not None:
            _take(notes, now, getattr(line, "line", line))

    return writeline


def _take(notes: _Notes, now: fx.Node, text: Any) -> None:
    from torch._inductor.virtualized import V

    marks = _written_for(now)
    for part in text.split("\n") if isinstance(text, str) else ():
        if part.strip():
            line = Line(part.strip(), marks, notes.bodies.get(id(now)))
            notes.lines.append((V.kernel, line))


def _written_for(now: fx.Node) -> Marks:
    """The node that asked for it; of a load, also the one whose value is loaded."""
    marks: Marks = now.meta.get(MARKS, ())
    return _joined((marks, _producer(now.args[1]))) if now.target == "load" else marks


def _producer(name: Any) -> Marks:
    from torch._inductor.virtualized import V

    if name in V.graph.graph_input_names:
        inputs = (n for n in V.graph.module.graph.nodes if n.op == "placeholder")
        return next((n.meta.get(MARK, ()) for n in inputs if n.name == name), ())
    buffer = V.graph.try_get_buffer(name)
    node = buffer.get_origin_node() if buffer is not None else None
    return node.meta.get(MARK, ()) if node is not None else ()


def _generate(original: Callable[..., Any], notes: _Notes) -> Callable[..., Any]:
    """A value that was written before and is asked for again is also the later node's."""

    def generate(self: Any, buffer: Any, expr: Any, *args: Any, **kwargs: Any) -> Any:
        from torch._inductor.codegen.common import CSEVariable
        from torch._inductor.virtualized import V

        written = len(notes.lines)
        value = original(self, buffer, expr, *args, **kwargs)
        now = _interpreted()
        if now is not None and not isinstance(expr, CSEVariable):
            key = (id(V.kernel), str(value))
            if len(notes.lines) > written:
                notes.values[key] = notes.lines[-1][1]  # the line that names it comes last
            elif line := notes.values.get(key):
                line.again = _joined((line.again, _written_for(now)))
        return value

    return generate


def _define_kernel(original: Callable[..., str], notes: _Notes) -> Callable[..., str]:
    def define_kernel(self: Any, *args: Any, **kwargs: Any) -> str:
        name = original(self, *args, **kwargs)
        kernel = kwargs.get("kernel", args[2] if len(args) > 2 else None)
        mine = any(owner is kernel for owner, _ in notes.lines)
        lines = tuple(x for owner, x in notes.lines if not mine or owner is kernel)
        notes.add("links_kernel", KernelNote(name, lines))
        notes.lines = [x for x in notes.lines if mine and x[0] is not kernel]
        return name

    return define_kernel
