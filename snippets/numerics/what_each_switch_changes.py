"""Five causes of a difference, and what each switch of Inductor does about them.

All five stand in one graph, and the graph is compiled once with each switch. The table has the part
of the elements whose bits are not eager's.
"""
# tclab: timeout=240

import torch
from _errors import compiled, differ, error

import tclab

N = 1 << 14
RELEASE = tuple(int(part) for part in torch.__version__.split(".")[:2])


def order(x):  # a sum, added in another order
    return x.view(64, -1).sum(-1)


def roundings(low, weight):  # bfloat16, rounded after each operation or at the end
    for _ in range(4):
        low = low * weight + weight
    return low


def multiply_add(a, b, c):  # a product and a sum: two roundings, or one instruction with one
    return a * b + c


def algorithm(x):  # another formula for the same function
    return torch.erf(x)


def random(x):  # other random numbers from the same seed
    return torch.nn.functional.dropout(x, 0.5)


def five(x, low, weight, a, b, c):
    return (order(x), roundings(low, weight), multiply_add(a, b, c), algorithm(a), random(x))


def seeded(fn, args):
    torch.manual_seed(1)
    return fn(*args)


torch.manual_seed(0)
a, b, c = torch.randn(3, N)
args = (torch.rand(N), torch.randn(N).bfloat16(), torch.rand(N).bfloat16() + 0.5, a, b, c)
CONTRACTION = "contraction: fast"
SWITCHES = {
    "none": {},
    "emulate_precision_casts": {"emulate_precision_casts": True},
    "fallback_random": {"fallback_random": True},
    CONTRACTION: {"cpp.enable_floating_point_contract_flag": "fast"},
}
CAUSES = ("order", "roundings", "multiply-add", "algorithm", "random")
eager = seeded(five, args)
results = {name: seeded(compiled(five, **options), args) for name, options in SWITCHES.items()}
parts = {
    name: dict(zip(CAUSES, map(differ, result, eager), strict=True))
    for name, result in results.items()
}
tclab.show(
    tclab.Table(
        title="The part of the elements that differs from eager",
        name="parts",
        columns=("switch", *CAUSES),
        units=("", *("%",) * 5),
        formats=("", *(".0f",) * 5),
        rows=[(name, *(100 * part for part in row.values())) for name, row in parts.items()],
    )
)
exact = five(*(arg.double() for arg in args))
errors = [
    (cause, error(eager[n], exact[n]), *(error(results[name][n], exact[n]) for name in SWITCHES))
    for n, cause in enumerate(CAUSES[:-1])
]
tclab.show(
    tclab.Table(
        title="Relative error against float64",
        name="errors",
        columns=("cause", "eager", *SWITCHES),
        formats=("", *(".1e",) * 5),
        rows=errors,
    )
)
none, casts, fallback, contract = parts.values()


def same_bits(switch, cause):
    """Whether a result is the same with a switch as with none."""
    n = CAUSES.index(cause)
    return torch.equal(results[switch][n], results["none"][n])


def difference(a, b, c, d):
    return a * b - c * d


def one_operation(a, b, c):
    return torch.addcmul(c, a, b)


rounded_once = (a.double() * b.double() + c.double()).float()
contracted = compiled(difference, **SWITCHES[CONTRACTION])(a, b, a.clone(), b.clone())
torch._inductor.config.fallback_random = True
attribute = seeded(compiled(five), args)

# claim: an-attribute-does-the-same
assert all(map(torch.equal, attribute, results["fallback_random"]))
# claim: an-error-is-a-part-of-the-exact-value
assert error(torch.tensor([3.0, 9.0]), torch.tensor([3.0, 4.0])) == 1  # √(5² / 2) / √(25 / 2)
# claim: order-roundings-algorithm-and-random-differ
assert all(none[cause] > 0 for cause in ("order", "roundings", "algorithm", "random"))
# claim: no-multiply-add-on-a-cpu
assert none["multiply-add"] == 0
# claim: where-it-is-one-operation-eager-rounds-once
assert torch.equal(one_operation(a, b, c), rounded_once)
assert torch.equal(compiled(one_operation)(a, b, c), a * b + c)
assert differ(rounded_once, a * b + c) > 0.1
# claim: they-change-nothing-else
assert all(same_bits("emulate_precision_casts", cause) for cause in CAUSES if cause != "roundings")
# claim: the-fallback-restores-the-random-numbers
assert fallback["random"] == 0 and none["random"] > 0.3
# claim: and-nothing-else
assert all(same_bits("fallback_random", cause) for cause in CAUSES if cause != "random")
# claim: contraction-is-allowed-by-a-switch
assert contract["multiply-add"] > 0.1
# claim: no-switch-restores-the-order-or-the-algorithm
assert all(row[cause] > 0 for row in parts.values() for cause in ("order", "algorithm"))
by_cause = {cause: row for cause, *row in errors}
# claim: the-multiply-add-is-more-exact
assert by_cause["multiply-add"][4] < by_cause["multiply-add"][0]
# claim: fewer-roundings-are-more-exact
assert by_cause["roundings"][1] < 0.6 * by_cause["roundings"][0]
# claim: and-equal-products-no-longer-cancel
assert not difference(a, b, a, b).any() and contracted.any()
if RELEASE >= (2, 13):
    # claim: emulated-casts-are-eagers-bits, torch >= 2.13
    assert casts["roundings"] == 0
    # claim: and-eagers-error, torch >= 2.13
    assert by_cause["roundings"][2] == by_cause["roundings"][0]
# claim: roundings-of-bfloat16-are-the-largest
assert by_cause["roundings"][0] > 1000 * max(by_cause[c][0] for c in by_cause if c != "roundings")
