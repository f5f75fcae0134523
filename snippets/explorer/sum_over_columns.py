"""A sum over columns: neighbouring threads read neighbouring columns.

The reduction goes down the rows, against the layout of memory. Inductor splits it in two here,
since its results alone are too few to give all multiprocessors work; how many parts there are
depends on the sizes and the GPU.
"""
# tclab: needs=triton timeout=300 memory=6144

import torch
from _reach import reached, stages

import tclab


def f(x):
    return (x * x).sum(0)


torch.manual_seed(0)
c = tclab.capture(f, target="h200")(torch.randn(16384, 512))
(chain,) = c.chains()
assert {k.category for k in c.kernels} <= {"reduction", "persistent_reduction"}
# claim: two-kernels
assert len(c.kernels) == 2  # partial sums, then their sum
assert reached(chain, ".sum(0)") == set(stages(chain)) - {"python"}
tclab.show(chain, name="chain")
