"""An odd row length costs the wide loads, and padding brings them back.

50257 is the vocabulary of GPT-2. A row of that length starts at an address that is not a multiple
of 16 bytes, except by chance, so each thread loads its elements one by one. Padded to 50304, the
same kernel loads four at a time. Compiled here for an H200, counted in its machine code.
"""
# tclab: needs=triton timeout=240

import re
from collections import Counter

import torch

import tclab


def f(x):
    return torch.logsumexp(x, dim=-1)


rows, found = [], {}
for name, columns in {"before": 50257, "after": 50304}.items():
    x = torch.randn(512, columns)  # [tokens, vocabulary]
    c = tclab.capture(f, target="h200", dynamic=False)(x)
    (kernel,) = c.kernels
    sass = c.stages(kernel.kernel_name)["sass"].code
    found[columns] = Counter(re.findall(r"\bLDG\.E(?:\.EF|\.EL)*(?:\.\d+)?", sass))
    wide = sum(n for load, n in found[columns].items() if load.endswith(".128"))
    narrow = sum(found[columns].values()) - wide
    rows.append((name, columns, kernel.category, wide, narrow))

# claim: an-odd-length-has-narrow-loads
assert rows[0][3] == 0 and rows[0][4] > 0, rows
# claim: padding-brings-wide-loads-back
assert rows[1][3] > 0 and rows[1][4] == 0, rows
headings = ("", "columns", "category", "16-byte loads", "narrower loads")
tclab.show(tclab.Table(title="Loads in the machine code", columns=headings, rows=rows))
