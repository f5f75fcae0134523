"""Twelve threads make the first call at once, and what is left of the limit then.

A thread that comes while another compiles waits, and then compiles the same once more. The module
adds a large number where it runs eager. Each row is a process of its own.
"""

import json
import logging
import os
from threading import Barrier, Thread

import torch
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

import tclab


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        if torch.compiler.is_compiling():  # True while Dynamo traces: baked into compiled code
            return self.linear(x)
        return self.linear(x) + 1000


class Messages(logging.Handler):
    def emit(self, record):
        heard.append(record.getMessage())


def ran_eager(rows):
    with torch.no_grad():
        return bool(net(torch.ones(rows, 4)).max() > 500)


def at_once(number):
    """How many of so many threads that call at once run eager."""
    together, eager = Barrier(number), []

    def request():
        together.wait()
        eager.append(ran_eager(2))

    threads = [Thread(target=request) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(eager)


def entries():
    return len(_debug_get_cache_entry_list(Net.forward.__code__))


def served(warm_up):
    """Of the threads those that ran eager; entries; whether a new size runs eager; messages."""
    logging.getLogger("torch._dynamo").addHandler(Messages(logging.WARNING))
    if warm_up:
        ran_eager(2)
    return at_once(THREADS), entries(), ran_eager(3), heard


def in_a_process(*args):
    """What `served` returns in a fork; None if that ends by a signal."""
    receiver, sender = os.pipe()
    if not (child := os.fork()):
        os.write(sender, json.dumps(served(*args)).encode())
        os._exit(0)
    os.close(sender)
    with open(receiver) as file:
        text = file.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


heard = []
THREADS, limit = 12, torch._dynamo.config.recompile_limit
net = torch.compile(Net())
cold, warm = in_a_process(False), in_a_process(True)
rows = [("none", *cold[:3]) if cold else ("none", "the process dies", None, None),
        ("one call", *warm[:3])]  # fmt: skip
columns = ("warm-up", "of twelve ran eager", "entries", "a new size runs eager")
tclab.show(tclab.Table("Twelve first requests at once", "requests", columns, rows))
if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 12):
    # claim: the-process-dies, torch < 2.12
    assert cold is None
else:
    eager, made, new_size, messages = cold
    tclab.show(messages[0], title="The warning", name="warning")
    # claim: each-that-waits-compiles-again, torch >= 2.12
    assert made >= limit == 8
    # claim: and-so-does-a-new-size, torch >= 2.12
    assert new_size
    # claim: the-log-names-the-limit, torch >= 2.12
    assert "hit config.recompile_limit" in messages[0]
if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13):
    # claim: the-others-run-eager, torch >= 2.13
    assert made == limit and eager == THREADS - limit
# claim: after-one-call-there-is-one-entry
assert warm[:3] == [0, 1, False]
