"""Twelve threads make the first call at once, and what is left of the limit then.

A thread that comes while another compiles waits, and then compiles the same once more. The module
adds a large number where it runs eager.
"""

import logging
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


heard = []
handler, log = Messages(logging.WARNING), logging.getLogger("torch._dynamo")
log.addHandler(handler)
THREADS, limit = 12, torch._dynamo.config.recompile_limit
net = torch.compile(Net())
cold = "none", at_once(THREADS), entries(), ran_eager(3)
log.removeHandler(handler)
torch._dynamo.reset()
warmed_up = ran_eager(2)
warm = "one call", at_once(THREADS), entries(), ran_eager(3)

columns = ("warm-up", "of twelve ran eager", "entries", "a new size runs eager")
tclab.show(tclab.Table("Twelve first requests at once", "requests", columns, [cold, warm]))
tclab.show(heard[0], title="The warning", name="warning")
# claim: each-that-waits-compiles-again
assert cold[2] == limit == 8
# claim: the-others-run-eager
assert cold[1] == THREADS - limit
# claim: and-so-does-a-new-size
assert cold[3]
# claim: the-log-names-the-limit
assert "hit config.recompile_limit" in heard[0]
# claim: after-one-call-there-is-one-entry
assert not warmed_up and warm[1:] == (0, 1, False)
