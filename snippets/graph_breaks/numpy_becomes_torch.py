"""NumPy in a compiled function.

Dynamo puts PyTorch's own versions of NumPy's functions into the graph, and Inductor compiles them.
"""

import numpy as np
import torch

import tclab


def waves(a, whole):
    return np.sin(a) * 2 + np.cos(a), whole / 3


def draws(a):
    return a + np.random.rand(8)


inputs = np.arange(8.0), np.arange(8)
c = tclab.capture(waves)(*inputs)
wave, third = c.result
in_numpy, third_in_numpy = waves(*inputs)
# claim: one-kernel
assert len(c.graphs) == 1 and len(c.breaks) == 0 and len(c.kernels) == 1
# claim: arrays-come-back
assert isinstance(wave, np.ndarray) and np.allclose(wave, in_numpy)
# claim: whole-numbers-divide-into-float32
assert third.dtype == np.float32 and third_in_numpy.dtype == np.float64


def seeded(fn, seed):
    seed(0)
    return fn(np.zeros(8))


assert np.array_equal(seeded(draws, np.random.seed), seeded(draws, np.random.seed))  # in eager mode
drawn = torch.compile(draws, fullgraph=True)
# claim: numpys-seed-sets-nothing
assert not np.array_equal(seeded(drawn, np.random.seed), seeded(drawn, np.random.seed))
# claim: pytorchs-seed-does
assert np.array_equal(seeded(drawn, torch.manual_seed), seeded(drawn, torch.manual_seed))

tclab.show(c.graphs[0], name="graph")
