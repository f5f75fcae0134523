"""Note Inductor: whose loop body it is, and which of its nodes each line is written for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from torch import fx

from tclab.capturing.trace import names
from tclab.capturing.trace.notes import (
    MARK,
    MARKS,
    BodyNote,
    Collected,
    KernelNote,
    Line,
    Marks,
    joined,
)
from tclab.model import FusedGroup

SchedulerNode = Any  # torch._inductor.scheduler.BaseSchedulerNode: one, or several fused

P = ParamSpec("P")
R = TypeVar("R")

lowered: ContextVar[Marks] = ContextVar("lowered", default=())


def stores(cls: type) -> list[type]:
    """A class and all below it."""
    below: list[type] = cls.__subclasses__()
    return [cls] + [c for sub in below for c in stores(sub)]


@contextmanager
def _within(marks: Marks) -> Iterator[None]:
    token = lowered.set(marks)
    try:
        yield
    finally:
        lowered.reset(token)


def loops(original: Callable[..., None], notes: Collected) -> Callable[..., None]:
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


def _marked(inner: Callable[P, R], marks: Marks) -> Callable[P, R]:
    @wraps(inner)
    def inner_fn(*args: P.args, **kwargs: P.kwargs) -> R:
        with _within(marks):
            return inner(*args, **kwargs)

    inner_fn.tclab_marks = marks  # type: ignore[attr-defined]
    return inner_fn


def store_noted(original: Callable[..., R]) -> Callable[..., R]:
    """Reductions, scans and stores run outside of the inner function."""

    @wraps(original)
    def store(self: Any, *args: object, **kwargs: object) -> R:
        with _within(getattr(self.inner_fn, "tclab_marks", lowered.get())):
            return original(self, *args, **kwargs)

    return store


def body_node(original: Callable[..., fx.Node], notes: Collected) -> Callable[..., fx.Node]:
    """A body that is made anew from another one keeps the marks of that one's nodes."""

    def create_node(self: Any, *args: object, **kwargs: object) -> fx.Node:
        node = original(self, *args, **kwargs)
        now = _interpreted()
        node.meta[MARKS] = now.meta.get(MARKS, ()) if now is not None else lowered.get()
        return node

    return create_node


def _interpreted() -> fx.Node | None:
    """The node of a loop body that is being turned into something else."""
    from torch._inductor.loop_body import InterpreterShim
    from torch._inductor.virtualized import V

    now = V.interpreter
    return now.current_node if isinstance(now, InterpreterShim) else None


def log_ir(original: Callable[..., None], notes: Collected) -> Callable[..., None]:
    """The loop bodies as they are when the IR is logged."""

    def log_ir_post_fusion(nodes: Sequence[SchedulerNode]) -> None:
        original(nodes)
        marks: dict[str, dict[str, Marks]] = {}
        origins: dict[str, Marks] = {}
        for node in (n for group in nodes for n in group.get_nodes()):
            name = node.get_name()
            origins[name] = _origins(node)
            marks[name] = dict(_body_marks(node, name, notes))
        notes.add(names.BODY, BodyNote(marks, origins, tuple(map(_group, nodes))))

    return log_ir_post_fusion


def _group(group: SchedulerNode) -> FusedGroup:
    members = list(group.get_nodes())
    used: dict[str, list[str]] = {}
    for node in members:
        for buffer in dict.fromkeys(dep.name for dep in node.read_writes.reads_and_writes()):
            used.setdefault(buffer, []).append(node.get_name())
    shared = {buffer: tuple(ops) for buffer, ops in used.items() if len(ops) > 1}
    return FusedGroup(tuple(node.get_name() for node in members), moved(group), shared)


def moved(group: SchedulerNode) -> int | None:
    """Bytes of memory that a node reads and writes, each buffer once."""
    # Not the cached method: what Inductor asks for later must be computed by Inductor.
    try:
        return int(group.get_read_write_buffers_sizes_impl(include_reads=True, include_writes=True))
    except Exception:  # a size that only the data decides has no hint, and versions differ in error
        return None


def _origins(node: SchedulerNode) -> Marks:
    origins = getattr(node.node, "origins", None) or ()
    return joined(n.meta.get(MARK, ()) for n in origins)


def _body_marks(node: SchedulerNode, name: str, notes: Collected) -> Iterator[tuple[str, Marks]]:
    body = getattr(node, "_body", None)
    if body is None:
        return
    for block in (body.root_block, *body.subblocks.values()):
        for inner in block.graph.nodes:
            notes.bodies[id(inner)] = (name, inner.name)
            notes.alive.append(inner)
            yield inner.name, inner.meta.get(MARKS, ())


# ------------------------------------------------------------------------------ kernels


def writeline(original: Callable[..., None], notes: Collected) -> Callable[..., None]:
    """A line written while a node of a loop body is turned into code is that node's."""

    def writeline(self: object, line: object) -> None:
        original(self, line)
        now = _interpreted()
        if now is not None:
            _take(notes, now, getattr(line, "line", line))

    return writeline


def _take(notes: Collected, now: fx.Node, text: object) -> None:
    from torch._inductor.virtualized import V

    marks = _written_for(now)
    for part in text.split("\n") if isinstance(text, str) else ():
        if part.strip():
            line = Line(part.strip(), marks, notes.bodies.get(id(now)), id(V.kernel))
            notes.lines.append((V.kernel, line))


def _written_for(now: fx.Node) -> Marks:
    """The node that asked for it; of a load, also the one whose value is loaded."""
    marks: Marks = now.meta.get(MARKS, ())
    return joined((marks, _producer(now.args[1]))) if now.target == "load" else marks


def _producer(name: object) -> Marks:
    from torch._inductor.virtualized import V

    if name in V.graph.graph_input_names:
        inputs = (n for n in V.graph.module.graph.nodes if n.op == "placeholder")
        return next((n.meta.get(MARK, ()) for n in inputs if n.name == name), ())
    buffer = V.graph.try_get_buffer(name)
    node = buffer.get_origin_node() if buffer is not None else None
    return node.meta.get(MARK, ()) if node is not None else ()


def generate(original: Callable[..., R], notes: Collected) -> Callable[..., R]:
    """A value that was written before and is asked for again is also the later node's."""

    def generate(self: object, buffer: object, expr: object, *args: object, **kwargs: object) -> R:
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
                line.again = joined((line.again, _written_for(now)))
        return value

    return generate


def define_kernel(original: Callable[..., str], notes: Collected) -> Callable[..., str]:
    """The lines written for a kernel belong to it once it has a name."""

    def define_kernel(self: object, *args: object, **kwargs: object) -> str:
        name = original(self, *args, **kwargs)
        kernel = kwargs.get("kernel", args[2] if len(args) > 2 else None)
        mine = any(owner is kernel for owner, _ in notes.lines)
        lines = tuple(x for owner, x in notes.lines if not mine or owner is kernel)
        notes.add(names.KERNEL, KernelNote(name, lines))
        notes.lines = [x for x in notes.lines if mine and x[0] is not kernel]
        return name

    return define_kernel
