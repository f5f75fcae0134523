"""`torch.vmap` and `torch.compile`, one inside of the other, with Inductor."""
# tclab: needs=cxx timeout=240

import torch
from torch import vmap

import tclab


def scaled(x):
    return x.sin() * x.sum()


def branches(x):
    return torch.cond(x.sum() > 1, lambda x: x + 1, lambda x: x - 1, (x,))


def asks(x):
    return x * x.sum().item()


def decides(x):
    return x if x.sum() > 1 else -x


def notes(x):
    print("a row", end="")
    return x + 1


def noise(x):
    return x + torch.rand_like(x)


def both_kinds(x):
    return [vmap(noise, randomness=how)(x) for how in ("same", "different")]


def tried(call, x):
    """The result, or what it raises."""
    try:
        return call(x)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def captured(call):
    torch._dynamo.reset()
    with tclab.capture() as c:
        result = tried(call, x)
    return result, len(c.graphs), len(c.breaks), c


x = torch.rand(4, 3)
WAYS = {
    "vmap(f)": lambda x: vmap(scaled)(x),
    "vmap(grad(f))": lambda x: vmap(torch.func.grad(lambda x: scaled(x).sum()))(x),
    "vmap of torch.cond": lambda x: vmap(branches)(x),
}
rows, captures = [], {}
for name, call in WAYS.items():
    result, graphs, breaks, captures[name] = captured(torch.compile(call))
    rows.append((f"compile({name})", graphs, breaks, torch.allclose(result, call(x), atol=1e-6)))
targets = [str(node.target) for node in captures[name].post_grad[0].nodes]
# claim: vmap-is-one-graph
assert all(row[1:] == (1, 0, True) for row in rows)
# claim: cond-under-vmap-computes-both-sides
assert any("where" in t for t in targets) and not any("cond" in t for t in targets)

inside, graphs, breaks, _ = captured(vmap(torch.compile(scaled)))
rows.append(("vmap(compile(f))", graphs, breaks, torch.equal(inside, vmap(scaled)(x))))
# claim: vmap-over-a-compiled-function-compiles-nothing
assert rows[-1][1] == 0 and rows[-1][3]
whole = captured(vmap(torch.compile(scaled, fullgraph=True)))[0]
# claim: with-fullgraph-it-says-so
assert "Unsupported functorch tracing attempt" in whole
printed, graphs, breaks, c = captured(torch.compile(lambda x: vmap(notes)(x)))
rows.append(("compile(vmap(f with a print))", graphs, breaks, torch.equal(printed, x + 1)))
# claim: a-break-inside-leaves-no-graph
assert rows[-1][1] == 0 and any(each.skipped for each in c.breaks) and rows[-1][3]
for each in (asks, decides):
    # claim: what-vmap-refuses-compile-refuses
    assert "vmap: It looks like" in tried(vmap(each), x)
    assert "vmap: It looks like" in captured(torch.compile(vmap(each)))[0]

torch._dynamo.reset()
lengths = tclab.capture(vmap(scaled)).over([(torch.rand(n, 3),) for n in (4, 5, 6)])
# claim: another-batch-compiles-once-more
assert len(lengths.graphs) == 2
zeros = torch.zeros(4, 3)
same, other = torch.compile(both_kinds, fullgraph=True)(zeros)
# claim: randomness-means-what-it-says
assert (same == same[0]).all() and (other != other[0]).any()
columns = ("way", "graphs", "breaks", "right")
tclab.show(tclab.Table("vmap and torch.compile", "ways", columns, rows))
