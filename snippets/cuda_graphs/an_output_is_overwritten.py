"""What an output of a CUDA graph holds once the function was called again, and how to keep it.

The output of one call is read after the next call, which begins a new step. Its true sum is 16;
the next call's is 48.
"""
# tclab: needs=cuda,triton

import torch

import tclab


def step(x):
    return torch.relu(x) * 2


x, y = torch.ones(8, device="cuda"), torch.full((8,), 3.0, device="cuda")
begin = torch.compiler.cudagraph_mark_step_begin


def read_later(calls_before, keep=lambda t: t, new_step=True):
    """The sum of an output, read after the next call; or the error."""
    torch._dynamo.reset()
    compiled = torch.compile(step, mode="reduce-overhead")
    for _ in range(calls_before):
        begin()
        compiled(x)
    begin()
    kept = keep(compiled(x))
    if new_step:
        begin()
    compiled(y)
    try:
        return kept.sum().item()
    except RuntimeError as error:
        return str(error).splitlines()[0].split(". Stack trace")[0]


plain = [(f"output of call {n + 1}, kept as it is", read_later(n)) for n in range(5)]
cures = [
    ("cloned", read_later(4, keep=torch.clone)),
    ("moved to the CPU", read_later(4, keep=torch.Tensor.cpu)),
    ("kept, and no new step begins", read_later(4, new_step=False)),
]
tclab.show(tclab.Table(
    title="An output, read after the next call", name="outputs",
    columns=("what was done with it", "its sum, or the error"),
    rows=[(name, str(value)) for name, value in (*plain, *cures)],
))  # fmt: skip

later = [value for _, value in plain[2:]]
# claim: an-old-output-is-overwritten-or-an-error
assert all(value == 48.0 or "overwritten" in str(value) for value in later), plain
# claim: overwritten-without-a-word
assert 48.0 in later, plain
# claim: an-error-while-it-is-recorded
assert any("overwritten by a subsequent run" in str(value) for _, value in plain), plain
# claim: a-clone-survives
assert cures[0][1] == 16.0, cures
# claim: a-copy-on-the-cpu-survives
assert cures[1][1] == 16.0, cures
# claim: an-output-of-the-same-step-is-kept
assert cures[2][1] == 16.0, cures
