"""Break and mend: each cause as written, then mended, both against plain Python."""

import random

import torch

import tclab

COLUMNS = ("cause", "id", "PyTorch's reason", "graphs", "breaks", "mended: graphs", "breaks")


def compiled(fn, x, **options):
    random.seed(0)
    return tclab.capture(fn, backend="eager", **options)(x.clone())


def gallery(causes, x):
    """A row for each (function, mended function): how it breaks, and what is left of that.

    The mended one is compiled with fullgraph=True, which raises at the first break. Results are
    compared with those of the function as plain Python.
    """
    rows = []
    for function, mended in causes:
        broken = compiled(function, x)
        whole = compiled(mended, x, fullgraph=True)
        for c in (broken, whole):
            random.seed(0)
            torch.testing.assert_close(c.result, function(x.clone()))
        first = next(iter(broken.breaks), None)
        name = (first.gb_id, first.reason.splitlines()[0]) if first else (None, None)
        counts = (broken.graphs, broken.breaks, whole.graphs, whole.breaks)
        rows.append((function.__name__.replace("_", " "), *name, *map(len, counts)))
    return rows


def unbroken(rows):
    """The causes that do not break."""
    return [row[0] for row in rows if row[4] == 0]


def unmended(rows):
    """The mended functions that are not one graph."""
    return [row[0] for row in rows if row[5:] != (1, 0)]
