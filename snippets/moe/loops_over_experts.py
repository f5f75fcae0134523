"""Four loops over experts, by default and with data-dependent sizes captured.

Each token goes to one of two experts. A routing is how many tokens each expert gets; the numbers
are the graphs compiled so far, after each routing. Every result is compared with eager's.
"""
# tclab: needs=cxx timeout=240

import torch
from torch._dynamo.utils import counters
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

import tclab


def by_tolist(x, expert, weights):
    """Sort the tokens by expert, and cut them by counts that Python holds."""
    order = expert.argsort(stable=True)
    counts = torch.nn.functional.one_hot(expert, len(weights)).sum(0).tolist()
    done = torch.cat([part @ weight for part, weight in zip(x[order].split(counts), weights)])
    return torch.empty_like(done).index_copy(0, order, done)


def by_nonzero(x, expert, weights):
    """Each expert takes its tokens, and adds what it makes of them."""
    out = x.new_zeros(len(x), weights.shape[2])
    for number in range(len(weights)):
        mine = (expert == number).nonzero()[:, 0]
        out.index_add_(0, mine, x[mine] @ weights[number])
    return out


def if_there_are_any(x, expert, weights):
    """The same, and an expert without tokens is passed over."""
    out = x.new_zeros(len(x), weights.shape[2])
    for number in range(len(weights)):
        mine = (expert == number).nonzero()[:, 0]
        if len(mine) > 0:
            out.index_add_(0, mine, x[mine] @ weights[number])
    return out


def experts_in_use(x, expert, weights):
    """The same, over the experts that have tokens."""
    out = x.new_zeros(len(x), weights.shape[2])
    for number in expert.unique().tolist():
        mine = (expert == number).nonzero()[:, 0]
        out.index_add_(0, mine, x[mine] @ weights[number])
    return out


def routing(*counts):
    return torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))


def run(loop, captured):
    """The graphs so far after each routing, or the error; the code of the graphs goes to `code`."""
    torch._dynamo.reset()
    counters.clear()
    compiled, made = torch.compile(loop), []
    with torch._dynamo.config.patch(
        capture_scalar_outputs=captured, capture_dynamic_output_shape_ops=captured
    ):
        try:
            with tclab.capture() as c:
                for expert in ROUTINGS.values():
                    close(compiled(x, expert, weights), loop(x, expert, weights))
                    made.append(counters["stats"]["unique_graphs"])
        except GuardOnDataDependentSymNode as error:
            return str(error).split(" (unhinted")[0]
    code[loop, captured] = "".join(graph.code for graph in c.graphs)
    return made


torch.manual_seed(0)
close = torch.testing.assert_close
x, weights = torch.randn(30, 16), torch.randn(2, 16, 8)
ROUTINGS = {
    "15, 15": routing(15, 15),
    "11, 19": routing(11, 19),
    "24, 6": routing(24, 6),
    "0, 30": routing(0, 30),
}
code = {}
LOOPS = (by_tolist, by_nonzero, if_there_are_any, experts_in_use)
default, captured = ({loop: run(loop, how) for loop in LOOPS} for how in (False, True))
# claim: tolist-compiles-for-other-sizes
assert default[by_tolist][1] > default[by_tolist][0] > 0
# claim: then-sizes-vary
assert default[by_tolist][2] == default[by_tolist][1]
# claim: an-expert-without-tokens-compiles-again
assert default[by_tolist][3] == default[by_tolist][2] + 1
# claim: nonzero-in-the-loop-gives-up-the-function
assert default[by_nonzero] == default[if_there_are_any] == [0] * 4
# claim: captured-both-are-one-graph
assert captured[by_tolist] == captured[by_nonzero] == [1] * 4
# claim: a-question-of-the-size-gives-it-up-all-the-same
assert captured[if_there_are_any] == [0] * 4
# claim: captured-a-list-of-unknown-length-is-an-error
assert "Could not guard on data-dependent expression" in captured[experts_in_use]
# claim: a-loop-over-those-in-use-leaves-the-products-to-eager
assert default[experts_in_use] == [1] * 4
assert "matmul" not in code[experts_in_use, False] and "matmul" in code[by_tolist, False]


def rows(found):
    for loop in LOOPS:
        made = found[loop]
        yield (loop.__name__, *(made if isinstance(made, list) else [None] * 4),
               "" if isinstance(made, list) else made)  # fmt: skip


columns = ("loop", *ROUTINGS, "error")
tclab.show(tclab.Table("Graphs so far, by default", "default", columns[:-1],
                       [row[:-1] for row in rows(default)]))  # fmt: skip
tclab.show(tclab.Table("Graphs so far, sizes captured", "captured", columns, [*rows(captured)]))
