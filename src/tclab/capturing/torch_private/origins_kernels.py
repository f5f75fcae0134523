"""Mark Inductor's loop bodies with the nodes that they compute, and note the node for which each
kernel line is written.
"""

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
    Collector,
    KernelLine,
    KernelNote,
    LoopBodiesNote,
    Marks,
    merge_marks,
)
from tclab.model import FusedGroup

SchedulerNode = Any  # torch._inductor.scheduler.BaseSchedulerNode, single or fused

P = ParamSpec("P")
R = TypeVar("R")

lowered_marks: ContextVar[Marks] = ContextVar("lowered", default=())


def list_subclasses(cls: type) -> list[type]:
    """Return a class and all its direct and indirect subclasses."""
    subclasses: list[type] = cls.__subclasses__()
    return [cls] + [c for sub in subclasses for c in list_subclasses(sub)]


@contextmanager
def _set_lowered_marks(marks: Marks) -> Iterator[None]:
    token = lowered_marks.set(marks)
    try:
        yield
    finally:
        lowered_marks.reset(token)


def wrap_post_init(original: Callable[..., None], notes: Collector) -> Callable[..., None]:
    """Wrap IRNode.__post_init__: a loop body keeps the marks of the node being lowered, whenever
    Inductor traces the body.
    """

    def post_init(self: Any) -> None:
        from torch._inductor.ir import Loops

        original(self)
        if isinstance(self, Loops) and (marks := _current_node_marks()):
            self._post_init_setattr("inner_fn", _wrap_inner(self.inner_fn, marks))
            if inner := getattr(self, "inner_fns", None):
                self._post_init_setattr("inner_fns", tuple(_wrap_inner(f, marks) for f in inner))

    return post_init


def _current_node_marks() -> Marks:
    """Return the marks of the FX node that Inductor is lowering, or ()."""
    from torch._inductor.virtualized import V

    node = getattr(V.graph, "current_node", None)
    return node.meta.get(MARK, ()) if isinstance(node, fx.Node) else ()


def _wrap_inner(inner: Callable[P, R], marks: Marks) -> Callable[P, R]:
    @wraps(inner)
    def inner_fn(*args: P.args, **kwargs: P.kwargs) -> R:
        with _set_lowered_marks(marks):
            return inner(*args, **kwargs)

    inner_fn.tclab_marks = marks  # type: ignore[attr-defined]
    return inner_fn


def wrap_store(original: Callable[..., R]) -> Callable[..., R]:
    """Wrap a method that stores a loop's result, so that the store gets the marks of the loop's
    inner function. Reductions, scans and stores run outside of that function.
    """

    @wraps(original)
    def store(self: Any, *args: object, **kwargs: object) -> R:
        with _set_lowered_marks(getattr(self.inner_fn, "tclab_marks", lowered_marks.get())):
            return original(self, *args, **kwargs)

    return store


def wrap_create_body_node(
    original: Callable[..., fx.Node], notes: Collector
) -> Callable[..., fx.Node]:
    """Wrap LightTracer.create_node: a node of a loop body gets the current marks. If it is copied
    from a node of another body, it gets the marks of that node.
    """

    def create_node(self: Any, *args: object, **kwargs: object) -> fx.Node:
        node = original(self, *args, **kwargs)
        old = _interpreted_node()
        node.meta[MARKS] = old.meta.get(MARKS, ()) if old is not None else lowered_marks.get()
        return node

    return create_node


def _interpreted_node() -> fx.Node | None:
    """Return the loop-body node that Inductor is interpreting, or None."""
    from torch._inductor.loop_body import InterpreterShim
    from torch._inductor.virtualized import V

    interpreter = V.interpreter
    return interpreter.current_node if isinstance(interpreter, InterpreterShim) else None


def wrap_log_ir(original: Callable[..., None], notes: Collector) -> Callable[..., None]:
    """Wrap log_ir_post_fusion: note all loop bodies at that moment."""

    def log_ir_post_fusion(nodes: Sequence[SchedulerNode]) -> None:
        original(nodes)
        marks: dict[str, dict[str, Marks]] = {}
        origins: dict[str, Marks] = {}
        for node in (n for group in nodes for n in group.get_nodes()):
            name = node.get_name()
            origins[name] = _origin_marks(node)
            marks[name] = dict(_body_marks(node, name, notes))
        notes.add(
            names.LOOP_BODIES, LoopBodiesNote(marks, origins, tuple(map(_fused_group, nodes)))
        )

    return log_ir_post_fusion


