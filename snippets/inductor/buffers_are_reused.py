"""Intermediate buffers: reused, updated in place, planned.

The wrapper allocates a buffer when it is first written and frees it after its last use; a
buffer that is free and fits takes a new name instead. Turning the options off, one by one, shows
what each does here. `memory_planning` goes further: one pool, with every buffer at an offset.
An update in place gives a buffer a new name before it is free, so that it cannot be reused for
the product after it: in this function that costs an allocation.
"""

import torch
from _wrapper import allocations, call_lines

import tclab


def f(x, w1, w2, w3):
    h = torch.relu(x @ w1)
    h = torch.relu(h @ w2)
    h = torch.relu(h @ w3)
    return h.sum()


args = [torch.randn(256, 256) for _ in range(4)]
ways = {
    "default": {},
    "no in-place updates": {"inplace_buffers": False},
    "neither in place nor reuse": {"inplace_buffers": False, "allow_buffer_reuse": False},
    "memory_planning": {"memory_planning": True},
}
rows, codes = [], {}
for way, options in ways.items():
    c = tclab.capture(f, options=options)(*args)
    assert torch.allclose(c.result, f(*args), rtol=1e-4)
    codes[way] = c.wrapper[0].code
    count, total, peak = allocations(codes[way])
    rows.append((way, count, total / 1024, peak / 1024))

allocated = {way: (count, total) for way, count, total, _ in rows}
neither = allocated["neither in place nor reuse"]
with_reuse = allocated["no in-place updates"], allocated["default"]
# claim: reuse-allocates-less
assert all(max(counts) < most for counts, most in zip(zip(*with_reuse), neither))
# claim: the-peak-stays
assert len({round(row[3]) for row in rows}) == 1
# claim: in-place-costs-here
assert [allocated[way][0] for way in ("default", "no in-place updates")] == [4, 3]
# claim: one-pool-for-all
assert allocated["memory_planning"][0] == 2 and "alloc_from_pool" in codes["memory_planning"]
# claim: a-buffer-takes-a-new-name
assert "# reuse" in codes["default"] and "# reuse" not in codes["neither in place nor reuse"]

for way in ways:
    tclab.show(
        tclab.Listing(
            title=f"The wrapper: {way}",
            code=call_lines(codes[way]),
            language="python",
            stage="wrapper",
        )
    )
tclab.show(
    tclab.Table(
        title="What the wrapper allocates",
        rows=rows,
        columns=("options", "allocations", "bytes", "peak"),
        units=("", "", "KiB", "KiB"),
        formats=("", "", ".0f", ".0f"),
        caption="counted in the generated code; what libraries allocate inside is not in it",
    )
)
