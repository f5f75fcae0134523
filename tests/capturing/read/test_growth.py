"""What is read of a graph grows as the graph does: counted, not timed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tclab.capturing.chain.resolve import Origins, ShownGraph
from tclab.capturing.read import output_code
from tclab.capturing.read.output_code import OutputCode
from tclab.capturing.trace.notes import GraphNote, NodeNote


class Counted(list[NodeNote]):
    """Nodes that count how often all of them were gone through."""

    times = 0

    def __iter__(self) -> Iterator[NodeNote]:
        self.times += 1
        return super().__iter__()


def joint(count: int) -> Counted:
    """As many nodes of a forward as of its backward, each with a number of its own."""
    forward = [
        NodeNote(f"sin_{n}", "call_function", ((1, f"s{n}"),), "", n, None, None)
        for n in range(count)
    ]
    backward = [NodeNote(f"cos_{n}", "call_function", (), "", n, None, None) for n in range(count)]
    return Counted([*forward, *backward])


@pytest.mark.parametrize("count", [10, 200])
def test_gradients_find_their_forward_without_going_through_all_nodes(count):
    nodes = joint(count)
    shown = ShownGraph("joint", 0, GraphNote(2, "", nodes), "0/0")
    parents = Origins().parents(shown)
    assert nodes.times == 3
    assert parents["cos_7"] == (shown.node_key("sin_7"),)


STACK = '  File "/home/me/model.py", line {}, in f\n    y = x.sin()\n'


def test_a_gradient_is_of_the_node_with_its_number_and_its_stack():
    """Two nodes of a forward may have one number; the gradient has the stack of its own."""
    marks = ((1, "s"),)
    forward = [
        NodeNote(f"sin_{n}", "call_function", marks, STACK.format(n), 7, None, None) for n in (1, 2)
    ]
    gradients = [
        NodeNote(f"cos_{n}", "call_function", (), STACK.format(n), 7, None, None) for n in (2, 3)
    ]
    shown = ShownGraph("joint", 0, GraphNote(2, "", [*forward, *gradients]), "0/0")
    parents = Origins().parents(shown)
    assert parents["cos_2"] == (shown.node_key("sin_2"),) and parents["cos_3"] == ()


def output(count: int) -> str:
    """Return an output file with kernels, each called once below its handle."""
    names = [f"triton_{n}" for n in range(count)]
    made = "".join(f"{name} = async_compile.triton('{name}', '''\npass\n''')\n" for name in names)
    called = "".join(
        f"    # [Provenance debug handles] {name}:{n}\n    {name}.run(x)\n"
        for n, name in enumerate(names)
    )
    return f"{made}def call(x):\n{called}"


class CountedPattern:
    """A pattern that counts its searches."""

    def __init__(self, pattern) -> None:
        self.pattern, self.times = pattern, 0

    def search(self, text: str):
        self.times += 1
        return self.pattern.search(text)


class CountedCalls:
    """A function that counts its calls."""

    def __init__(self, function) -> None:
        self.function, self.times = function, 0

    def __call__(self, *args):
        self.times += 1
        return self.function(*args)


def reads(count: int, monkeypatch) -> tuple[float, float]:
    """Searches for a handle a line, and questions for a call's name a call."""
    file = OutputCode.parse(output(count))
    handles, called = CountedPattern(output_code._HANDLE), CountedCalls(output_code._called_kernel)
    with monkeypatch.context() as patched:
        patched.setattr(output_code, "_HANDLE", handles)
        patched.setattr(output_code, "_called_kernel", called)
        assert len(file.calls_to("triton_3")) == 1
        file.keys_by_line()
    return handles.times / len(file.lines), called.times / count


def test_each_call_and_each_line_is_read_a_few_times_whatever_the_kernels(monkeypatch):
    few, many = reads(10, monkeypatch), reads(200, monkeypatch)
    assert many[0] <= few[0] + 1 and many[1] <= few[1] + 1
