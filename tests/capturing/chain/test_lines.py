"""Which Python line and which node wrote which line of a kernel, line by line."""

from __future__ import annotations

import re

import pytest
from link_following import Captured, Ways

from tclab.capturing.chain.inductor import computes_value
from tclab.model import Chain

RELU, TIMES = "y = torch.relu(x + 1)", "return y * 2"
SOFTMAX = "return torch.softmax(x, -1)"
NORM, SIGMOID = "y = F.layer_norm(x, (256,), w, b)", "return y.sigmoid()"

Lines = list[tuple[str, set[str], set[str]]]


def kernel_lines(chain: Chain) -> Lines:
    """Return each computing line of the kernels, its post-grad nodes and Python lines."""
    ways = Ways(chain)
    return [
        (line.strip(), _nodes(ways.origins((i, n), "post_grad")),
         set(ways.origins((i, n), "python")))
        for i, pane in enumerate(chain.panes) if pane.stage in ("kernel", "cpp")
        for n, line in enumerate(pane.code.splitlines(), 1) if computes_value(line, pane.language)
    ]  # fmt: skip


def _nodes(texts: list[str]) -> set[str]:
    """Return the names of nodes; the line of the arguments is ``input``."""
    return {"input" if t.startswith("def ") else re.split(r"[: ]", t)[0] for t in texts}


def agree(found: Lines, expected: list[tuple[str, str, set[str]]]) -> None:
    """Each line in turn: its right-hand side, its nodes and its Python lines."""
    assert len(found) == len(expected), [line for line, _, _ in found]
    for (line, nodes, python), (text, names, sources) in zip(found, expected):
        assert text in line
        assert nodes == set(names.split()), line
        assert python == sources, line


def test_every_line_of_a_pointwise_triton_kernel(captured: Captured) -> None:
    (chain,) = captured("relu_chain", "h200").chains()
    agree(kernel_lines(chain), [
        ("tl.load(in_ptr0", "input add", {RELU}),
        ("1.0, tl.float32)", "add", {RELU}),
        ("tmp0 + tmp1", "add", {RELU}),
        ("0, tl.int32)", "relu", {RELU}),
        ("maximum(tmp3, tmp2", "relu", {RELU}),
        ("2.0, tl.float32)", "mul", {TIMES}),
        ("tmp4 * tmp5", "mul", {TIMES}),
        ("tl.store(out_ptr0", "mul", {TIMES}),
    ])  # fmt: skip


def test_every_line_of_a_pointwise_cpp_kernel(captured: Captured) -> None:
    (chain,) = captured("relu_chain", "cpu").chains()
    lines = kernel_lines(chain)
    assert {python for _, _, (python,) in lines} == {RELU, TIMES}
    by_text = {text: nodes for text, nodes, _ in lines}
    wanted = [("(in_ptr0", {"input", "add"}), ("(1.0)", {"add"}), ("tmp0 + tmp", {"add"}),
              ("(2.0)", {"mul"}), ("out_ptr0", {"mul"})]  # fmt: skip
    for text, nodes in wanted:
        found = [n for line, n in by_text.items() if text in line]
        assert found and all(n == nodes for n in found), text


@pytest.mark.parametrize("device", ["h200", "cpu"])
def test_every_line_of_softmax_comes_from_its_one_python_line(
    captured: Captured, device: str
) -> None:
    (chain,) = captured("softmax", device).chains()
    lines = kernel_lines(chain)
    assert len(lines) > 10
    for line, nodes, python in lines:
        assert nodes and python == {SOFTMAX}, line
    of_exp = [nodes for line, nodes, _ in lines if re.search(r"\bexp\(", line)]
    assert of_exp and all(
        re.fullmatch(r"exp\w*|prepare_softmax\w*", n) for ns in of_exp for n in ns
    )
    last = next(nodes for line, nodes, _ in reversed(lines))
    assert last == {"div"}


def test_layer_norm_forward_and_backward_for_a_gpu(captured: Captured) -> None:
    (chain,) = captured("layer_norm", "h200").chains()
    lines = kernel_lines(chain)
    assert [line for line, nodes, _ in lines if not nodes] == []
    assert [line for line, _, python in lines if not python] == []

    def of(text: str) -> list[tuple[set[str], set[str]]]:
        return [(nodes, python) for line, nodes, python in lines if text in line]

    assert of("tl.sigmoid(") == [({"sigmoid"}, {SIGMOID})]
    assert of("libdevice.rsqrt(") == [({"rsqrt"}, {NORM})]
    forward = [nodes for nodes, _ in of("tl.sum(")][:2]
    assert forward == [{"var_mean"}, {"var_mean"}]
    backward = [nodes for nodes, _ in of("tl.sum(")][2:]
    assert backward == [{f"sum_{i}"} for i in range(1, 5)]
    # 1 - sigmoid(y) is the gradient of the line that called sigmoid
    assert {SIGMOID} in [python for nodes, python in of(" - tmp1") if nodes == {"sub_1"}]


def test_gradient_nodes_come_from_the_nodes_they_are_the_gradient_of(captured: Captured) -> None:
    (chain,) = captured("layer_norm", "h200").chains()
    ways = Ways(chain)
    index = next(i for i, p in enumerate(chain.panes) if p.stage == "backward")
    code = chain.panes[index].code.splitlines()
    calls = [n for n, line in enumerate(code, 1) if "torch.ops." in line]
    assert len(calls) > 10
    for number in calls:
        assert ways.origins((index, number), "dynamo"), code[number - 1]
        assert set(ways.origins((index, number), "python")) <= {NORM, SIGMOID}
        assert ways.origins((index, number), "python")
