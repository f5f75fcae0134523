"""Causes: a call into something that is not Python, or not for tracing.

Clocks, files, locks, extensions in C: there is nothing in them that a graph could hold. Make the
call outside and pass in what it gave, or use PyTorch's own.
"""

import copy
import json
import os
import threading
import time

import numpy as np
import torch
from _gallery import COLUMNS, gallery, unbroken, unmended

import tclab

lock, deadline, process = threading.Lock(), time.time() + 60, os.getpid()
text = json.dumps([1, 2])


def the_system(x):
    return x.sin() + (os.getpid() == process)


def the_system_before(x):
    return x.sin() + (os_answer == process)


def the_clock(x):
    y = x.sin()
    return y.cos() if time.time() < deadline else y


def the_clock_before(x):
    y = x.sin()
    return y.cos() if now < deadline else y


def a_file(x):
    file = open(os.devnull)
    file.close()
    return x.sin()


def without_the_file(x):
    return x.sin()


def an_extension_in_c(x):
    return x.sin() * len(json.dumps([1, 2]))


def its_answer(x):
    return x.sin() * len(text)


def a_lock(x):
    with lock:
        return x.sin().cos()


def inside_the_lock(x):  # the caller holds it
    return x.sin().cos()


def deepcopy_of_a_tensor(x):
    return copy.deepcopy(x).sin()


def clone(x):
    return x.clone().sin()


def numpy_without_a_twin(x):
    return x + torch.from_numpy(np.partition(np.arange(4, dtype=np.float32), 2))


def numpy_with_a_twin(x):
    return x + torch.from_numpy(np.sort(np.arange(4, dtype=np.float32)))


os_answer, now = os.getpid(), time.time()
rows = gallery(
    [(the_system, the_system_before), (the_clock, the_clock_before), (a_file, without_the_file),
     (an_extension_in_c, its_answer), (a_lock, inside_the_lock), (deepcopy_of_a_tensor, clone),
     (numpy_without_a_twin, numpy_with_a_twin)],
    torch.arange(4.0),
)  # fmt: skip
# claim: each-breaks
assert not unbroken(rows), unbroken(rows)
# claim: each-is-mended
assert not unmended(rows), unmended(rows)
tclab.show(tclab.Table("Calls outside", "causes", COLUMNS, rows))
