"""Four forms of a mixture of experts whose sizes do not depend on the routing.

Each token goes to one of four experts. All forms run over five routings and are compared with
float64's result; rows are those that are multiplied by an expert's matrix, as
PyTorch's counter of operations sees them, in a batch of 32 tokens.
"""
# tclab: needs=cxx timeout=240

import torch
from torch._dynamo.utils import counters
from torch.nn.functional import grouped_mm, one_hot
from torch.utils.flop_counter import FlopCounterMode

import tclab

TOKENS, EXPERTS, SIZE, OUT = 32, 4, 16, 24
SLOTS = 10  # tokens that an expert takes at most, in `with_capacity`


def all_experts(x, expert, weights):
    """Each token through each expert; a mask keeps one."""
    every = torch.einsum("ti,eio->teo", x, weights)
    return (every * one_hot(expert, EXPERTS).unsqueeze(-1)).sum(1)


def matrices_gathered(x, expert, weights):
    """Each token beside a copy of its expert's matrix."""
    return torch.bmm(x.unsqueeze(1), weights[expert]).squeeze(1)


def with_capacity(x, expert, weights):
    """Each expert has so many slots; a token that finds none is dropped: its row is 0."""
    chosen = one_hot(expert, EXPERTS)
    place = (chosen.cumsum(0) * chosen).sum(1) - 1  # among the tokens of its expert
    kept = place < SLOTS
    slot = torch.where(kept, expert * SLOTS + place, EXPERTS * SLOTS)
    slots = x.new_zeros(EXPERTS * SLOTS + 1, SIZE).index_copy(0, slot, x)
    done = torch.bmm(slots[:-1].view(EXPERTS, SLOTS, SIZE), weights).flatten(0, 1)
    return torch.cat([done, done.new_zeros(1, OUT)])[slot]


def grouped(x, expert, weights, kind=torch.bfloat16):
    """Tokens sorted by expert, and one call for all; where each expert ends is a tensor."""
    order = expert.argsort(stable=True)
    ends = one_hot(expert, EXPERTS).sum(0).cumsum(0).to(torch.int32)
    done = grouped_mm(x[order].to(kind), weights.to(kind), offs=ends).to(x.dtype)
    return torch.empty_like(done).index_copy(0, order, done)


def counted_by_bincount(x, expert, weights):
    return torch.bincount(expert, minlength=EXPERTS)


def routing(*counts):
    return torch.repeat_interleave(torch.arange(EXPERTS), torch.tensor(counts))


def compiled(form, routings):
    """Graphs so far after each routing, the results, and what was captured."""
    torch._dynamo.reset()
    counters.clear()
    call, made, results = torch.compile(form), [], []
    with tclab.capture() as c:
        for expert in routings:
            results.append(call(x, expert, weights))
            made.append(counters["stats"]["unique_graphs"])
    return made, results, c


def multiplied(form):
    """Rows that are multiplied by a matrix of `SIZE` times `OUT`."""
    with FlopCounterMode(display=False) as counter:
        form(x, EVEN, weights)
    return counter.get_total_flops() // (2 * SIZE * OUT)


torch.manual_seed(0)
x, weights = torch.randn(TOKENS, SIZE), torch.randn(EXPERTS, SIZE, OUT)
EVEN, FULL = routing(8, 8, 8, 8), routing(20, 12, 0, 0)
ROUTINGS = (EVEN, routing(10, 9, 7, 6), routing(10, 2, 10, 10), routing(1, 11, 10, 10), FULL)
FORMS = (all_experts, matrices_gathered, with_capacity, grouped)
exact = [torch.einsum("ti,tio->to", x.double(), weights.double()[e]) for e in ROUTINGS]
graphs, results, captured, errors = {}, {}, {}, {}
for form in FORMS:
    graphs[form], results[form], captured[form] = compiled(form, ROUTINGS)
    gaps = [(a - b).abs().max() for a, b in zip(results[form], exact)]
    errors[form] = [(gap / exact[0].abs().max()).item() for gap in gaps]
rows = {form: multiplied(form) for form in FORMS}
lost = {form: sum(int((row == 0).all()) for row in results[form][-1]) for form in FORMS}
as_eager = all(
    torch.equal(a, grouped(x, expert, weights)) for a, expert in zip(results[grouped], ROUTINGS)
)

# claim: each-form-is-one-graph-for-all-routings
assert all(made == [1] * len(ROUTINGS) for made in graphs.values())
assert not any(c.breaks for c in captured.values())
# claim: the-first-two-are-roundings-apart
assert max(errors[all_experts] + errors[matrices_gathered]) < 1e-5
# claim: with-capacity-it-is-while-no-expert-overflows
assert max(errors[with_capacity][:3]) < 1e-5 and lost[with_capacity] > 0
# claim: what-finds-no-slot-is-zero
assert lost[with_capacity] == (20 - SLOTS) + (12 - SLOTS)
# claim: all-experts-multiply-as-many-times
assert rows[all_experts] == EXPERTS * rows[matrices_gathered] == EXPERTS * TOKENS
# claim: with-capacity-slots-are-multiplied
assert rows[with_capacity] == EXPERTS * SLOTS
# claim: gathered-a-matrix-for-each-token
assert weights[EVEN].nbytes == TOKENS // EXPERTS * weights.nbytes
# claim: grouped-is-eagers-grouped
assert as_eager and max(errors[grouped]) < 0.02
# claim: grouped-is-a-library-call
assert "extern_kernels._grouped_mm(" in captured[grouped].wrapper[0].code
# claim: the-counter-does-not-know-it
assert rows[grouped] == 0
# claim: bincount-breaks-the-graph
assert len(compiled(counted_by_bincount, [EVEN])[2].breaks) == 1
single = grouped(x, EVEN, weights, torch.float32)
torch._dynamo.reset()
try:
    torch.compile(grouped)(x, EVEN, weights, torch.float32)
    refused = ""
except torch._dynamo.exc.TorchRuntimeError as error:
    refused = str(error)
if tuple(map(int, torch.__version__.split(".")[:2])) == (2, 13):
    # claim: in-float32-eager-runs-and-compiled-it-is-refused, torch == 2.13
    assert (single - exact[0]).abs().max() < 1e-4 and "Expected inputs of BF16 type" in refused

columns = ("form", "graphs", "rows multiplied", "error, even", "error, 20 and 12", "rows lost")
tclab.show(
    tclab.Table("Forms of a mixture of experts", "forms", columns,
                [(form.__name__, graphs[form][-1], rows[form] or None, errors[form][0],
                  errors[form][-1], lost[form]) for form in FORMS],
                formats=("", "", "", ".0e", ".0e", ""))
)  # fmt: skip