def _fused_group(group: SchedulerNode) -> FusedGroup:
    members = list(group.get_nodes())
    users: dict[str, list[str]] = {}
    for node in members:
        for buffer in dict.fromkeys(dep.name for dep in node.read_writes.reads_and_writes()):
            users.setdefault(buffer, []).append(node.get_name())
    shared = {buffer: tuple(ops) for buffer, ops in users.items() if len(ops) > 1}
    return FusedGroup(tuple(node.get_name() for node in members), bytes_moved(group), shared)


def bytes_moved(group: SchedulerNode) -> int | None:
    """Return the bytes that a node reads and writes, each buffer once; None if not known."""
    # Inductor would read the answer that the cached method stores, so call the uncached one.
    try:
        return int(group.get_read_write_buffers_sizes_impl(include_reads=True, include_writes=True))
    except Exception:  # a data-dependent size has no hint; each version raises another error
        return None


def _origin_marks(node: SchedulerNode) -> Marks:
    origins = getattr(node.node, "origins", None) or ()
    return merge_marks(n.meta.get(MARK, ()) for n in origins)


def _body_marks(node: SchedulerNode, name: str, notes: Collector) -> Iterator[tuple[str, Marks]]:
    body = getattr(node, "_body", None)
    if body is None:
        return
    for block in (body.root_block, *body.subblocks.values()):
        for inner in block.graph.nodes:
            notes.bodies[id(inner)] = (name, inner.name)
            notes.alive.append(inner)
            yield inner.name, inner.meta.get(MARKS, ())


# ------------------------------------------------------------------------------ kernels


def wrap_writeline(original: Callable[..., None], notes: Collector) -> Callable[..., None]:
    """Wrap IndentedBuffer.writeline: note each line with the loop-body node being interpreted."""

    def writeline(self: object, line: object) -> None:
        original(self, line)
        node = _interpreted_node()
        if node is not None:
            _note_lines(notes, node, getattr(line, "line", line))

    return writeline


def _note_lines(notes: Collector, node: fx.Node, text: object) -> None:
    from torch._inductor.virtualized import V

    marks = _line_marks(node)
    for part in text.split("\n") if isinstance(text, str) else ():
        if part.strip():
            line = KernelLine(part.strip(), marks, notes.bodies.get(id(node)), id(V.kernel))
            notes.lines.append((V.kernel, line))


def _line_marks(node: fx.Node) -> Marks:
    """Return the marks for a line that was written for this body node. The line of a load also gets
    the marks of the node that computed the loaded value.
    """
    marks: Marks = node.meta.get(MARKS, ())
    return merge_marks((marks, _producer_marks(node.args[1]))) if node.target == "load" else marks


def _producer_marks(name: object) -> Marks:
    from torch._inductor.virtualized import V

    if name in V.graph.graph_input_names:
        inputs = (n for n in V.graph.module.graph.nodes if n.op == "placeholder")
        return next((n.meta.get(MARK, ()) for n in inputs if n.name == name), ())
    buffer = V.graph.try_get_buffer(name)
    node = buffer.get_origin_node() if buffer is not None else None
    return node.meta.get(MARK, ()) if node is not None else ()


def wrap_generate(original: Callable[..., R], notes: Collector) -> Callable[..., R]:
    """Wrap CSE.generate: if it returns an earlier value, note at that value's line that the present
    node reuses the value.
    """

    def generate(self: object, buffer: object, expr: object, *args: object, **kwargs: object) -> R:
        from torch._inductor.codegen.common import CSEVariable
        from torch._inductor.virtualized import V

        lines_before = len(notes.lines)
        value = original(self, buffer, expr, *args, **kwargs)
        node = _interpreted_node()
        if node is not None and not isinstance(expr, CSEVariable):
            key = (id(V.kernel), str(value))
            if len(notes.lines) > lines_before:
                notes.values[key] = notes.lines[-1][1]  # the last line assigns the value
            elif line := notes.values.get(key):
                line.again = merge_marks((line.again, _line_marks(node)))
        return value

    return generate


def wrap_define_kernel(original: Callable[..., str], notes: Collector) -> Callable[..., str]:
    """Wrap define_kernel: note the kernel's name with all lines written for it so far."""

    def define_kernel(self: object, *args: object, **kwargs: object) -> str:
        name = original(self, *args, **kwargs)
        kernel = kwargs.get("kernel", args[2] if len(args) > 2 else None)
        has_own_lines = any(owner is kernel for owner, _ in notes.lines)
        lines = tuple(line for owner, line in notes.lines if not has_own_lines or owner is kernel)
        notes.add(names.KERNEL, KernelNote(name, lines))
        notes.lines = [pair for pair in notes.lines if has_own_lines and pair[0] is not kernel]
        return name

    return define_kernel
