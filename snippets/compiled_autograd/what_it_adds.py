"""What AOTAutograd leaves out of the backward, and compiled autograd puts in.

Each function is trained for one step, with and without. A graph is counted as the backward's where
AOTAutograd made it so, and as another where it came from elsewhere.
"""

from _steps import a_break, one_product, operations, trained

import tclab


def tripled(w):
    w.register_hook(lambda gradient: gradient * 3)


def doubled_in_place(w):
    def double(parameter):
        parameter.grad.mul_(2)

    w.register_post_accumulate_grad_hook(double)


def nothing(w):
    """No hook."""


CASES = {
    "one graph": (one_product, nothing),
    "a break in the forward": (a_break, nothing),
    "a hook on the gradient": (one_product, tripled),
    "a hook after it was stored": (one_product, doubled_in_place),
    "a break and a hook": (a_break, tripled),
}
without = {name: trained(fn, False, before=hook) for name, (fn, hook) in CASES.items()}
whole = {name: trained(fn, True, before=hook) for name, (fn, hook) in CASES.items()}


def sizes(graphs):
    return ", ".join(str(len(operations(graph))) for graph in graphs)


rows = [
    (
        name,
        sizes(graphs.of("backward")),
        sizes(graphs.of("other")),
        sizes(whole[name].of("backward")),
        sizes(whole[name].of("other")),
    )
    for name, graphs in without.items()
]
columns = ("step", "backward graphs", "others", "with it: backward graphs", "others")
tclab.show(tclab.Table("Operations in each graph", "graphs", columns, rows))
backward = whole["a break and a hook"].of("other")[0]
tclab.show(backward, title="The whole backward: a break and a hook", name="whole-backward")


def ops(graphs, kind):
    return [op for graph in graphs.of(kind) for op in operations(graph)]


whole_ops = operations(backward)
plain, hooked, broken = "one graph", "a hook on the gradient", "a break in the forward"
stored = ["aten.new_empty_strided.default", "aten.copy.default"]
# claim: a-break-makes-two-backwards
assert len(without[broken].of("backward")) == 2
# claim: with-it-one
assert [len(graphs.of("other")) for graphs in whole.values()] == [1] * len(CASES)
# claim: and-none-of-aotautograds
assert not any(graphs.of("backward") for graphs in whole.values())
# claim: a-hook-is-left-out
assert ops(without[hooked], "backward") == ops(without[plain], "backward") != []
# claim: the-hook-is-a-graph-of-its-own
assert ops(without[hooked], "other") == ["aten.mul.Tensor"] != ops(without[plain], "other")
# claim: with-it-the-hook-is-inside
assert ops(whole[hooked], "other")[-3:] == whole_ops[-3:] == ["aten.mul.Tensor", *stored]
# claim: also-the-one-after-storing
assert ops(whole["a hook after it was stored"], "other")[-3:] == [*stored, "aten.mul.Tensor"]
# claim: storing-is-left-out
assert set(ops(without[plain], "backward")).isdisjoint(stored) and without[plain].of("backward")
# claim: with-it-storing-is-inside
assert ops(whole[plain], "other")[-2:] == whole_ops[-2:] == stored
# claim: the-sum-of-two-uses-too
assert "aten.add.Tensor" not in ops(without[broken], "backward") != []
# claim: with-it-the-sum-is-inside
assert ops(whole[broken], "other")[-3] == whole_ops[-4] == "aten.add.Tensor"
# claim: all-gradients-are-eagers
assert all(graphs.right for graphs in (*without.values(), *whole.values()))
