"""Every log that TORCH_LOGS can turn on, with the first lines that it printed here.

One small training step is compiled with all of them on: it breaks once and is compiled again for
another size. A log that says nothing about it has no lines. `off` means that a log as a whole, such
as `dynamo`, does not turn it on: name it.
"""
# tclab: needs=cxx

import logging
import os
import re
from collections import defaultdict
from itertools import islice

import torch
import torch._inductor.config
from torch._logging import _internal

import tclab

LINES, LONGEST = 3, 110
registry = _internal.log_registry
CHANGING = re.compile(r"0x[0-9a-f]{6,}|(?:_[0-9a-f]{4,12}){5}")  # addresses; a graph's own number
artifacts = sorted(registry.artifact_names)
modules = {name: list(logs) for name, logs in registry.log_alias_to_log_qnames.items()}
heard = defaultdict(list)


class Hear(logging.Handler):
    """Keeps what each logger says, under the name of its artifact or its module."""

    def emit(self, record):
        module, mark, artifact = record.name.partition(".__")
        heard[artifact if mark else module].append(record.getMessage())


def step(x, w):
    y = torch.relu(x @ w)
    print(end="")
    return torch.softmax(y, -1).sum() + y.std()


def known(name):
    """Whether this PyTorch lets the log be turned on by its name."""
    return name not in ("all", "modules") and registry.is_artifact(name)


def listen(names):
    """Turn these logs on, and hear every logger of PyTorch."""
    os.environ["TORCH_LOGS"] = ",".join(names)
    _internal._init_logs()
    for name in [name for name in logging.Logger.manager.loggerDict if name.startswith("torch")]:
        log = logging.getLogger(name)
        if log.handlers or ".__" in name:
            log.handlers, log.propagate = [Hear()], False


def run(names, sizes=(4, 8), **options):
    """A training step for each size, with these logs on."""
    torch._dynamo.reset()
    listen(names)
    w = torch.randn(16, 16, requires_grad=True)
    compiled = torch.compile(step, **options)
    for size in sizes:
        compiled(torch.randn(size, 16), w).backward()


# What is verbose silences the log that is not.
verbose = [name for name in artifacts if "verbose" in name]
plain = ["dynamo", "inductor", "aot", *(n for n in artifacts if known(n) and n not in verbose)]
run(plain, sizes=(4,))
run(plain, backend="eager")
run(verbose, backend="eager")


def first_lines(messages):
    """The first lines of what was said, without addresses and empty lines."""
    lines = (line.rstrip() for message in messages for line in message.splitlines())
    plain = (CHANGING.sub("…", line) for line in lines if line.strip())
    cut = (line if len(line) <= LONGEST else f"{line[:LONGEST]}…" for line in plain)
    return list(islice(cut, LINES))


rows = [
    (name, "off" if registry.is_off_by_default(name) else "with its module",
     " ".join(registry.artifact_descriptions.get(name, "").split()) or None,
     "\n".join(first_lines(heard[name])) or None)
    for name in artifacts
]  # fmt: skip
columns = ("log", "on", "PyTorch's description", "first lines here")
tclab.show(tclab.Table("Logs of one kind of thing", "logs", columns, rows))
rows = [(name, ", ".join(logs)) for name, logs in sorted(modules.items())]
tclab.show(tclab.Table("Logs of whole modules", "log-modules", ("log", "loggers of"), rows))

# claim: what-happened-is-said
assert all(heard[name] for name in ("graph_breaks", "recompiles", "guards", "output_code"))
# claim: what-did-not-is-not
assert not heard["cudagraphs"] and not heard["onnx_diagnostics"]
# claim: a-break-has-its-id
assert any("gb0" in message.lower() for message in heard["graph_breaks"])
