"""Count the work of a graph's kernels: operations of products, and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tclab.capturing.read.operations import Operations
from tclab.capturing.read.sizes import Sizes, hints_by_compile
from tclab.capturing.read.traffic import Traffic
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.model import Graph, KernelFacts, Node


@dataclass(frozen=True)
class Work:
    """Counts the work in one post-grad graph."""

    graph: Graph
    operations: Operations
    traffic: Traffic

    @classmethod
    def from_graph(cls, graph: Graph, sizes: Sizes, precisions: dict[str, str]) -> Work:
        """Prepare to count the work in a graph, with the sizes of its values and the settings for
        float32.
        """
        operations = Operations(graph.nodes, sizes, precisions)
        return cls(graph, operations, Traffic(graph, sizes))

    def describe_library_call(self, nodes: Sequence[Node]) -> KernelFacts:
        """Return the facts of a library call that computes these nodes."""
        if not nodes:
            return KernelFacts()
        operations, rate = self.operations.count(nodes)
        return KernelFacts(
            operations=operations,
            rate=rate,
            bytes=self.traffic.count_bytes(nodes),
            upcast=self.operations.find_upcast(nodes) if rate in ("f32", "tf32") else "",
        )

    @cached_property
    def boundary(self) -> int | None:
        """Bytes of the inputs that one run of the graph reads plus the bytes of its outputs."""
        return self.traffic.count_boundary_bytes()


@dataclass(frozen=True)
class WorkOfTrace:
    """Makes a Work for each graph of a trace."""

    hints: dict[str, dict[str, int]]
    precisions: dict[str, str]

    @classmethod
    def read(cls, trace: Trace) -> WorkOfTrace:
        """Read the symbols' hints and the settings for float32."""
        settings = trace.select(names.PRECISIONS)
        return cls(hints_by_compile(trace), dict(settings[-1].data) if settings else {})

    def make_work(self, graph: Graph) -> Work:
        """Return the Work of one graph."""
        return Work.from_graph(graph, Sizes(self.hints.get(graph.compile_id, {})), self.precisions)
