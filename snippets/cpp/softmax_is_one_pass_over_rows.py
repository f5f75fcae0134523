"""Softmax: three inner loops inside one loop over rows.

Maximum, sum of exponentials, division: three loops over a row, each needs the one before. They
share the loop over rows, and a row fits in the cache. The exponentials, which eager mode would
write to memory, stay in a buffer of one row for each thread.
"""

import re

import torch

import tclab

ROWS, COLUMNS = 300, 1003


def f(x):
    return torch.softmax(x, dim=-1)


x = torch.randn(ROWS, COLUMNS)
c = tclab.capture(f, options={"cpp.threads": 2})(x)
(kernel,) = c.kernels
assert torch.allclose(c.result, f(x), atol=1e-6)

over_rows = re.findall(rf"for\(.*x0<static_cast<int64_t>\({ROWS}L\)", kernel.code)
over_columns = re.findall(rf"for\(.*x1<static_cast<int64_t>\({COLUMNS}L\)", kernel.code)
# claim: three-loops-in-one-over-rows
assert len(over_rows) == 1 and len(over_columns) == 3
# claim: a-buffer-of-one-row
assert f"std::make_unique<float []>({COLUMNS}L)" in kernel.code
# claim: threads-share-the-rows
assert kernel.code.count("#pragma omp for") == 1

tclab.show(kernel, name="kernel")
rows = [
    ("loops over rows", len(over_rows)),
    ("loops over columns inside it", len(over_columns)),
    ("elements of the buffer between them, a thread", COLUMNS),
    ("elements of the matrix", ROWS * COLUMNS),
]
tclab.show(tclab.Table(title="One kernel for softmax", columns=("what", "number"), rows=rows))
