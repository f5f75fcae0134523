"""Two losses of one compiled function: one backward or two, and the buffers that are given away.

After a backward nobody needs the saved values, so a compiled backward may write over them: PyTorch
calls them donated buffers. `retain_graph=True` keeps them for another backward. Each case is a
fresh compile, without caches where Inductor is used. Runs are calls of the backward graph.
"""
# tclab: needs=cxx timeout=240

import warnings

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch import config
from torch._functorch.aot_autograd import make_boxed_func
from torch._inductor import config as inductor

import tclab

runs = []


def losses(x, w):
    h = x @ w
    return h.sin().sum(), h.cos().mean()


def together(a, b):
    (a + b).backward()


def in_one_call(a, b):
    torch.autograd.backward([a, b])


def one_after_the_other(a, b):
    a.backward(retain_graph=True)
    b.backward()


def counted(name):
    def compile_graph(graph, example_inputs):
        def run(*args):
            runs.append(name)
            return graph(*args)

        return make_boxed_func(run)

    return compile_graph


backend = aot_autograd(fw_compiler=counted("forward"), bw_compiler=counted("backward"))


def step(fn, backward):
    w.grad = None
    backward(*fn(x, w))
    return w.grad


def steps(*backwards, **options):
    """What each step of one compiled function says; runs of the backward graph in the last."""
    torch._dynamo.reset()
    compiled, said = torch.compile(losses, backend=backend, **options), []
    for backward in backwards:
        runs.clear()
        try:
            torch.testing.assert_close(step(compiled, backward), exact)
            said.append("right")
        except RuntimeError as error:
            said.append("error: donated" if "donated buffers" in str(error) else str(error))
    return ", ".join(said), runs.count("backward")


def peak(backward, **settings):
    """Bytes at the peak of a step, compiled by Inductor; the step before it was the same."""
    torch._dynamo.reset()
    kept = []
    with inductor.patch(force_disable_caches=True), config.patch(**settings):
        compiled = torch.compile(losses)
        torch.testing.assert_close(step(compiled, backward), exact)
        w.grad = None
        phases = {"forward": lambda: kept.append(compiled(x, w)),
                  "backward": lambda: backward(*kept.pop())}  # fmt: skip
        return tclab.memory({"step": phases})["step"].peak


warnings.simplefilter("ignore")
torch.manual_seed(0)
x = torch.randn(512, 64) / 8
w = torch.randn(64, 256, requires_grad=True)
exact = step(losses, together)
twice = one_after_the_other
PEAK = {
    "together": peak(together),
    "together, donated_buffer=False": peak(together, donated_buffer=False),
    "one after the other": peak(twice),
}
SAID = {
    "together": steps(together, together),
    "in one call": steps(in_one_call, in_one_call),
    "one after the other": steps(twice, twice),
    "… after a step together": steps(together, twice),
    "… with dynamic=True": steps(twice, dynamic=True),
}
with config.patch(donated_buffer=False):
    SAID["… after a step together, donated_buffer=False"] = steps(together, twice)
columns = ("backwards", "says", "runs of the backward graph")
rows = [(way, *row) for way, row in SAID.items()]
tclab.show(tclab.Table("One backward or two", "said", columns, rows))
rows = list(PEAK.items())
columns, units = ("backwards", "peak"), ("", "bytes")
tclab.show(tclab.Table("The peak of a step", "peak", columns, rows, units, ("", ",d")))

# claim: one-call-runs-it-once
assert SAID["together"] == SAID["in one call"] == ("right, right", 1)
# claim: two-run-it-twice
assert SAID["one after the other"] == ("right, right", 2)
# claim: after-a-plain-step-it-is-an-error
assert SAID["… after a step together"][0] == "right, error: donated"
# claim: with-symbols-at-once
assert SAID["… with dynamic=True"][0] == "error: donated"
# claim: the-setting-helps
assert SAID["… after a step together, donated_buffer=False"] == ("right, right", 2)
# claim: a-donated-buffer-lowers-the-peak
assert PEAK["together"] < 0.75 * PEAK["together, donated_buffer=False"]
# claim: two-backwards-have-none
assert PEAK["one after the other"] >= PEAK["together, donated_buffer=False"]
