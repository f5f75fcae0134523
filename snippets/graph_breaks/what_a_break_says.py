"""What a break says of itself.

Of these nine kinds seven say nothing. Two do, once each: `.item()` logs a warning, and a call of a
builtin that Dynamo does not know gives one through Python's `warnings`. The last two columns are
the same with `TORCH_LOGS=graph_breaks`: then each of these breaks is told.
"""

import logging
import threading
import warnings
import zlib

import torch

import tclab


class Lines(logging.Handler):
    def emit(self, record):
        heard.append(record.getMessage())


def with_print(x):
    y = x.sin()
    print(end="")
    return y.cos()


def tensor_if(x):
    return x.cos() if x.sum() > 0 else x


def with_item(x):
    return x * x.sum().item()


def with_checksum(x):
    zlib.crc32(b"")
    return x.sin()


def with_nonzero(x):
    return x.nonzero().sum()


def with_lock(x):
    with lock:
        return x.sin()


def with_backward(x):
    (x * w).sum().backward()
    return x.sin()


def with_parameter(x):
    return torch.nn.Parameter(x.sin()).cos()


def with_storage(x):
    return x.sin() * x.untyped_storage().nbytes()


lock, w = threading.Lock(), torch.ones(4, requires_grad=True)
silent = (with_print, tensor_if, with_nonzero, with_lock, with_backward)
silent += (with_parameter, with_storage)
heard, causes = [], (*silent, with_item, with_checksum)
logging.getLogger("torch._dynamo").addHandler(Lines(logging.DEBUG))


def told():
    """(log lines, warnings) that compiling each function gives."""
    rows = {}
    for fn in causes:
        torch._dynamo.reset()
        torch._dynamo.utils.warn_once_cache.clear()
        heard.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.compile(fn, backend="eager")(torch.ones(4))
        rows[fn.__name__] = len(heard), len(caught)
    return rows


default = told()
torch._logging.set_logs(graph_breaks=True)
asked = told()
# claim: most-say-nothing
assert all(default[fn.__name__] == (0, 0) for fn in silent) and len(silent) > len(causes) / 2
# claim: item-logs-a-warning
assert default["with_item"] == (1, 0)
# claim: an-unknown-builtin-warns
assert default["with_checksum"] == (0, 1)
# claim: asked-for-each-is-told
assert all(lines >= 1 for lines, _ in asked.values())

columns = ("function", "log lines, by default", "warnings", "log lines, graph_breaks", "warnings")
rows = [(name, *default[name], *asked[name]) for name in default]
tclab.show(tclab.Table("What is said", "said", columns, rows))
