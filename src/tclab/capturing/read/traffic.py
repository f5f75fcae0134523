"""Count the least bytes that library calls and whole graphs read and write: each tensor once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tclab.capturing.read.operations import operator_name
from tclab.capturing.read.sizes import Sizes
from tclab.capturing.read.views import VIEWS
from tclab.model import Graph, Node

_PARTIAL = "embedding index index_select gather take _unsafe_index embedding_bag _embedding_bag"
#: Operators that read only the parts of their first input that their indices name.
PARTIAL = frozenset(f"aten.{name}" for name in _PARTIAL.split())
#: Operators that write to a part of an input, which is also their result.
_PARTIAL_WRITES = ("copy_", "index_put", "scatter", "select_scatter", "slice_scatter")


class Traffic:
    """Counts bytes in one graph."""

    def __init__(self, graph: Graph, sizes: Sizes) -> None:
        self.nodes = {node.name: node for node in graph.nodes}
        self.sizes = sizes
        self.users: dict[str, list[Node]] = {}
        for node in graph.nodes:
            for name in node.inputs:
                self.users.setdefault(name, []).append(node)

    def count_bytes(self, nodes: Iterable[Node]) -> int | None:
        """Return the bytes that a call computing these nodes reads and writes; None if a size is
        not known.
        """
        names = {node.name for node in nodes}
        computing = [self.nodes[name] for name in names if not self._is_view(self.nodes[name])]
        if not computing or any(_writes_a_part(node) for node in computing):
            return None
        reads = self._map_reads(computing)
        read = [size for root, size in reads.items() if root not in names]
        written = [self.sizes.bytes(node) for node in self._list_results(computing, names)]
        known = [size for size in (*read, *written) if size is not None]
        return sum(known) if known and len(known) == len(read) + len(written) else None

    def count_boundary_bytes(self) -> int | None:
        """Return the bytes of the inputs that one run of the graph reads plus the bytes of its
        outputs; None if a size is not known.
        """
        inputs = {name for name, node in self.nodes.items() if node.op == "placeholder"}
        computing = [n for n in self.nodes.values() if n.op.startswith("call") and not _is_view(n)]
        read = [size for root, size in self._map_reads(computing).items() if root in inputs]
        output = next((n for n in self.nodes.values() if n.op == "output"), None)
        made = (
            {self._find_root(self.nodes[name]).name for name in output.inputs} if output else set()
        )
        made = {n for n in made - inputs if not _writes_a_part(self.nodes[n])}
        written = [self.sizes.bytes(self.nodes[name]) for name in made]
        known = [size for size in (*read, *written) if size is not None]
        return sum(known) if len(known) == len(read) + len(written) else None

    def _map_reads(self, computing_nodes: Iterable[Node]) -> dict[str, int | None]:
        """Map each tensor that these nodes read, directly or through views, to the bytes read. The
        bytes are the sum over the views, but at most the size of the tensor.
        """
        views: dict[str, dict[str, int | None]] = {}
        for node in computing_nodes:
            for name in dict.fromkeys(node.inputs):
                view = self.nodes.get(name)
                if view is None or view.shape is None:
                    continue
                size = self.sizes.bytes(view)
                if operator_name(node) in PARTIAL and name == node.inputs[0]:
                    written = self.sizes.bytes(node)
                    size = min(size, written) if size is not None and written is not None else None
                root = self._find_root(view)
                known = views.setdefault(root.name, {})
                known[name] = max(size, known.get(name) or 0) if size is not None else None
        return {root: self._count_read(self.nodes[root], sizes) for root, sizes in views.items()}

    def _count_read(self, root: Node, views: dict[str, int | None]) -> int | None:
        own, parts = self.sizes.bytes(root), [size for size in views.values() if size is not None]
        if len(parts) < len(views):
            return own
        return sum(parts) if own is None else min(own, sum(parts))

    def _list_results(self, computing: Iterable[Node], names: set[str]) -> Iterator[Node]:
        """Yield the results of the call that other nodes read. If a result is a tuple, yield its
        parts instead.
        """
        for node in computing:
            users = self.users.get(node.name, [])
            if node.shape is None:
                yield from (user for user in users if user.target == "operator.getitem")
            elif not users or any(user.name not in names for user in users):
                yield node

    def _find_root(self, node: Node) -> Node:
        """Return the node whose memory a view shows; for any other node, return the node itself."""
        while self._is_view(node) and node.inputs and node.inputs[0] in self.nodes:
            node = self.nodes[node.inputs[0]]
        return node

    def _is_view(self, node: Node) -> bool:
        if node.target == "operator.getitem" and node.inputs:
            return _is_view(self.nodes[node.inputs[0]])  # a view of one part of a split
        return _is_view(node)


def _is_view(node: Node) -> bool:
    return operator_name(node) in VIEWS


def _writes_a_part(node: Node) -> bool:
    """Return whether the node writes to a part of a tensor, or to a tensor that is also its
    input.
    """
    name = operator_name(node).partition(".")[2]
    return name.startswith(_PARTIAL_WRITES) or (name.endswith("_") and not name.endswith("__"))
